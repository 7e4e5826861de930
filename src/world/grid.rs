//! Who is near: things by the square cell of the map in which they are.
//!
//! Comes in: positions by index. Goes out: the indices in a cell, lowest first. Never: state. A grid is rebuilt from
//! positions whenever it is needed, so a world that was restored has the same one.

use std::ops::Range;

use crate::fixed::Fixed;

/// Side of a cell as a power of two: 256 px. About the size of the largest thing, so that few cells are looked at and
/// few things are in each.
const CELL_BITS: u32 = 8;

/// The cells from a top left to a bottom right one: `left` and `top` are included, `right` and `bottom` are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    left: usize,
    top: usize,
    right: usize,
    bottom: usize,
}

/// How a map is divided into cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    side: usize,
}

impl Shape {
    /// The cells of a map of that side.
    pub(crate) fn new(map_size_px: u32) -> Shape {
        Shape { side: (map_size_px >> CELL_BITS) as usize + 1 }
    }

    /// How many there are.
    pub(crate) fn cells(self) -> usize {
        self.side * self.side
    }

    /// The number of the cell in which a point is. Points outside count as on the edge.
    pub(crate) fn cell(self, x: Fixed, y: Fixed) -> usize {
        self.line(y) * self.side + self.line(x)
    }

    /// The cells that the square around a point touches. Points outside count as on the edge.
    pub(crate) fn around(self, x: Fixed, y: Fixed, reach: Fixed) -> Cells {
        Cells {
            left: self.line(x.minus(reach)),
            top: self.line(y.minus(reach)),
            right: self.line(x.plus(reach)) + 1,
            bottom: self.line(y.plus(reach)) + 1,
        }
    }

    /// The numbers of the cells, row by row.
    pub(crate) fn each(self, cells: Cells) -> impl Iterator<Item = usize> {
        self.rows(cells).flatten()
    }

    /// The same, a row at a time.
    pub(crate) fn rows(self, cells: Cells) -> impl Iterator<Item = Range<usize>> {
        let Cells { left, top, right, bottom } = cells;
        (top..bottom).map(move |row| row * self.side + left..row * self.side + right)
    }

    fn line(self, at: Fixed) -> usize {
        (at.to_px().max(0) >> CELL_BITS).min(self.side as i32 - 1) as usize
    }
}

/// Indices by cell, packed: the cells' lists lie behind one another.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    shape: Shape,
    /// Where in `items` each cell's list ends; it begins where the cell before ends.
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl Grid {
    /// An empty grid over a map.
    pub(crate) fn new(map_size_px: u32) -> Grid {
        let shape = Shape::new(map_size_px);
        Grid { shape, ends: vec![0; shape.cells()], items: Vec::new() }
    }

    /// The cells that the square around a point touches. Points outside count as on the edge.
    pub(crate) fn around(&self, x: Fixed, y: Fixed, reach: Fixed) -> Cells {
        self.shape.around(x, y, reach)
    }

    /// Puts `count` things in, each in the cells that it is in. Reuses its room.
    pub(crate) fn rebuild(&mut self, count: usize, cells_of: impl Fn(&Grid, usize) -> Cells) {
        self.ends.fill(0);
        for index in 0..count {
            let cells = cells_of(self, index);
            self.each(cells, |ends, cell| ends[cell] += 1);
        }
        let mut total = 0;
        for end in &mut self.ends {
            let begin = total;
            total += *end;
            *end = begin;
        }
        self.items.clear();
        self.items.resize(total as usize, 0);
        for index in 0..count {
            let cells = cells_of(self, index);
            let mut items = std::mem::take(&mut self.items);
            self.each(cells, |ends, cell| {
                items[ends[cell] as usize] = index as u32;
                ends[cell] += 1;
            });
            self.items = items;
        }
    }

    /// The indices in the cells, cell by cell. What is in several of them comes several times.
    pub(crate) fn within(&self, cells: Cells) -> impl Iterator<Item = usize> + '_ {
        self.shape.each(cells).flat_map(move |cell| self.cell(cell)).map(|index| *index as usize)
    }

    /// The indices in the cell in which a point is.
    pub(crate) fn at(&self, x: Fixed, y: Fixed) -> &[u32] {
        self.cell(self.shape.cell(x, y))
    }

    fn cell(&self, cell: usize) -> &[u32] {
        let begin = if cell == 0 { 0 } else { self.ends[cell - 1] };
        &self.items[begin as usize..self.ends[cell] as usize]
    }

    fn each(&mut self, cells: Cells, mut visit: impl FnMut(&mut [u32], usize)) {
        for cell in self.shape.each(cells) {
            visit(&mut self.ends, cell);
        }
    }
}
