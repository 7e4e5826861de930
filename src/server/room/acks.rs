//! The answers to commands: what became of each one, for the connection that sent it.
//!
//! ```text
//!   rejected by the inbox, before tick T ─┐
//!   executed in T, or rejected by the world ─► Answers of T: connection 7 ─► 12, 13, 14 accepted
//!                                                                            15 rejected, too_dear
//! ```
//!
//! Answers belong to a connection, not to a player: another connection that takes the player over is
//! not told of commands that it did not send.

use std::sync::Arc;

use tickwire_sim::{PlayerId, RawCommand, StepResult};

/// What became of a command, or of some in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AckOutcome {
    /// The world executed the command of this sequence and of the following ones, so many in all.
    Accepted(u8),
    /// It was not executed: the reason's name.
    Rejected(&'static str),
}

/// An answer to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommandAck {
    /// The number of the connection.
    pub connection: u64,
    /// The sequence of the command. Clients' own sequences have 32 bits.
    pub sequence: u32,
    /// What became of it.
    pub verdict: AckOutcome,
}

impl CommandAck {
    /// The answer to a command that is not executed.
    pub fn rejected(connection: u64, sequence: u64, reason: &'static str) -> CommandAck {
        CommandAck { connection, sequence: in_32_bits(sequence), verdict: AckOutcome::Rejected(reason) }
    }
}

/// The answers that a tick brings.
#[derive(Debug, PartialEq, Eq)]
pub struct CommandAcks {
    /// The tick in which the accepted commands ran, by the number that commands name.
    pub tick: u32,
    /// In order.
    list: Vec<CommandAck>,
}

/// The commands of a tick, and what else the room must know of those who sent some.
#[derive(Debug, Default)]
pub struct TickCommands {
    /// Those of the operator, then those of each player in the order in which they came.
    pub commands: Vec<RawCommand>,
    /// The connections of the players in that order, and how many of the commands each sent.
    pub senders: Vec<(u64, usize)>,
    /// Answers to commands that were rejected before.
    pub rejected: Vec<CommandAck>,
}

impl TickCommands {
    /// Forgets everything and keeps the memory.
    pub fn clear(&mut self) {
        self.commands.clear();
        self.senders.clear();
        self.rejected.clear();
    }
}

impl CommandAcks {
    /// The answers of a tick, which has executed this batch; `None` if there are none.
    pub fn for_tick(tick: u32, batch: &TickCommands, stepped: &StepResult) -> Option<Arc<CommandAcks>> {
        let mut list = batch.rejected.clone();
        let mut reasons: Vec<(PlayerId, u64, &'static str)> =
            stepped.rejected.iter().map(|one| (one.player, one.sequence, one.reason)).collect();
        reasons.sort_unstable();
        let mut commands = batch.commands.iter().skip_while(|command| command.player == PlayerId::OPERATOR);
        for (connection, count) in &batch.senders {
            for command in commands.by_ref().take(*count) {
                let key = (command.player, command.sequence);
                match reasons.binary_search_by_key(&key, |(player, sequence, _)| (*player, *sequence)) {
                    Ok(at) => list.push(CommandAck::rejected(*connection, command.sequence, reasons[at].2)),
                    Err(_) => accept(&mut list, *connection, in_32_bits(command.sequence)),
                }
            }
        }
        list.sort_unstable();
        (!list.is_empty()).then(|| Arc::new(CommandAcks { tick, list }))
    }

    /// The answers to a connection, in the order of their sequences.
    pub fn to(&self, connection: u64) -> &[CommandAck] {
        let from = self.list.partition_point(|answer| answer.connection < connection);
        let own = &self.list[from..];
        &own[..own.partition_point(|answer| answer.connection == connection)]
    }

    /// About how many bytes they take while they wait for a worker.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.list)
    }
}

/// Adds a command to those before it if its sequence follows theirs.
fn accept(list: &mut Vec<CommandAck>, connection: u64, sequence: u32) {
    if let Some(CommandAck { connection: own, sequence: first, verdict: AckOutcome::Accepted(count) }) =
        list.last_mut()
        && *own == connection
        && *count < u8::MAX
        && first.checked_add((*count).into()) == Some(sequence)
    {
        *count += 1;
    } else {
        list.push(CommandAck { connection, sequence, verdict: AckOutcome::Accepted(1) });
    }
}

fn in_32_bits(sequence: u64) -> u32 {
    sequence.min(u32::MAX.into()) as u32
}
