//! The accept loop that all servers of this crate share.
//!
//! ```text
//!  listener thread:   accept ─► admit ─► register ─► spawn          ─► the next one
//!  connection thread:                                serve ─► unregister
//! ```
//!
//! A server implements [`ConnectionHandler`], which decides which connections are admitted and what
//! their threads do. The loop never reads, never blocks in a write, and starts a thread only for an
//! admitted connection. [`AcceptLoop::stop`] closes the listener and waits for all threads.
//!
//! Errors of `accept` never end a listener; only a shutdown does. After [`limits::ACCEPT_ERRORS`]
//! consecutive errors the loop pauses before each retry, so that a lasting error cannot keep a
//! processor busy. Examples are missing descriptors (EMFILE), a firewall (EPERM), and a network
//! that is down (ENETDOWN).

use std::fmt;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tracing::{debug, info, warn};

use super::registry::Registry;
use crate::limits;
use crate::util::os;
use crate::util::os::threads;

/// A server whose connections an [`AcceptLoop`] accepts.
pub trait ConnectionHandler: fmt::Debug + Send + Sync + Sized + 'static {
    /// Name of the connections' threads.
    const THREAD_NAME: &'static str;
    /// Stack of a connection's thread in bytes.
    const STACK_BYTES: usize = limits::CLIENT_STACK_BYTES;
    /// Sets the options of an admitted socket.
    const CONFIGURE: fn(&TcpStream) -> io::Result<()> = os::configure_accepted;
    /// The slot of a connection. [`ConnectionHandler::serve`] releases it by dropping it.
    type Permit: Send + 'static;

    /// The registry of the open connections.
    fn connections(&self) -> &Connections;

    /// Returns the number and the slot of a new connection. Returns `None` after a refusal, and the
    /// loop then closes the socket. Runs in the listener's thread, so it must not block.
    fn admit(&self, stream: &TcpStream, address: SocketAddr) -> Option<(u64, Self::Permit)>;

    /// Serves a connection in its own thread. A panic ends only this connection. `registration` is
    /// dropped when the connection ends, by this thread or by another one that continues it.
    fn serve(
        self: &Arc<Self>,
        stream: Arc<TcpStream>,
        address: SocketAddr,
        permit: Self::Permit,
        registration: Registration<Self>,
    );

    /// Counts an admitted connection for which no thread could be started.
    fn on_thread_error(&self) {}
}

/// The open connections of one server, and its stop flag.
#[derive(Debug, Default)]
pub struct Connections {
    is_stopping: AtomicBool,
    /// Sockets of all connections with a running thread.
    streams: Registry<Arc<TcpStream>>,
}

impl Connections {
    /// Whether the server accepts no more connections.
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Acquire)
    }

    /// Registers the socket of a connection under a unique number.
    pub fn add(&self, number: u64, stream: Arc<TcpStream>) {
        self.streams.add(number, stream);
    }

    /// Returns the number of open connections.
    pub fn count(&self) -> usize {
        self.streams.count()
    }

    /// Shuts down the socket of this connection, which wakes its thread from any blocking call.
    pub fn abort(&self, number: u64) {
        self.streams.get(number).iter().for_each(shut_down);
    }

    /// Waits for all threads, and shuts down the sockets that are still open after `close_time`.
    /// Returns the number of connections left open: 0 unless a thread hangs.
    pub fn close_all(&self, close_time: Duration) -> usize {
        if self.streams.wait_until_empty(Instant::now() + close_time) == 0 {
            return 0;
        }
        self.streams.all().iter().for_each(shut_down);
        self.streams.wait_until_empty(Instant::now() + limits::SHUTDOWN_JOIN_TIMEOUT)
    }
}

fn shut_down(stream: &Arc<TcpStream>) {
    let _ = stream.shutdown(Shutdown::Both);
}

/// A running accept loop. Its threads continue if it is dropped without [`AcceptLoop::stop`].
#[derive(Debug)]
pub struct AcceptLoop<H> {
    handler: Arc<H>,
    listener: Arc<TcpListener>,
    thread: JoinHandle<()>,
}

/// Binds an address with the backlog of a server.
///
/// # Errors
/// The address cannot be bound.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(address)?;
    os::widen_backlog(&listener)?;
    Ok(listener)
}

