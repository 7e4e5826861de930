//! The thread of a client after the handshake: reads bytes and passes them to its connection. The
//! thread of the [bots](super::bots) uses the same [`ClientEvents`].
//!
//! ```text
//!  connection thread:  requests ─► 101 ─► setup ─┬─ the client plays, or CLIENT_SETUP_TIME is over
//!  client thread:                                └─► read ─► receive ─► read … ─► end
//! ```
//!
//! The connection's thread also handles the first packets of a client. Then the client gets a
//! thread of its own, because pages of a stack that were used once stay in memory, and so do freed
//! bytes in the allocator's cache of a thread. The stack of a client's thread fits two pages.
//!
//! Until the connection closes, a client's thread blocks only in `read`. The client's update worker
//! handles a silent, slow or closing client and shuts down its socket.

use std::cell::Cell;
use std::io::ErrorKind;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;

use tracing::{debug, error, info};

use super::accept::Registration;
use super::blocking_io::{self, drain};
use super::metrics::Metrics;
use super::rooms::RoomPermit;
use super::server_events::{ClientProfile, ServerEventKind};
use super::server_state::ServerState;
use super::tcp_client::{TcpClient, TcpTransport};
use crate::connection::{Answer, ClientRequest, ConnectionEvent, ConnectionOutput, DisconnectReason};
use crate::datagram::DatagramError;
use crate::game::CloseReason;
use crate::limits;
use crate::server::admission::Permit;
use crate::server::clients::client::Transport;
use crate::server::clients::client_driver::{ClientDriver, DriverEvent};
use crate::util::os::{self, threads};
use crate::util::sync::Mutex;

/// Records a client's events in metrics, log and tap.
#[derive(Clone, Copy)]
pub struct ClientEvents<'a> {
    /// The server.
    pub host: &'a ServerState,
    /// The client.
    pub client: &'a TcpClient,
}

/// The slots of a client and the registration of its connection, released after the client.
pub struct HeldByClient {
    /// The slots in the server and in the room.
    pub permits: (Permit, RoomPermit),
    /// The registration of the connection.
    pub registration: Registration<ServerState>,
}

/// The work of a client's thread. Releases the seat, the registry entry and the metrics on drop:
/// when the thread ends or panics.
pub struct ClientThread {
    host: Arc<ServerState>,
    stream: Arc<TcpStream>,
    client: Arc<TcpClient>,
    /// The rule that ended the connection, for tap subscriptions.
    rule: &'static str,
    _held: HeldByClient,
}

impl Drop for ClientThread {
    fn drop(&mut self) {
        if thread::panicking() {
            self.host.metrics.panics.inc();
            let address = self.client.address;
            error!(%address, "a panic ended this connection; this is a bug in the server");
        }
        self.events().release(self.rule);
    }
}

impl ClientThread {
    /// Registers the client and starts its session.
    pub fn register(
        host: Arc<ServerState>,
        stream: Arc<TcpStream>,
        client: Arc<TcpClient>,
        held: HeldByClient,
    ) -> Box<ClientThread> {
        let rule = CloseReason::InternalError.name();
        let thread = Box::new(ClientThread { host, stream, client, rule, _held: held });
        thread.events().register(&thread.client);
        thread
    }

