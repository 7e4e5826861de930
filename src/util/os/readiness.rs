//! What a thread waits for on a socket, and what the socket is ready for.

use std::net::TcpStream;

/// A non-blocking socket, and what its owner waits for.
#[derive(Debug, Clone, Copy)]
pub struct Watched<'a> {
    /// The socket.
    pub stream: &'a TcpStream,
    /// Wait for bytes or the end of the peer's bytes.
    pub reads: bool,
    /// Wait until the kernel accepts bytes.
    pub writes: bool,
}

impl<'a> Watched<'a> {
    /// A socket that is read.
    pub fn reading(stream: &'a TcpStream) -> Watched<'a> {
        Watched { stream, reads: true, writes: false }
    }

    /// A socket that is written.
    pub fn writing(stream: &'a TcpStream) -> Watched<'a> {
        Watched { stream, reads: false, writes: true }
    }
}

/// What a socket is ready for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ready {
    /// A read would not block.
    pub reads: bool,
    /// A write may succeed.
    pub writes: bool,
    /// The peer has ended its bytes, or the connection is broken.
    pub ended: bool,
}

impl Ready {
    /// Whether it is ready for anything.
    pub fn is_any(self) -> bool {
        self.reads || self.writes || self.ended
    }
}
