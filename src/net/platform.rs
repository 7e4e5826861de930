//! Every system call that `std` does not offer, in one file, so that ports to systems other than
//! Linux can follow.
//!
//! The functions take and return sockets, plain values and `io::Error`. They decide nothing about
//! the protocol.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{SendAncillaryBuffer, SendFlags};
use rustix::process::Resource;

use crate::limits;

/// Sends as many bytes of these slices as the kernel accepts now, in one call; 0 if it accepts none.
///
/// Works while another thread is blocked in `read` on the same socket. `O_NONBLOCK` would not,
/// because clones of the socket share it.
///
/// # Errors
/// Any error of the socket except "would block": the peer is gone.
pub fn send_now<'a>(stream: &TcpStream, slices: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
    let mut all = [IoSlice::new(&[]); limits::SEND_PIECES];
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
            Err(rustix::io::Errno::INTR) => continue,
            Err(rustix::io::Errno::AGAIN) => Ok(0),
            Err(error) => Err(error.into()),
        };
    }
}

/// Gives a bound listener the backlog of [`limits::LISTEN_BACKLOG`] instead of the 128 of `std`.
///
/// # Errors
/// Any error of `listen(2)`.
pub fn widen_backlog(listener: &TcpListener) -> io::Result<()> {
    Ok(rustix::net::listen(listener, limits::LISTEN_BACKLOG)?)
}

/// Creates a file that only its owner may read and write, whatever the umask.
///
/// # Errors
/// The file exists, or any error of the disk.
pub fn create_private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_MODE).open(path)?;
    // The umask may have taken bits of the owner's.
    file.set_permissions(fs::Permissions::from_mode(PRIVATE_MODE))?;
    Ok(file)
}

/// Read and write for the owner, no access for others.
const PRIVATE_MODE: u32 = 0o600;

/// Prepares an accepted socket: no delay for small writes, and a small kernel buffer for a peer that does not read.
///
/// # Errors
/// Any error of `setsockopt(2)`.
pub fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    Ok(rustix::net::sockopt::set_socket_send_buffer_size(stream, limits::SEND_BUFFER_BYTES)?)
}

/// Wakes a thread that is blocked in `accept` on this listener: it gets `EINVAL`.
pub fn shut_listener(listener: &TcpListener) {
    let _ = rustix::net::shutdown(listener, rustix::net::Shutdown::Both);
}

/// Whether an `accept` failed because no descriptor or memory is left, which is temporary.
pub fn is_exhausted(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let exhausted = [Errno::MFILE, Errno::NFILE, Errno::NOBUFS, Errno::NOMEM];
    error.raw_os_error().is_some_and(|code| exhausted.iter().any(|errno| errno.raw_os_error() == code))
}

/// Random bytes from the kernel: for the server's epoch, and for the masking keys of our clients.
///
/// # Panics
/// If the kernel has no random source, which a running Linux always has.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    let mut filled = 0;
    while filled < N {
        filled += rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
            .expect("the kernel has a random source");
    }
    bytes
}

/// Waits at most this long until a read would not block, because of data or end of file. Returns
/// whether it would not.
///
/// # Errors
/// Any error of `poll(2)`, including `EINTR`.
pub fn is_readable(file: &impl AsFd, time: Duration) -> io::Result<bool> {
    let wait = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
    let mut files = [PollFd::new(file, PollFlags::IN)];
    Ok(rustix::event::poll(&mut files, Some(&wait))? > 0)
}

/// Waits at most this long until the peer has gone or reset the connection; bytes that arrive
/// meanwhile are left unread.
pub fn wait_until_gone(stream: &TcpStream, time: Duration) {
    let wait = Timespec { tv_sec: time.as_secs().cast_signed(), tv_nsec: time.subsec_nanos().into() };
    // Errors and the end of both directions are told without being asked for.
    let mut files = [PollFd::new(stream, PollFlags::empty())];
    let _ = rustix::event::poll(&mut files, Some(&wait));
}

