//! A host without threads, sockets and a clock: admits connections, upgrades them to clients and
//! inspectors, and runs the update workers.
//!
//! ```text
//!  driver: accept, receive ─► HostConnection ─► head ─┬─► client ─► room, by the client's driver
//!          turn, on_disconnected                      └─► inspector
//!          push_tick, run_pass ─► HostWorker ─► updates ─► transport ─► driver
//! ```
//!
//! Two drivers run it: `server::embedded` (a program that carries the bytes, also in a browser) and
//! `testing::simulate` (a model of TCP in virtual time). The driver owns the rooms and the clock,
//! chooses the [`HostTransport`], and may see and replace the steps of a client with a
//! [`HostObserver`].

pub mod clients;
pub mod connection;
pub mod inspector_queues;
pub mod worker;

use core::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use self::clients::HostClients;
use self::worker::HostWorker;
use crate::connection::{DeflaterPool, DisconnectReason, ObservedBytes};
use crate::datagram::DatagramError;
use crate::packet::PacketTables;
use crate::server::admission::address_rate_limits::AddressRateLimits;
use crate::server::admission::refusal::Refusal;
use crate::server::admission::tokens::Authenticator;
use crate::server::admission::{Admission, Capacity};
use crate::server::clients::client::{Client, Transport};
use crate::server::clients::client_driver::{ClientDriver, DriverEvent};
use crate::server::clients::dyn_room::GameFactory;
use crate::server::room::RoomHandle;
use crate::tools::inspector::observed_format::{Handshake, ObservedDatagram, ObservedKind, ObservedRecord};
use crate::ws::Side;
use crate::ws::http::RequestHead;

/// The address that the host reports as the server's. Nothing listens there.
const LOCAL: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 3000);

/// The server's end of a connection in memory, from its first byte on.
pub trait HostTransport: Transport + Clone {
    /// Writes a response, or frames of an inspector. They always fit.
    fn write(&self, bytes: &[u8]);

    /// Closes the sending half after the written bytes.
    fn close_output(&self) {}

    /// Whether [`Transport::abort`] was called.
    fn is_aborted(&self) -> bool;
}

/// Observes the connections of a host, and may replace the steps of a client.
pub trait HostObserver<T: HostTransport> {
    /// Called when a request is refused. `head` is `None` if the bytes are not a valid request, or
    /// arrived too late.
    fn on_refused(
        &mut self,
        _host: &HostState<T>,
        _address: SocketAddr,
        _refusal: &Refusal,
        _head: Option<&RequestHead>,
    ) {
    }

    /// Starts the session of a new client.
    ///
    /// # Errors
    /// The reason to close the connection.
    fn begin(&mut self, host: &HostState<T>, client: &Client<T>) -> Result<(), DisconnectReason> {
        host.driver(client).begin()
    }

    /// Passes bytes to the connection of a client.
    ///
    /// # Errors
    /// The reason why the connection is closing already, or must be closed now.
    fn receive(
        &mut self,
        host: &HostState<T>,
        client: &Client<T>,
        bytes: &[u8],
    ) -> Result<(), DisconnectReason> {
        host.driver(client).receive(bytes)
    }

    /// Passes a datagram and its source address to the lane of a client.
    ///
    /// # Errors
    /// The reason to drop the datagram.
    fn receive_datagram(
        &mut self,
        host: &HostState<T>,
        client: &Client<T>,
        (datagram, from): (&[u8], Option<SocketAddr>),
    ) -> Result<(), DatagramError> {
        host.driver(client).receive_datagram(datagram, from)
    }

    /// Removes a client from the world after its connection was closed.
    fn leave_world(&mut self, host: &HostState<T>, client: &Client<T>) {
        client.leave_world(host.now);
    }
}

/// Observes nothing.
pub struct NoObserver;

impl<T: HostTransport> HostObserver<T> for NoObserver {}

/// The state of a host, except its connections.
pub struct HostState<T: HostTransport> {
    /// The current time.
    pub now: Duration,
    /// The time of day at time zero of the clock, in microseconds since 1970.
    pub began_us: u64,
    /// The rooms. Inspectors get the epoch of the first.
    pub rooms: Vec<Arc<RoomHandle>>,
    /// The packet tables.
    pub codes: Arc<PacketTables>,
    /// Accepts offers of compression, with these deflaters.
    pub compression: Option<Arc<DeflaterPool>>,
    /// The slots for connections.
    pub admission: Arc<Admission>,
    /// Rate limits per address prefix.
    pub address_limits: AddressRateLimits,
    /// Permits all clients, because it has no tokens.
    pub authenticator: Authenticator,
    /// The clients.
    pub clients: HostClients<T>,
    /// The update workers.
    pub workers: Vec<HostWorker<T>>,
}

impl<T: HostTransport> HostState<T> {
    /// Creates a host at time zero for rooms of one game.
    pub fn new(
        game: GameFactory<T>,
        codes: PacketTables,
        rooms: Vec<Arc<RoomHandle>>,
        capacity: Capacity,
        workers: usize,
    ) -> HostState<T> {
        let worker = |_| HostWorker::new(rooms.iter().map(|_| (game.new_update_group)()));
        HostState {
            now: Duration::ZERO,
            began_us: 0,
            codes: Arc::new(codes),
            compression: None,
            admission: Admission::new(capacity),
            address_limits: AddressRateLimits::new(true),
            authenticator: Authenticator::default(),
            clients: HostClients::default(),
            workers: (0..workers).map(worker).collect(),
            rooms,
        }
    }

    /// Sets the clock. An earlier time is ignored.
    pub fn set_now(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// Creates the driver of a client. It passes the client's bytes to its inspectors.
    pub fn driver<'a>(&'a self, client: &'a Client<T>) -> ClientDriver<'a, T, impl Fn(DriverEvent<'_>)> {
        let queues = &self.clients.inspector_queues;
        ClientDriver {
            client,
            address_limits: &self.address_limits,
            authenticator: &self.authenticator,
            read_time: client.read_time(self.now),
            is_observed: queues.is_inspected(client.id),
            on_event: |event: DriverEvent<'_>| {
                let datagram = |address, dropped, bytes| {
                    ObservedKind::Datagram(ObservedDatagram { from: Side::Client, address, dropped, bytes })
                };
                let (at, what) = match event {
                    DriverEvent::Observed { at, bytes: ObservedBytes { bytes, is_injected, .. }, .. } => {
                        let what = match is_injected {
                            true => ObservedKind::Injected(bytes),
                            false => ObservedKind::Bytes(Side::Client, bytes),
                        };
                        (at, what)
                    }
                    DriverEvent::Datagram { at, address, bytes, .. } => (at, datagram(address, None, bytes)),
                    DriverEvent::DatagramDropped { at, address, rule, bytes } => {
                        (at, datagram(address, Some(rule), bytes))
                    }
                    _ => return,
                };
                queues.push(client.id, None, &ObservedRecord { at: at.now, tick: at.tick, what });
            },
        }
    }

    /// Adds a client, and assigns it to a worker. It receives updates once it requests them.
    fn add_client(&mut self, client: &Arc<Client<T>>, opened: Handshake) {
        let room = self.rooms.iter().position(|room| Arc::ptr_eq(room, &client.room)).unwrap_or(0);
        let worker = client.id as usize % self.workers.len();
        self.workers[worker].add_client(room, Arc::clone(client));
        self.clients.add(client, opened);
    }
}
