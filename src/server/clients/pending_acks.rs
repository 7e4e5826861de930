//! Acks of a client's commands, queued until the client's next update.

use crate::game::List;
use crate::game::Messages;
use crate::game::command_acks::{ACCEPTED, REJECTED, has_command_acks};
use crate::packet::{Dialect, Lane};
use crate::server::room::CommandAcks;
use crate::server::room::acks::AckOutcome;

/// Acks for the client's next update. The rate limit of the client's messages bounds their number,
/// because each command has one ack.
#[derive(Debug, Default)]
pub struct PendingAcks {
    /// Whether the client's dialect has acks.
    has_ack_packets: bool,
    /// First sequence number, count of consecutive commands, and tick.
    accepted: Vec<(u32, u8, u32)>,
    /// Sequence number and name of the reason.
    rejected: Vec<(u32, &'static str)>,
}

impl PendingAcks {
    /// Creates an empty list for a client of this dialect.
    pub fn new(dialect: &Dialect) -> PendingAcks {
        PendingAcks { has_ack_packets: has_command_acks(dialect), ..PendingAcks::default() }
    }

    /// Adds a tick's acks for this connection.
    pub fn add(&mut self, acks: &CommandAcks, connection: u64) {
        if !self.has_ack_packets {
            return;
        }
        for ack in acks.for_connection(connection) {
            match ack.verdict {
                AckOutcome::Accepted(count) => self.accepted.push((ack.sequence, count, acks.tick)),
                AckOutcome::Rejected(reason) => self.rejected.push((ack.sequence, reason)),
            }
        }
    }

    /// Returns whether the client's dialect has no acks.
    pub fn is_unused(&self) -> bool {
        !self.has_ack_packets
    }

    /// Returns whether a command was rejected.
    pub fn has_rejections(&self) -> bool {
        !self.rejected.is_empty()
    }

    /// Encodes and removes all acks. Retains the memory.
    pub fn write(&mut self, dialect: &Dialect, messages: &mut Messages) {
        let mut out = messages.writer(dialect, Lane::Reliable);
        if !self.accepted.is_empty() {
            out.send(ACCEPTED, List(self.accepted.iter()));
            self.accepted.clear();
        }
        if !self.rejected.is_empty() {
            out.send(REJECTED, List(self.rejected.iter()));
            self.rejected.clear();
        }
    }
}
