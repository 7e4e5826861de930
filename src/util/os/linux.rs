//! The Linux system calls, through `rustix`.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType, sockopt,
};
use rustix::process::Resource;
use rustix::rand::GetRandomFlags;
use rustix::termios::{self, OptionalActions, Termios};
use rustix::time::ClockId;

use super::capacity::MachineCapacity;
use super::readiness::{PollInterest, Readiness};
use super::signals;
use crate::limits;

/// Whether [`connect`] can set the source address.
pub const CAN_BIND_SOURCE: bool = true;

/// File mode: read and write for the owner, no access for others.
const PRIVATE_MODE: u32 = 0o600;
/// Maximum number of events that one wait of a [`Poller`] returns.
const EVENTS: usize = 1024;

/// Sends as many bytes of these slices as the kernel accepts now, in one call. Returns 0 if it
/// accepts none.
///
/// Works while another thread is blocked in `read` on the same socket. `O_NONBLOCK` would make the
/// next `read` of that thread fail, because all clones of a socket share this flag.
///
/// # Errors
/// Any error of the socket except "would block": the connection is lost.
pub fn try_send<'a>(stream: &TcpStream, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
    let mut all = [IoSlice::new(&[]); limits::MAX_IOVECS];
    let mut count = 0;
    for (place, bytes) in all.iter_mut().zip(slices) {
        *place = IoSlice::new(bytes);
        count += 1;
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    loop {
        let taken = match &all[..count] {
            [one] => rustix::net::send(stream, one, flags),
            several => rustix::net::sendmsg(stream, several, &mut SendAncillaryBuffer::default(), flags),
        };
        return match taken {
            Ok(taken) => Ok(taken),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => Ok(0),
            Err(error) => Err(error.into()),
        };
    }
}

/// Reads from a blocking socket, while another thread may send on it with [`try_send`].
///
/// # Errors
/// `WouldBlock` or `TimedOut` after the socket's read timeout, or any error of the socket.
pub fn read(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<usize> {
    let (count, _) = rustix::net::recv(stream, buffer, RecvFlags::empty())?;
    Ok(count)
}

/// Sets the backlog of a bound listener to [`limits::LISTEN_BACKLOG`] instead of the 128 of `std`.
///
/// # Errors
/// Any error of `listen(2)`.
pub fn widen_backlog(listener: &TcpListener) -> io::Result<()> {
    Ok(rustix::net::listen(listener, limits::LISTEN_BACKLOG)?)
}

/// Configures an accepted socket: no delay for small writes, and a small kernel buffer for a peer
/// that does not read.
///
/// # Errors
/// Any error of `setsockopt(2)`.
pub fn configure_accepted(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    Ok(sockopt::set_socket_send_buffer_size(stream, limits::SEND_BUFFER_BYTES)?)
}

/// Loads the descriptor of a socket into the CPU cache.
pub fn prefetch(stream: &TcpStream) {
    std::hint::black_box(std::os::fd::AsRawFd::as_raw_fd(stream));
}

/// Makes the socket reset its connection when it is closed, as after a crash of its owner.
///
/// # Errors
/// Any error of `setsockopt(2)`.
pub fn set_reset_on_close(stream: &TcpStream) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(stream, Some(Duration::ZERO))?)
}

/// Wakes a thread that is blocked in `accept` on this listener. The thread gets `EINVAL`.
pub fn wake_acceptor(listener: &TcpListener) {
    let _ = rustix::net::shutdown(listener, rustix::net::Shutdown::Both);
}

/// Time during which the machine was suspended since its start: `CLOCK_BOOTTIME` minus
/// `CLOCK_MONOTONIC`.
pub fn suspended_time() -> Duration {
    // In this order, a thread that is stopped between the two calls measures too little, not too
    // much.
    let boot = duration(rustix::time::clock_gettime(ClockId::Boottime));
    boot.saturating_sub(duration(rustix::time::clock_gettime(ClockId::Monotonic)))
}

fn duration(Timespec { tv_sec, tv_nsec }: Timespec) -> Duration {
    Duration::new(tv_sec.cast_unsigned(), u32::try_from(tv_nsec).unwrap_or_default())
}

/// Waits at most `time` until the peer has closed or reset the connection. Bytes that arrive
/// meanwhile are not read.
pub fn wait_until_closed(stream: &TcpStream, time: Duration) {
    // `poll` always reports errors and the end of both directions.
    let mut files = [PollFd::new(stream, PollFlags::empty())];
    let _ = rustix::event::poll(&mut files, Some(&timespec(time)));
}

