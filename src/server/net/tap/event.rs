//! What a listener of the tap sees: events on the wire and in the world, and what it missed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::MembershipChange;

use crate::connection::redact::http_head;
use crate::game::GameInfo;
use crate::server::room::WorldSnapshot;
use crate::ws::Side;

/// The number of the world among the clients, which count from 1.
pub(super) const WORLD_ID: u64 = 0;

/// A run of a room. A room that ends and begins again has another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The name of the room.
    pub room: Arc<str>,
    /// Unique among the runs of all rooms.
    pub number: u64,
}

/// An event on the wire or in the world.
#[derive(Debug, Clone, PartialEq)]
pub struct TapEvent {
    /// The client's connection; 0 for the world.
    pub client: u64,
    /// Its body, 0 without one.
    pub player: u16,
    /// The name of its room.
    pub room: Arc<str>,
    /// The number of the room's run.
    pub run: u64,
    /// When, on the server's clock.
    pub at: Duration,
    /// The number of ticks that the room had completed.
    pub tick: u32,
    /// The event.
    pub what: EventKind,
}

/// The amount of a client's traffic skipped after a gap, until a message began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkippedTraffic {
    /// Pieces.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The tick at which the gap began.
    pub since_tick: u32,
}

/// The kind of event.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// A client was upgraded, or was connected before the listener joined.
    Opened {
        /// The client's end.
        address: SocketAddr,
        /// Our end.
        local: SocketAddr,
        /// The game of its room.
        about: &'static GameInfo,
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
    /// [`crate::connection::Receiver::save`].
    Session(Vec<u8>),
    /// Bytes as they travel: whole frames, or the unfinished end of what a client sent.
    Bytes {
        /// Who sent them.
        from: Side,
        /// The bytes.
        bytes: Vec<u8>,
        /// Whether some of them come from a watcher that proved that the client is its own.
        is_injected: bool,
        /// The slack after a pause of the server by which the rate limits judge them.
        slack: Duration,
    },
    /// Bytes of the client that were skipped. The client's next event begins a message, or is its
    /// end.
    Skipped(SkippedTraffic),
    /// The connection has ended.
    Ended {
        /// The rule's name, as in the log.
        rule: &'static str,
    },
    /// The whole world of a run before its next [`EventKind::Tick`]. Sent only to listeners of the world.
    World {
        /// The world.
        snapshot: Arc<WorldSnapshot>,
    },
    /// A tick of the world begins. Sent only to listeners of the world.
    Tick {
        /// The world's checksum before it.
        checksum: u64,
        /// Its commands, as a command frame.
        frame: Arc<[u8]>,
        /// Whom they let in or make leave.
        changes: Vec<MembershipChange>,
    },
}

impl EventKind {
    /// A handshake between these ends, the client's first. Overwrites the secrets of the request.
    pub fn opened(
        (address, local): (SocketAddr, SocketAddr),
        about: &'static GameInfo,
        (dialect, json): (&str, bool),
        mut request: Vec<u8>,
        mut response: Vec<u8>,
    ) -> EventKind {
        http_head::redact_head(&mut request);
        // They are kept as long as the client is connected.
        request.shrink_to_fit();
        response.shrink_to_fit();
        EventKind::Opened { address, local, about, dialect: dialect.to_owned(), json, request, response }
    }

    /// Bytes that it holds, as bounds count them.
    pub(super) fn bytes(&self) -> usize {
        match self {
            EventKind::Opened { request, response, .. } => request.len() + response.len(),
            EventKind::Session(bytes) | EventKind::Bytes { bytes, .. } => bytes.len(),
            EventKind::Skipped(_) | EventKind::Ended { .. } => 0,
            EventKind::World { snapshot } => snapshot.bytes.len(),
            EventKind::Tick { frame, .. } => frame.len(),
        }
    }
}

impl SkippedTraffic {
    /// This, and then an event that is missed as well.
    pub(super) fn plus(self, seen: &TapEvent) -> SkippedTraffic {
        let it = match seen.what {
            EventKind::Skipped(missed) => missed,
            _ => SkippedTraffic { messages: 1, bytes: seen.what.bytes() as u64, since_tick: seen.tick },
        };
        let since_tick = if self.messages == 0 { it.since_tick } else { self.since_tick };
        SkippedTraffic { messages: self.messages + it.messages, bytes: self.bytes + it.bytes, since_tick }
    }
}

/// The events taken from a queue.
#[derive(Debug, Default)]
pub struct TapBatch {
    /// The events, in order.
    pub items: Vec<Arc<TapEvent>>,
    /// The indices of the worlds with which a part begins, in order. In one part, a room has at most one run, and the events of
    /// a run follow its world.
    pub parts: Vec<usize>,
    /// The events missing after them.
    pub lost: LostEvents,
    /// No more events will follow.
    pub is_closed: bool,
}

/// The events that a listener missed because its queue was full.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LostEvents {
    /// All of them.
    pub missed: SkippedTraffic,
    /// Bytes of each client's connection that are missing: what it sent, what it was sent.
    pub connections: BTreeMap<u64, [u64; 2]>,
    /// Clients that arrived and must be introduced.
    pub opened: BTreeSet<u64>,
    /// Clients that left. A client that both arrived and left is in neither set.
    pub ended: BTreeSet<u64>,
}

impl LostEvents {
    pub(super) fn add(&mut self, seen: &TapEvent) {
        let before = self.missed.bytes;
        self.missed = self.missed.plus(seen);
        let bytes = self.missed.bytes - before;
        match seen.what {
            EventKind::Bytes { from, .. } => {
                self.connections.entry(seen.client).or_default()[usize::from(from == Side::Server)] += bytes;
            }
            EventKind::Skipped(_) => self.connections.entry(seen.client).or_default()[0] += bytes,
            EventKind::Opened { .. } => drop(self.opened.insert(seen.client)),
            EventKind::Ended { .. } if self.opened.remove(&seen.client) => {
                self.connections.remove(&seen.client);
            }
            EventKind::Ended { .. } => drop(self.ended.insert(seen.client)),
            EventKind::Session(_) | EventKind::World { .. } | EventKind::Tick { .. } => {}
        }
    }
}
