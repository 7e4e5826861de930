//! The answers to a client's commands, from the ticks that executed them to the client's next update.

use crate::game::List;
use crate::game::Messages;
use crate::game::command_acks::{ACCEPTED, REJECTED, has_command_acks};
use crate::packet::{Dialect, Lane};
use crate::server::room::CommandAcks;
use crate::server::room::acks::AckOutcome;

/// Answers that wait for the client's next turn. Their number is bounded by that of the client's
/// messages, each of which has one answer.
#[derive(Debug, Default)]
pub struct PendingAcks {
    /// Whether the client's dialect has answers.
    has_ack_packets: bool,
    /// The first sequence, how many in a row, and their tick.
    accepted: Vec<(u32, u8, u32)>,
    /// The sequence, and the reason's name.
    rejected: Vec<(u32, &'static str)>,
}

impl PendingAcks {
    /// No answers, for a client of this dialect.
    pub fn new(dialect: &Dialect) -> PendingAcks {
        PendingAcks { has_ack_packets: has_command_acks(dialect), ..PendingAcks::default() }
    }

    /// Adds the answers to a connection that a tick has brought.
    pub fn take(&mut self, answers: &CommandAcks, connection: u64) {
        if !self.has_ack_packets {
            return;
        }
        for answer in answers.to(connection) {
            match answer.verdict {
                AckOutcome::Accepted(count) => self.accepted.push((answer.sequence, count, answers.tick)),
                AckOutcome::Rejected(reason) => self.rejected.push((answer.sequence, reason)),
            }
        }
    }

    /// Writes the packets of all that waits, and keeps the memory.
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
