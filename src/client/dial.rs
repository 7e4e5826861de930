//! Connected sockets, from a chosen source address and within a deadline, and random bytes.
//!
//! This module knows no protocol.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;

use super::connection::ConnectionKeys;
use super::url::Url;
pub use crate::util::os::random;
use crate::util::os::{self, PollInterest, Readiness};

/// Resolves the host of a URL to its first IPv4 address, because our servers listen on IPv4 by
/// default. A host without an IPv4 address is resolved to its first address. Refuses `wss://`,
/// because the sockets of this module have no TLS.
///
/// # Errors
/// The host name has no address; `Unsupported` for `wss://`.
pub fn resolve(url: &Url) -> io::Result<SocketAddr> {
    if url.is_tls {
        let text = "wss:// works with `tickwire connect` only; bots and library clients need ws://";
        return Err(io::Error::new(io::ErrorKind::Unsupported, text));
    }
    resolve_host(url)
}

/// Resolves the host of a URL of either scheme, as [`resolve`].
///
/// # Errors
/// The host name has no address.
pub(crate) fn resolve_host(url: &Url) -> io::Result<SocketAddr> {
    let found: Vec<SocketAddr> = (url.host.as_str(), url.port).to_socket_addrs()?.collect();
    let chosen = found.iter().find(|address| address.is_ipv4()).or(found.first());
    chosen.copied().ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the host name has no address"))
}

/// Connects within 10 seconds, from the address `from` if there is one. The socket is non-blocking,
/// and sends small writes at once.
///
/// # Errors
/// The system's error, or `TimedOut`.
pub fn connect(to: SocketAddr, from: Option<IpAddr>) -> io::Result<TcpStream> {
    os::connect(to, from, None)
}

/// A non-blocking UDP socket for the lane of a client: it exchanges datagrams with this address
/// alone. `to` is the address of the server with the port of the lane.
///
/// # Errors
/// The system's error.
pub fn connect_lane(to: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr = if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(to)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Waits until a non-blocking socket is ready for one of the requested operations.
///
/// # Errors
/// `TimedOut`, or the system's error.
pub(crate) fn wait(socket: PollInterest<'_>, time: Duration) -> io::Result<Readiness> {
    let ready = os::poll(&[socket], time)?[0];
    if ready.is_ready() { Ok(ready) } else { Err(io::ErrorKind::TimedOut.into()) }
}

/// Random keys for a connection, from the kernel.
pub fn random_keys() -> ConnectionKeys {
    ConnectionKeys { upgrade: random(), mask: random }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_without_tls_refuse_wss() {
        let error = resolve(&"wss://127.0.0.1/".parse().unwrap()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(error.to_string().contains("need ws://"), "{error}");
    }

    #[test]
    fn a_port_without_a_server_is_an_error() {
        // Port 1 is privileged, so no parallel test binds it.
        let error = connect((Ipv4Addr::LOCALHOST, 1).into(), None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }
}
