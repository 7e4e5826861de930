//! The published result of one tick, without the types of its game.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use tickwire_sim::PlayerId;

use super::report::Report;

/// The list of players for the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roster {
    /// Heading of the game's columns.
    pub heading: &'static str,
    /// Each player with its name and the game's columns.
    pub players: Vec<(PlayerId, String, String)>,
}

/// A player with its name and its score, in the game's unit.
pub type PlayerScore = (PlayerId, Arc<str>, i64);

/// The published result of one tick, for any game.
pub trait DynTick: Any + Debug + Send + Sync {
    /// Ticks completed.
    fn tick(&self) -> u32;
    /// Number of players after the tick.
    fn players(&self) -> usize;
    /// The events: an `Arc` of the `Events` of its [`Game`](super::Game).
    fn events(&self) -> Arc<dyn Any + Send + Sync>;
    /// The state: the `State` of its [`Game`](super::Game).
    fn state(&self) -> &(dyn Any + Send + Sync);
    /// Approximate size of the events in memory, counted while they wait for an update worker.
    fn event_bytes(&self) -> usize;
    /// Returns the list of players for the operator.
    fn roster(&self) -> Roster;
    /// Returns the scores of the players, in a game with scores.
    fn scores(&self) -> Vec<PlayerScore>;
    /// Returns what the game reports to the program around the server.
    fn reports(&self) -> &[Report];
}
