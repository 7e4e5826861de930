//! Facts about the room of a connection.

use tickwire_sim::WorldParams;

use crate::game::GameInfo;

/// Facts about a room that the `welcome` packet contains.
#[derive(Debug, Clone)]
pub struct RoomInfo {
    /// The game of the room.
    pub game: &'static GameInfo,
    /// Distinguishes this run of the room from earlier runs.
    pub epoch: String,
    /// The parameters of the room's world.
    pub identity: WorldParams,
    /// Updates per second for a client that sends `hello`.
    pub update_hz: u8,
}
