//! Events that the tap delivers, and counts of events that a subscription lost.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::MembershipChange;

use crate::connection::head_secrets;
use crate::datagram::DatagramError;
use crate::game::GameInfo;
use crate::server::room::WorldSnapshot;
use crate::ws::Side;

/// Client id of world events. Real clients are numbered from 1.
pub(super) const WORLD_ID: u64 = 0;

/// A run of a room. A restarted room has a new run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Name of the room.
    pub room: Arc<str>,
    /// Number of the run, unique among the runs of all rooms.
    pub number: u64,
}

/// An event of a connection or of a world.
#[derive(Debug, Clone, PartialEq)]
pub struct TapEvent {
    /// Id of the client; 0 for the world.
    pub client: u64,
    /// Player number of the client; 0 without a player.
    pub player: u16,
    /// Name of the client's room.
    pub room: Arc<str>,
    /// Number of the room's run.
    pub run: u64,
    /// Time on the server's clock.
    pub at: Duration,
    /// Ticks completed by the room.
    pub tick: u32,
    /// The event itself.
    pub kind: EventKind,
}

/// Traffic of a client that a subscription skips: from a gap to the start of the client's next
/// message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SkippedTraffic {
    /// Number of skipped events.
    pub messages: u64,
    /// Total bytes of the skipped events.
    pub bytes: u64,
    /// Tick at which the gap began.
    pub since_tick: u32,
}

/// The kind of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum EventKind {
    /// A client was upgraded, or was already connected when the subscription began.
    Opened {
        /// Address of the client.
        address: SocketAddr,
        /// Address of the server.
        local: SocketAddr,
        /// Game of the client's room.
        info: &'static GameInfo,
        /// Dialect of the connection.
        dialect: String,
        /// Whether the connection uses JSON.
        json: bool,
        /// Request head, with secrets overwritten at equal length.
        request: Vec<u8>,
        /// Response of the server.
        response: Vec<u8>,
    },
    /// State of the client's connection before the bytes that follow. Sent to a subscription that
    /// lacks earlier bytes of the client, and only if it includes the world. See
    /// [`crate::connection::ServerConnection::save`].
    Session(Vec<u8>),
    /// Bytes of the connection: whole frames. A client's bytes may end with an unfinished frame.
    Bytes {
        /// The sending side.
        from: Side,
        /// The bytes.
        bytes: Vec<u8>,
        /// Whether an inspector with the client's resume key injected some of these bytes.
        is_injected: bool,
        /// Slack of the rate limits for these bytes, after a pause of the server.
        slack: Duration,
    },
    /// A datagram of the client's lane, opened: its header, then its messages.
    Datagram {
        /// The sending side.
        from: Side,
        /// The client's UDP address.
        address: SocketAddr,
        /// The header and the messages.
        bytes: Vec<u8>,
        /// As in [`EventKind::Bytes`].
        slack: Duration,
    },
    /// A datagram of the client that its lane dropped. Queued only for subscriptions to this client
    /// without the world, because anyone on the network can send such datagrams.
    DroppedDatagram {
        /// The sender's UDP address.
        address: SocketAddr,
        /// The broken rule.
        rule: DatagramError,
        /// The bytes as they arrived.
        bytes: Vec<u8>,
    },
    /// Skipped bytes of the client. The client's next event is the start of a message, or the end
    /// of its connection.
    Skipped(SkippedTraffic),
    /// The connection has ended.
    Ended {
        /// Name of the rule that ended it, as in the log.
        rule: &'static str,
    },
    /// The whole world of a run, followed by the run's next [`EventKind::Tick`]. Only for
    /// subscriptions with the world.
    World {
        /// The world.
        snapshot: Arc<WorldSnapshot>,
    },
    /// A tick of the world starts. Only for subscriptions with the world.
    Tick {
        /// Checksum of the world before the tick.
        checksum: u64,
        /// Commands of the tick, as a command frame.
        frame: Arc<[u8]>,
        /// Players that joined, left or disconnected in the tick.
        changes: Vec<MembershipChange>,
    },
}

