//! The player's controller: walks where the player wants, counts what was walked.
//!
//! Comes in: the body, the terrain, the constants of the tick rate. Goes out: the body one tick later, perhaps a point.
//! Never: a look at anyone else, so that it can be run by whoever knows only this one player.

use std::sync::Arc;

use crate::entity::Body;
use crate::fields::fields;
use crate::fixed::{clamp_i32, square_root, Angle, Fixed};
use crate::rules::{self, Rates};
use crate::terrain::Terrain;
use crate::trig::{cosine, sine};

/// What a player wants and has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Player {
    /// Shown above the body; may be empty.
    pub name: Arc<str>,
    /// Colour index.
    pub skin: u8,
    /// The tick in which it joined.
    pub joined_tick: u32,
    /// The last sequence applied; 0 before the first.
    pub sequence: u32,
    /// Where it walks; `None` stands.
    pub direction: Option<Angle>,
    /// Points.
    pub score: u32,
    /// Distance walked since the last point for walking, in 1/65,536 px.
    pub walked: u32,
    /// It was pushed or appeared in the last tick, so it must see to where it stands now.
    pub stirred: bool,
}

fields!(Player:
    name: Arc<str>,
    skin: u8,
    joined_tick: u32,
    sequence: u32,
    direction: Option<Angle>,
    score: u32,
    walked: u32,
    stirred: bool,
);

/// Way for which there is a point, in 1/65,536 px.
pub(crate) const POINT_DISTANCE: u32 = rules::POINT_DISTANCE_PX << 16;

impl Player {
    /// Whether a turn would change nothing: it stands, is at rest, and nobody pushed it.
    pub fn is_asleep(&self, body: &Body) -> bool {
        self.direction.is_none() && body.vx.0 == 0 && body.vy.0 == 0 && !self.stirred
    }

    /// One tick of walking.
    pub(crate) fn act(&mut self, body: &mut Body, terrain: &Terrain, rates: &Rates) {
        self.stirred = false;
        let (before_x, before_y) = (body.x, body.y);
        let (old_vx, old_vy) = (bounded(body.vx), bounded(body.vy));
        (body.vx, body.vy) = (old_vx, old_vy);
        self.accelerate(body, rates);
        // The mean of old and new speed: thus a start and a stop take the same way at each tick rate.
        if terrain.walk(body, mean(old_vx, body.vx), mean(old_vy, body.vy)) {
            body.vx = body.vx.times(rates.contact);
            body.vy = body.vy.times(rates.contact);
        }
        self.count_way(body.x.minus(before_x), body.y.minus(before_y));
    }

    fn accelerate(&self, body: &mut Body, rates: &Rates) {
        body.vx = body.vx.times(rates.friction);
        body.vy = body.vy.times(rates.friction);
        if let Some(angle) = self.direction {
            body.vx = body.vx.plus(Fixed(rates.acceleration).times(cosine(angle)));
            body.vy = body.vy.plus(Fixed(rates.acceleration).times(sine(angle)));
        } else if length(body.vx, body.vy) <= rates.rest.unsigned_abs() {
            body.vx = Fixed::ZERO;
            body.vy = Fixed::ZERO;
        }
    }

    /// Points for the way truly gone: against a wall there are none.
    fn count_way(&mut self, dx: Fixed, dy: Fixed) {
        let walked = self.walked.saturating_add(length(dx, dy));
        self.score = self.score.saturating_add(walked / POINT_DISTANCE);
        self.walked = walked % POINT_DISTANCE;
    }
}

/// A speed that the sub-steps of one tick can follow. Friction takes more from this one than walking adds.
fn bounded(velocity: Fixed) -> Fixed {
    let most = Fixed::from_px(rules::VELOCITY_MAX_PX);
    velocity.clamp(Fixed(-most.0), most)
}

fn mean(a: Fixed, b: Fixed) -> Fixed {
    Fixed(clamp_i32((i64::from(a.0) + i64::from(b.0)) / 2))
}

/// The length of a way, in 1/65,536 px, rounded down.
fn length(dx: Fixed, dy: Fixed) -> u32 {
    let square = |at: Fixed| u64::from(at.0.unsigned_abs()) * u64::from(at.0.unsigned_abs());
    // At most the root of 2^63, which fits.
    square_root(square(dx) + square(dy)) as u32
}
