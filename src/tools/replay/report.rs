//! The result of a replay, and what is asked of one.

use core::net::SocketAddr;

use tickwire_sim::PlayerId;

use super::field_diff::FieldDiffs;
use super::server_replies::ReplyDiff;
use crate::tools::capture::Untrusted;

/// The result of a replay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The first tick.
    pub first_tick: u32,
    /// Ticks that were run.
    pub ticks: u32,
    /// Connections of clients.
    pub clients: usize,
    /// Commands of ticks that were decoded from a client's bytes.
    pub matched: usize,
    /// Commands of the server itself: joins, leaves, and the gifts of a join.
    pub server: usize,
    /// Commands of the operator.
    pub operator: usize,
    /// Commands of ticks that were sent before the capture began: their sequence is not above the one that the session remembered.
    pub sent_before: usize,
    /// Commands of ticks whose client is not in the capture.
    pub not_captured: usize,
    /// Decoded commands that no tick has because their client left before their tick.
    pub dropped_on_leave: usize,
    /// Decoded commands that no tick has although the capture went on and their client stayed: the inbox dropped them, the budget of
    /// the client's address was spent, or the client was being closed.
    pub dropped_while_connected: usize,
    /// Decoded commands whose tick is after the end of the capture.
    pub after_end: usize,
    /// Answers of the server that are the same: pongs, replies, close frames.
    pub answers: usize,
    /// The first answer that differs, and its client.
    pub answer: Option<(SocketAddr, ReplyDiff)>,
    /// The offset at which the file ends in the middle of a block, if it does: only the part before
    /// it was replayed.
    pub ends_at_byte: Option<usize>,
    /// The first packet that the capture has truncated, if any: the packets before it were replayed.
    pub truncated_at: Option<usize>,
    /// The ticks completed at the end of the recording, if a tick was asked for to which it does not come, or
    /// from which on it begins later.
    pub last_tick: Option<u32>,
    /// The world's checksum after the last tick that was run.
    pub checksum: u64,
    /// The first difference, if any.
    pub difference: Option<ReplayDiff>,
    /// The fields that differ, if they were asked for.
    pub fields: Option<FieldDiffs>,
    /// The state at the end, if it was asked for.
    pub state: Option<StateListing>,
}

/// A state: each entity, with its fields and their values in words.
pub type StateListing = Vec<(String, Vec<(String, String)>)>;

/// What is asked of a replay besides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Which fields differ. The replay then goes on to the first tick after which any does.
    pub fields: bool,
    /// Stop after so many ticks of the world.
    pub to_tick: Option<u32>,
    /// The state at the end.
    pub state: bool,
}

impl Report {
    /// Whether the replay came out as it was recorded.
    pub fn is_same(&self) -> bool {
        self.difference.is_none() && self.answer.is_none()
    }
}

/// The point at which a replay and the capture diverge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayDiff {
    /// The first tick after which the world differs, or whose commands differ.
    pub tick: u32,
    /// The first command that differs, and its tick, if one does.
    pub command: Option<(u32, CommandDiff)>,
    /// The checksums after that tick, recorded and replayed; none if they are the same, or if the capture has none after it.
    pub checksums: Option<(u64, u64)>,
}

/// A command that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandDiff {
    /// Its player and sequence.
    pub command: (PlayerId, u64),
    /// As it was recorded, in words.
    pub recorded: Untrusted,
    /// The command in the client's bytes, in words; `None` if they do not contain it.
    pub decoded: Option<Untrusted>,
}
