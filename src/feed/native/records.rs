//! Records of the native layout: each thing encoded once a tick, for all native clients.

use std::sync::{Arc, OnceLock};

use crate::feed::animals::{self, Animal};
use crate::feed::objects::{Built, Natural};
use crate::feed::records::{Encoding, Records, ThingRecords};
use crate::feed::state::{Seen, State, Who};
use crate::packet::msgpack::{write_int, write_nil, write_str, write_uint};
use crate::world::{Angle, Fixed};

/// A pose in the native layout: the position in half px, the heading in 1/256 turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pose {
    /// Half px from the left.
    pub x_hpx: u16,
    /// Half px from the top.
    pub y_hpx: u16,
    /// 1/256 turn.
    pub heading: u8,
}

impl Pose {
    /// Rounds a pose to the nearest units.
    pub fn of(x: Fixed, y: Fixed, heading: Angle) -> Pose {
        let hpx = |at: Fixed| u16::try_from(at.to_half_px().max(0)).unwrap_or(u16::MAX);
        Pose { x_hpx: hpx(x), y_hpx: hpx(y), heading: turn8(heading) }
    }

    fn write(self, out: &mut Vec<u8>) {
        write_uint(out, self.x_hpx.into());
        write_uint(out, self.y_hpx.into());
        write_uint(out, self.heading.into());
    }
}

/// A heading in 1/256 turn.
pub fn turn8(heading: Angle) -> u8 {
    (heading.0.wrapping_add(128) >> 8) as u8
}

/// The poses of all players in one tick.
#[derive(Debug)]
struct Poses {
    tick: u32,
    /// In the order of the players.
    list: Vec<(Who, Pose)>,
}

/// Prepares the records of each tick, and keeps the poses of the last turn, from which the next
/// turn counts its differences.
#[derive(Debug)]
pub struct Encoder {
    things: ThingRecords,
    turn: Option<Arc<Poses>>,
}

impl Default for Encoder {
    fn default() -> Encoder {
        let encoding = &Encoding { natural: write_natural, built: write_built, animal: write_animal };
        Encoder { things: ThingRecords::new(encoding), turn: None }
    }
}

impl Encoder {
    /// The records of this state; `is_turn` says whether native clients have a turn in its tick.
    pub fn next(&mut self, state: &State, is_turn: bool) -> Encoded {
        let pose = |seen: &Seen| (seen.who(), Pose::of(seen.x, seen.y, seen.heading));
        let poses = Arc::new(Poses { tick: state.tick, list: state.players.iter().map(pose).collect() });
        let base = self.turn.clone();
        if is_turn {
            self.turn = Some(Arc::clone(&poses));
        }
        Encoded { things: self.things.next(state), base, poses, players: OnceLock::new() }
    }
}

/// The records of one tick, made on first use.
#[derive(Debug)]
pub struct Encoded {
    /// Objects and animals.
    pub things: ThingRecords,
    base: Option<Arc<Poses>>,
    poses: Arc<Poses>,
    players: OnceLock<PlayerRecords>,
}

/// The records of the players in one tick.
#[derive(Debug)]
pub struct PlayerRecords {
    /// Number and pose.
    pub full: Records,
    /// The difference of the position to the turn before, if there is one.
    pub moved: Records,
    /// The heading, if it differs from the turn before.
    pub turned: Records,
}

impl Encoded {
    /// The tick of the turn from which differences count.
    pub fn base_tick(&self) -> Option<u32> {
        self.base.as_ref().map(|base| base.tick)
    }

    /// The pose of the player at this index.
    pub fn pose(&self, index: usize) -> Pose {
        self.poses.list[index].1
    }

    pub fn players(&self) -> &PlayerRecords {
        self.players.get_or_init(|| {
            let base = self.base.as_ref().map_or(&[][..], |base| &base.list);
            PlayerRecords::new(&self.poses.list, base)
        })
    }
}

impl PlayerRecords {
    fn new(poses: &[(Who, Pose)], base: &[(Who, Pose)]) -> PlayerRecords {
        // Both lists have the order of the players' numbers.
        let mut before = base.iter().peekable();
        let changes: Vec<_> = poses
            .iter()
            .map(|(who, pose)| {
                while before.next_if(|(known, _)| known < who).is_some() {}
                (who, pose, before.next_if(|(known, _)| known == who).map(|(_, base)| base))
            })
            .collect();
        PlayerRecords {
            full: Records::new(poses.iter(), |out, (who, pose)| {
                write_uint(out, who.player.0.into());
                pose.write(out);
            }),
            moved: Records::new(changes.iter(), |out, (who, pose, base)| {
                let Some(base) = base.filter(|base| (base.x_hpx, base.y_hpx) != (pose.x_hpx, pose.y_hpx))
                else {
                    return;
                };
                write_uint(out, who.player.0.into());
                write_int(out, i64::from(pose.x_hpx) - i64::from(base.x_hpx));
                write_int(out, i64::from(pose.y_hpx) - i64::from(base.y_hpx));
            }),
            turned: Records::new(changes.iter(), |out, (who, pose, base)| {
                if base.is_some_and(|base| base.heading != pose.heading) {
                    write_uint(out, who.player.0.into());
                    write_uint(out, pose.heading.into());
                }
            }),
        }
    }
}

/// The record of a player that comes into view: number, name, skin, pose.
pub fn write_enter(out: &mut Vec<u8>, seen: &Seen, pose: Pose) {
    write_uint(out, seen.player.0.into());
    write_str(out, &seen.name);
    write_uint(out, seen.skin.into());
    pose.write(out);
}

/// The record of the client's own player.
pub fn write_own(out: &mut Vec<u8>, seen: &Seen) {
    // A native client's own sequences have 32 bits.
    write_uint(out, seen.sequence.min(u32::MAX.into()));
    write_int(out, seen.margin_ticks.into());
    [seen.x, seen.y, seen.vx, seen.vy].iter().for_each(|exact| write_int(out, exact.0.into()));
    write_uint(out, seen.heading.0.into());
    match seen.direction {
        Some(angle) => write_uint(out, angle.0.into()),
        None => write_nil(out),
    }
}

/// The record of a natural object: id, kind, x, y, scale in px.
fn write_natural(out: &mut Vec<u8>, thing: &Natural) {
    write_uint(out, thing.id.0.into());
    write_uint(out, thing.kind as u64);
    let place = thing.place;
    [place.x_px, place.y_px, place.radius_px].iter().for_each(|px| write_int(out, (*px).into()));
}

/// The record of a structure: id, item, owner, x, y in px, heading.
fn write_built(out: &mut Vec<u8>, thing: &Built) {
    write_uint(out, thing.id.0.into());
    write_uint(out, thing.item.into());
    write_uint(out, thing.owner.0.into());
    [thing.place.x_px, thing.place.y_px].iter().for_each(|px| write_int(out, (*px).into()));
    write_uint(out, turn8(thing.heading).into());
}

/// The record of an animal: id, kind, pose, health.
fn write_animal(out: &mut Vec<u8>, animal: &Animal) {
    write_uint(out, animals::number(animal.id));
    write_uint(out, animal.kind.into());
    Pose::of(animal.x, animal.y, animal.heading).write(out);
    write_uint(out, animal.health.into());
}
