//! The projectile controller: flies straight until it reaches its range.
//!
//! The controller ignores obstacles (see `tick::projectiles`), so a client that knows a projectile
//! can compute its position.

use crate::entity::{Body, EntityId};
use crate::fields::fields;
use crate::fixed::Fixed;
use crate::rules::{self, Projectile, Rates};
use crate::trig::{cosine, sine};

/// The state of a projectile. Its body belongs to a player even if a turret fired it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shot {
    /// The kind: an ID of [`crate::rules::PROJECTILES`].
    pub kind: u8,
    /// The entity that fired the projectile: a player or a turret.
    pub by: EntityId,
    /// Remaining range.
    pub left: Fixed,
}

fields!(Shot: kind: u8, by: EntityId, left: Fixed);

impl Shot {
    /// The distance that the projectile flies in the next tick.
    pub(crate) fn step_length(&self, rates: &Rates) -> Fixed {
        let speed = rules::projectile(self.kind).map_or(Fixed::ZERO, |kind| speed(kind, rates));
        speed.min(self.left)
    }

    /// Flies for one tick.
    pub(crate) fn act(&mut self, body: &mut Body, rates: &Rates) {
        let way = self.step_length(rates);
        let (x, y) = along(body, way);
        (body.x, body.y) = (body.x.saturating_add(x), body.y.saturating_add(y));
        self.left = self.left.saturating_sub(way);
    }
}

/// The speed in pixels per tick, rounded up, so that a range of a whole number of ticks takes no
/// additional tick.
fn speed(kind: &Projectile, rates: &Rates) -> Fixed {
    let (px_per_s, hz) = (i64::from(kind.speed_px_per_s) << 16, i64::from(rates.hz));
    Fixed(((px_per_s + hz - 1) / hz) as i32)
}

/// The velocity of a projectile in the body's direction of view.
pub(crate) fn velocity(kind: &Projectile, body: &Body, rates: &Rates) -> (Fixed, Fixed) {
    along(body, speed(kind, rates))
}

/// A vector of length `way` in the body's direction of view.
fn along(body: &Body, way: Fixed) -> (Fixed, Fixed) {
    (way.scaled(cosine(body.heading)), way.scaled(sine(body.heading)))
}
