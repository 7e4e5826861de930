//! Records of the native layout. Each entity is encoded once per tick, for all native clients.

use std::sync::{Arc, OnceLock};

use crate::game::{Records, WireValues};
use crate::games::moo::feed::merge_diff::{Change, diff_sorted};
use crate::games::moo::feed::objects::{PublicScenery, PublicStructure};
use crate::games::moo::feed::published_state::{PublicAnimal, PublicPlayer, PublicState, animal_number};
use crate::games::moo::world::{Angle, Body, Fixed};

/// A pose in the native layout: position in half px, heading in 1/256 turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pose {
    /// x coordinate, in half px from the left edge.
    pub x_hpx: u16,
    /// y coordinate, in half px from the top edge.
    pub y_hpx: u16,
    /// Heading, in 1/256 turn.
    pub heading: u8,
}

impl Pose {
    /// The pose of a body, rounded to the nearest units.
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

/// Converts a heading to 1/256 turn, rounded to the nearest.
pub fn turn8(heading: Angle) -> u8 {
    (heading.0.wrapping_add(128) >> 8) as u8
}

/// Converts a coordinate to half px.
pub fn half_px(at: Fixed) -> u32 {
    at.to_half_px().max(0) as u32
}

/// Changes of the players since the previous native update.
#[derive(Debug)]
pub struct TurnDelta {
    before: Option<Arc<PublicState>>,
    changed: OnceLock<[Records; 2]>,
}

impl TurnDelta {
    /// The changes since a state; `None` before the first update.
    pub fn turn(before: Option<Arc<PublicState>>) -> TurnDelta {
        TurnDelta { before, changed: OnceLock::new() }
    }

    /// The records of moved and of turned players, encoded on first use. `tick` is the tick of the
    /// client's last update. Returns `None` if the client's last update was not the previous native
    /// update.
    pub fn tick(&self, tick: Option<u32>, state: &PublicState) -> Option<&[Records; 2]> {
        let before = self.before.as_ref().filter(|before| tick == Some(before.tick))?;
        Some(self.changed.get_or_init(|| compute_delta(before, state)))
    }
}

fn compute_delta(before: &PublicState, now: &PublicState) -> [Records; 2] {
    // Each current player, in order, with its previous pose if it existed.
    let poses = || {
        let identity = |one: &&PublicPlayer| one.identity();
        diff_sorted(before.players.iter(), identity, now.players.iter(), identity).filter_map(|change| {
            match change {
                Change::Removed(_) => None,
                Change::Present(now, before) => {
                    Some((now.player, before.map(|before| Pose::of(&before.body)), Pose::of(&now.body)))
                }
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

/// A player that enters the view: ID, name, skin, pose.
pub fn enter(player: &PublicPlayer) -> impl WireValues {
    (player.player, &*player.name, player.skin, Pose::of(&player.body))
}

/// Most bytes of the record [`full`]: three numbers of three bytes, and one of two.
pub const FULL_BYTES: usize = 11;

/// A known player after a missed update: ID, pose.
pub fn full(player: &PublicPlayer) -> impl WireValues + use<> {
    (player.player, Pose::of(&player.body))
}

/// The client's own player: sequence number, margin, exact position and velocity, heading,
/// direction.
pub fn own(player: &PublicPlayer) -> impl WireValues {
    // Sequence numbers of native clients have 32 bits.
    let sequence = player.sequence.min(u32::MAX.into());
    let Body { x, y, vx, vy, heading, .. } = &player.body;
    (sequence, player.margin_ticks, [x.0, y.0, vx.0, vy.0], *heading, player.direction)
}

/// A scenery object: ID, kind, x, y, scale in px.
pub fn natural(thing: &PublicScenery) -> impl WireValues + use<> {
    (thing.id, thing.kind as u8, [thing.place.x_px, thing.place.y_px, thing.place.radius_px])
}

/// A structure: ID, item, owner, x, y in px, heading.
pub fn built(thing: &PublicStructure) -> impl WireValues + use<> {
    (thing.id, thing.item, thing.owner, [thing.place.x_px, thing.place.y_px], turn8(thing.heading))
}

/// An animal: ID, kind, pose, health.
pub fn animal(animal: &PublicAnimal) -> impl WireValues + use<> {
    (animal_number(animal.id), animal.kind, Pose::of(&animal.body), animal.body.health)
}