/// Connects within [`limits::CONNECT_TIMEOUT`], from the address `from` if it is given. The socket
/// is non-blocking, and sends small writes immediately. `recv_buffer_bytes` is the size of the
/// kernel's receive buffer. It limits the bytes that a peer can send to a client that does not
/// read.
///
/// # Errors
/// The error of `socket`, `bind` or `connect`, or `TimedOut`.
pub fn connect(
    to: SocketAddr,
    from: Option<IpAddr>,
    recv_buffer_bytes: Option<usize>,
) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    if let Some(bytes) = recv_buffer_bytes {
        sockopt::set_socket_recv_buffer_size(&socket, bytes)?;
    }
    if let Some(address) = from {
        rustix::net::bind(&socket, &SocketAddr::new(address, 0))?;
    }
    let stream = match rustix::net::connect(&socket, &to) {
        Ok(()) => TcpStream::from(socket),
        Err(Errno::INPROGRESS) => {
            let stream = TcpStream::from(socket);
            if !poll(&[PollInterest::writable(&stream)], limits::CONNECT_TIMEOUT)?[0].is_ready() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            stream.take_error()?.map_or(Ok(()), Err)?;
            stream
        }
        Err(error) => return Err(error.into()),
    };
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Waits at most `time` until one of the sockets is ready. Returns the readiness of each socket.
///
/// # Errors
/// Any error of `poll(2)`.
pub fn poll(sockets: &[PollInterest<'_>], time: Duration) -> io::Result<Vec<Readiness>> {
    let mut files: Vec<PollFd<'_>> = sockets.iter().map(file).collect();
    wait(&mut files, time)?;
    Ok(files.iter().map(|file| ready(file.revents())).collect())
}

fn file<'a>(socket: &PollInterest<'a>) -> PollFd<'a> {
    let mut flags = PollFlags::empty();
    flags.set(PollFlags::IN | PollFlags::RDHUP, socket.reads);
    flags.set(PollFlags::OUT, socket.writes);
    PollFd::new(socket.stream, flags)
}

fn ready(happened: PollFlags) -> Readiness {
    let ended = happened.intersects(PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR);
    Readiness {
        is_readable: happened.contains(PollFlags::IN),
        is_writable: happened.contains(PollFlags::OUT),
        is_closed: ended,
    }
}

fn wait(files: &mut [PollFd<'_>], time: Duration) -> io::Result<()> {
    let deadline = Instant::now() + time;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match rustix::event::poll(files, Some(&timespec(left))) {
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() }
}

/// An `epoll` of many non-blocking sockets, each with a number. Dropping a socket removes it.
#[derive(Debug)]
pub struct Poller(OwnedFd);

impl Poller {
    /// Creates a poller without sockets.
    ///
    /// # Errors
    /// The kernel cannot create an `epoll`.
    pub fn new() -> io::Result<Poller> {
        Ok(Poller(epoll::create(CreateFlags::CLOEXEC)?))
    }

    /// Adds a socket, to wait until it can be read.
    ///
    /// # Errors
    /// Any error of `epoll_ctl(2)`.
    pub fn add(&mut self, stream: &Arc<TcpStream>, number: usize) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::RDHUP;
        Ok(epoll::add(&self.0, stream, EventData::new_u64(number as u64), flags)?)
    }

    /// Waits at most `time` until a socket can be read. Returns the numbers of all readable
    /// sockets.
    ///
    /// # Errors
    /// Any error of `epoll_wait(2)`.
    pub fn wait(&mut self, time: Duration) -> io::Result<Vec<usize>> {
        let mut events = Vec::with_capacity(EVENTS);
        match epoll::wait(&self.0, spare_capacity(&mut events), Some(&timespec(time))) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(events.iter().map(|event| event.data.u64() as usize).collect())
    }
}

/// Standard input, read without the buffer of `std`, because `poll` cannot see bytes in that
/// buffer.
#[derive(Debug)]
pub struct PollableStdin(io::Stdin);

impl PollableStdin {
    /// Opens standard input.
    ///
    /// # Errors
    /// Never fails on this system.
    pub fn open() -> io::Result<PollableStdin> {
        Ok(PollableStdin(io::stdin()))
    }

    /// Waits at most `time` until a read would not block, because of data or the end. Returns
    /// whether a read would not block.
    ///
    /// # Errors
    /// Any error of `poll(2)`.
    pub fn wait(&mut self, time: Duration) -> io::Result<bool> {
        let mut files = [PollFd::new(&self.0, PollFlags::IN)];
        wait(&mut files, time)?;
        Ok(!files[0].revents().is_empty())
    }

    /// Reads available bytes; 0 is the end.
    ///
    /// # Errors
    /// Any error of `read(2)`.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.0, buffer)?)
    }
}

/// Whether this program is in the foreground of its terminal. The kernel stops a background program
/// that reads (`SIGTTIN`). Returns true if the state cannot be determined.
pub fn is_foreground() -> bool {
    let status = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    is_foreground_group(&status).unwrap_or(true)
}

/// Parses `/proc/self/stat`, proc(5). After the name in brackets follow state, parent, group,
/// session, terminal, and the terminal's foreground group.
fn is_foreground_group(status: &str) -> Option<bool> {
    let fields: Vec<&str> = status.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(2)? == fields.get(5)?)
}

/// The mode of the terminal on standard input.
#[derive(Debug, Clone)]
pub struct TerminalMode(Termios);

