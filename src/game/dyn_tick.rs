//! One tick of a game without its types.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use tickwire_sim::PlayerId;

/// The players, for the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roster {
    /// The heading of what the game says of a player.
    pub heading: &'static str,
    /// For each player its name, and what the game says of it, in columns below the heading.
    pub players: Vec<(PlayerId, String, String)>,
}

/// One tick of any game.
pub trait DynTick: Any + Debug + Send + Sync {
    /// Ticks completed.
    fn tick(&self) -> u32;
    /// The players in the world after it.
    fn players(&self) -> usize;
    /// The events: an `Arc` of the `Events` of its [`Game`](super::Game).
    fn events(&self) -> Arc<dyn Any + Send + Sync>;
    /// The state: the `State` of its [`Game`](super::Game).
    fn state(&self) -> &(dyn Any + Send + Sync);
    /// About how many bytes the events take while they wait for a worker.
    fn event_bytes(&self) -> usize;
    /// The players, for the operator.
    fn roster(&self) -> Roster;
}
