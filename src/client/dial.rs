//! A connected socket, from an address of one's choice, within a time; and random bytes.
//!
//! `std` can neither bind a socket before it connects nor wait for a bounded time with an address bound. Never: a
//! byte of any protocol.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use rustix::rand::{GetRandomFlags, getrandom};

use super::url::Url;
use crate::limits;

/// An address of a URL's host: the first of IPv4, where servers of ours listen unless told otherwise, or else the first of all.
///
/// # Errors
/// The name has none.
pub fn resolve(url: &Url) -> io::Result<SocketAddr> {
    let found: Vec<SocketAddr> = (url.host.as_str(), url.port).to_socket_addrs()?.collect();
    let chosen = found.iter().find(|address| address.is_ipv4()).or(found.first());
    chosen.copied().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))
}

/// Connects, from `from` if it is given. The socket does not block; it sends small writes at once.
///
/// # Errors
/// Whatever `socket`, `bind` or `connect` say, or `TimedOut` after [`limits::DIAL_TIME`].
pub fn dial(to: SocketAddr, from: Option<IpAddr>) -> io::Result<TcpStream> {
    dial_with_room(to, from, None)
}

/// As [`dial`], with a kernel receive buffer of so many bytes: the little that a peer can send to somebody who does
/// not read.
///
/// # Errors
/// As [`dial`].
pub fn dial_with_room(
    to: SocketAddr,
    from: Option<IpAddr>,
    room_bytes: Option<usize>,
) -> io::Result<TcpStream> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    if let Some(bytes) = room_bytes {
        sockopt::set_socket_recv_buffer_size(&socket, bytes)?;
    }
    if let Some(address) = from {
        bind(&socket, &SocketAddr::new(address, 0))?;
    }
    match connect(&socket, &to) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => {
            wait(&mut [PollFd::new(&socket, PollFlags::OUT)], limits::DIAL_TIME)?;
            sockopt::socket_error(&socket)??;
        }
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Waits until one of these is ready.
///
/// # Errors
/// `TimedOut`, or whatever `poll` says.
pub fn wait(sockets: &mut [PollFd<'_>], time: Duration) -> io::Result<()> {
    let deadline = Instant::now() + time;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        match poll(sockets, Some(&timespec(left))) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A time as the kernel takes it.
pub fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}

/// Random bytes that a peer cannot foresee: upgrade keys and mask keys.
///
/// # Panics
/// When the kernel has no random source, which a running Linux always has.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Up to 256 bytes come whole, or not at all.
    let count = getrandom(&mut bytes[..], GetRandomFlags::empty()).expect("the kernel has a random source");
    assert_eq!(count, N, "small requests for random bytes are met whole");
    bytes
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_socket_comes_from_the_address_it_was_given() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = dial(listener.local_addr().unwrap(), Some("127.0.7.9".parse().unwrap())).unwrap();
        let (_, peer) = listener.accept().unwrap();
        assert_eq!(peer, stream.local_addr().unwrap());
        assert_eq!(peer.ip().to_string(), "127.0.7.9");
    }

    #[test]
    fn nobody_at_home_is_an_error() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(dial(port, None).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
