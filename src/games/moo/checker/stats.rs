//! Statistics of a player's actions.

use crate::game::bots;

/// Statistics of a player's actions, counted from the received packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MooBotStats {
    /// Swings that hit anything.
    pub hits: u64,
    /// Units of all resources: gathered, stolen and hunted.
    pub gathered: u64,
    /// Structures built.
    pub builds: u64,
    /// Upgrades chosen.
    pub upgrades: u64,
    /// Shots fired.
    pub shots: u64,
    /// Animals killed.
    pub animals: u64,
    /// Clans founded and joined.
    pub clans: u64,
    /// Other players killed.
    pub kills: u64,
    /// The player's own deaths.
    pub deaths: u64,
    /// Respawns after a death.
    pub respawns: u64,
}

impl MooBotStats {
    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &MooBotStats) {
        self.hits += other.hits;
        self.gathered += other.gathered;
        self.builds += other.builds;
        self.upgrades += other.upgrades;
        self.shots += other.shots;
        self.animals += other.animals;
        self.clans += other.clans;
        self.kills += other.kills;
        self.deaths += other.deaths;
        self.respawns += other.respawns;
    }
    /// The counts with their names, in the order of reports.
    pub fn to_bot_stats(self) -> bots::BotStats {
        bots::BotStats(vec![
            ("hits", "hits", self.hits),
            ("gathered", "gathered", self.gathered),
            ("kills", "kills", self.kills),
            ("deaths", "deaths", self.deaths),
            ("respawns", "respawns", self.respawns),
            ("builds", "builds", self.builds),
            ("upgrades", "upgrades", self.upgrades),
            ("shots", "shots", self.shots),
            ("animals", "animals killed", self.animals),
            ("clans", "clans joined", self.clans),
        ])
    }
}
