//! A client's own thread after the handshake: reads bytes and passes them to the receiver.
//!
//! The thread blocks in `read` and nowhere else. A client that is silent, slow or closing is
//! handled by its fan-out worker, which shuts down the socket.

use std::cell::Cell;
use std::io::ErrorKind;
use std::net::Shutdown;
use std::sync::Arc;

use tickwire_sim::PlayerId;
use tracing::{debug, info};

use super::blocking_io::drain;
use super::metrics::Metrics;
use super::server_state::ServerState;
use super::tcp_client::{TcpClient, TcpTransport};
use crate::connection::DisconnectReason;
use crate::connection::receiver::{ConnectionEvents, ObservedBytes, ReadTime};
use crate::game::CloseReason;
use crate::limits;
use crate::packet::PacketError;
use crate::server::clients::client::Transport;
use crate::server::clients::client_driver::{self, ClientDriver};
use crate::util::os;

/// A client's conversation, as metrics, log and tap note it.
#[derive(Clone, Copy)]
struct ClientEvents<'a> {
    host: &'a ServerState,
    client: &'a TcpClient,
}

/// Gives everything back when the thread ends, also by a panic.
struct ClientCleanup<'a> {
    noted: ClientEvents<'a>,
    /// The rule that ended the connection, for listeners of the tap.
    rule: Cell<&'static str>,
}

impl Drop for ClientCleanup<'_> {
    fn drop(&mut self) {
        let ClientEvents { host, client } = self.noted;
        client.leave_world(host.now());
        host.ended.client_ends(client, self.rule.get());
        host.tap.ended(client.who(host.now(), client.room.tick()), self.rule.get());
        client.set_gone();
        host.clients.remove(client.id);
        client.line.room.figures.clients.dec();
        client.line.cut();
    }
}

impl ClientEvents<'_> {
    /// What the client's bytes may ask, when they are read now.
    fn asked(&self) -> ClientDriver<'_, TcpTransport> {
        let ClientEvents { host, client } = self;
        ClientDriver {
            client,
            budgets: host.budgets(),
            guard: &host.guard,
            books: self,
            at: client.at(host.now()),
        }
    }
}

/// The whole conversation, starting with the bytes after the request head.
pub fn run(host: &ServerState, client: &Arc<TcpClient>, rest: &[u8]) {
    host.clients.add(client.id, Arc::clone(client));
    client.line.room.figures.clients.inc();
    let noted = ClientEvents { host, client };
    let lived = ClientCleanup { noted, rule: Cell::new(CloseReason::InternalError.name()) };
    if host.is_stopping() {
        client.close(DisconnectReason::Breach(CloseReason::GoingAway), host.now());
    }
    // Closes what the end of the room has not found listed.
    if client.room.is_over() {
        let is_ending = client.line.room.is_ending();
        let breach = if is_ending { CloseReason::GoingAway } else { CloseReason::InternalError };
        client.close(DisconnectReason::Breach(breach), host.now());
    }
    // A ban closes the clients that are listed: a client that was admitted just before the ban and
    // is listed just after it is closed here.
    if host.admission.is_banned(client.household()) {
        client.close(DisconnectReason::Breach(CloseReason::Banned), host.now());
    }
    let begun = client.receiver.lock().begin(client.id, &mut noted.asked());
    if let Err(ending) = begun {
        client.close(ending, host.now());
    }
    // From now on the client receives updates.
    host.bells[client.id as usize % host.bells.len()].welcome(Arc::clone(client));
    let ending = talk(noted, rest);
    client.close(ending.clone(), host.now());
    let ending = client.sender.ending().unwrap_or(ending);
    lived.rule.set(ending.name());
    log_ending(host, client, &ending);
    // It does not stand about while the last words go.
    client.leave_world(host.now());
    last_words(noted);
}

/// Passes bytes of a watcher on as those of its own client.
///
/// # Errors
/// Why they were not passed on.
pub fn inject(host: &ServerState, client: &TcpClient, bytes: &[u8]) -> Result<(), &'static str> {
    let noted = ClientEvents { host, client };
    let mut asked = noted.asked();
    client_driver::inject(client, bytes, asked.at, &mut asked)
}

