//! Acks: the outcome of each command, for the connection that sent it.
//!
//! ```text
//!   rejected by the inbox before tick T ──────┐
//!   executed in T, or rejected by the world ──┴─► acks of T: connection 7 ─► 12, 13, 14 accepted
//!                                                                            15 rejected, too_dear
//! ```
//!
//! Acks belong to a connection, not to a player. A connection that takes the player over receives
//! no acks for commands that it did not send.

use std::sync::Arc;

use tickwire_sim::{PlayerId, RawCommand, StepResult};

/// The outcome of a command, or of several consecutive accepted commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum AckOutcome {
    /// The world executed this many commands with consecutive sequence numbers.
    Accepted(u8),
    /// The command was not executed. Contains the name of the reason.
    Rejected(&'static str),
}

/// An ack for one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommandAck {
    /// The number of the connection.
    pub connection: u64,
    /// Sequence number of the first command. Sequence numbers of clients have 32 bits.
    pub sequence: u32,
    /// The outcome.
    pub verdict: AckOutcome,
}

impl CommandAck {
    /// Creates the ack of a rejected command.
    pub fn rejected(connection: u64, sequence: u64, reason: &'static str) -> CommandAck {
        CommandAck { connection, sequence: in_32_bits(sequence), verdict: AckOutcome::Rejected(reason) }
    }
}

/// All acks of one tick.
#[derive(Debug, PartialEq, Eq)]
pub struct CommandAcks {
    /// The tick that executed the accepted commands, numbered like the target ticks of commands.
    pub tick: u32,
    /// Sorted by connection, then by sequence number.
    list: Vec<CommandAck>,
}

/// The commands of a tick and the data for their acks.
#[derive(Debug, Default)]
pub struct TickCommands {
    /// The operator's commands, then each player's in order of arrival.
    pub commands: Vec<RawCommand>,
    /// For each player in that order: the connection, and how many commands it sent.
    pub senders: Vec<(u64, usize)>,
    /// Acks of commands that were rejected before the tick.
    pub rejected: Vec<CommandAck>,
}

impl TickCommands {
    /// Removes all entries and retains the memory.
    pub fn clear(&mut self) {
        self.commands.clear();
        self.senders.clear();
        self.rejected.clear();
    }
}

impl CommandAcks {
    /// Collects the acks of a tick that has executed this batch. Returns `None` if there are none.
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

    /// Returns the acks for a connection, in order of sequence numbers.
    pub fn for_connection(&self, connection: u64) -> &[CommandAck] {
        let from = self.list.partition_point(|answer| answer.connection < connection);
        let own = &self.list[from..];
        &own[..own.partition_point(|answer| answer.connection == connection)]
    }

    /// Approximate size in memory, counted while the acks wait for an update worker.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.list)
    }
}

/// Extends the last ack if this command has the next sequence number, or adds an ack.
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
