//! The parameters of a simulation.

use std::time::Duration;

use super::virtual_tcp::ServerTransport;
use crate::server::clients::dyn_room;
use crate::util::netem::Conditions;

/// Longest time for which players stay without a connection.
pub const MAX_ABSENCE: Duration = Duration::from_secs(30);

/// A game as a simulation starts it.
pub type SimGameFactory = dyn_room::GameFactory<ServerTransport>;

/// The parameters of a simulation.
#[derive(Debug, Clone)]
pub struct SimulationPlan {
    /// The game.
    pub game: SimGameFactory,
    /// The seed, which determines everything.
    pub seed: u64,
    /// Number of concurrent connections.
    pub peers: usize,
    /// Virtual time to simulate; all clients then leave within a few more seconds.
    pub time: Duration,
    /// Number of rooms.
    pub rooms: usize,
    /// The conditions of every connection, in place of delays of up to 100 ms.
    pub net: Option<Conditions>,
}
