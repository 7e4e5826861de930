//! Who is near: things by the square cell of the map in which they are.
//!
//! Comes in: positions by index. Goes out: the indices in a cell, lowest first; which cells are not empty. Never: state. A grid is
//! rebuilt from positions whenever it is needed, so a world that was restored has the same one.
//!
//! ```text
//!   a line of cells   ·  ·  3  ·  1,7 ·  ·  ·      a word says which are occupied: 0b00010100
//!                       └── a stretch ──┘          so one look finds the first and the last of a stretch
//! ```

use std::ops::Range;

use crate::fixed::Fixed;
use crate::rules::MAP_SIZE_MAX_PX;

/// Side of a cell as a power of two: 256 px. About the size of the largest thing, so that few cells are looked at and
/// few things are in each.
const CELL_BITS: u32 = 8;

/// Cells of a word as a power of two: each has a bit.
const WORD_BITS: u32 = u64::BITS.trailing_zeros();

// A line has one word, or two.
const _: () = assert!((MAP_SIZE_MAX_PX >> CELL_BITS) < 2 * u64::BITS);

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
    /// Cells of a line, and lines.
    side: i32,
    /// A line's cells are numbered from a multiple of this power of two on, so that nothing has to be divided.
    line_bits: u32,
}

/// Some cells of one line of a map that share a word, from left to right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    word: usize,
    /// One bit a cell, the lowest for the leftmost.
    cells: u64,
}

impl Shape {
    /// The cells of a map of that side.
    pub(crate) fn new(map_size_px: u32) -> Shape {
        let side = (map_size_px >> CELL_BITS) as i32 + 1;
        Shape { side, line_bits: if side <= u64::BITS as i32 { WORD_BITS } else { WORD_BITS + 1 } }
    }

    /// How many numbers there are.
    pub(crate) fn cells(self) -> usize {
        (self.side as usize) << self.line_bits
    }

    /// The number of the cell in which a point is. Points outside count as on the edge.
    pub(crate) fn cell(self, x: Fixed, y: Fixed) -> usize {
        self.along(y) << self.line_bits | self.along(x)
    }

    /// The cells that the square around a point touches, which reaches so far to each side, or not at all. Points outside count as
    /// on the edge.
    pub(crate) fn around(self, x: Fixed, y: Fixed, reach: Fixed) -> Cells {
        Cells {
            left: self.along(x.minus(reach)),
            top: self.along(y.minus(reach)),
            right: self.along(x.plus(reach)) + 1,
            bottom: self.along(y.plus(reach)) + 1,
        }
    }

    /// The numbers of the cells, line by line.
    pub(crate) fn each(self, cells: Cells) -> impl Iterator<Item = usize> {
        self.lines(cells).flatten()
    }

    /// The same, a line at a time.
    fn lines(self, cells: Cells) -> impl Iterator<Item = Range<usize>> {
        let Cells { left, top, right, bottom } = cells;
        (top..bottom).map(move |line| line << self.line_bits).map(move |first| first + left..first + right)
    }

    /// The cells, line by line and a word at a time, to ask which of them are [`Occupied`].
    pub(crate) fn stretches(self, cells: Cells) -> impl Iterator<Item = Stretch> {
        let Cells { left, top, right, bottom } = cells;
        let word = u64::BITS as usize;
        let halves = [bits(left, right.min(word)), bits(left.max(word) - word, right.max(word) - word)];
        let second = self.line_bits - WORD_BITS;
        let words = top << second..bottom << second;
        words.map(move |word| Stretch { word, cells: halves[word & second as usize] })
    }

    /// In which cell of its line, or in which line, a coordinate is.
    fn along(self, at: Fixed) -> usize {
        (at.to_px().max(0) >> CELL_BITS).min(self.side - 1) as usize
    }
}

/// The bits from one to another, which is not included; none when that comes first.
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

/// Which cells are not empty. Most are, and whoever looks for something passes a line of them at once.
#[derive(Clone, Debug)]
pub(crate) struct Occupied {
    /// One bit a cell.
    words: Vec<u64>,
}

impl Occupied {
    /// None of a map's cells.
    pub(crate) fn none(shape: Shape) -> Occupied {
        Occupied { words: vec![0; shape.cells() >> WORD_BITS] }
    }

    /// Something is in that cell now.
    pub(crate) fn set(&mut self, cell: usize) {
        self.words[cell >> WORD_BITS] |= bit(cell);
    }

    /// Nothing is in that cell any more.
    pub(crate) fn unset(&mut self, cell: usize) {
        self.words[cell >> WORD_BITS] &= !bit(cell);
    }

    /// Nothing is anywhere.
    pub(crate) fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The cells that are not empty, line by line.
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

    /// The first and the last cell of a stretch that are not empty; `None` when all are.
    pub(crate) fn ends_of(&self, stretch: Stretch) -> Option<(usize, usize)> {
        let found = self.words[stretch.word] & stretch.cells;
        let last = u64::BITS.checked_sub(found.leading_zeros() + 1)?;
        let first = stretch.word << WORD_BITS;
        Some((first | found.trailing_zeros() as usize, first | last as usize))
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
        self.shape.lines(cells).flat_map(move |line| self.cells(line)).map(|index| *index as usize)
    }

    /// The indices in the cell in which a point is.
    pub(crate) fn at(&self, x: Fixed, y: Fixed) -> &[u32] {
        let cell = self.shape.cell(x, y);
        self.cells(cell..cell + 1)
    }

    /// The indices in cells that follow one another.
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
