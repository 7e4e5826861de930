//! The parameters of a simulation.

use std::time::Duration;

use super::virtual_tcp::ServerTransport;
use crate::server::clients::dyn_room;
use crate::util::netem::Conditions;

/// Maximum time for which players stay suspended.
pub const MAX_ABSENCE: Duration = Duration::from_secs(30);

/// The game that a simulation runs.
pub type SimGameFactory = dyn_room::GameFactory<ServerTransport>;

/// The parameters of a simulation.
#[derive(Debug, Clone)]
pub struct SimulationPlan {
    /// The game.
    pub game: SimGameFactory,
    /// The seed, which determines the whole run.
    pub seed: u64,
    /// Number of concurrent connections.
    pub peers: usize,
    /// Virtual time to simulate. Afterwards all clients leave.
    pub time: Duration,
    /// Number of rooms.
    pub rooms: usize,
    /// Percentage of clients that request a lane, among clients with a dialect that has lanes.
    pub lanes_percent: u32,
    /// Network conditions of every connection, instead of delays of up to 100 ms.
    pub net: Option<Conditions>,
}