    fn events(&self) -> ClientEvents<'_> {
        ClientEvents { host: &self.host, client: &self.client }
    }

    /// Handles the client's first bytes, which begin with those after the request head, then starts
    /// the client's own thread.
    pub fn run_setup(mut self: Box<ClientThread>, early_bytes: Vec<u8>) {
        let deadline = self.host.now() + limits::CLIENT_SETUP_TIME;
        let mut buffer = [0; limits::READ_BYTES];
        let mut received = self.receive_setup(&early_bytes);
        drop(early_bytes);
        while received.is_ok() && self.client.player().is_none() {
            let left = deadline.saturating_sub(self.host.now());
            received = match blocking_io::read(&self.stream, &mut buffer, left) {
                Ok(None) => break,
                Ok(Some(0)) | Err(_) => Err(DisconnectReason::PeerLost),
                Ok(Some(count)) => self.receive_setup(&buffer[..count]),
            };
        }
        match received {
            Ok(()) => self.start(),
            Err(reason) => self.end(reason),
        }
    }

    fn receive_setup(&self, bytes: &[u8]) -> Result<(), DisconnectReason> {
        self.host.metrics.bytes_in.inc_by(bytes.len() as u64);
        self.events().driver().receive(bytes)
    }

    /// Starts the client's own thread. If the machine has no more threads, the client keeps this
    /// one.
    fn start(self: Box<ClientThread>) {
        let waiting = Arc::new(Mutex::new(Some(self)));
        let for_thread = Arc::clone(&waiting);
        let run = move || run_waiting(for_thread);
        if let Err(error) = threads::spawn_with_stack("client", limits::CLIENT_STACK_BYTES, run) {
            debug!("a client keeps the thread of its connection: {error}");
            run_waiting(waiting);
        }
    }

    /// Runs the client's session until its connection ends.
    fn run(&mut self) {
        // The first bytes were read with a timeout. From here on the update worker enforces the
        // deadlines.
        let is_ready = self.stream.set_read_timeout(None).is_ok();
        let reason = if is_ready { self.read_loop() } else { DisconnectReason::PeerLost };
        self.end(reason);
    }

    /// Reads until either side ends the connection. Returns the reason.
    #[inline(never)] // Its frame alone is on the stack while the client plays.
    fn read_loop(&self) -> DisconnectReason {
        // On the heap, because the stack would need another page.
        let (mut buffer, has_joined) = (vec![0; limits::CLIENT_READ_BYTES], Cell::new(false));
        loop {
            let received = match os::read(&self.stream, &mut buffer) {
                Ok(0) => Err(DisconnectReason::PeerLost),
                Ok(count) => self.receive(&buffer[..count], &has_joined),
                Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
                Err(_) => Err(DisconnectReason::PeerLost),
            };
            if let Err(reason) = received {
                return reason;
            }
        }
    }

    /// Passes bytes to the client's connection. The first join runs on another stack. Few clients
    /// need a second one, because its rate limit is used up, and a flood of joins needs no threads.
    fn receive(&self, bytes: &[u8], has_joined: &Cell<bool>) -> Result<(), DisconnectReason> {
        self.host.metrics.bytes_in.inc_by(bytes.len() as u64);
        let driver = self.events().driver();
        driver.receive_with(bytes, |output| match &output {
            ConnectionOutput::Request(ClientRequest::Join { .. }) if !has_joined.replace(true) => {
                join_elsewhere(&driver, output)
            }
            _ => driver.execute(output),
        })
    }

    /// Closes the connection for this reason, or for an earlier one of the server.
    #[inline(never)] // Keeps the end off the stack while the client plays.
    fn end(&mut self, reason: DisconnectReason) {
        let ClientThread { host, stream, client, rule, .. } = self;
        client.close(reason.clone(), host.now());
        let reason = client.sender.disconnect_reason().unwrap_or(reason);
        *rule = reason.name();
        log_disconnect(host, client, &reason);
        // The player leaves the world before the queue is flushed.
        client.leave_world(host.now());
        flush_and_drain(ClientEvents { host, client }, stream);
    }
}

/// Executes a join on another stack, because it writes to the log.
#[inline(never)]
fn join_elsewhere<E: Fn(DriverEvent<'_>) + Sync>(
    driver: &ClientDriver<'_, TcpTransport, E>,
    join: ConnectionOutput<'_>,
) -> Option<Answer> {
    let mut join = Some(join);
    let join = || driver.execute(join.take()?);
    threads::call_with_stack(limits::CONNECTION_STACK_BYTES, join)
}

fn run_waiting(waiting: Arc<Mutex<Option<Box<ClientThread>>>>) {
    let thread = waiting.lock().take();
    drop(waiting);
    thread.into_iter().for_each(|mut thread| thread.run());
}

