//! The same interface with `std` alone, for systems other than Linux. It lacks:
//!
//! - **Source address and buffer size**: neither the source address of a connection nor the size of
//!   a kernel buffer can be set. A client that does not read occupies as much memory as the system
//!   gives a socket.
//! - **Readiness** cannot be waited for: a thread polls every [`limits::PORTABLE_POLL_INTERVAL`].
//!   The server does not wait for readiness; bots, `connect` and `netem` do.
//! - **Machine limits** cannot be read: low values are assumed.
//! - **Resident memory** of the process is unknown.
//! - **The backlog** of a listener stays at 128, the value of `std`.
//! - **Suspended time** of the machine is unknown: it counts as a pause only if `Instant` counts
//!   it.
//! - **Ignored signals** of the parent are unknown: SIGHUP stops the server also under `nohup`.
//! - **The mode of a terminal** is unknown: a signal that stops `connect` leaves the editor's mode.
//! - **A private file** is private on Unix; on Windows it has the permissions of its directory.
//!
//! A room's thread never waits for a client here either: [`try_send`] does not block.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use super::capacity::MachineCapacity;
use super::readiness::{PollInterest, Readiness};
use crate::limits;

/// Whether [`connect`] can set the source address.
pub const CAN_BIND_SOURCE: bool = false;

/// Sends as many bytes of these slices as the kernel accepts now. Returns 0 if it accepts none.
///
/// `std` can make a socket non-blocking, but not a single send. Therefore the socket is
/// non-blocking during the send. A thread that is blocked in [`read`] stays blocked, because the
/// system checks the mode when a call begins. A `read` that begins meanwhile fails immediately and
/// is retried. The alternatives are worse. A write timeout is at least a millisecond, which a
/// room's thread would wait for each client that does not read, and on Windows a socket is unusable
/// after a timeout. A writing thread for each client would double the threads. Only one thread may
/// send at a time, which `connection` ensures.
///
/// # Errors
/// Any error of the socket except "would block": the connection is lost.
pub fn try_send<'a>(mut stream: &TcpStream, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
    let mut all = [IoSlice::new(&[]); limits::MAX_IOVECS];
    let mut count = 0;
    for (place, bytes) in all.iter_mut().zip(slices) {
        *place = IoSlice::new(bytes);
        count += 1;
    }
    stream.set_nonblocking(true)?;
    let taken = loop {
        match stream.write_vectored(&all[..count]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(0),
            taken => break taken,
        }
    };
    stream.set_nonblocking(false)?;
    taken
}

/// Always zero: the suspended time of the machine is unknown.
pub fn suspended_time() -> Duration {
    Duration::ZERO
}

/// Reads from a blocking socket, while another thread may send on it with [`try_send`].
///
/// Waits in `peek`, which consumes no bytes, because a read that times out may lose some on
/// Windows. Wakes every [`limits::PORTABLE_READ_TIMEOUT`], because a shutdown by another thread may
/// not wake it.
///
/// # Errors
/// `TimedOut` after the socket's read timeout, or any error of the socket.
pub fn read(mut stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    let patience = stream.read_timeout()?;
    let began = Instant::now();
    let result = loop {
        let left = patience.map(|patience| patience.saturating_sub(began.elapsed()));
        if left.is_some_and(|left| left.is_zero()) {
            break Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(
            left.map_or(limits::PORTABLE_READ_TIMEOUT, |left| left.min(limits::PORTABLE_READ_TIMEOUT)),
        ))?;
        match stream.peek(&mut [0]).and_then(|_| stream.read(buffer)) {
            // The error also occurs if a send has just made the socket non-blocking. Yielding lets
            // the send finish.
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                thread::yield_now();
            }
            received => break received,
        }
    };
    stream.set_read_timeout(patience)?;
    result
}

/// Does nothing: the backlog is the value of `std`.
///
/// # Errors
/// Never fails.
pub fn widen_backlog(_: &TcpListener) -> io::Result<()> {
    Ok(())
}

/// Configures an accepted socket: no delay for small writes.
///
/// # Errors
/// The connection is already lost.
pub fn configure_accepted(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)
}

/// Does nothing: the descriptor is private to `std`.
pub fn prefetch(_: &TcpStream) {}

/// Shuts down the connection in both directions, because `std` cannot reset one.
///
/// # Errors
/// The connection has already ended.
pub fn set_reset_on_close(stream: &TcpStream) -> io::Result<()> {
    stream.shutdown(Shutdown::Both)
}

/// Wakes a thread that is blocked in `accept` on this listener, by connecting to it.
pub fn wake_acceptor(listener: &TcpListener) {
    let Ok(mut address) = listener.local_addr() else { return };
    match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    let _ = TcpStream::connect_timeout(&address, limits::SHUTDOWN_CLOSE_TIMEOUT);
}

