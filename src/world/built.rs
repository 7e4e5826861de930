//! What was built, by place: the part of the terrain that changes.
//!
//! Comes in: what is put up and taken down. Goes out: what is near. Never: state. It follows from the list of structures, and
//! a cell holds them in the order of their numbers, so a world that was restored has the same one.

use crate::body::Body;
use crate::fixed::{is_within, Angle, Fixed};
use crate::grid::{Cells, Occupied, Shape};
use crate::id::{EntityId, PlayerId};
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
    /// Whether a body touches it. Who runs into something solid is put on its rim, a hair outside; so far from it still
    /// counts as a touch.
    pub(crate) fn is_touched(&self, body: &Body) -> bool {
        let (dx, dy) = (self.x.apart(body.x), self.y.apart(body.y));
        let reach_of = |radius_px: i32| Fixed::from_px(radius_px + body.radius_px).0.unsigned_abs();
        // Most are too far away, whatever they are.
        let farthest = reach_of(rules::BUILT_SCALE_MAX_PX) + SLACK;
        if dx > farthest || dy > farthest {
            return false;
        }
        let reach = reach_of(self.item.radius_px);
        is_within(dx, dy, if self.item.group.is_solid() { reach + SLACK } else { reach - 1 })
    }
}

/// How far outside of a rim still counts as a touch: a sixteenth of a pixel.
const SLACK: u32 = 1 << 12;

/// Structures by cell.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    shape: Shape,
    cells: Vec<Vec<Standing>>,
    occupied: Occupied,
}

impl Built {
    /// Nothing on a map.
    pub(crate) fn new(map_size_px: u32) -> Built {
        let shape = Shape::new(map_size_px);
        Built { shape, cells: vec![Vec::new(); shape.cells()], occupied: Occupied::none(shape) }
    }

    /// Puts it into each cell from which it can be touched, which is `reach_px` around its picture.
    pub(crate) fn add(&mut self, standing: Standing, reach_px: i32) {
        for cell in self.shape.each(self.cells_of(&standing, reach_px)) {
            let list = &mut self.cells[cell];
            let at = list.partition_point(|other| other.id < standing.id);
            list.insert(at, standing);
            self.occupied.set(cell);
        }
    }

    /// Takes it out of each of those cells.
    pub(crate) fn remove(&mut self, standing: &Standing, reach_px: i32) {
        for cell in self.shape.each(self.cells_of(standing, reach_px)) {
            let list = &mut self.cells[cell];
            list.retain(|other| other.id != standing.id);
            if list.is_empty() {
                self.occupied.unset(cell);
            }
        }
    }

    /// What can be touched from a point, in the order of its numbers.
    pub(crate) fn near(&self, x: Fixed, y: Fixed) -> &[Standing] {
        &self.cells[self.shape.cell(x, y)]
    }

    /// What may reach into the square around a point, and perhaps more, some of it more than once.
    pub(crate) fn around(&self, x: Fixed, y: Fixed, reach: Fixed) -> impl Iterator<Item = &Standing> {
        let stretches = self.shape.stretches(self.shape.around(x, y, reach));
        let used = stretches.filter_map(move |stretch| self.occupied.ends_of(stretch));
        used.flat_map(move |(first, last)| &self.cells[first..=last]).flatten()
    }

    fn cells_of(&self, standing: &Standing, reach_px: i32) -> Cells {
        let reach = Fixed::from_px(standing.item.scale_px.saturating_add(reach_px));
        self.shape.around(standing.x, standing.y, reach)
    }
}
