//! The smallest server on [`ws`](crate::ws): echoes the messages of each client. Read the code in
//! the order of the numbers.
//!
//! ```text
//!  1 listen ─► 2 accept, slot, thread ─► 3 request ─► 4 response: 101 ─► 5 early frames ────┐
//!                                                        └─ or refusal ─► 8           ┌─────┘
//!                                        ┌────────────────────────────────────────────▼─┐
//!                                        │ 6 events, each echoed ─► 7 write ─► 5 read ─►│
//!                                        └──────────────┬───────────────────────────────┘
//!                                                       └─ end ─► 8 shut down, wait for the peer
//! ```
//!
//! A client receives its own messages, pongs, and a close frame at the end. One thread serves one
//! client and blocks in reads and writes. The game server uses the same code of `ws/` with much
//! smaller limits. If the client offers compression, the echo is compressed, too.
//!
//! The server closes a client's connection if
//!
//! - the request head takes longer than [`limits::HEAD_TIMEOUT`],
//! - a write takes longer than [`limits::ECHO_WRITE_TIME`], or
//! - the client completes no message or control frame for [`limits::IDLE_TIMEOUT`]; during an
//!   unfinished message, the time grows with the maximum message size.
//!
//! It admits only as many clients as fit into [`limits::ECHO_MEMORY_BYTES`] with their longest
//! messages.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::info;

use super::accept::{self, AcceptLoop, ConnectionHandler, Connections, Registration};
use super::blocking_io::{read, write_all};
use super::request::{finish, read_head, refuse_at_accept};
use crate::connection::Deadlines;
use crate::connection::deadlines::DueAction;
use crate::connection::pauses::Pauses;
use crate::limits;
use crate::packet::credentials;
use crate::server::admission::refusal::Refusal;
use crate::server::admission::{Admission, Admitted, Capacity, Permit, SlotKind};
use crate::util::address_prefix::AddressPrefix;
use crate::util::os;
use crate::ws::extension::{DeflateOptions, DeflateParameters};
use crate::ws::handshake::AcceptedUpgrade;
use crate::ws::http::HeadReader;
use crate::ws::{CloseCode, Connection, Event, Limits, Role, handshake};

/// A running echo server. Its threads continue if it is dropped without [`EchoServer::stop`].
#[derive(Debug)]
pub struct EchoServer {
    accept_loop: AcceptLoop<EchoState>,
    address: SocketAddr,
}

/// The state shared by all threads.
#[derive(Debug)]
struct EchoState {
    limits: Limits,
    /// `None` accepts no offer of compression.
    deflate: Option<DeflateOptions>,
    admission: Arc<Admission>,
    connections: Connections,
}

impl EchoServer {
    /// 1. Starts listening. `message_bytes` is the maximum size of a message. With `compression`,
    ///    the server accepts offers of permessage-deflate.
    ///
    /// # Errors
    /// The machine supports too few connections, the address cannot be bound, or a thread cannot be
    /// started.
    pub fn start(bind: SocketAddr, message_bytes: usize, compression: bool) -> io::Result<EchoServer> {
        let connections = os::ceilings().check()?;
        let listener = accept::bind(bind)?;
        let address = listener.local_addr()?;
        let limits =
            Limits { message_bytes, fragments: limits::ECHO_FRAGMENTS, ..limits::CLIENT_MESSAGE_LIMITS };
        let admission = Admission::new(caps(message_bytes, connections));
        let deflate = compression.then(DeflateOptions::default);
        let state = EchoState { limits, deflate, admission, connections: Connections::default() };
        Ok(EchoServer { accept_loop: AcceptLoop::start(listener, Arc::new(state))?, address })
    }

    /// Returns the address on which the server listens, with the actual port if port 0 was
    /// requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no new connections and closes all clients with 1001. Returns the number of
    /// connections left open: 0 unless a thread hangs.
    pub fn stop(self) -> usize {
        // Each thread polls the stop flag between reads, and then sends a close frame.
        self.accept_loop.stop(limits::SHUTDOWN_CLOSE_TIMEOUT)
    }
}

impl EchoState {
    /// Idle timeout while a message is unfinished.
    fn message_time(&self) -> Duration {
        let bytes = self.limits.message_bytes as u64;
        limits::IDLE_TIMEOUT + Duration::from_secs(bytes / limits::MIN_ECHO_BYTES_PER_SECOND)
    }
}

