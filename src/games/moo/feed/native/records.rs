//! Records of the native layout. Each entity is encoded once per tick, for all native clients.

use std::sync::{Arc, OnceLock};

use crate::game::{Records, WireValues};
use crate::games::moo::feed::merge_diff::{Change, diff_sorted};
use crate::games::moo::feed::objects::{PublicScenery, PublicStructure};
use crate::games::moo::feed::pose::{Pose, turn8};
use crate::games::moo::feed::published_state::{
    PublicAnimal, PublicPlayer, PublicState, VisiblePlayer, animal_number,
};
use crate::games::moo::world::{Angle, Body};

/// Changes of the players since the previous native update.
#[derive(Debug)]
pub struct UpdateDelta {
    before: Option<Arc<PublicState>>,
    changed: OnceLock<[Records; 2]>,
}

impl UpdateDelta {
    /// The changes since a state; `None` before the first update.
    pub fn since(before: Option<Arc<PublicState>>) -> UpdateDelta {
        UpdateDelta { before, changed: OnceLock::new() }
    }

    /// The records of moved and of turned players, encoded on first use. `tick` is the tick of the
    /// client's last update. Returns `None` if the client's last update was not the previous native
    /// update.
    pub fn records(&self, tick: Option<u32>, state: &PublicState) -> Option<&[Records; 2]> {
        let before = self.before.as_ref().filter(|before| tick == Some(before.tick))?;
        Some(self.changed.get_or_init(|| compute_delta(before, state)))
    }
}

fn compute_delta(before: &PublicState, now: &PublicState) -> [Records; 2] {
    // Each current player, in order, with its previous pose if it existed.
    let poses = || {
        let identity = |player: &&VisiblePlayer| player.identity;
        diff_sorted(&before.visible, identity, &now.visible, identity).filter_map(|change| match change {
            Change::Removed(_) => None,
            Change::Present(now, before) => {
                Some((now.identity.player, before.map(|before| before.pose), now.pose))
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnBody {
    /// Sequence numbers of native clients have 32 bits.
    sequence: u32,
    margin_ticks: i16,
    position_and_velocity: [i32; 4],
    heading: Angle,
    direction: Option<Angle>,
}

impl OwnBody {
    /// The record of a player.
    pub fn of(player: &PublicPlayer) -> OwnBody {
        let Body { x, y, vx, vy, heading, .. } = &player.body;
        OwnBody {
            sequence: u32::try_from(player.sequence).unwrap_or(u32::MAX),
            margin_ticks: player.margin_ticks,
            position_and_velocity: [x.0, y.0, vx.0, vy.0],
            heading: *heading,
            direction: player.direction,
        }
    }
}

impl WireValues for OwnBody {
    const COUNT: usize = 8;

    fn write(&self, out: &mut Vec<u8>) {
        let OwnBody { sequence, margin_ticks, position_and_velocity, heading, direction } = *self;
        (sequence, margin_ticks, position_and_velocity, heading, direction).write(out);
    }
}

/// A scenery object: ID, kind, x, y, scale in px.
pub fn natural(scenery: &PublicScenery) -> impl WireValues + use<> {
    (scenery.id, scenery.kind as u8, [scenery.place.x_px, scenery.place.y_px, scenery.place.radius_px])
}

/// A structure: ID, item, owner, x, y in px, heading.
pub fn built(structure: &PublicStructure) -> impl WireValues + use<> {
    (
        structure.id,
        structure.item,
        structure.owner,
        [structure.place.x_px, structure.place.y_px],
        turn8(structure.heading),
    )
}

/// An animal: ID, kind, pose, health.
pub fn animal(animal: &PublicAnimal) -> impl WireValues + use<> {
    (animal_number(animal.id), animal.kind, Pose::of(&animal.body), animal.body.health)
}