/// Waits at most `time` until the peer has closed or reset the connection. Bytes that arrive
/// meanwhile are not read. With unread bytes, the function always waits for the whole time.
pub fn wait_until_closed(stream: &TcpStream, time: Duration) {
    let deadline = Instant::now() + time;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || stream.set_read_timeout(Some(left)).is_err() {
            return;
        }
        match stream.peek(&mut [0]) {
            Ok(1..) => thread::sleep(left.min(limits::PORTABLE_POLL_INTERVAL)),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return,
        }
    }
}

/// Connects within [`limits::CONNECT_TIMEOUT`]. The socket is non-blocking, and sends small writes
/// immediately. The kernel's receive buffer keeps its size.
///
/// # Errors
/// The error of `connect`, or `TimedOut`; `Unsupported` with a source address.
pub fn connect(
    to: SocketAddr,
    from: Option<IpAddr>,
    _recv_buffer_bytes: Option<usize>,
) -> io::Result<TcpStream> {
    if from.is_some() {
        let rule = "the source address of a connection can be chosen only on Linux";
        return Err(io::Error::new(ErrorKind::Unsupported, rule));
    }
    let stream = TcpStream::connect_timeout(&to, limits::CONNECT_TIMEOUT)?;
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    Ok(stream)
}

/// Waits at most `time` until one of the sockets is ready. Returns the readiness of each socket.
/// Whether a socket can be written is unknown, so it counts as writable after one pause.
///
/// # Errors
/// Never fails.
pub fn poll(sockets: &[PollInterest<'_>], time: Duration) -> io::Result<Vec<Readiness>> {
    let (deadline, mut has_paused) = (Instant::now() + time, false);
    loop {
        let look = |socket: &PollInterest<'_>| Readiness {
            is_writable: socket.writes && has_paused,
            ..check_readiness(socket)
        };
        let found: Vec<Readiness> = sockets.iter().map(look).collect();
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || found.iter().any(|ready| ready.is_ready()) {
            return Ok(found);
        }
        thread::sleep(left.min(limits::PORTABLE_POLL_INTERVAL));
        has_paused = true;
    }
}

/// Determines the readiness of a non-blocking socket, as far as `peek` can.
fn check_readiness(socket: &PollInterest<'_>) -> Readiness {
    if !socket.reads {
        return Readiness::default();
    }
    match socket.stream.peek(&mut [0]) {
        Ok(1..) => Readiness { is_readable: true, ..Readiness::default() },
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
            Readiness::default()
        }
        Ok(0) | Err(_) => Readiness { is_readable: true, is_closed: true, is_writable: false },
    }
}

/// Many non-blocking sockets, each with a number. Dropping a socket removes it.
#[derive(Debug, Default)]
pub struct Poller {
    sockets: Vec<(usize, Weak<TcpStream>)>,
}

impl Poller {
    /// Creates a poller without sockets.
    ///
    /// # Errors
    /// Never fails.
    pub fn new() -> io::Result<Poller> {
        Ok(Poller::default())
    }

    /// Adds a socket, to wait until it can be read.
    ///
    /// # Errors
    /// Never fails.
    pub fn add(&mut self, stream: &Arc<TcpStream>, number: usize) -> io::Result<()> {
        self.sockets.push((number, Arc::downgrade(stream)));
        Ok(())
    }

    /// Waits at most `time` until a socket can be read. Returns the numbers of all readable
    /// sockets.
    ///
    /// # Errors
    /// Never fails.
    pub fn wait(&mut self, time: Duration) -> io::Result<Vec<usize>> {
        let deadline = Instant::now() + time;
        loop {
            self.sockets.retain(|(_, stream)| stream.strong_count() > 0);
            let is_ready =
                |stream: Arc<TcpStream>| check_readiness(&PollInterest::readable(&stream)).is_ready();
            let is_ready = |stream: &Weak<TcpStream>| stream.upgrade().is_some_and(is_ready);
            let found = self.sockets.iter().filter(|(_, stream)| is_ready(stream));
            let found: Vec<usize> = found.map(|(number, _)| *number).collect();
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !found.is_empty() {
                return Ok(found);
            }
            thread::sleep(left.min(limits::PORTABLE_POLL_INTERVAL));
        }
    }
}

/// Standard input, read by its own thread, because `std` can wait for it only by reading.
#[derive(Debug)]
pub struct PollableStdin {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// The chunk that is read next; an empty one is the end.
    piece: Option<io::Result<Vec<u8>>>,
}