impl EventKind {
    /// Creates the event of an upgrade. `address` is the client's, `local` the server's. Overwrites
    /// secrets in the request.
    pub fn opened(
        (address, local): (SocketAddr, SocketAddr),
        info: &'static GameInfo,
        (dialect, json): (&str, bool),
        mut request: Vec<u8>,
        mut response: Vec<u8>,
    ) -> EventKind {
        head_secrets::redact_head(&mut request);
        // Shrunk, because both are stored while the client is connected.
        request.shrink_to_fit();
        response.shrink_to_fit();
        EventKind::Opened { address, local, info, dialect: dialect.to_owned(), json, request, response }
    }

    /// Returns the payload size in bytes, for the queue limit.
    pub(super) fn bytes(&self) -> usize {
        match self {
            EventKind::Opened { request, response, .. } => request.len() + response.len(),
            EventKind::Session(bytes)
            | EventKind::Bytes { bytes, .. }
            | EventKind::Datagram { bytes, .. }
            | EventKind::DroppedDatagram { bytes, .. } => bytes.len(),
            EventKind::Skipped(_) | EventKind::Ended { .. } => 0,
            EventKind::World { snapshot } => snapshot.bytes.len(),
            EventKind::Tick { frame, .. } => frame.len(),
        }
    }
}

impl SkippedTraffic {
    /// Adds an event to the skipped traffic.
    pub(super) fn plus(self, event: &TapEvent) -> SkippedTraffic {
        let it = match event.kind {
            EventKind::Skipped(missed) => missed,
            _ => SkippedTraffic { messages: 1, bytes: event.kind.bytes() as u64, since_tick: event.tick },
        };
        let since_tick = if self.messages == 0 { it.since_tick } else { self.since_tick };
        SkippedTraffic { messages: self.messages + it.messages, bytes: self.bytes + it.bytes, since_tick }
    }
}

/// Events taken from a queue.
#[derive(Debug, Default)]
pub struct TapBatch {
    /// The events, in order.
    pub items: Vec<Arc<TapEvent>>,
    /// Indices in `items` of the worlds that start a part, in order. Within a part, a room has at
    /// most one run, and the events of a run follow its world.
    pub parts: Vec<usize>,
    /// Events lost after `items`.
    pub lost: LostEvents,
    /// Whether the subscription has ended.
    pub is_closed: bool,
}

/// Events that a subscription lost because its queue was full.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LostEvents {
    /// Totals over all lost events.
    pub missed: SkippedTraffic,
    /// Missing bytes of each client's connection: `[received, sent]`.
    pub connections: BTreeMap<u64, [u64; 2]>,
    /// Clients that connected; their handshakes are missing.
    pub opened: BTreeSet<u64>,
    /// Clients that left. A client that connected and left is in neither set.
    pub ended: BTreeSet<u64>,
}

impl LostEvents {
    pub(super) fn add(&mut self, event: &TapEvent) {
        let before = self.missed.bytes;
        self.missed = self.missed.plus(event);
        let bytes = self.missed.bytes - before;
        match event.kind {
            EventKind::Bytes { from, .. } => {
                self.connections.entry(event.client).or_default()[usize::from(from == Side::Server)] += bytes;
            }
            EventKind::Skipped(_) => self.connections.entry(event.client).or_default()[0] += bytes,
            // A lost datagram adds no bytes, but marks a gap in the client's traffic.
            EventKind::Datagram { .. } => drop(self.connections.entry(event.client).or_default()),
            EventKind::Opened { .. } => drop(self.opened.insert(event.client)),
            EventKind::Ended { .. } if self.opened.remove(&event.client) => {
                self.connections.remove(&event.client);
            }
            EventKind::Ended { .. } => drop(self.ended.insert(event.client)),
            EventKind::Session(_)
            | EventKind::DroppedDatagram { .. }
            | EventKind::World { .. }
            | EventKind::Tick { .. } => {}
        }
    }
}