impl TerminalMode {
    /// Returns the current mode; `None` without a terminal.
    pub fn current() -> Option<TerminalMode> {
        termios::tcgetattr(io::stdin()).ok().map(TerminalMode)
    }

    /// Sets this mode, unless another program is in the foreground of the terminal. The system
    /// would then stop this program.
    pub fn restore(&self) {
        let foreground = termios::tcgetpgrp(io::stdin());
        if foreground.is_err() || foreground.is_ok_and(|group| group == rustix::process::getpgrp()) {
            let _ = termios::tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        }
    }
}

/// Enables colours in the terminal. Does nothing on Linux, where terminals support them.
pub fn enable_ansi() {}

/// Creates a file that only its owner may read and write, whatever the umask.
///
/// # Errors
/// The file exists, or any error of the disk.
pub fn create_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_MODE).open(path)?;
    // The umask may have removed bits of the owner.
    file.set_permissions(fs::Permissions::from_mode(PRIVATE_MODE))?;
    Ok(file)
}

/// Opens a file to read and write it, or creates it with the mode of [`create_private`].
///
/// # Errors
/// Any error of the disk.
pub fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(PRIVATE_MODE).open(path)
}

/// Whether this path still names the open file, and not another one.
pub fn is_at(file: &File, path: &Path) -> bool {
    let number = |metadata: Metadata| (metadata.dev(), metadata.ino());
    let (open, named) = (file.metadata().map(number), fs::metadata(path).map(number));
    open.ok().zip(named.ok()).is_some_and(|(open, named)| open == named)
}

/// Calls `handler` for each Ctrl-C, SIGTERM and SIGHUP, except the signals that this program's
/// parent ignores.
///
/// # Errors
/// A signal cannot be handled, or a thread cannot be started.
pub fn on_stop(handler: impl FnMut() + Send + 'static) -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    signals::on_stop(signals::ignored(&status), handler)
}

/// Whether every user of the machine may read this file.
pub fn is_world_readable(metadata: &Metadata) -> bool {
    metadata.permissions().mode() & 0o004 != 0
}

/// Whether this is a named pipe. It cannot be opened for writing before it has a reader.
pub fn is_named_pipe(metadata: &Metadata) -> bool {
    metadata.file_type().is_fifo()
}

/// Unpredictable random bytes from the kernel, for the server's epoch, tokens, and masking keys of
/// clients.
///
/// # Panics
/// If the kernel has no random source, which a running Linux always has.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += rustix::rand::getrandom(&mut bytes[filled..], GetRandomFlags::empty())
            .expect("the kernel has a random source");
    }
    bytes
}

/// The CPU time of this thread so far; `None` if the kernel does not count it.
pub fn thread_cpu_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}

/// The resident memory of this process in bytes, as the kernel counts it: pages of code, data and
/// stacks in RAM. `None` if the kernel does not report it.
pub fn resident_bytes() -> Option<u64> {
    parse_resident(&fs::read_to_string("/proc/self/status").ok()?)
}

/// Parses the line `VmRSS:   1234 kB` of `/proc/self/status`, proc(5).
fn parse_resident(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kib.checked_mul(1024)
}

/// Raises the limit of open files to its maximum, and reads the limits of the machine. A limit that
/// cannot be read counts as Linux's default.
pub fn ceilings() -> MachineCapacity {
    let mut files = rustix::process::getrlimit(Resource::Nofile);
    files.current = files.maximum;
    let _ = rustix::process::setrlimit(Resource::Nofile, files);
    let open_files = rustix::process::getrlimit(Resource::Nofile).current;
    MachineCapacity {
        open_files: open_files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX)),
        mappings: read_number("/proc/sys/vm/max_map_count").unwrap_or(65_530),
        threads: read_number("/proc/sys/kernel/pid_max").unwrap_or(32_768),
    }
}

fn read_number(path: &str) -> Option<usize> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_foreground_of_a_terminal_is_known_by_its_process_group() {
        assert_eq!(is_foreground_group("7 (a) b) c) S 1 7 7 34816 7 4194304"), Some(true));
        assert_eq!(is_foreground_group("7 (tickwire) S 1 7 5 34816 5 4194304"), Some(false));
        assert_eq!(is_foreground_group("7 (tickwire) S 1"), None);
    }

    #[test]
    fn the_resident_memory_is_read_in_bytes() {
        assert_eq!(parse_resident("VmPeak:\t 9 kB\nVmRSS:\t    1234 kB\nVmData:\t 8 kB\n"), Some(1_263_616));
        assert_eq!(parse_resident("Name:\tVmRSS\nVmRSS:\t many kB\n"), None);
        assert!(resident_bytes().is_some_and(|bytes| bytes > 100_000), "this test itself");
    }

    #[test]
    fn a_socket_comes_from_the_address_it_was_given() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let from = Some("127.0.7.9".parse().unwrap());
        let stream = connect(listener.local_addr().unwrap(), from, None).unwrap();
        let (_, peer) = listener.accept().unwrap();
        assert_eq!(peer, stream.local_addr().unwrap());
        assert_eq!(peer.ip().to_string(), "127.0.7.9");
    }
}