/// Returns the caps. Clients are limited by memory, because each may hold several copies of its
/// longest message.
fn caps(message_bytes: usize, connections: usize) -> Capacity {
    let client_bytes = limits::ECHO_COPIES * message_bytes + limits::ECHO_COMPRESSION_BYTES;
    let by_memory = limits::ECHO_MEMORY_BYTES / client_bytes;
    let clients = by_memory.min(limits::ECHO_CLIENTS).min(connections / 2).max(1);
    let pending = limits::MAX_PENDING_REQUESTS.min(connections / 4).max(1);
    Capacity { clients, clients_per_address: clients.div_ceil(2), pending, ..Capacity::default() }
}

impl ConnectionHandler for EchoState {
    const THREAD_NAME: &'static str = "client";
    const STACK_BYTES: usize = limits::COMPRESSOR_STACK_BYTES;
    const CONFIGURE: fn(&TcpStream) -> io::Result<()> = |stream| stream.set_nodelay(true);
    type Permit = Permit;

    fn connections(&self) -> &Connections {
        &self.connections
    }

    /// 2. Gives each connection a slot and a thread, or refuses it with a status.
    fn admit(&self, stream: &TcpStream, address: SocketAddr) -> Option<(u64, Permit)> {
        match self.admission.admit(Some(AddressPrefix::from_ip(address.ip()))) {
            Ok(Admitted { permit, displaced }) => {
                displaced.into_iter().for_each(|displaced| self.connections.abort(displaced));
                Some((permit.number(), permit))
            }
            Err(cap) => {
                info!(%address, limit = cap.name(), "connection refused");
                refuse_at_accept(stream, &cap.into());
                None
            }
        }
    }

    fn serve(
        self: &Arc<EchoState>,
        stream: Arc<TcpStream>,
        address: SocketAddr,
        permit: Permit,
        _registration: Registration<EchoState>,
    ) {
        serve(self, &stream, address, permit);
    }
}

/// A connection's thread: steps 3 to 8.
fn serve(shared: &EchoState, stream: &TcpStream, address: SocketAddr, mut permit: Permit) {
    let granted = read_request(shared, stream).and_then(|granted| {
        if granted.is_some() {
            permit.convert_to(SlotKind::Client)?;
        }
        Ok(granted)
    });
    let written = match granted {
        Ok(None) => return,
        Ok(Some(upgraded)) => {
            info!(%address, "client connected");
            let how = write_all(stream, &upgraded.response, limits::HEAD_TIMEOUT)
                .and_then(|()| echo_loop(shared, stream, &upgraded));
            match &how {
                Ok(how) => info!(%address, "client left: {how}"),
                Err(error) => info!(%address, "client lost: {error}"),
            }
            how.is_ok()
        }
        Err(refused) => {
            info!(%address, rule = refused.rule, "request refused");
            write_all(stream, &refused.response, limits::PAGE_WRITE_TIMEOUT).is_ok()
        }
    };
    // 8. The last bytes have been written. Shut down the sending side and wait briefly for the peer
    // to close. The rest of an oversized message is still read, up to a limit.
    if written {
        let deadline = Instant::now() + limits::CLOSE_TIMEOUT;
        finish(stream, shared.limits.message_bytes + limits::MAX_DRAIN_BYTES);
        os::wait_until_closed(stream, deadline.saturating_duration_since(Instant::now()));
    }
}

/// An accepted upgrade.
struct Upgraded {
    /// The 101 response.
    response: Vec<u8>,
    /// The agreement on compression, if any.
    deflate: Option<DeflateParameters>,
    /// Frames that the client sent without waiting for the response.
    early_bytes: Vec<u8>,
}

/// 3. Reads the request up to its empty line. 4. Checks it and returns the response, which is not
///    sent yet. Returns `Ok(None)` if the peer has left or this server is stopping.
fn read_request(shared: &EchoState, stream: &TcpStream) -> Result<Option<Upgraded>, Refusal> {
    let (reader, deadline) = (HeadReader::new(limits::HEAD_LIMITS), Instant::now() + limits::HEAD_TIMEOUT);
    let Some(received) = read_head(stream, reader, Vec::new(), deadline, Some(&shared.connections))? else {
        return Ok(None);
    };
    let accepted = handshake::accept_with(&received.head, &[], shared.deflate)?;
    if !accepted.declined.is_empty() {
        info!(offered = credentials::redact_list(&accepted.declined), "{}", handshake::DECLINED);
    }
    let AcceptedUpgrade { response, deflate, .. } = accepted;
    Ok(Some(Upgraded { response, deflate, early_bytes: received.early_bytes }))
}

