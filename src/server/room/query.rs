//! Queries of a room, which are answered between two ticks, and their results.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::Sender;

use tickwire_sim::{PlayerId, WorldParams};

use super::inbox::CommandTicket;
use crate::game::{GameInfo, Roster};

/// A query and the sender for its result.
#[derive(Debug)]
pub(crate) enum RoomQuery {
    /// The players after the next tick.
    Roster(Sender<Roster>),
    /// The snapshot of the world.
    Snapshot(Sender<Arc<WorldSnapshot>>),
    /// The outcome of an operator command.
    Outcome(CommandTicket, Sender<Result<(), &'static str>>),
}

/// A snapshot with its metadata.
#[derive(Debug, PartialEq, Eq)]
pub struct WorldSnapshot {
    /// The game.
    pub info: &'static GameInfo,
    /// Ticks completed.
    pub tick: u32,
    /// The parameters of the world.
    pub identity: WorldParams,
    /// The hash of the game's rules.
    pub rules_hash: u64,
    /// The names of the players.
    pub names: Vec<(PlayerId, String)>,
    /// The bytes for [`Sim::restore`].
    pub bytes: Arc<[u8]>,
}

/// The limit of [`limits::MAX_ROOM_QUERIES`] queued queries is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryQueueFull;

impl fmt::Display for QueryQueueFull {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("too many operator commands are waiting for the world; try again")
    }
}
