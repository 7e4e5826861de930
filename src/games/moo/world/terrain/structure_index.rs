//! Index of structures by position: the part of the terrain that changes.
//!
//! The index is not part of the state. It is derived from the list of structures, and each cell
//! holds its structures in ascending order of ID, so a restored world has the same index.

use crate::body::Body;
use crate::fixed::{is_within, Angle, Fixed};
use crate::id::{EntityId, PlayerId};
use crate::rules::{self, Item};
use crate::terrain::grid::{Cells, GridShape, Occupied};

/// A structure as stored in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedStructure {
    /// Entity ID.
    pub id: EntityId,
    /// Owner.
    pub owner: PlayerId,
    /// Item.
    pub item: &'static Item,
    /// x coordinate of the centre, measured from the left edge.
    pub x: Fixed,
    /// y coordinate of the centre, measured from the top edge.
    pub y: Fixed,
    /// Direction in which the structure points.
    pub heading: Angle,
}

impl PlacedStructure {
    /// Whether a body touches the structure. A body that runs into a solid structure is placed just
    /// outside the structure's edge. A gap of up to `TOUCH_TOLERANCE` therefore counts as touching.
    pub(crate) fn is_touched(&self, body: &Body) -> bool {
        let (dx, dy) = (self.x.distance(body.x), self.y.distance(body.y));
        let reach_of = |radius_px: i32| Fixed::from_px(radius_px + body.radius_px).0.unsigned_abs();
        // Most structures are too far away, whatever their item.
        let farthest = reach_of(rules::BUILT_SCALE_MAX_PX) + TOUCH_TOLERANCE;
        if dx > farthest || dy > farthest {
            return false;
        }
        let reach = reach_of(self.item.radius_px);
        is_within(dx, dy, if self.item.group.is_solid() { reach + TOUCH_TOLERANCE } else { reach - 1 })
    }
}

/// Maximum gap to the rim that still counts as touching, in 1/65,536 px: a sixteenth of a pixel.
const TOUCH_TOLERANCE: u32 = 1 << 12;

/// Structures by cell.
#[derive(Clone, Debug)]
pub(crate) struct StructureIndex {
    shape: GridShape,
    cells: Vec<Vec<PlacedStructure>>,
    occupied: Occupied,
}

impl StructureIndex {
    /// Creates an empty index for a map.
    pub(crate) fn new(map_size_px: u32) -> StructureIndex {
        let shape = GridShape::new(map_size_px);
        StructureIndex { shape, cells: vec![Vec::new(); shape.cells()], occupied: Occupied::none(shape) }
    }

    /// Adds a structure to each cell from which it can be touched: within `reach_px` of its drawn
    /// image.
    pub(crate) fn add(&mut self, standing: PlacedStructure, reach_px: i32) {
        for cell in self.shape.each(self.cells_of(&standing, reach_px)) {
            let list = &mut self.cells[cell];
            let at = list.partition_point(|other| other.id < standing.id);
            list.insert(at, standing);
            self.occupied.set(cell);
        }
    }

    /// Removes a structure from the cells to which `add` added it.
    pub(crate) fn remove(&mut self, standing: &PlacedStructure, reach_px: i32) {
        for cell in self.shape.each(self.cells_of(standing, reach_px)) {
            let list = &mut self.cells[cell];
            list.retain(|other| other.id != standing.id);
            if list.is_empty() {
                self.occupied.unset(cell);
            }
        }
    }

    /// The structures that can be touched from a point, in ascending order of ID.
    pub(crate) fn near(&self, x: Fixed, y: Fixed) -> &[PlacedStructure] {
        &self.cells[self.shape.cell(x, y)]
    }

    /// The structures that may overlap the square around a point. May include more distant
    /// structures, and duplicates.
    pub(crate) fn around(&self, x: Fixed, y: Fixed, reach: Fixed) -> impl Iterator<Item = &PlacedStructure> {
        let stretches = self.shape.stretches(self.shape.around(x, y, reach));
        let used = stretches.filter_map(move |stretch| self.occupied.ends_of(stretch));
        used.flat_map(move |(first, last)| &self.cells[first..=last]).flatten()
    }

    fn cells_of(&self, standing: &PlacedStructure, reach_px: i32) -> Cells {
        let reach = Fixed::from_px(standing.item.scale_px.saturating_add(reach_px));
        self.shape.around(standing.x, standing.y, reach)
    }
}
