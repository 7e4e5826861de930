//! Objects: natural objects, which never change, and structures, which players build; and the
//! objects that one client knows.
//!
//! Structures are listed and indexed again only after one was built or destroyed. A client is sent
//! each object once, when it first comes near, so that most turns need not look for objects at all.

use super::interest::{Grid, Place, Window};
use crate::world::{Angle, EntityId, PlayerId, SceneryKind, World};

/// The margin in px by which a turn widens the window for objects, so that another look is needed
/// only once the centre has moved that far.
const MARGIN_PX: i32 = 64;

/// A natural object as everyone may see it.
#[derive(Debug, Clone, Copy)]
pub struct Natural {
    pub id: EntityId,
    pub kind: SceneryKind,
    /// Its position, and the size of its picture.
    pub place: Place,
}

/// A structure as everyone may see it.
#[derive(Debug, Clone, Copy)]
pub struct Built {
    pub id: EntityId,
    /// The number of its item.
    pub item: u8,
    pub owner: PlayerId,
    /// Its position, and the size of its picture.
    pub place: Place,
    /// The direction in which it points.
    pub heading: Angle,
}

/// What an event needs of the object that it concerns.
#[derive(Debug, Clone, Copy)]
pub struct Object {
    pub id: EntityId,
    /// Its index among the natural objects, if it is one.
    pub nature: Option<usize>,
    /// Its position and size.
    pub place: Place,
}

/// All natural objects.
#[derive(Debug, Default)]
pub struct Nature {
    /// In the order of their numbers.
    pub things: Vec<Natural>,
    grid: Grid,
}

/// All structures, as of the last change.
#[derive(Debug, Default)]
pub struct Structures {
    /// Counts the changes.
    pub version: u32,
    /// In the order of their numbers.
    pub things: Vec<Built>,
    grid: Grid,
}

impl Nature {
    /// The natural objects of a world.
    pub fn of(world: &World, map_size_px: i32) -> Nature {
        let natural = world.scenery().map(|thing| {
            let place = Place { x_px: thing.x_px, y_px: thing.y_px, radius_px: thing.scale_px };
            Natural { id: thing.id, kind: thing.kind, place }
        });
        let things: Vec<Natural> = natural.collect();
        Nature { grid: Grid::new(map_size_px, things.iter().map(|thing| thing.place)), things }
    }

    pub fn index_of(&self, id: EntityId) -> Option<usize> {
        self.things.binary_search_by_key(&id, |thing| thing.id).ok()
    }
}

impl Structures {
    /// The present structures of a world.
    pub fn of(world: &World, map_size_px: i32, version: u32) -> Structures {
        let things: Vec<Built> = world
            .structures()
            .map(|structure| Built {
                id: structure.id,
                item: structure.item.id,
                owner: structure.owner,
                place: Place {
                    x_px: structure.x_px,
                    y_px: structure.y_px,
                    radius_px: structure.item.scale_px,
                },
                heading: structure.heading,
            })
            .collect();
        Structures { version, grid: Grid::new(map_size_px, things.iter().map(|thing| thing.place)), things }
    }

    pub fn index_of(&self, id: EntityId) -> Option<usize> {
        self.things.binary_search_by_key(&id, |thing| thing.id).ok()
    }
}

/// Finds an object of either kind.
pub fn find(nature: &Nature, structures: &Structures, id: EntityId) -> Option<Object> {
    let index = nature.index_of(id);
    let place = match index {
        Some(index) => nature.things[index].place,
        None => structures.things[structures.index_of(id)?].place,
    };
    Some(Object { id, nature: index, place })
}

/// The objects that one client knows.
#[derive(Debug, Default)]
pub struct KnownObjects {
    /// A bit for each natural object.
    nature: Vec<u64>,
    /// The window at the last look for natural objects.
    nature_from: Option<Window>,
    /// The numbers of the structures, in order.
    structures: Vec<EntityId>,
    /// The version of [`Structures`], and the window, at the last look for structures.
    version: u32,
    structures_from: Option<Window>,
}

impl KnownObjects {
    /// Whether the client knows this object.
    pub fn knows(&self, object: &Object) -> bool {
        match object.nature {
            Some(index) => self.nature.get(index / 64).is_some_and(|word| word & (1 << (index % 64)) != 0),
            None => self.structures.binary_search(&object.id).is_ok(),
        }
    }

    /// Adds the natural objects that came into range, and calls `new` with the index of each.
    pub fn add_nature(&mut self, nature: &Nature, window: Window, mut new: impl FnMut(usize)) {
        if is_near(self.nature_from, window) {
            return;
        }
        self.nature_from = Some(window);
        self.nature.resize(nature.things.len().div_ceil(64), 0);
        nature.grid.near(window, MARGIN_PX, |index| {
            let (word, bit) = (&mut self.nature[index as usize / 64], 1u64 << (index % 64));
            if *word & bit == 0 && window.sees_within(nature.things[index as usize].place, MARGIN_PX) {
                *word |= bit;
                new(index as usize);
            }
        });
    }

    /// Removes the structures that are gone, and calls `gone` with the number of each.
    pub fn remove_structures(&mut self, structures: &Structures, mut gone: impl FnMut(EntityId)) {
        if self.version == structures.version {
            return;
        }
        self.structures.retain(|id| {
            let stands = structures.index_of(*id).is_some();
            if !stands {
                gone(*id);
            }
            stands
        });
    }

    /// Adds the structures that came into range, and calls `new` with the index of each.
    pub fn add_structures(&mut self, structures: &Structures, window: Window, mut new: impl FnMut(usize)) {
        if self.version == structures.version && is_near(self.structures_from, window) {
            return;
        }
        (self.version, self.structures_from) = (structures.version, Some(window));
        structures.grid.near(window, MARGIN_PX, |index| {
            let thing = &structures.things[index as usize];
            if window.sees_within(thing.place, MARGIN_PX)
                && let Err(place) = self.structures.binary_search(&thing.id)
            {
                self.structures.insert(place, thing.id);
                new(index as usize);
            }
        });
    }
}

/// Whether the last look, from that window, found everything that this window needs.
fn is_near(from: Option<Window>, window: Window) -> bool {
    from.is_some_and(|from| (from.x - window.x).abs() < MARGIN_PX && (from.y - window.y).abs() < MARGIN_PX)
}
