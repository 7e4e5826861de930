//! A connected socket, from a chosen source address, within a deadline; and random bytes.
//!
//! `std` can neither bind a socket before it connects nor connect with a timeout from a bound
//! address. This module knows no protocol.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};
use rustix::rand::{GetRandomFlags, getrandom};

use super::link::Keys;
use super::url::Url;
use crate::limits;

/// Resolves a URL's host: to its first IPv4 address, since our servers listen on IPv4 by default,
/// or else to its first address.
///
/// # Errors
/// The name has no address.
pub fn resolve(url: &Url) -> io::Result<SocketAddr> {
    let found: Vec<SocketAddr> = (url.host.as_str(), url.port).to_socket_addrs()?.collect();
    let chosen = found.iter().find(|address| address.is_ipv4()).or(found.first());
    chosen.copied().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the host name has no address"))
}

/// Connects, from `from` if it is given. The socket is non-blocking, and sends small writes at
/// once.
///
/// # Errors
/// The error of `socket`, `bind` or `connect`, or `TimedOut` after [`limits::DIAL_TIME`].
pub fn dial(to: SocketAddr, from: Option<IpAddr>) -> io::Result<TcpStream> {
    dial_with_room(to, from, None)
}

/// Like [`dial`], with a kernel receive buffer of the given size, to limit what a peer can send to
/// a client that does not read.
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

/// Waits until one of the sockets is ready.
///
/// # Errors
/// `TimedOut`, or the error of `poll`.
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

/// Converts a time to the kernel's type.
pub fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() }
}

/// The keys of a link, from the kernel.
pub fn keys() -> Keys {
    Keys { upgrade: random(), mask: random }
}

/// Random bytes that a peer cannot predict.
///
/// # Panics
/// If the kernel has no random source, which a running Linux always has.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    // Up to 256 bytes are returned whole, or not at all.
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
    fn a_port_without_a_server_is_an_error() {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert_eq!(dial(port, None).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
