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
//! smaller limits.
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
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::accept::{self, AcceptErrors};
use super::blocking_io::{drain, read, write_all};
use super::registry::Registry;
use crate::connection::Deadlines;
use crate::connection::deadlines::DueAction;
use crate::limits;
use crate::packet::credentials;
use crate::server::admission::refusal::Refusal;
use crate::server::admission::{Admission, Admitted, Capacity, Permit, SlotKind};
use crate::util::address_prefix::AddressPrefix;
use crate::util::os;
use crate::ws::http::HeadReader;
use crate::ws::{CloseCode, Connection, Event, Limits, Role, handshake};

/// A running echo server. Its threads continue if it is dropped without [`EchoServer::stop`].
#[derive(Debug)]
pub struct EchoServer {
    shared: Arc<EchoState>,
    listener: Arc<TcpListener>,
    address: SocketAddr,
    accepting: JoinHandle<()>,
}

/// The state shared by all threads.
#[derive(Debug)]
struct EchoState {
    limits: Limits,
    admission: Arc<Admission>,
    is_stopping: AtomicBool,
    /// Sockets of all connections, which a stop shuts down.
    connections: Registry<Arc<TcpStream>>,
}

impl EchoServer {
    /// 1. Starts listening. `message_bytes` is the maximum size of a message.
    ///
    /// # Errors
    /// The machine supports too few connections, the address cannot be bound, or a thread cannot be
    /// started.
    pub fn start(bind: SocketAddr, message_bytes: usize) -> io::Result<EchoServer> {
        let connections = os::ceilings().check()?;
        let listener = Arc::new(TcpListener::bind(bind)?);
        os::widen_backlog(&listener)?;
        let address = listener.local_addr()?;
        let shared = Arc::new(EchoState {
            limits: Limits {
                message_bytes,
                fragments: limits::ECHO_FRAGMENTS,
                ..limits::CLIENT_MESSAGE_LIMITS
            },
            admission: Admission::new(caps(message_bytes, connections)),
            is_stopping: AtomicBool::new(false),
            connections: Registry::default(),
        });
        let for_thread = (Arc::clone(&shared), Arc::clone(&listener));
        let accepting = thread::Builder::new()
            .name("listener".to_owned())
            .spawn(move || accept_all(&for_thread.0, &for_thread.1))?;
        Ok(EchoServer { shared, listener, address, accepting })
    }

