//! The commands that the server has not applied, as far as is known.

use std::collections::VecDeque;
use std::time::Duration;

use tickwire_sim::{Command, PlayerId};

use crate::limits;
use crate::packet::{DecodedPacket, Value};

/// A command that the server has not applied yet, as far as is known.
#[derive(Debug, Clone)]
pub struct PendingCommand<A> {
    pub sequence: u64,
    /// The tick that it was sent for, and the one in which it runs.
    pub target_tick: u32,
    pub tick: u32,
    pub sent: Duration,
    pub action: Option<A>,
}

/// See the [module](self).
#[derive(Debug)]
pub struct PendingCommands<A> {
    list: VecDeque<PendingCommand<A>>,
}

impl<A: Clone> PendingCommands<A> {
    /// No commands.
    pub fn new() -> PendingCommands<A> {
        PendingCommands { list: VecDeque::new() }
    }

    pub fn clear(&mut self) {
        self.list.clear();
    }

    /// A command leaves. Beyond [`limits::PREDICTED_COMMANDS`], the oldest is given up.
    pub fn push(&mut self, one: PendingCommand<A>) {
        if self.list.len() >= limits::PREDICTED_COMMANDS {
            self.list.pop_front();
        }
        self.list.push_back(one);
    }

    /// The command with this sequence.
    pub fn find(&self, sequence: u64) -> Option<&PendingCommand<A>> {
        self.list.iter().find(|one| one.sequence == sequence)
    }

    /// Keeps those behind this sequence.
    pub fn drop_acked(&mut self, acked: u64) {
        self.list.retain(|one| one.sequence > acked);
    }

    /// The ticks in which commands ran: the sequence of the first, how many in a row, and their tick.
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

    /// Commands that did not run.
    pub fn reject(&mut self, packet: &DecodedPacket<'_>) {
        for [sequence, _] in groups(packet, "commands") {
            self.list.retain(|one| i64::try_from(one.sequence) != Ok(sequence));
        }
    }

    /// Collects those that have an effect before they are confirmed, in order.
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

/// The groups of numbers in a list of a packet; what is no number is 0.
fn groups<const N: usize>(packet: &DecodedPacket<'_>, name: &str) -> Vec<[i64; N]> {
    let list = packet.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let numbers: Vec<i64> = list.iter().map(|value| value.as_i64().unwrap_or(0)).collect();
    numbers.chunks_exact(N).filter_map(|group| group.try_into().ok()).collect()
}
