//! The projectile's controller: flies straight until it has flown its way.
//!
//! Comes in: the body, the constants of the tick rate. Goes out: the body one tick later. Never: a look at what is in the
//! way (see `shoot`), so that whoever heard of the shot knows where it is.

use crate::entity::{Body, EntityId};
use crate::fields::fields;
use crate::fixed::Fixed;
use crate::rules::{self, Projectile, Rates};
use crate::trig::{cosine, sine};

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

impl Shot {
    /// How far it flies in the next tick.
    pub(crate) fn way(&self, rates: &Rates) -> Fixed {
        let speed = rules::projectile(self.kind).map_or(Fixed::ZERO, |kind| speed(kind, rates));
        speed.min(self.left)
    }

    /// One tick of flying.
    pub(crate) fn act(&mut self, body: &mut Body, rates: &Rates) {
        let way = self.way(rates);
        let (x, y) = along(body, way);
        (body.x, body.y) = (body.x.plus(x), body.y.plus(y));
        self.left = self.left.minus(way);
    }
}

/// Pixels in a tick. Rounded up, so that a range that is a whole number of ticks is not flown in one more.
fn speed(kind: &Projectile, rates: &Rates) -> Fixed {
    let (px_per_s, hz) = (i64::from(kind.speed_px_per_s) << 16, i64::from(rates.hz));
    Fixed(((px_per_s + hz - 1) / hz) as i32)
}

/// The velocity of such a projectile that flies where the body looks.
pub(crate) fn velocity(kind: &Projectile, body: &Body, rates: &Rates) -> (Fixed, Fixed) {
    along(body, speed(kind, rates))
}

/// A way where the body looks.
fn along(body: &Body, way: Fixed) -> (Fixed, Fixed) {
    (way.times(cosine(body.heading)), way.times(sine(body.heading)))
}
