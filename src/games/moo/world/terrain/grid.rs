//! Finds nearby objects with a grid of square cells.
//!
//! A grid maps positions to cells, lists the objects of each cell in ascending order of index, and
//! records which cells are occupied. A grid is not part of the state. It is rebuilt from positions
//! when needed, so a restored world has the same grid.
//!
//! ```text
//!   a row of cells  ·  ·  3  ·  1,7 ·  ·  ·    the bits of a word mark occupied cells: 0b00010100
//!                     └─── a run ─────┘        so the ends of a run are found without a loop
//! ```

use std::ops::Range;

use crate::fixed::Fixed;
use crate::rules::MAP_SIZE_MAX_PX;

/// Side length of a cell as a power of two: 256 px, about the size of the largest object, so that a
/// query visits few cells and each cell contains few objects.
const CELL_BITS: u32 = 8;

/// Number of cells per word as a power of two; each cell has one bit.
const WORD_BITS: u32 = u64::BITS.trailing_zeros();

// A row of cells has one or two words.
const _: () = assert!((MAP_SIZE_MAX_PX >> CELL_BITS) < 2 * u64::BITS);

/// A rectangle of cells: `left` and `top` are inclusive, `right` and `bottom` are exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cells {
    left: usize,
    top: usize,
    right: usize,
    bottom: usize,
}

/// The division of a map into cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GridShape {
    /// Number of cells in a row, and number of rows.
    side: i32,
    /// Number of cell indices reserved for each row, as a power of two, so that no division is
    /// needed.
    line_bits: u32,
}

/// A run of cells in one row that share a word, from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    word: usize,
    /// One bit per cell, the lowest for the leftmost.
    cells: u64,
}

impl GridShape {
    /// The cells of a map with this side length.
    pub(crate) fn new(map_size_px: u32) -> GridShape {
        let side = (map_size_px >> CELL_BITS) as i32 + 1;
        GridShape { side, line_bits: if side <= u64::BITS as i32 { WORD_BITS } else { WORD_BITS + 1 } }
    }

    /// The number of cell indices, including unused indices.
    pub(crate) fn cells(self) -> usize {
        (self.side as usize) << self.line_bits
    }

    /// The index of the cell that contains a point. Points off the map are moved to its edge.
    pub(crate) fn cell(self, x: Fixed, y: Fixed) -> usize {
        self.along(y) << self.line_bits | self.along(x)
    }

    /// The cells that overlap the square around a point; `reach` is half its side. Points off the
    /// map are moved to its edge.
    pub(crate) fn around(self, x: Fixed, y: Fixed, reach: Fixed) -> Cells {
        Cells {
            left: self.along(x.saturating_sub(reach)),
            top: self.along(y.saturating_sub(reach)),
            right: self.along(x.saturating_add(reach)) + 1,
            bottom: self.along(y.saturating_add(reach)) + 1,
        }
    }

    /// The indices of the cells, row by row.
    pub(crate) fn each(self, cells: Cells) -> impl Iterator<Item = usize> {
        self.lines(cells).flatten()
    }

    /// The indices of the cells, one range per row.
    fn lines(self, cells: Cells) -> impl Iterator<Item = Range<usize>> {
        let Cells { left, top, right, bottom } = cells;
        (top..bottom).map(move |line| line << self.line_bits).map(move |first| first + left..first + right)
    }

    /// The cells by row and word, for lookups in [`Occupied`].
    pub(crate) fn stretches(self, cells: Cells) -> impl Iterator<Item = Stretch> {
        let Cells { left, top, right, bottom } = cells;
        let word = u64::BITS as usize;
        let halves = [bits(left, right.min(word)), bits(left.max(word) - word, right.max(word) - word)];
        let second = self.line_bits - WORD_BITS;
        let words = top << second..bottom << second;
        words.map(move |word| Stretch { word, cells: halves[word & second as usize] })
    }