impl<H: ConnectionHandler> AcceptLoop<H> {
    /// Starts the listener's thread.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(listener: TcpListener, handler: Arc<H>) -> io::Result<AcceptLoop<H>> {
        let listener = Arc::new(listener);
        let for_thread = (Arc::clone(&handler), Arc::clone(&listener));
        let thread = threads::spawn("listener", move || accept_all(&for_thread.0, &for_thread.1))?;
        Ok(AcceptLoop { handler, listener, thread })
    }

    /// Returns the server.
    pub fn handler(&self) -> &Arc<H> {
        &self.handler
    }

    /// Accepts no new connections, and joins the listener's thread.
    pub fn stop_accepting(self) {
        self.handler.connections().is_stopping.store(true, Ordering::Release);
        os::wake_acceptor(&self.listener);
        let _ = self.thread.join();
    }

    /// Accepts no new connections, and closes the open ones as [`Connections::close_all`] does.
    pub fn stop(self, close_time: Duration) -> usize {
        let handler = Arc::clone(&self.handler);
        self.stop_accepting();
        handler.connections().close_all(close_time)
    }
}

fn accept_all<H: ConnectionHandler>(handler: &Arc<H>, listener: &TcpListener) {
    let (mut errors, is_stopping) = (AcceptErrors::default(), || handler.connections().is_stopping());
    while let Some((stream, address)) = next(|| listener.accept(), is_stopping, &mut errors, thread::sleep) {
        // A socket bound to `[::]` reports IPv4 peers as `::ffff:127.0.0.1`. Limits, logs and the
        // check for this machine need the IPv4 address.
        let address = SocketAddr::new(address.ip().to_canonical(), address.port());
        if let Some((number, permit)) = handler.admit(&stream, address) {
            spawn_connection(handler, stream, address, number, permit);
        }
    }
}

fn spawn_connection<H: ConnectionHandler>(
    handler: &Arc<H>,
    stream: TcpStream,
    address: SocketAddr,
    number: u64,
    permit: H::Permit,
) {
    if H::CONFIGURE(&stream).is_err() {
        return; // The peer has already disconnected.
    }
    let stream = Arc::new(stream);
    handler.connections().add(number, Arc::clone(&stream));
    let registration = Registration { handler: Arc::clone(handler), number };
    let run = move || Arc::clone(&registration.handler).serve(stream, address, permit, registration);
    let spawned = threads::spawn_with_stack(H::THREAD_NAME, H::STACK_BYTES, run);
    if let Err(error) = spawned {
        warn!("cannot start a thread for a connection: {error}");
        handler.on_thread_error();
    }
}

/// Unregisters a connection when it is dropped: when the thread that owns it ends or panics.
#[derive(Debug)]
pub struct Registration<H: ConnectionHandler> {
    handler: Arc<H>,
    number: u64,
}

impl<H: ConnectionHandler> Drop for Registration<H> {
    fn drop(&mut self) {
        self.handler.connections().streams.remove(self.number);
    }
}

/// Counts consecutive errors of one listener since the last accepted connection.
#[derive(Debug, Default)]
struct AcceptErrors {
    in_a_row: u32,
}

