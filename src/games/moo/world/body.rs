//! Bodies: the physical part of an entity. A body does nothing by itself; only its controller acts
//! on it (see [`crate::controller`]).

use crate::fields::fields;
use crate::fixed::{is_within, Angle, Fixed};
use crate::id::PlayerId;

/// Position, velocity and health of an entity.
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
    /// Direction in which it looks, independent of the direction of movement.
    pub heading: Angle,
    /// Radius for collisions, pixels.
    pub radius_px: i32,
    /// Health points; 0 for an entity that cannot be harmed.
    pub health: u16,
    /// The owner: for a player's body the player, for natural entities nobody (0).
    pub owner: PlayerId,
}

impl Body {
    /// Whether the centre of another body is within that distance.
    pub(crate) fn is_near(&self, other: &Body, reach_px: i32) -> bool {
        is_within(
            self.x.distance(other.x),
            self.y.distance(other.y),
            Fixed::from_px(reach_px).0.unsigned_abs(),
        )
    }
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
