//! A grid over the positions of an entity list, and the entities with an owner or a team.

use super::sight::{Circle, EntityInfo};

/// Maximum number of cells along one axis.
const MAX_CELLS: u32 = 64;

/// A grid over the bounding box of all entities, with about one entity per cell.
#[derive(Debug)]
pub struct SpatialIndex {
    /// The smallest coordinates.
    min: [i32; 2],
    /// Width and height of a cell.
    cell: [u32; 2],
    /// Number of cells along each axis.
    cells: u32,
    /// The entities of cell `i` are `indexes[starts[i]..starts[i + 1]]`, in ascending order.
    starts: Vec<u32>,
    indexes: Vec<u32>,
    /// The entities with an owner or a team, in ascending order.
    pub owned: Vec<u32>,
}

impl SpatialIndex {
    pub fn new(infos: &[EntityInfo]) -> SpatialIndex {
        let bounds = |axis: fn(&EntityInfo) -> i32| {
            let min = infos.iter().map(axis).min().unwrap_or_default();
            (min, infos.iter().map(axis).max().unwrap_or_default().abs_diff(min))
        };
        let cells = infos.len().isqrt().clamp(1, MAX_CELLS as usize) as u32;
        let ((left, width), (top, height)) = (bounds(|info| info.position.0), bounds(|info| info.position.1));
        let cell = [width / cells + 1, height / cells + 1];
        let mut index = SpatialIndex {
            min: [left, top],
            cell,
            cells,
            starts: vec![0; (cells * cells) as usize + 1],
            indexes: vec![0; infos.len()],
            owned: (0..).zip(infos).filter(|(_, info)| info.has_owner_or_team()).map(|(at, _)| at).collect(),
        };
        for info in infos {
            let cell = index.cell_of(info);
            index.starts[cell + 1] += 1;
        }
        for cell in 1..index.starts.len() {
            index.starts[cell] += index.starts[cell - 1];
        }
        let mut next = index.starts.clone();
        for (at, info) in (0..).zip(infos) {
            let cell = index.cell_of(info);
            index.indexes[next[cell] as usize] = at;
            next[cell] += 1;
        }
        index
    }

    fn cell_of(&self, info: &EntityInfo) -> usize {
        let along = |axis: usize, value: i32| value.abs_diff(self.min[axis]) / self.cell[axis];
        (along(1, info.position.1) * self.cells + along(0, info.position.0)) as usize
    }

    /// Appends the indexes of the entities in the cells that a circle touches. Some of them may be
    /// outside the circle.
    pub fn append_candidates(&self, circle: &Circle, out: &mut Vec<u32>) {
        let range = |axis: usize, center: i32| {
            let (min, radius) = (i64::from(self.min[axis]), i64::from(circle.radius));
            let cell = |at: i64| (at - min).div_euclid(i64::from(self.cell[axis]));
            let last = i64::from(self.cells) - 1;
            (cell(i64::from(center) - radius).max(0), cell(i64::from(center) + radius).min(last))
        };
        let ((left, right), (top, bottom)) = (range(0, circle.center.0), range(1, circle.center.1));
        if left > right {
            return;
        }
        for row in top..=bottom {
            let first = (row * i64::from(self.cells) + left) as usize;
            let last = (row * i64::from(self.cells) + right) as usize;
            out.extend(&self.indexes[self.starts[first] as usize..self.starts[last + 1] as usize]);
        }
    }
}