/// 5 read, 6 echo, 7 write, until one end closes. Returns how the connection ended.
fn echo_loop(shared: &EchoState, stream: &TcpStream, upgraded: &Upgraded) -> io::Result<String> {
    let mut conn = Connection::new(Role::Server, shared.limits);
    if let Some(parameters) = upgraded.deflate {
        conn.enable_compression(parameters, limits::COMPRESSION_MIN_BYTES);
    }
    let mut output = Vec::new();
    let began = Instant::now();
    let (deadlines, pauses) = (Deadlines::new(false, Duration::ZERO), Pauses::default());
    conn.receive(&upgraded.early_bytes);
    loop {
        let (ending, events) = echo(&mut conn, &mut output);
        if events > 0 {
            // Only a complete message or control frame resets the idle timeout. Otherwise a peer
            // could hold its slot forever by sending single bytes.
            deadlines.alive(began.elapsed());
        }
        // 7. Writes all replies before a deadline. A client that does not read them is closed.
        write_all(stream, &output, limits::ECHO_WRITE_TIME)?;
        output.clear();
        if let Some(how) = ending {
            return Ok(how);
        }
        if shared.connections.is_stopping() {
            conn.close(CloseCode::GOING_AWAY, "going_away");
            continue;
        }
        // 5. Reads the available bytes, which are rarely exactly one frame.
        match read(stream, conn.recv_buffer(limits::ECHO_READ_BYTES), limits::ECHO_POLL_INTERVAL)? {
            Some(0) => conn.receive_eof(),
            Some(count) => conn.commit(count),
            None => {}
        }
        // A long message takes long on a slow connection, and its sender cannot send a pong within
        // a frame.
        let patience = if conn.is_between_messages() { limits::IDLE_TIMEOUT } else { shared.message_time() };
        let now = began.elapsed();
        pauses.note(now);
        match deadlines.poll(now, patience, pauses.recorded_slack(now)) {
            DueAction::Ping => conn.send_ping(b""),
            DueAction::Close(close_reason) => conn.close(CloseCode::INTERNAL_ERROR, close_reason.name()),
            DueAction::Nothing(_) | DueAction::Abort => {}
        }
    }
}

/// 6. Handles all events and appends the replies to `output`. Returns how the connection ended, if
///    it has, and the number of events.
fn echo(conn: &mut Connection, output: &mut Vec<u8>) -> (Option<String>, usize) {
    let (mut ending, mut events) = (None, 0);
    loop {
        match conn.next_event_with_sender() {
            Ok(Some((event, sending))) => {
                events += 1;
                match event {
                    Event::Text(text) => sending.text(text),
                    Event::Binary(payload) => sending.binary(payload),
                    // `conn` itself replies to a ping, and a pong needs no reply.
                    Event::Ping(_) | Event::Pong(_) => {}
                    Event::Close { .. } | Event::Eof { .. } => ending = Some(event.to_string()),
                }
            }
            // The output of `conn` already contains the close frame.
            Err(violation) => ending = Some(format!("{violation} ({})", violation.citation())),
            Ok(None) => break,
        }
    }
    conn.drain_output(output);
    // The server's own close frame at a shutdown also ends the connection.
    (ending.or_else(|| (!conn.is_open()).then(|| "closed by this server".to_owned())), events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ws::frame;

    #[test]
    fn complete_messages_are_a_sign_of_life_and_unfinished_frames_are_not() {
        let mut conn = Connection::new(Role::Server, limits::CLIENT_MESSAGE_LIMITS);
        let (mut bytes, mut output) = (Vec::new(), Vec::new());
        frame::write(&mut bytes, frame::Opcode::Text, Some([9, 8, 7, 6]), b"abc");
        let (last, first) = bytes.split_last().expect("bytes");
        for byte in first {
            conn.receive(&[*byte]);
            assert_eq!(echo(&mut conn, &mut output), (None, 0));
        }
        conn.receive(&[*last]);
        assert_eq!(echo(&mut conn, &mut output), (None, 1));
    }
}