impl PollableStdin {
    /// Opens standard input.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn open() -> io::Result<PollableStdin> {
        PollableStdin::of(io::stdin())
    }

    pub(super) fn of(mut source: impl Read + Send + 'static) -> io::Result<PollableStdin> {
        let (sender, pieces) = sync_channel(1);
        let read_all = move || {
            let mut buffer = [0; limits::READ_BYTES];
            loop {
                let piece = source.read(&mut buffer).map(|count| buffer[..count].to_vec());
                let is_over = piece
                    .as_ref()
                    .map_or_else(|error| error.kind() != ErrorKind::Interrupted, |piece| piece.is_empty());
                if sender.send(piece).is_err() || is_over {
                    return;
                }
            }
        };
        thread::Builder::new().name("input".to_owned()).spawn(read_all)?;
        Ok(PollableStdin { pieces, piece: None })
    }

    /// Waits at most `time` until a read would not block, because of data or the end. Returns
    /// whether a read would not block.
    ///
    /// # Errors
    /// Never fails.
    pub fn wait(&mut self, time: Duration) -> io::Result<bool> {
        if self.piece.is_none() {
            self.piece = match self.pieces.recv_timeout(time) {
                Ok(piece) => Some(piece),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => Some(Ok(Vec::new())),
            };
        }
        Ok(self.piece.is_some())
    }

    /// Reads available bytes; 0 is the end.
    ///
    /// # Errors
    /// Any error of the input.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let piece = self.piece.take().unwrap_or_else(|| self.pieces.recv().unwrap_or(Ok(Vec::new())))?;
        let count = piece.len().min(buffer.len());
        buffer[..count].copy_from_slice(&piece[..count]);
        self.piece = Some(Ok(piece[count..].to_vec())).filter(|_| count < piece.len());
        Ok(count)
    }
}

/// Always true: whether this program is in the foreground of its terminal is unknown.
pub fn is_foreground() -> bool {
    true
}

/// The mode of the terminal on standard input, which is unknown here.
#[derive(Debug, Clone)]
pub enum TerminalMode {}

impl TerminalMode {
    /// Always `None`.
    pub fn current() -> Option<TerminalMode> {
        None
    }

    /// Sets this mode.
    pub fn restore(&self) {
        match *self {}
    }
}

/// Enables colours in the Windows console. Other terminals support them by default.
pub fn enable_ansi() {
    #[cfg(windows)]
    anstyle_query::windows::enable_ansi_colors();
}

/// Creates a file that only its owner may read and write; on Windows, with the permissions of its
/// directory.
///
/// # Errors
/// The file exists, or any error of the disk.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(path)
}

/// Opens a file to read and write it, or creates it with the permissions of [`create_private`].
///
/// # Errors
/// Any error of the disk.
pub fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.read(true).write(true).create(true).truncate(false).open(path)
}

/// Whether this path still names the open file; on Windows, whether it names any file.
pub fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let number = |metadata: Metadata| (metadata.dev(), metadata.ino());
        let (open, named) = (file.metadata().map(number), path.metadata().map(number));
        open.ok().zip(named.ok()).is_some_and(|(open, named)| open == named)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// Calls `handler` for each Ctrl-C, and on Unix for each SIGTERM and SIGHUP.
///
/// # Errors
/// A signal cannot be handled, or a thread cannot be started.
#[cfg(unix)]
pub fn on_stop(handler: impl FnMut() + Send + 'static) -> io::Result<()> {
    super::signals::on_stop(0, handler)
}

/// Calls `handler` for each Ctrl-C.
///
/// # Errors
/// Ctrl-C cannot be handled.
#[cfg(not(unix))]
pub fn on_stop(handler: impl FnMut() + Send + 'static) -> io::Result<()> {
    ctrlc::set_handler(handler).map_err(io::Error::other)
}

/// Whether every user of the machine may read this file. On systems other than Unix this is
/// unknown, and the function returns false.
pub fn is_world_readable(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o004 != 0;
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

/// Whether this is a named pipe. It cannot be opened for writing before it has a reader.
#[cfg(unix)]
pub fn is_named_pipe(metadata: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type())
}

/// Always false: a file of Windows is not a named pipe.
#[cfg(not(unix))]
pub fn is_named_pipe(_: &Metadata) -> bool {
    false
}

/// Unpredictable random bytes from the system, for the server's epoch, tokens, and masking keys of
/// clients.
///
/// # Panics
/// If the system has no random source.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    #[cfg(unix)]
    let filled = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bytes));
    #[cfg(not(unix))]
    let filled = getrandom::fill(&mut bytes);
    filled.expect("the system has a random source");
    bytes
}

/// Always `None`: the CPU time of this thread is unknown.
pub fn thread_cpu_time() -> Option<Duration> {
    None
}

/// Always `None`: the resident memory of this process is unknown.
pub fn resident_bytes() -> Option<u64> {
    None
}

/// Assumed values, because the limits cannot be read: the 256 file descriptors that macOS gives a
/// program, and the number of threads that current systems support. A server on Windows needs no
/// descriptors.
pub fn ceilings() -> MachineCapacity {
    let open_files = if cfg!(windows) { usize::MAX } else { 256 };
    MachineCapacity { open_files, mappings: usize::MAX, threads: 4_096 }
}
