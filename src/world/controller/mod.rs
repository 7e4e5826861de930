//! Controllers: who may act on a body.
//!
//! Comes in: an entity, the terrain around it, the constants of the tick rate. Goes out: the entity one tick later.
//! Never: another entity. What two bodies do to each other is the world's business (see `step`).

pub mod player;
pub mod scenery;

pub use player::Player;
pub use scenery::{Scenery, SceneryKind};

/// The one controller of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Controller {
    /// Walks where its player wants.
    Player(Player),
    /// Stands where the map put it, and sleeps.
    Scenery(Scenery),
}
