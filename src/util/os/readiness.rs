//! What a thread waits for on a socket, and what the socket is ready for.

use std::net::TcpStream;

/// A non-blocking socket, and what its owner waits for.
#[derive(Debug, Clone, Copy)]
pub struct PollInterest<'a> {
    /// The socket.
    pub stream: &'a TcpStream,
    /// Wait for bytes or the end of the peer's bytes.
    pub reads: bool,
    /// Wait until the kernel accepts bytes.
    pub writes: bool,
}

impl<'a> PollInterest<'a> {
    /// A socket that is read.
    pub fn readable(stream: &'a TcpStream) -> PollInterest<'a> {
        PollInterest { stream, reads: true, writes: false }
    }

    /// A socket that is written.
    pub fn writable(stream: &'a TcpStream) -> PollInterest<'a> {
        PollInterest { stream, reads: false, writes: true }
    }
}

/// What a socket is ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Readiness {
    /// A read would not block.
    pub is_readable: bool,
    /// A write may succeed.
    pub is_writable: bool,
    /// The peer has ended its bytes, or the connection is broken.
    pub is_closed: bool,
}

impl Readiness {
    /// Whether it is ready for anything.
    pub fn is_ready(self) -> bool {
        self.is_readable || self.is_writable || self.is_closed
    }
}
