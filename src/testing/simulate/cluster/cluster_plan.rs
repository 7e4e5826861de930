//! The parameters and the counts of a simulated cluster.

use std::time::Duration;

use super::scenario::{ClusterFault, SCENARIOS, Scenario};
use crate::testing::simulate::counts::SimulationCounts;

/// Number of hosts.
pub const HOSTS: usize = 3;

/// The parameters of a simulated cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterPlan {
    /// The seed, which determines the whole run.
    pub seed: u64,
    /// Number of players.
    pub players: usize,
    /// Number of rooms.
    pub rooms: usize,
    /// Virtual time with faults. Afterwards all players return.
    pub time: Duration,
    /// The planted fault.
    pub fault: Option<ClusterFault>,
}

impl ClusterPlan {
    /// Returns the scenario of the run: the one of the planted fault, or of the seed.
    pub fn scenario(&self) -> Scenario {
        let of_seed = || SCENARIOS[(self.seed % SCENARIOS.len() as u64) as usize];
        self.fault.map_or_else(of_seed, ClusterFault::scenario)
    }
}

/// The counts of simulated clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterCounts {
    /// The counts by name.
    pub counts: SimulationCounts,
    /// Longest measured time until a room was back after the death of its process.
    pub slowest_return: Duration,
}

impl ClusterCounts {
    /// Adds the counts of another run.
    pub fn merge(&mut self, other: &ClusterCounts) {
        self.counts.merge(&other.counts);
        self.slowest_return = self.slowest_return.max(other.slowest_return);
    }
}
