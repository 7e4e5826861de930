//! The area of interest: which things are near enough to be sent to a client.
//!
//! A client sees a window of 1,248 × 702 px to each side of its centre (as in the MooMoo client:
//! half a screen of 1920 × 1080, times 1.3), and everything whose rim reaches into it. A grid
//! finds candidates without scanning every thing. All arithmetic is in integers, so that two
//! servers with the same world send the same messages.

use std::ops::{Deref, RangeInclusive};

/// Half the width of the window, in px.
pub const HALF_WIDTH_PX: i32 = 1248;
/// Half the height of the window, in px.
pub const HALF_HEIGHT_PX: i32 = 702;
/// Side of a grid cell, in px: a window covers about 6 × 4 cells.
const CELL_PX: i32 = 512;

/// The area that one client can see: a window around a point, in px.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Centre, in px from the left.
    pub x: i32,
    /// Centre, in px from the top.
    pub y: i32,
}

/// The position and size of a round thing, in px.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Centre, from the left.
    pub x_px: i32,
    /// Centre, from the top.
    pub y_px: i32,
    /// Radius.
    pub radius_px: i32,
}

impl Window {
    /// Whether a thing reaches into the window.
    pub fn sees(&self, place: Place) -> bool {
        self.sees_within(place, 0)
    }

    /// Whether a thing reaches into the window widened by `margin_px`.
    pub fn sees_within(&self, Place { x_px, y_px, radius_px }: Place, margin_px: i32) -> bool {
        let reach = radius_px + margin_px;
        (x_px - self.x).abs() - reach <= HALF_WIDTH_PX && (y_px - self.y).abs() - reach <= HALF_HEIGHT_PX
    }
}

/// Indexes of things by grid cell; rebuilt every tick for things that move, built once for those
/// that do not.
#[derive(Debug, Default)]
struct Grid {
    side: i32,
    /// The start of each cell in `order`, plus one end entry.
    starts: Vec<u32>,
    order: Vec<u32>,
    /// The largest radius of all things, in px: how far outside the window a visible thing may
    /// stand.
    reach_px: i32,
}

impl Grid {
    /// A grid over these places on a map of `map_size_px`.
    fn new(map_size_px: i32, places: impl Iterator<Item = Place> + Clone) -> Grid {
        let side = map_size_px / CELL_PX + 1;
        let mut starts = vec![0; (side * side + 1) as usize];
        let mut reach_px = 0;
        for place in places.clone() {
            starts[cell_of(side, place) + 1] += 1;
            reach_px = reach_px.max(place.radius_px);
        }
        for cell in 1..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        let mut order = vec![0; starts[starts.len() - 1] as usize];
        let mut next = starts.clone();
        for (index, place) in places.enumerate() {
            let slot = &mut next[cell_of(side, place)];
            order[*slot as usize] = index as u32;
            *slot += 1;
        }
        Grid { side, starts, order, reach_px }
    }

    /// Calls `found` with the index of each thing that may reach into the window widened by
    /// `margin_px`, in no particular order.
    fn near(&self, window: Window, margin_px: i32, mut found: impl FnMut(u32)) {
        if self.side == 0 {
            return;
        }
        let reach = self.reach_px + margin_px;
        let columns = self.cells(window.x, HALF_WIDTH_PX + reach);
        for row in self.cells(window.y, HALF_HEIGHT_PX + reach) {
            let first = (row * self.side + columns.start()) as usize;
            let last = (row * self.side + columns.end()) as usize;
            let (start, end) = (self.starts[first] as usize, self.starts[last + 1] as usize);
            self.order[start..end].iter().for_each(|index| found(*index));
        }
    }

    fn cells(&self, centre_px: i32, reach_px: i32) -> RangeInclusive<i32> {
        let cell = |px: i32| (px / CELL_PX).clamp(0, self.side - 1);
        cell(centre_px - reach_px)..=cell(centre_px + reach_px)
    }
}

fn cell_of(side: i32, place: Place) -> usize {
    let cell = |px: i32| (px / CELL_PX).clamp(0, side - 1);
    (cell(place.y_px) * side + cell(place.x_px)) as usize
}

/// What stands or lives somewhere on the map.
pub trait Thing {
    /// Its number.
    type Id: Ord;

    /// Its number.
    fn id(&self) -> Self::Id;

    /// Its position and size.
    fn place(&self) -> Place;
}

/// Things in the order of their numbers, with an index of their places.
#[derive(Debug)]
pub struct Things<T> {
    list: Vec<T>,
    grid: Grid,
}

impl<T> Deref for Things<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.list
    }
}

impl<T: Thing> Things<T> {
    /// Indexes things, which come in the order of their numbers, on a map of `map_size_px`.
    pub fn new(map_size_px: i32, list: Vec<T>) -> Things<T> {
        let places = list.iter().map(Thing::place);
        let grid = if list.is_empty() { Grid::default() } else { Grid::new(map_size_px, places) };
        Things { list, grid }
    }

    /// The index of a thing.
    pub fn index_of(&self, id: &T::Id) -> Option<usize> {
        self.binary_search_by(|thing| thing.id().cmp(id)).ok()
    }

    /// Finds a thing.
    pub fn find(&self, id: &T::Id) -> Option<&T> {
        self.index_of(id).map(|index| &self.list[index])
    }

    /// Calls `found` with the index of each thing that reaches into the window widened by
    /// `margin_px`, in no particular order.
    pub fn near(&self, window: Window, margin_px: i32, mut found: impl FnMut(usize)) {
        self.grid.near(window, margin_px, |index| {
            if window.sees_within(self.list[index as usize].place(), margin_px) {
                found(index as usize);
            }
        });
    }

    /// Collects the indexes of the things in the window into `visible`, in order.
    pub fn look(&self, window: Window, visible: &mut Vec<u32>) {
        visible.clear();
        self.near(window, 0, |index| visible.push(index as u32));
        visible.sort_unstable();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rim_counts_not_the_centre() {
        let window = Window { x: 5000, y: 5000 };
        let sees = |x_px, y_px, radius_px| window.sees(Place { x_px, y_px, radius_px });
        assert!(sees(5000 + 1248 + 35, 5000, 35));
        assert!(!sees(5000 + 1248 + 36, 5000, 35));
        assert!(sees(5000, 5000 - 702 - 150, 150));
        assert!(!sees(5000, 5000 - 702 - 151, 150));
    }

    #[test]
    fn the_grid_finds_all_that_a_look_at_everything_finds() {
        let place =
            |n| Place { x_px: n * 7919 % 14_401, y_px: n * 104_729 % 14_401, radius_px: 35 + n % 140 };
        let places: Vec<Place> = (0..3_000).map(place).collect();
        let grid = Grid::new(14_400, places.iter().copied());
        for window in [(0, 0), (14_400, 14_400), (7_000, 3_000), (13_999, 20)] {
            let window = Window { x: window.0, y: window.1 };
            let sees = |index: &u32| window.sees(places[*index as usize]);
            let mut found = Vec::new();
            grid.near(window, 0, |index| found.push(index));
            found.retain(sees);
            found.sort_unstable();
            let expected: Vec<u32> = (0..3_000).filter(sees).collect();
            assert!(!expected.is_empty());
            assert_eq!(found, expected);
        }
    }
}