    /// The column or row of a coordinate.
    fn along(self, at: Fixed) -> usize {
        (at.to_px().max(0) >> CELL_BITS).min(self.side - 1) as usize
    }
}

/// The bits of a half-open range; 0 if the range is empty.
fn bits(from: usize, to: usize) -> u64 {
    match to.checked_sub(from) {
        None | Some(0) => 0,
        Some(count) => (u64::MAX >> (u64::BITS as usize - count)) << from,
    }
}

/// The bit of a cell in its word.
fn bit(cell: usize) -> u64 {
    1 << (cell as u32 % u64::BITS)
}

/// The set of occupied cells. Most cells are empty, and a query skips up to 64 of them at once.
#[derive(Clone, Debug)]
pub(crate) struct Occupied {
    /// One bit per cell.
    words: Vec<u64>,
}

impl Occupied {
    /// An empty set for a map.
    pub(crate) fn none(shape: GridShape) -> Occupied {
        Occupied { words: vec![0; shape.cells() >> WORD_BITS] }
    }

    /// Marks a cell as occupied.
    pub(crate) fn set(&mut self, cell: usize) {
        self.words[cell >> WORD_BITS] |= bit(cell);
    }

    /// Marks a cell as empty.
    pub(crate) fn unset(&mut self, cell: usize) {
        self.words[cell >> WORD_BITS] &= !bit(cell);
    }

    /// Marks all cells as empty.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The occupied cells, row by row.
    pub(crate) fn each(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = |mut left: u64| {
            std::iter::from_fn(move || {
                let cell = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(cell)
            })
        };
        let words = self.words.iter().enumerate().filter(|(_, word)| **word != 0);
        words.flat_map(move |(number, word)| bits(*word).map(move |cell| number << WORD_BITS | cell))
    }

    /// The first and the last occupied cell of a run; `None` if all are empty.
    pub(crate) fn ends_of(&self, stretch: Stretch) -> Option<(usize, usize)> {
        let found = self.words[stretch.word] & stretch.cells;
        let last = u64::BITS.checked_sub(found.leading_zeros() + 1)?;
        let first = stretch.word << WORD_BITS;
        Some((first | found.trailing_zeros() as usize, first | last as usize))
    }
}

/// Object indices by cell, stored as consecutive lists.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    shape: GridShape,
    /// End of each cell's list in `items`. The list starts at the end of the previous cell's list.
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl Grid {
    /// Creates an empty grid for a map.
    pub(crate) fn new(map_size_px: u32) -> Grid {
        let shape = GridShape::new(map_size_px);
        Grid { shape, ends: vec![0; shape.cells()], items: Vec::new() }
    }

    /// The cells that overlap the square around a point. Points off the map are moved to its edge.
    pub(crate) fn around(&self, x: Fixed, y: Fixed, reach: Fixed) -> Cells {
        self.shape.around(x, y, reach)
    }

    /// Inserts `count` objects, each into all cells that it overlaps. Reuses the memory of the last
    /// build.
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

    /// The objects in the cells, cell by cell. An object that overlaps several cells is repeated.
    pub(crate) fn within(&self, cells: Cells) -> impl Iterator<Item = usize> + '_ {
        self.shape.lines(cells).flat_map(move |line| self.cells(line)).map(|index| *index as usize)
    }

    /// The objects in the cell that contains a point.
    pub(crate) fn at(&self, x: Fixed, y: Fixed) -> &[u32] {
        let cell = self.shape.cell(x, y);
        self.cells(cell..cell + 1)
    }

    /// The objects in consecutive cells.
    fn cells(&self, cells: Range<usize>) -> &[u32] {
        let begin = if cells.start == 0 { 0 } else { self.ends[cells.start - 1] };
        &self.items[begin as usize..self.ends[cells.end - 1] as usize]
    }

    fn each(&mut self, cells: Cells, mut visit: impl FnMut(&mut [u32], usize)) {
        for cell in self.shape.each(cells) {
            visit(&mut self.ends, cell);
        }
    }
}
