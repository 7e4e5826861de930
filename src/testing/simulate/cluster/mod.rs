//! A cluster in virtual time, in one thread: three hosts, a lease store, shared disks and players.
//!
//! ```text
//!   players ──► host 0 ─┐ look up, acquire, renew   ┌─────────────┐
//!           ──► host 1 ─┼─────── delays, losses ───►│ lease store │
//!           ──► host 2 ─┘                           └─────────────┘
//!                  └─ journal of each room ─► disk: drops what was not synced
//! ```
//!
//! The rooms with their seats, inboxes and acks, the leases, and the journals are the code of the
//! server. The hosts, their clocks, the store, the disks and the players are models. Processes are
//! killed between any two operations of a disk, hosts lose their power, processes are paused, stop
//! and start, and lose the store, which itself stops and may start empty. The seed determines
//! everything. The simulation checks that
//!
//! - an ack is sent only for records that the newest owner of the room has (`room_history`);
//! - after each recovery, each body has executed each acknowledged command exactly once
//!   (`sim_player`), and the world is the one that its last owner had (`owned_room`);
//! - a player with an ack gets its own body back, and no client has two bodies;
//! - no journal is refused;
//! - a room is back within five seconds of the death of its process;
//! - when the faults end, every player returns.

mod cluster_sim;
mod cluster_store;
mod owned_room;
mod placement;
mod room_history;
mod room_ticks;
mod scenario;
mod sim_player;
mod sim_process;
mod tally;
#[cfg(test)]
mod tests;
mod trouble;

use std::time::Duration;

pub use scenario::{ClusterFault, SCENARIOS, Scenario};

use self::cluster_sim::ClusterSim;
use super::SimulationFailure;
use super::counts::SimulationCounts;

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
    /// Returns the scenario of the run: that of the planted fault, or the one of the seed.
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

/// Runs a simulated cluster to its end, or to the first broken invariant.
pub fn run(plan: &ClusterPlan) -> (ClusterCounts, Option<SimulationFailure>) {
    run_scenario(plan, plan.scenario())
}

/// Runs a simulated cluster with another scenario than the one of its plan.
pub fn run_scenario(plan: &ClusterPlan, scenario: Scenario) -> (ClusterCounts, Option<SimulationFailure>) {
    let mut simulation = ClusterSim::new(plan, scenario);
    let failure = simulation.run(plan.time).err();
    let failure = failure.map(|broken| SimulationFailure { broken, at: simulation.now(), connection: None });
    (simulation.into_counts(), failure)
}
