//! Counts of a simulation: the injected faults, and their effects.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::game::bots::BotStats;

/// Counts by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SimulationCounts {
    by_name: BTreeMap<&'static str, u64>,
    /// Total time of all players in their worlds, in ticks.
    pub player_ticks: u64,
    /// Ticks per second.
    pub tick_hz: u64,
    /// Number of messages that bots received and checked.
    pub messages: u64,
    /// Statistics of the bots.
    pub stats: BotStats,
    /// Hash of all compared values. Equal seeds give equal hashes.
    pub hash: u64,
}

impl SimulationCounts {
    /// Creates empty counts for worlds with `tick_hz` ticks per second.
    pub fn new(tick_hz: u64) -> SimulationCounts {
        SimulationCounts { tick_hz, ..SimulationCounts::default() }
    }

    /// Increments a count.
    pub fn add(&mut self, name: &'static str) {
        self.add_many(name, 1);
    }

    /// Adds to a count.
    pub fn add_many(&mut self, name: &'static str, count: u64) {
        *self.by_name.entry(name).or_default() += count;
    }

    /// Adds a value to the hash.
    pub fn mix(&mut self, value: u64) {
        self.hash = (self.hash ^ value).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    }

    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &SimulationCounts) {
        other.by_name.iter().for_each(|(name, count)| self.add_many(name, *count));
        self.player_ticks += other.player_ticks;
        self.tick_hz = self.tick_hz.max(other.tick_hz);
        self.messages += other.messages;
        self.stats.add(&other.stats);
        self.mix(other.hash);
    }

    /// Total time of all players in their worlds.
    pub fn player_time(&self) -> Duration {
        Duration::from_nanos(self.player_ticks * 1_000_000_000 / self.tick_hz.max(1))
    }

    /// Each name with its count.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.by_name.iter().map(|(name, count)| (*name, *count))
    }

    /// The count with this name; 0 if it does not exist.
    pub fn of(&self, name: &str) -> u64 {
        self.by_name.get(name).copied().unwrap_or(0)
    }
}