impl<'a> ClientEvents<'a> {
    /// Registers the client and starts its session.
    pub fn register(self, client: &Arc<TcpClient>) {
        let host = self.host;
        host.clients.add(client.id, Arc::clone(client));
        client.transport.client_count().inc();
        if host.is_stopping() {
            client.close(DisconnectReason::Closed(CloseReason::GoingAway), host.now());
        }
        // If the room ended before the client was registered, that end did not close this client.
        if client.room.is_over() {
            let is_ending = client.transport.room.is_ending();
            let close_reason = if is_ending { CloseReason::GoingAway } else { CloseReason::InternalError };
            client.close(DisconnectReason::Closed(close_reason), host.now());
        }
        // A ban closes only the connections of registered clients. This check is for a client that
        // was admitted before the ban and registered after it.
        if host.admission.is_banned(client.prefix()) {
            client.close(DisconnectReason::Closed(CloseReason::Banned), host.now());
        }
        if let Err(reason) = self.driver().begin() {
            client.close(reason, host.now());
        }
        // From here on the client receives updates.
        host.worker_queues[host.worker_of(client.id)].push_client(Arc::clone(client));
    }

    /// Removes the client from the world, the registry and the metrics. `rule` is the rule that
    /// ended its connection.
    pub fn release(self, rule: &'static str) {
        let ClientEvents { host, client } = self;
        client.leave_world(host.now());
        if client.pass().is_some() {
            let profile = ClientProfile { connection: client.id, account: client.account() };
            host.events.push(&client.transport.room, ServerEventKind::Closed(profile), &host.metrics);
        }
        host.ended.client_ends(client, rule);
        host.tap.record_close(client.event_source(host.now(), client.room.tick()), rule);
        client.mark_reader_ended();
        client.transport.lanes.iter().for_each(|lanes| lanes.remove(client.id));
        host.clients.remove(client.id);
        client.transport.client_count().dec();
        client.transport.abort();
        host.bots.wake();
    }

    /// Returns a driver that handles bytes read now.
    pub fn driver(self) -> ClientDriver<'a, TcpTransport, impl Fn(DriverEvent<'_>)> {
        let ClientEvents { host, client } = self;
        ClientDriver {
            client,
            address_limits: host.address_limits(),
            // A bot of the server needs no token.
            authenticator: if client.transport.is_bot() {
                &host.bots.authenticator
            } else {
                &host.authenticator
            },
            read_time: client.read_time(host.now()),
            is_observed: host.tap.has_subscriber(client.id),
            on_event: move |event: DriverEvent<'_>| self.record(event),
        }
    }

    fn record(self, event: DriverEvent<'_>) {
        let ClientEvents { host, client: TcpClient { id: client, .. } } = self;
        match event {
            DriverEvent::Connection(event) => self.record_connection_event(event),
            DriverEvent::Observed { at, bytes, saved } => {
                let source = self.client.event_source(at.now, at.tick);
                host.tap.record_received(source, bytes, &|| saved.to_vec());
            }
            DriverEvent::Datagram { at, address, bytes, saved } => {
                // Every datagram of a socket has an address.
                let Some(address) = address else { return };
                let source = self.client.event_source(at.now, at.tick);
                host.tap.record_received_datagram(source, (address, bytes, at.slack), saved);
            }
            DriverEvent::DatagramDropped { at, address, rule, bytes } => {
                let Some(address) = address else { return };
                let source = self.client.event_source(at.now, at.tick);
                host.tap.record_dropped_datagram(source, address, (rule, bytes));
            }
            DriverEvent::CommandRejected(reason) => {
                Metrics::count(&host.metrics.rejected_commands, "reason", reason);
            }
            DriverEvent::Authenticated(account) => {
                if let Some(token_name) = account.as_deref() {
                    info!(client, token_name, "client has a token");
                }
                let profile = ClientProfile { connection: *client, account };
                host.events.push(
                    &self.client.transport.room,
                    ServerEventKind::Connected(profile),
                    &host.metrics,
                );
            }
            DriverEvent::UpdatesStarted => self.client.transport.room.wake(),
            DriverEvent::Joined { player, name, tick } if self.client.transport.is_bot() => {
                debug!(client, player = player.0, tick, name, "bot enters");
            }
            DriverEvent::Joined { player, name, tick } => {
                info!(client, player = player.0, tick, ?name, "player enters");
                self.client.transport.room.wake();
                host.bots.wake();
            }
        }
    }

    fn record_connection_event(self, event: ConnectionEvent) {
        let ClientEvents { host, client: TcpClient { id: client, .. } } = self;
        match event {
            ConnectionEvent::PacketReceived => {
                host.metrics.messages_in.inc();
            }
            ConnectionEvent::PacketDropped(rule) => {
                Metrics::count(&host.metrics.dropped_packets, "rule", rule);
                debug!(client, rule, "packet dropped");
            }
            ConnectionEvent::PacketMisfit { error, is_first } => {
                let rule = error.name();
                Metrics::count(&host.metrics.dropped_packets, "rule", rule);
                if is_first {
                    info!(client, rule, "packet dropped, the first of this client: {error}");
                } else {
                    debug!(client, rule, "packet dropped: {error}");
                }
            }
            ConnectionEvent::RateWarning(rule) => debug!(client, rule, "half of a rate limit is used up"),
            ConnectionEvent::MessagesHandled(_) => {}
        }
    }
}

