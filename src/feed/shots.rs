//! Projectiles: each is sent once when it is shot, and once when it ends. In between it flies
//! straight, so clients need no update.
//!
//! A client never receives the end of a shot whose beginning it did not receive. A client that only
//! comes near while a shot flies sees its effect, not the shot itself, which flies for less than a
//! second.

use super::interest::{HALF_HEIGHT_PX, HALF_WIDTH_PX};
use super::messages::Messages;
use super::publish::Published;
use super::records::{Section, write_groups};
use super::view::{Scratch, View};
use crate::packet::msgpack::{write_f64_2dec, write_int, write_uint};
use crate::packet::{Dialect, angle};
use crate::world::trig::{cosine, sine};
use crate::world::{Angle, EntityId, Event, Fixed, World, fixed, rules};

/// Values of one shot in a native message.
const SHOT_STRIDE: usize = 7;
/// Values of one end in a native message.
const END_STRIDE: usize = 3;

/// A shot fired in a tick, at its position at the end of the tick.
#[derive(Debug, Clone, Copy)]
pub struct ShotSeen {
    /// The shot's number.
    pub id: EntityId,
    /// A number of [`rules::PROJECTILES`].
    pub kind: u8,
    /// A player's entity, or the turret.
    pub by: EntityId,
    /// The shot's position.
    pub x: Fixed,
    /// The shot's position.
    pub y: Fixed,
    /// The shot's heading.
    pub heading: Angle,
    /// The remaining range, px.
    pub range_px: i32,
}

/// The shots of the last tick that still fly, in order.
pub fn of(world: &World) -> Vec<ShotSeen> {
    let shot = |event: &Event| match event {
        Event::Shot { projectile } => world.projectile(*projectile),
        _ => None,
    };
    let seen = world.outcome().events.iter().filter_map(shot).map(|shot| ShotSeen {
        id: shot.id,
        kind: shot.kind,
        by: shot.by,
        x: shot.body.x,
        y: shot.body.y,
        heading: shot.body.heading,
        range_px: shot.left.to_px(),
    });
    seen.collect()
}

impl ShotSeen {
    /// The end point if nothing is hit, px.
    fn far_end(&self) -> (i32, i32) {
        let way = Fixed::from_px(self.range_px);
        let x = self.x.plus(way.times(cosine(self.heading)));
        let y = self.y.plus(way.times(sine(self.heading)));
        (x.to_px(), y.to_px())
    }

    /// The turret that fired the shot, if any.
    fn turret(&self) -> Option<EntityId> {
        Some(self.by).filter(|by| by.player().is_none())
    }
}

/// The shots that one client knows: their numbers, and where they began.
#[derive(Debug, Default)]
pub struct Told {
    flying: Vec<(EntityId, Fixed, Fixed)>,
}

impl Told {
    /// Records a shot. Any earlier shot of the same number has ended, even if the end was missed.
    fn begin(&mut self, shot: &ShotSeen) {
        self.flying.retain(|(id, ..)| *id != shot.id);
        self.flying.push((shot.id, shot.x, shot.y));
    }

    /// Forgets a shot; returns where it began, if the client knew it.
    fn end(&mut self, id: EntityId) -> Option<(Fixed, Fixed)> {
        let place = self.flying.iter().position(|(known, ..)| *known == id)?;
        let (_, x, y) = self.flying.swap_remove(place);
        Some((x, y))
    }
}

/// The number of a shot on the wire.
pub fn number(id: EntityId) -> u64 {
    u64::from(id.0.wrapping_sub(EntityId::FIRST_SHOT.0))
}

fn find(published: &Published, id: EntityId) -> Option<&ShotSeen> {
    published.shots.binary_search_by_key(&id, |shot| shot.id).ok().map(|index| &published.shots[index])
}

/// Whether the path may cross the window of the last turn, tested by the square around the path,
/// which errs on the side of sending.
fn crosses(view: &View, shot: &ShotSeen) -> bool {
    let (x, y) = (shot.x.to_px(), shot.y.to_px());
    let (end_x, end_y) = shot.far_end();
    view.shown.is_some_and(|window| {
        let apart = |from: i32, to: i32, centre: i32| (from.min(to) - centre).max(centre - from.max(to));
        apart(x, end_x, window.x) <= HALF_WIDTH_PX && apart(y, end_y, window.y) <= HALF_HEIGHT_PX
    })
}