impl AcceptErrors {
    /// Counts an error. Returns the delay before the next attempt.
    fn add(&mut self, error: &io::Error) -> Duration {
        if error.kind() == ErrorKind::Interrupted {
            return Duration::ZERO;
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        if self.in_a_row == limits::ACCEPT_ERRORS {
            warn!("cannot accept connections: {error}; retrying every {:?}", limits::ACCEPT_RETRY_DELAY);
        } else {
            debug!("accept: {error}");
        }
        if self.in_a_row < limits::ACCEPT_ERRORS { Duration::ZERO } else { limits::ACCEPT_RETRY_DELAY }
    }

    /// Resets the count after an accepted connection.
    fn clear(&mut self) {
        if self.in_a_row >= limits::ACCEPT_ERRORS {
            info!("connections can be accepted again");
        }
        self.in_a_row = 0;
    }
}

/// Waits for the next connection. Returns `None` once the listener is stopping.
fn next<C>(
    mut accept: impl FnMut() -> io::Result<C>,
    is_stopping: impl Fn() -> bool,
    errors: &mut AcceptErrors,
    pause: impl Fn(Duration),
) -> Option<C> {
    loop {
        let accepted = accept();
        // Checked first, because a listener that was shut down fails with an arbitrary error.
        if is_stopping() {
            return None;
        }
        match accepted {
            Ok(connection) => {
                errors.clear();
                return Some(connection);
            }
            Err(error) => pause(errors.add(&error)),
        }
    }
}

/// Returns the loopback address of the other IP version if another program listens there on the
/// same port. A browser may then connect to that program for `http://localhost:PORT`. Returns
/// `None` if `address` is not reachable as localhost or if the machine lacks the other IP version.
pub fn other_localhost(address: SocketAddr) -> Option<SocketAddr> {
    let other = match address.ip() {
        IpAddr::V4(ip) if ip.is_loopback() || ip.is_unspecified() => IpAddr::from(Ipv6Addr::LOCALHOST),
        // `[::]` is excluded: its socket also accepts IPv4, so the server's own bind would have
        // failed if another program used the port there.
        IpAddr::V6(ip) if ip.is_loopback() => IpAddr::from(Ipv4Addr::LOCALHOST),
        _ => return None,
    };
    let other = SocketAddr::new(other, address.port());
    match TcpListener::bind(other) {
        Err(error) if error.kind() == ErrorKind::AddrInUse => Some(other),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::{Read as _, Write as _};
    use std::sync::mpsc::{Sender, channel};

    use super::*;
    use crate::util::sync::Mutex;

    /// Reports the address of each connection, and reads one byte. The byte `!` causes a panic.
    #[derive(Debug)]
    struct OneByte {
        connections: Connections,
        address_sender: Mutex<Sender<SocketAddr>>,
    }

    impl ConnectionHandler for OneByte {
        const THREAD_NAME: &'static str = "one byte";
        type Permit = ();

        fn connections(&self) -> &Connections {
            &self.connections
        }

        fn admit(&self, _: &TcpStream, address: SocketAddr) -> Option<(u64, ())> {
            let _ = self.address_sender.lock().send(address);
            Some((address.port().into(), ()))
        }

        fn serve(
            self: &Arc<OneByte>,
            stream: Arc<TcpStream>,
            _: SocketAddr,
            (): (),
            _registration: Registration<OneByte>,
        ) {
            let mut byte = [0];
            let read = (&mut &*stream).read(&mut byte);
            assert!(read.is_err() || byte != *b"!", "a panic of this connection alone");
        }
    }

    #[test]
    fn a_panic_and_a_stop_release_each_connection() {
        let listener = bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (sender, addresses) = channel();
        let handler = OneByte { connections: Connections::default(), address_sender: Mutex::new(sender) };
        let accepting = AcceptLoop::start(listener, Arc::new(handler)).expect("a thread");
        let handler = Arc::clone(accepting.handler());
        let mut failing = TcpStream::connect(address).expect("a connection");
        failing.write_all(b"!").expect("sent");
        assert_eq!(failing.read(&mut [0]).unwrap_or(0), 0, "its socket is closed");
        let mut silent = TcpStream::connect(address).expect("the loop continues");
        let ports = [&failing, &silent].map(|stream| stream.local_addr().expect("bound"));
        assert_eq!(ports.map(|_| addresses.recv().expect("accepted")), ports);
        assert_eq!(accepting.stop(Duration::ZERO), 0);
        assert_eq!(silent.read(&mut [0]).unwrap_or(0), 0, "a stop shuts down its socket");
        assert_eq!((handler.connections.count(), handler.connections.is_stopping()), (0, true));
    }

    #[test]
    fn an_ipv4_peer_of_an_ipv6_socket_has_its_ipv4_address() {
        let Ok(listener) = bind((Ipv6Addr::UNSPECIFIED, 0).into()) else { return };
        let port = listener.local_addr().expect("bound").port();
        let (sender, addresses) = channel();
        let handler = OneByte { connections: Connections::default(), address_sender: Mutex::new(sender) };
        let accepting = AcceptLoop::start(listener, Arc::new(handler)).expect("a thread");
        let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
        assert_eq!(addresses.recv().expect("accepted"), client.local_addr().expect("bound"));
        assert_eq!(accepting.stop(Duration::ZERO), 0);
    }

    #[test]
    fn an_error_that_lasts_is_retried_with_pauses_whatever_its_kind() {
        // EPERM, EINVAL, EMFILE, ENETDOWN, ECONNABORTED, and a code that no system uses.
        for code in [1, 22, 24, 100, 103, 9_999] {
            let (calls, pauses) = (Cell::new(0), Cell::new(0));
            let accept = || -> io::Result<()> {
                calls.set(calls.get() + 1);
                Err(io::Error::from_raw_os_error(code))
            };
            let pause = |time: Duration| pauses.set(pauses.get() + i32::from(!time.is_zero()));
            assert_eq!(next(accept, || calls.get() == 1_000, &mut AcceptErrors::default(), pause), None);
            assert!(pauses.get() > 980, "error {code}: {} pauses in 1,000 calls", pauses.get());
        }
    }

    #[test]
    fn a_single_error_delays_no_connection() {
        let mut outcomes = vec![Ok(7), Err(io::Error::from(ErrorKind::ConnectionAborted))];
        let pause = |time: Duration| assert!(time.is_zero());
        let accepted = next(|| outcomes.pop().expect("two"), || false, &mut AcceptErrors::default(), pause);
        assert_eq!(accepted, Some(7));
    }

    #[test]
    fn a_server_on_the_other_localhost_is_noticed() {
        let Ok(other) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else { return };
        let taken = other.local_addr().expect("bound");
        for ip in [Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED] {
            assert_eq!(other_localhost((ip, taken.port()).into()), Some(taken));
        }
        for address in ["203.0.113.7:1", "[2001:db8::1]:1", "[::]:1"] {
            assert_eq!(other_localhost(address.parse().expect("an address")), None);
        }
    }
}
