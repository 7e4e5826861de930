//! Interest in the readiness of a socket, and its readiness.

use std::net::TcpStream;

/// A non-blocking socket, and the events for which its owner waits.
#[derive(Debug, Clone, Copy)]
pub struct PollInterest<'a> {
    /// The socket.
    pub stream: &'a TcpStream,
    /// Whether to wait for bytes or the end of the peer's stream.
    pub reads: bool,
    /// Whether to wait until the kernel accepts bytes.
    pub writes: bool,
}

impl<'a> PollInterest<'a> {
    /// The interest in reading from the socket.
    pub fn readable(stream: &'a TcpStream) -> PollInterest<'a> {
        PollInterest { stream, reads: true, writes: false }
    }

    /// The interest in writing to the socket.
    pub fn writable(stream: &'a TcpStream) -> PollInterest<'a> {
        PollInterest { stream, reads: false, writes: true }
    }
}

/// The readiness of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Readiness {
    /// A read would not block.
    pub is_readable: bool,
    /// A write may succeed.
    pub is_writable: bool,
    /// The peer has ended its stream, or the connection is broken.
    pub is_closed: bool,
}

impl Readiness {
    /// Whether any of the three is true.
    pub fn is_ready(self) -> bool {
        self.is_readable || self.is_writable || self.is_closed
    }
}
