//! Animals: which animals are in view, where they are, and their health.
//!
//! From the world's animals after a tick, and the client's known animals, this module writes
//! records of animals that are new or have changed, and the numbers of animals that are gone. All
//! of it is state, so the next turn makes up for a turn that was held back. An animal's intent is
//! never sent; clients see only its actions.

use super::interest::{Grid, Window};
use super::messages::Messages;
use super::native::Pose;
use super::publish::Published;
use super::records::{Section, write_groups};
use super::view::{Scratch, View};
use crate::packet::msgpack::{write_array_len, write_f64_2dec, write_int, write_uint};
use crate::packet::{Dialect, angle};
use crate::world::{Angle, EntityId, World};

/// Values of one animal in a native record.
const NATIVE_STRIDE: usize = 6;
/// Values of one animal in a MooMoo update.
const MOOMOO_STRIDE: usize = 7;
/// The names that MooMoo clients choose from for cows and pigs. The other kinds have one name each,
/// whatever the number.
const NAMES: u64 = 45;

/// An animal as everyone may see it.
#[derive(Debug, Clone, Copy)]
pub struct AnimalSeen {
    /// The animal's number.
    pub id: EntityId,
    /// Its kind's number.
    pub kind: u8,
    /// Centre, px.
    pub x_px: i32,
    /// Centre, px.
    pub y_px: i32,
    /// The animal's heading.
    pub heading: Angle,
    /// Radius, px.
    pub radius_px: i32,
    /// The state sent to native clients.
    pub state: State,
}

/// The state of an animal in the native layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    pose: Pose,
    health: u16,
}

/// The living animals.
#[derive(Debug, Default)]
pub struct Animals {
    /// In the order of their numbers.
    pub list: Vec<AnimalSeen>,
    grid: Grid,
}

impl Animals {
    /// The world's living animals.
    pub fn of(world: &World, map_size_px: i32) -> Animals {
        let seen = world.animals().map(|animal| AnimalSeen {
            id: animal.id,
            kind: animal.kind as u8,
            x_px: animal.body.x.to_px(),
            y_px: animal.body.y.to_px(),
            heading: animal.body.heading,
            radius_px: animal.body.radius_px,
            state: State { pose: Pose::of(animal.body), health: animal.body.health },
        });
        let list: Vec<AnimalSeen> = seen.collect();
        if list.is_empty() {
            return Animals::default();
        }
        let points = list.iter().map(|animal| (animal.x_px, animal.y_px, animal.radius_px));
        Animals { grid: Grid::new(map_size_px, points), list }
    }

    /// Finds a living animal.
    pub fn find(&self, id: EntityId) -> Option<&AnimalSeen> {
        self.list.binary_search_by_key(&id, |animal| animal.id).ok().map(|index| &self.list[index])
    }

    /// Collects the indexes of the animals in the window into `visible`, in order.
    fn look(&self, window: Window, visible: &mut Vec<u32>) {
        visible.clear();
        self.grid.near(window, 0, |index| {
            let animal = &self.list[index as usize];
            if window.sees(animal.x_px, animal.y_px, animal.radius_px) {
                visible.push(index);
            }
        });
        visible.sort_unstable();
    }
}

/// The animals that one client knows, in the order of their numbers.
#[derive(Debug, Default)]
pub struct Told {
    known: Vec<(EntityId, State)>,
}

impl Told {
    /// Whether the client knows this animal: it was sent, and its removal was not.
    pub fn knows(&self, id: EntityId) -> bool {
        self.known.binary_search_by_key(&id, |(known, _)| *known).is_ok()
    }
}

/// The number of an animal on the wire.
pub fn number(id: EntityId) -> u64 {
    u64::from(id.0.wrapping_sub(EntityId::FIRST_ANIMAL.0))
}

/// Writes the animals that are new or have changed, and those that are gone, for a native client.
pub fn native(
    view: &mut View,
    published: &Published,
    window: Window,
    dialect: &Dialect,
    scratch: &mut Scratch,
    messages: &mut Messages,
) {
    let Scratch { visible, leaves, full, animals: now, .. } = scratch;
    [&mut *leaves, full].into_iter().for_each(Section::clear);
    now.clear();
    published.animals.look(window, visible);
    let mut before = view.animals.known.iter().peekable();
    for animal in visible.iter().map(|index| &published.animals.list[*index as usize]) {
        while let Some((gone, _)) = before.next_if(|(known, _)| *known < animal.id) {
            leaves.write(|out| write_uint(out, number(*gone)));
        }
        let told = before.next_if(|(known, _)| *known == animal.id).map(|(_, state)| *state);
        if told != Some(animal.state) {
            full.write(|out| write_native(out, animal));
        }
        now.push((animal.id, animal.state));
    }
    for (gone, _) in before {
        leaves.write(|out| write_uint(out, number(*gone)));
    }
    std::mem::swap(&mut view.animals.known, now);
    if leaves.count > 0 {
        messages.add_named(dialect, "animals_gone", 1, |out| write_groups(out, leaves, 1));
    }
    if full.count > 0 {
        messages.add_named(dialect, "animals", 1, |out| write_groups(out, full, NATIVE_STRIDE));
    }
}

fn write_native(out: &mut Vec<u8>, animal: &AnimalSeen) {
    let State { pose, health } = animal.state;
    write_uint(out, number(animal.id));
    write_uint(out, animal.kind.into());
    [pose.x_hpx, pose.y_hpx].iter().for_each(|at| write_uint(out, (*at).into()));
    write_uint(out, pose.heading.into());
    write_uint(out, health.into());
}

/// Writes all animals in view, each turn, for a MooMoo client, and an empty list once when none is
/// left.
pub fn moomoo(
    view: &mut View,
    published: &Published,
    window: Window,
    dialect: &Dialect,
    scratch: &mut Scratch,
    messages: &mut Messages,
) {
    let visible = &mut scratch.visible;
    published.animals.look(window, visible);
    let had_some = !view.animals.known.is_empty();
    view.animals.known.clear();
    if visible.is_empty() && !had_some {
        return;
    }
    messages.add_named(dialect, "animals", 1, |out| {
        write_array_len(out, visible.len() * MOOMOO_STRIDE);
        for animal in visible.iter().map(|index| &published.animals.list[*index as usize]) {
            write_moomoo(out, animal);
            view.animals.known.push((animal.id, animal.state));
        }
    });
}

/// The 7 values of an animal: sid, type, x, y, dir, health, number of its name.
fn write_moomoo(out: &mut Vec<u8>, animal: &AnimalSeen) {
    write_uint(out, number(animal.id));
    write_uint(out, animal.kind.into());
    [animal.x_px, animal.y_px].iter().for_each(|px| write_int(out, (*px).into()));
    write_f64_2dec(out, angle::to_radians_2dec(animal.heading.0));
    write_uint(out, animal.state.health.into());
    write_uint(out, number(animal.id) % NAMES);
}
