//! The physical part of an entity. The entity's controller moves it (see [`crate::controller`]);
//! interactions between entities also change it (see `tick`).

use crate::fields::fields;
use crate::fixed::{is_within, Angle, Fixed};
use crate::id::PlayerId;

/// Position, velocity and health of an entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// x coordinate of the centre, measured from the left edge of the map.
    pub x: Fixed,
    /// y coordinate of the centre, measured from the top edge of the map.
    pub y: Fixed,
    /// Velocity to the right, in pixels per tick.
    pub vx: Fixed,
    /// Downward velocity, in pixels per tick.
    pub vy: Fixed,
    /// Direction of view, independent of the direction of movement.
    pub heading: Angle,
    /// Collision radius, in pixels.
    pub radius_px: i32,
    /// Health points; 0 for an entity that cannot be harmed.
    pub health: u16,
    /// The owner: the player for a player's body; 0 (`PlayerId::OPERATOR`) for natural entities.
    pub owner: PlayerId,
}

impl Body {
    /// Whether the centres of both bodies are at most `reach_px` apart.
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
