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

mod cluster_plan;
mod cluster_sim;
mod cluster_store;
mod event_loop;
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

pub use cluster_plan::{ClusterCounts, ClusterPlan, HOSTS};
pub use scenario::{ClusterFault, SCENARIOS, Scenario};

use self::cluster_sim::ClusterSim;
use super::SimulationFailure;

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
