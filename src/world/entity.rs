//! What exists: an entity is a body and exactly one controller.
//!
//! Comes in: ids that a caller or the world gives out. Goes out: plain values. Never: behaviour. A body does nothing
//! by itself; only its controller acts on it (see [`crate::controller`]).

use crate::controller::Controller;
use crate::fields::fields;
use crate::fixed::{Angle, Fixed};

/// The number of a player, chosen by the server before the `Join` command. 0 is the operator, who has no body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PlayerId(pub u16);

impl PlayerId {
    /// The issuer of what the server itself commands: join, leave.
    pub const OPERATOR: PlayerId = PlayerId(0);

    /// The entity that a player of this number has.
    pub const fn entity(self) -> EntityId {
        EntityId(self.0 as u32)
    }

    /// The player, unless it is the operator: what the operator let appear is nobody's.
    pub fn somebody(self) -> Option<PlayerId> {
        Some(self).filter(|id| *id != PlayerId::OPERATOR)
    }
}

/// The number of an entity. A player's entity has the player's number; things count from
/// [`EntityId::FIRST_OTHER`], animals from [`EntityId::FIRST_ANIMAL`], projectiles from [`EntityId::FIRST_SHOT`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntityId(pub u32);

impl EntityId {
    /// The first number that is not a player's.
    pub const FIRST_OTHER: EntityId = EntityId(65_536);
    /// The first number of an animal; what nature placed and what was built are below.
    pub const FIRST_ANIMAL: EntityId = EntityId(0x4000_0000);
    /// The first number of a projectile.
    pub const FIRST_SHOT: EntityId = EntityId(0x8000_0000);

    /// The player whose entity this is, if it is one.
    pub const fn player(self) -> Option<PlayerId> {
        if self.0 > 0 && self.0 < Self::FIRST_OTHER.0 {
            Some(PlayerId(self.0 as u16))
        } else {
            None
        }
    }
}

/// Where a thing is and what can be done to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Centre, from the left edge of the map.
    pub x: Fixed,
    /// Centre, from the top edge of the map.
    pub y: Fixed,
    /// Velocity to the right, pixels per tick.
    pub vx: Fixed,
    /// Velocity downwards, pixels per tick.
    pub vy: Fixed,
    /// Where it looks. Independent of where it goes.
    pub heading: Angle,
    /// Radius for collisions, pixels.
    pub radius_px: i32,
    /// Health points. 0 for what cannot be hurt.
    pub health: u16,
    /// Whose it is: a player's own body is its own, nature's is nobody's (0).
    pub owner: PlayerId,
}

/// A body and the one controller that may act on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entity {
    /// The number by which everyone names it.
    pub id: EntityId,
    /// Where it is.
    pub body: Body,
    /// What moves it.
    pub controller: Controller,
}

fields!(Body:
    x: Fixed,
    y: Fixed,
    vx: Fixed,
    vy: Fixed,
    heading: Angle,
    radius_px: i32,
    health: u16,
    owner: PlayerId,
);
fields!(Entity: id: EntityId, body: Body, controller: Controller);
