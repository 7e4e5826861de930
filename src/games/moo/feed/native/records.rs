//! Records of the native layout: each thing encoded once a tick, for all native clients.

use std::sync::{Arc, OnceLock};

use crate::game::{Records, WireValues};
use crate::games::moo::feed::merge_diff::{Change, diff_sorted};
use crate::games::moo::feed::objects::{PublicScenery, PublicStructure};
use crate::games::moo::feed::published_state::{PublicAnimal, PublicPlayer, PublicState, animal_number};
use crate::games::moo::world::{Angle, Body, Fixed};

/// A pose in the native layout: the position in half px, the heading in 1/256 turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pose {
    /// Half px from the left.
    pub x_hpx: u16,
    /// Half px from the top.
    pub y_hpx: u16,
    /// 1/256 turn.
    pub heading: u8,
}

impl Pose {
    /// Rounds the pose of a body to the nearest units.
    pub fn of(body: &Body) -> Pose {
        let hpx = |at: Fixed| u16::try_from(half_px(at)).unwrap_or(u16::MAX);
        Pose { x_hpx: hpx(body.x), y_hpx: hpx(body.y), heading: turn8(body.heading) }
    }
}

impl WireValues for Pose {
    const COUNT: usize = 3;

    fn write(&self, out: &mut Vec<u8>) {
        (self.x_hpx, self.y_hpx, self.heading).write(out);
    }
}

/// A heading in 1/256 turn.
pub fn turn8(heading: Angle) -> u8 {
    (heading.0.wrapping_add(128) >> 8) as u8
}

/// A position in half px.
pub fn half_px(at: Fixed) -> u32 {
    at.to_half_px().max(0) as u32
}

/// What has changed of the players since the previous native turn.
#[derive(Debug)]
pub struct TurnDelta {
    before: Option<Arc<PublicState>>,
    changed: OnceLock<[Records; 2]>,
}

impl TurnDelta {
    /// Changes since the state of the previous turn.
    pub fn turn(before: Option<Arc<PublicState>>) -> TurnDelta {
        TurnDelta { before, changed: OnceLock::new() }
    }

    /// The records of players who moved and of those who turned, made on first use, for a client
    /// whose last update was of this tick; `None` if that was not the previous turn.
    pub fn tick(&self, tick: Option<u32>, state: &PublicState) -> Option<&[Records; 2]> {
        let before = self.before.as_ref().filter(|before| tick == Some(before.tick))?;
        Some(self.changed.get_or_init(|| compute_delta(before, state)))
    }
}

fn compute_delta(before: &PublicState, now: &PublicState) -> [Records; 2] {
    // Each player of now, in order, with its pose then, if it was there.
    let poses = || {
        let who = |seen: &&PublicPlayer| seen.who();
        diff_sorted(before.players.iter(), who, now.players.iter(), who).filter_map(|change| match change {
            Change::Removed(_) => None,
            Change::Present(now, before) => {
                Some((now.player, before.map(|before| Pose::of(&before.body)), Pose::of(&now.body)))
            }
        })
    };
    let apart = |before: u16, now: u16| i32::from(now) - i32::from(before);
    let moved = poses().map(|(player, before, now)| {
        let before = before.filter(|before| (before.x_hpx, before.y_hpx) != (now.x_hpx, now.y_hpx))?;
        Some((player, apart(before.x_hpx, now.x_hpx), apart(before.y_hpx, now.y_hpx)))
    });
    let turned = poses().map(|(player, before, now)| {
        before.filter(|before| before.heading != now.heading).map(|_| (player, now.heading))
    });
    [Records::new(moved), Records::new(turned)]
}

/// A player that comes into view: number, name, skin, pose.
pub fn enter(seen: &PublicPlayer) -> impl WireValues {
    (seen.player, &*seen.name, seen.skin, Pose::of(&seen.body))
}

/// A known player whose previous turn the client missed: number, pose.
pub fn full(seen: &PublicPlayer) -> impl WireValues + use<> {
    (seen.player, Pose::of(&seen.body))
}

/// The client's own player: sequence, margin, exact position and velocity, heading, direction.
pub fn own(seen: &PublicPlayer) -> impl WireValues {
    // A native client's own sequences have 32 bits.
    let sequence = seen.sequence.min(u32::MAX.into());
    let Body { x, y, vx, vy, heading, .. } = &seen.body;
    (sequence, seen.margin_ticks, [x.0, y.0, vx.0, vy.0], *heading, seen.direction)
}

/// A natural object: id, kind, x, y, scale in px.
pub fn natural(thing: &PublicScenery) -> impl WireValues + use<> {
    (thing.id, thing.kind as u8, [thing.place.x_px, thing.place.y_px, thing.place.radius_px])
}

/// A structure: id, item, owner, x, y in px, heading.
pub fn built(thing: &PublicStructure) -> impl WireValues + use<> {
    (thing.id, thing.item, thing.owner, [thing.place.x_px, thing.place.y_px], turn8(thing.heading))
}

/// An animal: id, kind, pose, health.
pub fn animal(animal: &PublicAnimal) -> impl WireValues + use<> {
    (animal_number(animal.id), animal.kind, Pose::of(&animal.body), animal.body.health)
}
