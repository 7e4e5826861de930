//! The result of a replay, and the options of a replay.

use core::net::SocketAddr;

use tickwire_sim::PlayerId;

use super::field_diff::FieldDiffs;
use super::server_replies::ReplyDiff;
use crate::tools::capture::Untrusted;

/// The result of a replay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// The first replayed tick.
    pub first_tick: u32,
    /// The number of replayed ticks.
    pub ticks: u32,
    /// The number of client connections.
    pub clients: usize,
    /// The number of tick commands that were decoded from a client's bytes.
    pub matched: usize,
    /// The number of the server's own commands: joins, leaves, and gifts with a join.
    pub server: usize,
    /// The number of operator commands.
    pub operator: usize,
    /// The number of tick commands sent before the capture: up to the sequence number in the saved
    /// session.
    pub sent_before: usize,
    /// The number of tick commands of clients that are not captured.
    pub not_captured: usize,
    /// The number of decoded commands without a tick, because the client left before their tick.
    pub dropped_on_leave: usize,
    /// The number of decoded commands without a tick although the client stayed. The inbox or a
    /// rate limit of the address dropped them, or the connection was being closed.
    pub dropped_while_connected: usize,
    /// The number of decoded commands for ticks after the end of the capture.
    pub after_end: usize,
    /// The number of equal server replies: pongs, reply packets, close frames.
    pub answers: usize,
    /// The first different reply, and its client.
    pub answer: Option<(SocketAddr, ReplyDiff)>,
    /// The offset of an incomplete block at the end of the file, in bytes. Everything before it was
    /// replayed.
    pub ends_at_byte: Option<usize>,
    /// The first packet truncated by the snapshot length. The packets before it were replayed.
    pub truncated_at: Option<usize>,
    /// The completed ticks at the end of the recording, if [`ReplayOptions::to_tick`] is outside of
    /// it.
    pub last_tick: Option<u32>,
    /// The checksum of the world after the last replayed tick.
    pub checksum: u64,
    /// The first difference.
    pub difference: Option<ReplayDiff>,
    /// The differing fields, if requested.
    pub fields: Option<FieldDiffs>,
    /// The final state, if requested.
    pub state: Option<StateListing>,
}

/// A state: the name of each entity, with its fields and their values as text.
pub type StateListing = Vec<(String, Vec<(String, String)>)>;

/// The options of a replay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReplayOptions {
    /// Whether to find the differing fields.
    pub fields: bool,
    /// The number of completed ticks at which the replay stops.
    pub to_tick: Option<u32>,
    /// Whether to return the final state.
    pub state: bool,
}

impl Report {
    /// Whether the replay matches the recording.
    pub fn is_same(&self) -> bool {
        self.difference.is_none() && self.answer.is_none()
    }
}

/// The first difference between a replay and its recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayDiff {
    /// The first tick after which the worlds differ, or with different commands.
    pub tick: u32,
    /// The first different command, and its tick.
    pub command: Option<(u32, CommandDiff)>,
    /// The recorded and replayed checksums after `tick`; `None` if they are equal, or the capture
    /// ends there.
    pub checksums: Option<(u64, u64)>,
}

/// A difference between a recorded and a decoded command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandDiff {
    /// The player and sequence number of the command.
    pub command: (PlayerId, u64),
    /// The recorded command, as text.
    pub recorded: Untrusted,
    /// The decoded command, as text; `None` if the client's bytes do not contain it.
    pub decoded: Option<Untrusted>,
}
