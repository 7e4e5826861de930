//! Structures: what players built, indexed and encoded again after each change, and shared until
//! the next one.
//!
//! [`Structures`] serves all views; each view then finds the structures that are new to its client.
//! A tick in which nothing was built or destroyed costs no work.

use super::interest::{Grid, Window};
use super::records::Records;
use super::{moomoo, native};
use crate::world::{Angle, EntityId, PlayerId, StructureView};

/// A structure as everyone may see it.
#[derive(Debug, Clone, Copy)]
pub struct Built {
    /// The structure's number.
    pub id: EntityId,
    /// The number of its item.
    pub item: u8,
    /// The structure's owner.
    pub owner: PlayerId,
    /// Centre, px.
    pub x_px: i32,
    /// Centre, px.
    pub y_px: i32,
    /// The direction in which it points.
    pub heading: Angle,
    /// Size of its picture, px.
    pub scale_px: i32,
}

/// All structures, as of the last change.
#[derive(Debug, Default)]
pub struct Structures {
    /// Counts the changes.
    pub version: u32,
    /// In the order of their numbers.
    pub things: Vec<Built>,
    grid: Grid,
    /// Their native records.
    pub native: Records,
    /// Their MooMoo records.
    pub moomoo: Records,
}

impl Structures {
    /// Indexes and encodes the present structures.
    pub fn new<'a>(
        version: u32,
        map_size_px: i32,
        structures: impl Iterator<Item = StructureView> + 'a,
    ) -> Structures {
        let things: Vec<Built> = structures
            .map(|structure| Built {
                id: structure.id,
                item: structure.item.id,
                owner: structure.owner,
                x_px: structure.x_px,
                y_px: structure.y_px,
                heading: structure.heading,
                scale_px: structure.item.scale_px,
            })
            .collect();
        Structures {
            version,
            grid: Grid::new(map_size_px, things.iter().map(|thing| (thing.x_px, thing.y_px, thing.scale_px))),
            native: Records::new(things.iter(), native::write_structure),
            moomoo: Records::new(things.iter(), moomoo::write_structure),
            things,
        }
    }

    /// The index of a structure.
    pub fn index_of(&self, id: EntityId) -> Option<usize> {
        self.things.binary_search_by_key(&id, |thing| thing.id).ok()
    }
}

/// The structures that one client knows.
#[derive(Debug, Default)]
pub struct Told {
    /// The known structures, in order.
    known: Vec<EntityId>,
    /// The version of [`Structures`] at the last look.
    version: u32,
    /// The client's window at the last look.
    from: Option<Window>,
}

impl Told {
    /// Whether the client knows this structure.
    pub fn knows(&self, id: EntityId) -> bool {
        self.known.binary_search(&id).is_ok()
    }

    /// Forgets the structures that are gone, and calls `gone` with each.
    pub fn forget(&mut self, structures: &Structures, mut gone: impl FnMut(EntityId)) {
        if self.version != structures.version {
            self.known.retain(|id| {
                let stands = structures.index_of(*id).is_some();
                if !stands {
                    gone(*id);
                }
                stands
            });
        }
    }

    /// Calls `tell` with the index of each structure that came into range and is not known yet.
    /// `margin_px` widens the window, so that another look is needed only after a change, or once
    /// the centre has moved that far.
    pub fn look(
        &mut self,
        structures: &Structures,
        window: Window,
        margin_px: i32,
        mut tell: impl FnMut(usize),
    ) {
        let stays =
            |from: Window| (from.x - window.x).abs() < margin_px && (from.y - window.y).abs() < margin_px;
        if self.version == structures.version && self.from.is_some_and(stays) {
            return;
        }
        (self.version, self.from) = (structures.version, Some(window));
        structures.grid.near(window, margin_px, |index| {
            let thing = &structures.things[index as usize];
            if !window.sees(thing.x_px, thing.y_px, thing.scale_px + margin_px) {
                return;
            }
            if let Err(place) = self.known.binary_search(&thing.id) {
                self.known.insert(place, thing.id);
                tell(index as usize);
            }
        });
    }
}
