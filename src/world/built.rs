//! What was built, by place: the part of the terrain that changes.
//!
//! Comes in: what is put up and taken down. Goes out: what is near. Never: state. It follows from the list of structures, and
//! a cell holds them in the order of their numbers, so a world that was restored has the same one.

use crate::controller::Controller;
use crate::entity::{Entity, EntityId, PlayerId};
use crate::fixed::{Angle, Fixed};
use crate::grid::{Cells, Shape};
use crate::rules::{self, Item};

/// Something that was built, as it is found by place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Which it is.
    pub id: EntityId,
    /// Whose it is.
    pub owner: PlayerId,
    /// What it is.
    pub item: &'static Item,
    /// Centre from the left edge.
    pub x: Fixed,
    /// Centre from the top edge.
    pub y: Fixed,
    /// Where it points.
    pub heading: Angle,
}

impl Standing {
    /// An entity as it is found by place, if it was built.
    pub fn of(entity: &Entity) -> Option<Standing> {
        let Entity { id, body, controller } = entity;
        match controller {
            Controller::Structure(structure) => Some(Standing {
                id: *id,
                owner: body.owner,
                item: rules::item(structure.item)?,
                x: body.x,
                y: body.y,
                heading: body.heading,
            }),
            _ => None,
        }
    }
}

/// Structures by cell.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    shape: Shape,
    cells: Vec<Vec<Standing>>,
}

impl Built {
    /// Nothing on a map.
    pub(crate) fn new(map_size_px: u32) -> Built {
        let shape = Shape::new(map_size_px);
        Built { shape, cells: vec![Vec::new(); shape.cells()] }
    }

    /// Puts it into each cell from which it can be touched, which is `reach_px` around its picture.
    pub(crate) fn add(&mut self, standing: Standing, reach_px: i32) {
        for cell in self.shape.each(self.cells_of(&standing, reach_px)) {
            let list = &mut self.cells[cell];
            let at = list.partition_point(|other| other.id < standing.id);
            list.insert(at, standing);
        }
    }

    /// Takes it out of each of those cells.
    pub(crate) fn remove(&mut self, standing: &Standing, reach_px: i32) {
        for cell in self.shape.each(self.cells_of(standing, reach_px)) {
            self.cells[cell].retain(|other| other.id != standing.id);
        }
    }

    /// What can be touched from a point, in the order of its numbers.
    pub(crate) fn near(&self, x: Fixed, y: Fixed) -> &[Standing] {
        self.shape.each(self.shape.around(x, y, Fixed::ZERO)).next().map_or(&[], |cell| &self.cells[cell])
    }

    /// What has its centre in the square around a point, and perhaps more, in the order of its numbers.
    pub(crate) fn find(&self, x: Fixed, y: Fixed, reach: Fixed, found: &mut Vec<EntityId>) {
        found.clear();
        for cell in self.shape.each(self.shape.around(x, y, reach)) {
            found.extend(self.cells[cell].iter().map(|standing| standing.id));
        }
        found.sort_unstable();
        found.dedup();
    }

    fn cells_of(&self, standing: &Standing, reach_px: i32) -> Cells {
        let reach = Fixed::from_px(standing.item.scale_px.saturating_add(reach_px));
        self.shape.around(standing.x, standing.y, reach)
    }
}
