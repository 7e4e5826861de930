//! The projectile's controller: flies straight until it has flown its way.
//!
//! Comes in: the body. Goes out: the body one tick later. Never: a look at what is in the way (see `shoot`).

use crate::entity::EntityId;
use crate::fields::fields;
use crate::fixed::Fixed;

/// What was shot. The body's owner is the player whose shot it is, also when a turret fired it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shot {
    /// What it is: a number of [`crate::rules::PROJECTILES`].
    pub kind: u8,
    /// What it came from: a player's entity, or a turret.
    pub by: EntityId,
    /// How far it still flies.
    pub left: Fixed,
}

fields!(Shot: kind: u8, by: EntityId, left: Fixed);
