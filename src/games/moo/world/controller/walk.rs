//! Walking, shared by players and animals.
//!
//! The speed does not depend on the tick rate. Snow reduces the acceleration by a quarter; the
//! river reduces it by two thirds and carries bodies to the right.

use crate::entity::Body;
use crate::fixed::{clamp_i32, square_root, Angle, Fixed};
use crate::rules::{self, Biome, Rates};
use crate::terrain::Terrain;
use crate::trig::{cosine, sine};

/// Moves a body for one tick. `way` is the direction and the acceleration, in 1/65,536 px per tick
/// in each tick. With `None`, friction stops the body.
pub(crate) fn walk(body: &mut Body, way: Option<(Angle, i32)>, terrain: &Terrain, rates: &Rates) {
    let (old_vx, old_vy) = (bounded(body.vx), bounded(body.vy));
    (body.vx, body.vy) = (old_vx, old_vy);
    accelerate(body, way, terrain.bands().biome_at(body.y), rates);
    // Uses the mean of the old and the new velocity, so that starting and stopping cover the same
    // distance at every tick rate.
    if terrain.walk(body, mean(old_vx, body.vx), mean(old_vy, body.vy)) {
        body.vx = body.vx.scaled(rates.contact);
        body.vy = body.vy.scaled(rates.contact);
    }
}

fn accelerate(body: &mut Body, way: Option<(Angle, i32)>, land: Biome, rates: &Rates) {
    body.vx = body.vx.scaled(rates.friction);
    body.vy = body.vy.scaled(rates.friction);
    if let Some((angle, push)) = way {
        let push = Fixed(part(push, land_percent(land), 100));
        body.vx = body.vx.saturating_add(push.scaled(cosine(angle)));
        body.vy = body.vy.saturating_add(push.scaled(sine(angle)));
    }
    if land == Biome::River {
        body.vx = body.vx.saturating_add(Fixed(part(rates.acceleration, rules::CURRENT_SIXTEENTHS, 16)));
    } else if way.is_none() && length(body.vx, body.vy) <= rates.rest.unsigned_abs() {
        (body.vx, body.vy) = (Fixed::ZERO, Fixed::ZERO);
    }
}

/// The percentage of the acceleration that remains in a biome.
fn land_percent(land: Biome) -> i32 {
    match land {
        Biome::Snow => rules::SNOW_SPEED_PERCENT,
        Biome::River => rules::RIVER_SPEED_PERCENT,
        Biome::Plains | Biome::Desert => 100,
    }
}

fn part(whole: i32, parts: i32, of: i32) -> i32 {
    (i64::from(whole) * i64::from(parts) / i64::from(of)) as i32
}

fn mean(a: Fixed, b: Fixed) -> Fixed {
    Fixed(clamp_i32((i64::from(a.0) + i64::from(b.0)) / 2))
}

/// The length of a vector, in 1/65,536 px, rounded down.
fn length(dx: Fixed, dy: Fixed) -> u32 {
    let square = |at: Fixed| u64::from(at.0.unsigned_abs()) * u64::from(at.0.unsigned_abs());
    // At most the square root of 2^63, which fits in a `u32`.
    square_root(square(dx) + square(dy)) as u32
}

/// Clamps a velocity to the maximum that the sub-steps of one tick can cover. At this limit,
/// friction exceeds the acceleration of walking.
pub(crate) fn bounded(velocity: Fixed) -> Fixed {
    let max = Fixed::from_px(rules::VELOCITY_MAX_PX);
    velocity.clamp(Fixed(-max.0), max)
}
