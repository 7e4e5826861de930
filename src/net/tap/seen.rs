//! What a listener of the tap sees: events on the wire and in the world.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::ws::Side;

/// An event on the wire or in the world.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// The client's connection; 0 for the world.
    pub client: u64,
    /// Its body, 0 without one.
    pub player: u16,
    /// The name of its room.
    pub room: Arc<str>,
    /// When, on the server's clock.
    pub at: Duration,
    /// The number of ticks that the room had completed.
    pub tick: u32,
    /// The event.
    pub what: What,
}

impl Seen {
    /// Something else of the same client, at the same time.
    pub(super) fn but(&self, what: What) -> Seen {
        Seen { what, room: Arc::clone(&self.room), ..*self }
    }
}

/// The amount of a client's traffic skipped after a gap, until a message began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Missed {
    /// Pieces.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The tick at which the gap began.
    pub since_tick: u32,
}

/// The kind of event.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// A client was upgraded, or was connected before the listener joined.
    Opened {
        /// The client's end.
        address: SocketAddr,
        /// Our end.
        local: SocketAddr,
        /// The dialect that it speaks.
        dialect: String,
        /// Whether it uses JSON.
        json: bool,
        /// The head of its request, secrets overwritten at equal length.
        request: Vec<u8>,
        /// The server's response.
        response: Vec<u8>,
    },
    /// The state of its session before the bytes that follow. Sent to a listener that did not
    /// receive all bytes from the beginning, and only if it also listens to the world. See
    /// [`crate::peer::Receiver::save`].
    Session(Vec<u8>),
    /// Bytes as they travel: whole frames, unless they are the unfinished end of what a client sent.
    Bytes {
        /// Who sent them.
        from: Side,
        /// The bytes.
        bytes: Vec<u8>,
        /// Whether no message is left unfinished after them.
        whole: bool,
    },
    /// Bytes of the client that were skipped. The client's next event begins a message, or is its
    /// end.
    Missed(Missed),
    /// The connection has ended.
    Ended {
        /// The rule's name, as in the log.
        rule: &'static str,
    },
    /// The whole world of a room before its next [`What::Tick`]. Sent only to listeners of the
    /// world, together for all rooms: what comes after is later than each of them.
    World {
        /// As [`crate::world::World::restore`] takes it.
        snapshot: Arc<[u8]>,
    },
    /// A tick of the world begins. Sent only to listeners of the world.
    Tick {
        /// The world's checksum before it.
        checksum: u64,
        /// Its commands, as a command frame.
        frame: Arc<[u8]>,
    },
}

impl What {
    /// Bytes that it holds, as bounds count them.
    pub(super) fn bytes(&self) -> usize {
        match self {
            What::Opened { request, response, .. } => request.len() + response.len(),
            What::Session(bytes) | What::Bytes { bytes, .. } => bytes.len(),
            What::Missed(_) | What::Ended { .. } => 0,
            What::World { snapshot } => snapshot.len(),
            What::Tick { frame, .. } => frame.len(),
        }
    }
}

impl Missed {
    pub(super) fn and(self, seen: &Seen) -> Missed {
        let since_tick = if self.messages == 0 { seen.tick } else { self.since_tick };
        Missed { messages: self.messages + 1, bytes: self.bytes + seen.what.bytes() as u64, since_tick }
    }
}
