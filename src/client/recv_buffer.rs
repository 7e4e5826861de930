//! Connections with a small receive buffer, as tests and misbehaving clients have them.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream};

use crate::util::os;

/// Like [`dial::connect`](super::dial::connect), with a kernel receive buffer of the given size.
/// The buffer limits how much a server can send to a client that does not read.
///
/// # Errors
/// The system's error, or `TimedOut`.
pub fn connect_with_recv_buffer(
    to: SocketAddr,
    from: Option<IpAddr>,
    buffer_bytes: Option<usize>,
) -> io::Result<TcpStream> {
    os::connect(to, from, buffer_bytes)
}
