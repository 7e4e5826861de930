//! The UDP socket of all lanes: one socket, on the port number of the listener, and one thread.
//!
//! ```text
//!   recv_from ─► connection id ─► client ─► lane: tag, repetition ─► connection ─► room
//!   update worker ─► lane: seal ─► send_to
//! ```
//!
//! A datagram whose connection id, tag or number is wrong gets no response. Only its sender can
//! learn from the silence, and nothing is sent to a forged address.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tracing::{debug, warn};

use super::client_thread;
use super::metrics::Metrics;
use super::server_state::ServerState;
use crate::datagram::header::DatagramHeader;
use crate::datagram::{DatagramError, LaneKey};
use crate::limits;
use crate::server::clients::client_lane::LaneGrant;
use crate::util::os;
use crate::util::sync::Mutex;

/// The UDP socket of a server, and the lanes that use it.
#[derive(Debug)]
pub struct LaneSocket {
    socket: UdpSocket,
    port: u16,
    /// The client of each lane, by connection id.
    clients: Mutex<BTreeMap<u32, u64>>,
}

impl LaneSocket {
    /// Binds the socket to the address of the listener.
    ///
    /// # Errors
    /// The port is in use.
    pub fn bind(address: SocketAddr) -> io::Result<LaneSocket> {
        let socket = UdpSocket::bind(address)?;
        // A worker never waits: if the queue of the socket is full, the datagram is lost.
        Ok(LaneSocket { port: socket.local_addr()?.port(), socket, clients: Mutex::default() })
    }

    /// Makes a lane for a client, whose other lanes end.
    pub fn grant(&self, client: u64) -> LaneGrant {
        let mut clients = self.clients.lock();
        clients.retain(|_, other| *other != client);
        let mut connection = u32::from_ne_bytes(os::random());
        while clients.contains_key(&connection) {
            connection = u32::from_ne_bytes(os::random());
        }
        clients.insert(connection, client);
        LaneGrant { connection, key: LaneKey(os::random()), port: self.port }
    }

    /// Ends the lane of a client.
    pub fn remove(&self, client: u64) {
        self.clients.lock().retain(|_, other| *other != client);
    }

    /// Sends a datagram.
    pub fn send(&self, to: SocketAddr, datagram: &[u8]) {
        let _ = self.socket.send_to(datagram, to);
    }

    /// Wakes the thread of the socket, so that it sees the end of the server.
    pub fn wake(&self) {
        let Ok(mut address) = self.socket.local_addr() else { return };
        match address.ip() {
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        let _ = self.socket.send_to(&[], address);
    }

    fn client(&self, datagram: &[u8]) -> Result<u64, DatagramError> {
        let header = DatagramHeader::read(datagram).ok_or(DatagramError::TooShort)?;
        let clients = self.clients.lock();
        clients.get(&header.connection).copied().ok_or(DatagramError::UnknownConnection)
    }
}

/// Starts the thread of the socket.
///
/// # Errors
/// The thread cannot be started.
pub fn start(host: &Arc<ServerState>, lanes: &Arc<LaneSocket>) -> io::Result<JoinHandle<()>> {
    let (host, lanes) = (Arc::clone(host), Arc::clone(lanes));
    thread::Builder::new().name("lanes".to_owned()).spawn(move || receive_all(&host, &lanes))
}

fn receive_all(host: &ServerState, lanes: &LaneSocket) {
    // One byte more than allowed, so that a longer datagram is seen to be too long.
    let mut buffer = [0; limits::DATAGRAM_BYTES + 1];
    while !host.is_stopping() {
        let (bytes, from) = match lanes.socket.recv_from(&mut buffer) {
            Ok(received) => received,
            // Linux reports that an earlier datagram to a closed port was refused.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
            Err(error) => {
                warn!("the UDP socket fails: {error}");
                thread::sleep(limits::LANE_ERROR_PAUSE);
                continue;
            }
        };
        host.metrics.datagrams_in.inc();
        let from = SocketAddr::new(from.ip().to_canonical(), from.port());
        if let Err(rule) = receive(host, lanes, &buffer[..bytes], from) {
            Metrics::count(&host.metrics.dropped_datagrams, "rule", rule.name());
            debug!(%from, bytes, rule = rule.name(), "datagram dropped: {rule}");
        }
    }
}

fn receive(
    host: &ServerState,
    lanes: &LaneSocket,
    datagram: &[u8],
    from: SocketAddr,
) -> Result<(), DatagramError> {
    let number = lanes.client(datagram)?;
    let client = host.clients.get(number).ok_or(DatagramError::UnknownConnection)?;
    client_thread::receive_datagram(host, &client, datagram, from)
}