/// Writes the shots for a native client, in lists.
pub fn native(
    view: &mut View,
    published: &Published,
    dialect: &Dialect,
    scratch: &mut Scratch,
    messages: &mut Messages,
) {
    let Scratch { enters: begun, leaves: ended, .. } = scratch;
    [&mut *begun, ended].into_iter().for_each(Section::clear);
    for event in &published.events {
        match event {
            Event::Shot { projectile } => {
                let shot = find(published, *projectile).filter(|shot| crosses(view, shot));
                if let Some(shot) = shot {
                    view.shots.begin(shot);
                    begun.write(|out| write_native(out, shot));
                }
            }
            Event::ShotEnded { projectile, x, y } if view.shots.end(*projectile).is_some() => {
                ended.write(|out| {
                    write_uint(out, number(*projectile));
                    [x, y].iter().for_each(|at| write_uint(out, half_px(**at)));
                });
            }
            _ => {}
        }
    }
    if ended.count > 0 {
        messages.add_named(dialect, "shot_ends", 1, |out| write_groups(out, ended, END_STRIDE));
    }
    if begun.count > 0 {
        messages.add_named(dialect, "shots", 1, |out| write_groups(out, begun, SHOT_STRIDE));
    }
}

fn write_native(out: &mut Vec<u8>, shot: &ShotSeen) {
    write_uint(out, number(shot.id));
    write_uint(out, shot.kind.into());
    write_uint(out, shot.by.0.into());
    [shot.x, shot.y].iter().for_each(|at| write_uint(out, half_px(*at)));
    write_uint(out, shot.heading.0.into());
    write_int(out, shot.range_px.into());
}

fn half_px(at: Fixed) -> u64 {
    at.to_half_px().max(0) as u64
}

/// Writes the shots for a MooMoo client: each shot and each end in its own packet, and the turret
/// that fired.
pub fn moomoo(view: &mut View, published: &Published, dialect: &Dialect, messages: &mut Messages) {
    for event in &published.events {
        match event {
            Event::Shot { projectile } => {
                let shot = find(published, *projectile).filter(|shot| crosses(view, shot));
                if let Some(shot) = shot {
                    view.shots.begin(shot);
                    tell_begin(view, published, shot, dialect, messages);
                }
            }
            Event::ShotEnded { projectile, x, y } => {
                if let Some((from_x, from_y)) = view.shots.end(*projectile) {
                    messages.add_named(dialect, "remove_projectile", 2, |out| {
                        write_uint(out, number(*projectile));
                        write_uint(out, distance_px(x.minus(from_x), y.minus(from_y)));
                    });
                }
            }
            _ => {}
        }
    }
}

fn tell_begin(
    view: &View,
    published: &Published,
    shot: &ShotSeen,
    dialect: &Dialect,
    messages: &mut Messages,
) {
    let direction = angle::to_radians_2dec(shot.heading.0);
    let speed = rules::projectile(shot.kind).map_or(0, |kind| kind.speed_px_per_s);
    if let Some(turret) = shot.turret().filter(|turret| view.shows_object(published, *turret)) {
        messages.add_named(dialect, "turret_shot", 2, |out| {
            write_uint(out, (turret.0 - EntityId::FIRST_OTHER.0).into());
            write_f64_2dec(out, direction);
        });
    }
    messages.add_named(dialect, "add_projectile", 8, |out| {
        [shot.x, shot.y].iter().for_each(|at| write_int(out, at.to_px().into()));
        write_f64_2dec(out, direction);
        write_int(out, shot.range_px.into());
        write_f64_2dec(out, f64::from(speed) / 1_000.0);
        write_uint(out, shot.kind.into());
        // The layer: below platforms, of which there are none.
        write_uint(out, 0);
        write_uint(out, number(shot.id));
    });
}

fn distance_px(x: Fixed, y: Fixed) -> u64 {
    let square = |at: Fixed| i64::from(at.0).pow(2) as u64;
    fixed::square_root(square(x) + square(y)) >> 16
}
