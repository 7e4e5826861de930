//! Commands that the server has not applied yet, as far as the client knows.

use std::collections::VecDeque;
use std::time::Duration;

use tickwire_sim::{Command, PlayerId};

use crate::limits;
use crate::packet::{DecodedPacket, Value};

/// A command that the server has not applied yet, as far as the client knows.
#[derive(Debug, Clone)]
pub struct PendingCommand<A> {
    pub sequence: u64,
    /// The tick that the command named.
    pub target_tick: u32,
    /// The tick in which the command is simulated.
    pub tick: u32,
    pub sent: Duration,
    pub action: Option<A>,
}

/// The pending commands of the local player, in order of sequence numbers.
#[derive(Debug)]
pub struct PendingCommands<A> {
    list: VecDeque<PendingCommand<A>>,
}

impl<A: Clone> PendingCommands<A> {
    /// Creates an empty list.
    pub fn new() -> PendingCommands<A> {
        PendingCommands { list: VecDeque::new() }
    }

    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// Adds a sent command. Beyond [`limits::PREDICTED_COMMANDS`], the oldest command is dropped.
    pub fn push(&mut self, one: PendingCommand<A>) {
        if self.list.len() >= limits::PREDICTED_COMMANDS {
            self.list.pop_front();
        }
        self.list.push_back(one);
    }

    /// Returns the command with this sequence number.
    pub fn find(&self, sequence: u64) -> Option<&PendingCommand<A>> {
        self.list.iter().find(|one| one.sequence == sequence)
    }

    /// Removes the commands up to this sequence number.
    pub fn drop_acked(&mut self, acked: u64) {
        self.list.retain(|one| one.sequence > acked);
    }

    /// Sets the ticks of executed commands from the server's ack. Each group has the first sequence
    /// number, the count of consecutive commands, and the tick.
    pub fn accept(&mut self, packet: &DecodedPacket<'_>) {
        for [first, count, tick] in groups(packet, "commands") {
            let Ok(tick) = u32::try_from(tick) else { continue };
            let ran = |one: &&mut PendingCommand<A>| {
                i64::try_from(one.sequence)
                    .is_ok_and(|own| (first..first.saturating_add(count)).contains(&own))
            };
            self.list.iter_mut().filter(ran).for_each(|one| one.tick = tick);
        }
    }

    /// Removes rejected commands.
    pub fn reject(&mut self, packet: &DecodedPacket<'_>) {
        for [sequence, _] in groups(packet, "commands") {
            self.list.retain(|one| i64::try_from(one.sequence) != Ok(sequence));
        }
    }

    /// Collects the due commands with an action, in order.
    pub fn collect(
        &self,
        player: Option<PlayerId>,
        is_due: impl Fn(&PendingCommand<A>) -> bool,
        into: &mut Vec<Command<A>>,
    ) {
        into.clear();
        let Some(player) = player else { return };
        into.extend(self.list.iter().filter(|one| is_due(one)).filter_map(|one| {
            let action = one.action.clone()?;
            Some(Command { player, sequence: one.sequence, action })
        }));
    }
}

/// Splits the list argument of a packet into groups of `N` numbers. Other values become 0.
fn groups<const N: usize>(packet: &DecodedPacket<'_>, name: &str) -> Vec<[i64; N]> {
    let list = packet.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let numbers: Vec<i64> = list.iter().map(|value| value.as_i64().unwrap_or(0)).collect();
    numbers.chunks_exact(N).filter_map(|group| group.try_into().ok()).collect()
}