/// Passes bytes from an inspector to the client's connection, as if the client had sent them.
///
/// # Errors
/// The reason why the bytes were not passed on.
pub fn inject(host: &ServerState, client: &TcpClient, bytes: &[u8]) -> Result<(), &'static str> {
    ClientEvents { host, client }.driver().inject(bytes)
}

/// Passes a datagram to the lane of the client that it names.
///
/// # Errors
/// The rule that the datagram breaks.
pub fn receive_datagram(
    host: &ServerState,
    client: &TcpClient,
    datagram: &[u8],
    from: SocketAddr,
) -> Result<(), DatagramError> {
    let driver = ClientEvents { host, client }.driver();
    match catch_unwind(AssertUnwindSafe(|| driver.receive_datagram(datagram, Some(from)))) {
        Ok(received) => received,
        Err(_) => {
            host.metrics.panics.inc();
            client.close(DisconnectReason::Closed(CloseReason::InternalError), host.now());
            Ok(())
        }
    }
}

fn log_disconnect(host: &ServerState, client: &TcpClient, reason: &DisconnectReason) {
    let (rule, tick) = (reason.name(), client.room.tick());
    let player = client.player().map_or(0, |player| player.0);
    if let Some(code) = reason.close_code() {
        Metrics::count(&host.metrics.closed, "rule", rule);
        info!(client = client.id, player, tick, rule, code = code.get(), "disconnected client: {reason}");
    } else {
        info!(client = client.id, player, tick, "client left: {reason}");
    }
}

/// Flushes the queue, shuts down the sending side, and drains the peer's remaining bytes, all
/// within [`limits::CLOSE_TIMEOUT`].
fn flush_and_drain(events: ClientEvents<'_>, stream: &TcpStream) {
    let ClientEvents { host, client } = events;
    events.driver().ignore(&[]);
    let deadline = host.now() + limits::CLOSE_TIMEOUT;
    while client.sender.backlog() > 0 && host.now() < deadline {
        client.flush(host.now());
        thread::sleep(limits::FLUSH_POLL_INTERVAL);
    }
    let _ = stream.shutdown(Shutdown::Write);
    let left = deadline.saturating_sub(host.now());
    drain(stream, left, limits::MAX_DRAIN_BYTES, |bytes| {
        host.metrics.bytes_in.inc_by(bytes.len() as u64);
        events.driver().ignore(bytes);
    });
}