    /// Returns the address on which the server listens, with the actual port if port 0 was
    /// requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts no new connections and closes all clients with 1001. Returns the number of
    /// connections left open: 0 unless a thread hangs.
    pub fn stop(self) -> usize {
        self.shared.is_stopping.store(true, Ordering::Release);
        os::wake_acceptor(&self.listener);
        let _ = self.accepting.join();
        // Each thread polls `is_stopping` between reads, and then sends a close frame.
        let connections = &self.shared.connections;
        if connections.wait_until_empty(Instant::now() + limits::SHUTDOWN_CLOSE_TIMEOUT) == 0 {
            return 0;
        }
        connections.all().iter().for_each(abort);
        connections.wait_until_empty(Instant::now() + limits::SHUTDOWN_JOIN_TIMEOUT)
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
    let by_memory = limits::ECHO_MEMORY_BYTES / (limits::ECHO_COPIES * message_bytes.max(1));
    let clients = by_memory.min(limits::ECHO_CLIENTS).min(connections / 2).max(1);
    let pending = limits::MAX_PENDING_REQUESTS.min(connections / 4).max(1);
    Capacity { clients, clients_per_address: clients.div_ceil(2), pending, ..Capacity::default() }
}

/// 2. Gives each connection a slot and a thread, or refuses it with a status.
fn accept_all(shared: &Arc<EchoState>, listener: &TcpListener) {
    let mut errors = AcceptErrors::default();
    while let Some((stream, address)) =
        accept::next(|| listener.accept(), || shared.is_stopping(), &mut errors, thread::sleep)
    {
        match shared.admission.admit(Some(AddressPrefix::from_ip(address.ip()))) {
            Ok(Admitted { permit, displaced }) => {
                displaced.and_then(|displaced| shared.connections.get(displaced)).iter().for_each(abort);
                shared.spawn_connection(stream, address, permit);
            }
            Err(cap) => {
                info!(%address, cap = cap.name(), "connection refused");
                let _ = os::try_send(&stream, [&Refusal::from(cap).response[..]].into_iter());
            }
        }
    }
}

/// A connection's thread: steps 3 to 8.
fn serve(shared: &EchoState, stream: &TcpStream, address: SocketAddr, mut permit: Permit) {
    let granted = read_request(shared, stream, Instant::now() + limits::HEAD_TIMEOUT).and_then(|granted| {
        if granted.is_some() {
            permit.convert_to(SlotKind::Client)?;
        }
        Ok(granted)
    });
    let written = match granted {
        Ok(None) => return,
        Ok(Some((response, rest))) => {
            info!(%address, "client connected");
            let how = write_all(stream, &response, limits::HEAD_TIMEOUT)
                .and_then(|()| echo_loop(shared, stream, &rest));
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
    // to close. Closing a socket with unread bytes resets the connection, and a reset can discard
    // the last bytes. The rest of an oversized message is therefore still read, up to a limit.
    if written {
        let deadline = Instant::now() + limits::CLOSE_TIMEOUT;
        let _ = stream.shutdown(Shutdown::Write);
        drain(stream, limits::CLOSE_TIMEOUT, shared.limits.message_bytes + limits::MAX_DRAIN_BYTES, |_| {});
        os::wait_until_closed(stream, deadline.saturating_duration_since(Instant::now()));
    }
}

/// An accepted upgrade: the 101 response, and the bytes after the request, which are frames.
type Upgraded = (Vec<u8>, Vec<u8>);

/// 3. Reads the request up to its empty line. 4. Checks it and returns the response, which is not
///    sent yet. Returns `Ok(None)` if the peer has left or this server is stopping.
fn read_request(
    shared: &EchoState,
    stream: &TcpStream,
    deadline: Instant,
) -> Result<Option<Upgraded>, Refusal> {
    let (mut reader, mut buffer) = (HeadReader::new(limits::HEAD_LIMITS), [0; limits::READ_BYTES]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match read(stream, &mut buffer, left.min(limits::ECHO_POLL_INTERVAL)) {
            Ok(Some(0)) | Err(_) => return Ok(None),
            Ok(None) if left.is_zero() && !reader.has_begun() => return Ok(None),
            Ok(None) if left.is_zero() => return Err(Refusal::from_rule(408, "head_late")),
            Ok(None) if shared.is_stopping() => return Ok(None),
            Ok(None) => {}
            Ok(Some(count)) => {
                if let Some(head) = reader.receive(&buffer[..count])? {
                    let accepted = handshake::accept(&head, &[])?;
                    if !accepted.declined.is_empty() {
                        info!(
                            offered = credentials::shown_list(&accepted.declined),
                            "{}",
                            handshake::DECLINED
                        );
                    }
                    return Ok(Some((accepted.response, reader.rest().to_vec())));
                }
            }
        }
    }
}

/// 5 read, 6 echo, 7 write, until one end closes. Returns how the connection ended.
fn echo_loop(shared: &EchoState, stream: &TcpStream, rest: &[u8]) -> io::Result<String> {
    let mut conn = Connection::new(Role::Server, shared.limits);
    let mut output = Vec::new();
    let began = Instant::now();
    let life = Deadlines::new(false, Duration::ZERO);
    // Frames that the client sent without waiting for the response.
    conn.receive(rest);
    loop {
        let (ending, events) = echo(&mut conn, &mut output);
        if events > 0 {
            // Only a complete message or control frame resets the idle timeout. Otherwise a peer
            // could hold its slot forever by sending single bytes.
            life.alive(began.elapsed());
        }
        // 7. Writes all replies before a deadline. A client that does not read them is closed.
        write_all(stream, &output, limits::ECHO_WRITE_TIME)?;
        output.clear();
        if let Some(how) = ending {
            return Ok(how);
        }
        if shared.is_stopping() {
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
        life.pauses.note(began.elapsed());
        match life.poll(began.elapsed(), patience) {
            DueAction::Ping => conn.send_ping(b""),
            DueAction::Close(breach) => conn.close(CloseCode::INTERNAL_ERROR, breach.name()),
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

impl EchoState {
    fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    fn spawn_connection(self: &Arc<EchoState>, stream: TcpStream, address: SocketAddr, permit: Permit) {
        if stream.set_nodelay(true).is_err() {
            return; // The peer has already disconnected.
        }
        let number = permit.number();
        let (shared, stream) = (Arc::clone(self), Arc::new(stream));
        self.connections.add(number, Arc::clone(&stream));
        let leaving = ConnectionGuard { shared, number };
        let spawned = thread::Builder::new()
            .name("client".to_owned())
            .stack_size(limits::CLIENT_STACK_BYTES)
            .spawn(move || serve(&leaving.shared, &stream, address, permit));
        if let Err(error) = spawned {
            warn!("cannot start a thread for a connection: {error}");
        }
    }
}

/// Ends a connection immediately, whatever its thread is doing.
fn abort(stream: &Arc<TcpStream>) {
    let _ = stream.shutdown(Shutdown::Both);
}

/// Unregisters a connection when its thread ends or panics.
struct ConnectionGuard {
    shared: Arc<EchoState>,
    number: u64,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.shared.connections.remove(self.number);
    }
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