fn log_ending(host: &ServerState, client: &TcpClient, ending: &DisconnectReason) {
    let (rule, tick) = (ending.name(), client.room.tick());
    let player = client.player().map_or(0, |player| player.0);
    if let Some(code) = ending.close_code() {
        Metrics::count(&host.metrics.closed, "rule", rule);
        info!(client = client.id, player, tick, rule, code = code.get(), "disconnected client: {ending}");
    } else {
        info!(client = client.id, player, tick, "client left: {ending}");
    }
}

/// Reads until one side ends it; returns why.
fn talk(noted: ClientEvents<'_>, rest: &[u8]) -> DisconnectReason {
    let ClientEvents { host, client } = noted;
    let (stream, mut buffer) = (&*client.line.stream, [0; limits::READ_BYTES]);
    let hear = |bytes: &[u8]| {
        host.metrics.bytes_in.inc_by(bytes.len() as u64);
        let mut asked = noted.asked();
        client_driver::receive(client, bytes, asked.at, &mut asked)
    };
    // The head was read by a deadline. From here on the worker looks after the client.
    let mut heard = stream.set_read_timeout(None).map_err(|_| DisconnectReason::PeerLost);
    heard = heard.and_then(|()| hear(rest));
    while heard.is_ok() {
        heard = match os::read(stream, &mut buffer) {
            Ok(0) => Err(DisconnectReason::PeerLost),
            Ok(count) => hear(&buffer[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(()),
            Err(_) => Err(DisconnectReason::PeerLost),
        };
    }
    heard.err().unwrap_or(DisconnectReason::PeerLost)
}

/// Lets what is queued go out, says that no more will come, and waits for the peer's end, all within
/// a bound.
fn last_words(noted: ClientEvents<'_>) {
    let ClientEvents { host, client } = noted;
    let ignore = |bytes: &[u8]| client.receiver.lock().ignore(bytes, client.at(host.now()), &noted);
    ignore(&[]);
    let deadline = host.now() + limits::CLOSE_TIMEOUT;
    while client.sender.backlog() > 0 && host.now() < deadline {
        client.send_waiting(host.now());
        std::thread::sleep(limits::FLUSH_POLL_INTERVAL);
    }
    let stream = &client.line.stream;
    let _ = stream.shutdown(Shutdown::Write);
    let left = deadline.saturating_sub(host.now());
    drain(stream, left, limits::MAX_DRAIN_BYTES, |bytes| {
        host.metrics.bytes_in.inc_by(bytes.len() as u64);
        ignore(bytes);
    });
}

impl ConnectionEvents for ClientEvents<'_> {
    fn packet(&self) {
        self.host.metrics.messages_in.inc();
    }

    fn dropped(&self, rule: &'static str) {
        Metrics::count(&self.host.metrics.dropped_packets, "rule", rule);
        debug!(client = self.client.id, rule, "packet dropped");
    }

    fn unusable(&self, rule: &'static str, error: &PacketError, is_first: bool) {
        Metrics::count(&self.host.metrics.dropped_packets, "rule", rule);
        let client = self.client.id;
        if is_first {
            info!(client, rule, "packet dropped, the first of this client: {error}");
        } else {
            debug!(client, rule, "packet dropped: {error}");
        }
    }

    fn warned(&self, rule: &'static str) {
        debug!(client = self.client.id, rule, "half of a rate limit is used up");
    }

    fn rejected(&self, reason: &'static str) {
        Metrics::count(&self.host.metrics.rejected_commands, "reason", reason);
    }

    fn admitted(&self, token_name: &str) {
        info!(client = self.client.id, token_name, "client has a token");
    }

    fn enters(&self, player: PlayerId, name: &str, tick: u32) {
        info!(client = self.client.id, player = player.0, tick, ?name, "player enters");
    }

    fn observes(&self) -> bool {
        self.host.tap.wants(self.client.id)
    }

    fn observed(
        &self,
        ReadTime { now, tick, .. }: ReadTime,
        piece: ObservedBytes<'_>,
        saved: &dyn Fn() -> Vec<u8>,
    ) {
        self.host.tap.record_received(self.client.who(now, tick), piece, saved);
    }
}