/// Reads available bytes without the buffer of `std`, whose contents [`is_readable`] could not see.
///
/// # Errors
/// Any error of `read(2)`.
pub fn read(file: &impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(file, buffer)?)
}

/// Whether this program is in the foreground of its terminal. A background program that reads would
/// be stopped (`SIGTTIN`). Returns true if the state cannot be determined.
pub fn is_in_front() -> bool {
    let status = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    is_group_in_front(&status).unwrap_or(true)
}

/// As in proc(5): behind the name in brackets follow state, parent, group, session, terminal, and the group in front of it.
fn is_group_in_front(status: &str) -> Option<bool> {
    let fields: Vec<&str> = status.rsplit_once(')')?.1.split_whitespace().collect();
    Some(fields.get(2)? == fields.get(5)?)
}

/// The machine's limits for one process, read once at startup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ceilings {
    /// Open files, after raising the soft limit to the hard one.
    pub open_files: usize,
    /// Memory mappings, `vm.max_map_count`.
    pub mappings: usize,
    /// Threads of the whole machine, `kernel.pid_max`.
    pub threads: usize,
}

impl Ceilings {
    /// Raises the open-files limit as far as allowed and reads the ceilings. A ceiling that cannot
    /// be read counts as Linux's default.
    pub fn read() -> Ceilings {
        let mut files = rustix::process::getrlimit(Resource::Nofile);
        files.current = files.maximum;
        let _ = rustix::process::setrlimit(Resource::Nofile, files);
        let open_files = rustix::process::getrlimit(Resource::Nofile).current;
        Ceilings {
            open_files: open_files.map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX)),
            mappings: read_number("/proc/sys/vm/max_map_count").unwrap_or(65_530),
            threads: read_number("/proc/sys/kernel/pid_max").unwrap_or(32_768),
        }
    }

    /// The number of connections, each with its thread, that fit under the ceilings, with some room
    /// for everything else.
    pub fn connections(&self) -> usize {
        let by_files = self.open_files.saturating_sub(limits::DESCRIPTORS_KEPT);
        let by_mappings = self.mappings.saturating_sub(limits::MAPPINGS_KEPT) / limits::MAPPINGS_PER_THREAD;
        by_files.min(by_mappings).min(self.threads / 2)
    }

    /// As [`Ceilings::connections`], for a server about to start.
    ///
    /// # Errors
    /// [`io::ErrorKind::QuotaExceeded`] if they are too few to serve clients; the message says what
    /// is needed.
    pub fn enough(&self) -> io::Result<usize> {
        let (connections, least) = (self.connections(), limits::CONNECTIONS_LEAST);
        if connections >= least {
            return Ok(connections);
        }
        let files = limits::DESCRIPTORS_KEPT + least;
        let mappings = limits::MAPPINGS_KEPT + limits::MAPPINGS_PER_THREAD * least;
        let threads = 2 * least;
        let Ceilings { open_files, mappings: has_mappings, threads: has_threads } = self;
        let said = format!(
            "this machine supports {connections} connections, and a server needs at least {least}: open \
             files (ulimit -n): {open_files}, needed: {files}; memory mappings (vm.max_map_count): {has_mappings}, \
             needed: {mappings}; threads (kernel.pid_max): {has_threads}, needed: {threads}"
        );
        Err(io::Error::new(io::ErrorKind::QuotaExceeded, said))
    }
}

impl fmt::Display for Ceilings {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (connections, Ceilings { open_files, mappings, threads }) = (self.connections(), self);
        write!(
            out,
            "{connections} connections ({open_files} open files, {mappings} memory mappings, {threads} threads)"
        )
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
        assert_eq!(is_group_in_front("7 (a) b) c) S 1 7 7 34816 7 4194304"), Some(true));
        assert_eq!(is_group_in_front("7 (tickwire) S 1 7 5 34816 5 4194304"), Some(false));
        assert_eq!(is_group_in_front("7 (tickwire) S 1"), None);
    }
}
