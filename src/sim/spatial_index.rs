//! An index of points: which of them are near a place, without looking at all of them.

use crate::fixed::is_within;
use crate::geometry::{Point, Rect};

/// An index of entries by their position: a grid of square cells over all of them, with at most as
/// many cells as entries, or four. It is not part of a state: a rule builds it from the state, uses
/// it, and drops it. It pays from about thirty entries and queries. With fewer, or if the first
/// entry near a place is enough, look at all of them.
///
/// ```
/// use tickwire_sim::PlayerId;
/// use tickwire_sim::geometry::Rect;
/// use tickwire_sim::spatial_index::SpatialIndex;
///
/// let players = [((100, 100), PlayerId(3)), ((130, 140), PlayerId(1)), ((131, 140), PlayerId(2))];
/// let index = SpatialIndex::new(players);
/// assert_eq!(index.within((100, 100), 50), [PlayerId(1), PlayerId(3)]);
/// assert_eq!(index.in_rect(Rect::new(120, 0, 50, 200)), [PlayerId(1), PlayerId(2)]);
/// ```
#[derive(Debug, Clone)]
pub struct SpatialIndex<T> {
    /// Side of a cell as a power of two.
    cell_bits: u32,
    /// Column and row of the first cell. Cell 0 begins at coordinate 0.
    first: (i32, i32),
    columns: u32,
    rows: u32,
    /// The entries of cell `i` are `entries[starts[i]..starts[i + 1]]`. Cells follow row by row.
    starts: Vec<u32>,
    entries: Vec<(Point, T)>,
}

impl<T: Copy + Ord> SpatialIndex<T> {
    /// Creates the index of some entries.
    pub fn new(entries: impl IntoIterator<Item = (Point, T)>) -> SpatialIndex<T> {
        let unsorted: Vec<(Point, T)> = entries.into_iter().collect();
        let (mut corner, mut end) = unsorted.first().map_or(((0, 0), (0, 0)), |(at, _)| (*at, *at));
        for (at, _) in &unsorted {
            corner = (corner.0.min(at.0), corner.1.min(at.1));
            end = (end.0.max(at.0), end.1.max(at.1));
        }
        // Cells along an axis from one coordinate to another.
        let count = |bits: u32, from: i32, to: i32| u64::from((to >> bits).abs_diff(from >> bits)) + 1;
        let grid = |bits: u32| (count(bits, corner.0, end.0), count(bits, corner.1, end.1));
        // Four cells of the largest size meet at coordinate 0.
        let most = unsorted.len().max(4) as u64;
        let cell_bits = (0..31).find(|bits| grid(*bits).0 * grid(*bits).1 <= most).unwrap_or(31);
        let (columns, rows) = grid(cell_bits);
        let mut index = SpatialIndex {
            first: (corner.0 >> cell_bits, corner.1 >> cell_bits),
            cell_bits,
            columns: columns as u32,
            rows: rows as u32,
            starts: Vec::new(),
            entries: unsorted.clone(),
        };
        index.starts.resize((index.columns * index.rows) as usize + 1, 0);
        for (at, _) in &unsorted {
            let cell = index.cell(*at);
            index.starts[cell] += 1;
        }
        for cell in 1..index.starts.len() {
            index.starts[cell] += index.starts[cell - 1];
        }
        // `starts` has the ends of the cells now. Filling from the back makes them the starts.
        for entry in unsorted.iter().rev() {
            let cell = index.cell(entry.0);
            index.starts[cell] -= 1;
            let slot = index.starts[cell] as usize;
            index.entries[slot] = *entry;
        }
        index
    }

    /// Returns the entries at most `radius` from a point, in ascending order.
    pub fn within(&self, center: Point, radius: u32) -> Vec<T> {
        let mut found = Vec::new();
        self.for_each_within(center, radius, |entry| found.push(entry));
        found.sort_unstable();
        found
    }

    /// Calls `visit` for each entry at most `radius` from a point, cell by cell.
    pub fn for_each_within(&self, center: Point, radius: u32, mut visit: impl FnMut(T)) {
        let square = Rect {
            left: center.0.saturating_sub_unsigned(radius),
            top: center.1.saturating_sub_unsigned(radius),
            right: center.0.saturating_add_unsigned(radius),
            bottom: center.1.saturating_add_unsigned(radius),
        };
        self.for_each_in_cells(square, |at, entry| {
            if is_within(at.0.abs_diff(center.0), at.1.abs_diff(center.1), radius) {
                visit(entry);
            }
        });
    }

    /// Returns the entries in a rectangle or on its edge, in ascending order.
    pub fn in_rect(&self, rect: Rect) -> Vec<T> {
        let mut found = Vec::new();
        self.for_each_in_cells(rect, |at, entry| {
            if rect.contains(at) {
                found.push(entry);
            }
        });
        found.sort_unstable();
        found
    }

    /// Calls `visit` for each entry in the cells that a rectangle touches, cell by cell. Some of
    /// these entries may be outside the rectangle.
    pub fn for_each_in_cells(&self, rect: Rect, mut visit: impl FnMut(Point, T)) {
        // The first and the last cell of an axis; an empty range if the rectangle is elsewhere.
        let range = |from: i32, to: i32, first: i32, count: u32| {
            let cell = |at: i32| i64::from(at >> self.cell_bits) - i64::from(first);
            (cell(from).max(0), cell(to).min(i64::from(count) - 1))
        };
        let (left, right) = range(rect.left, rect.right, self.first.0, self.columns);
        let (top, bottom) = range(rect.top, rect.bottom, self.first.1, self.rows);
        if left > right {
            return;
        }
        for row in top..=bottom {
            let first = (row * i64::from(self.columns) + left) as usize;
            let last = (row * i64::from(self.columns) + right) as usize;
            for (at, entry) in &self.entries[self.starts[first] as usize..self.starts[last + 1] as usize] {
                visit(*at, *entry);
            }
        }
    }

    fn cell(&self, (x, y): Point) -> usize {
        let along = |at: i32, first: i32| (at >> self.cell_bits).abs_diff(first);
        (along(y, self.first.1) * self.columns + along(x, self.first.0)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    #[test]
    fn an_index_finds_what_a_comparison_with_all_finds() {
        let mut random = Rng::new(4, 2);
        let mut found = 0;
        for round in 0..400 {
            let extent = [0, 3, 40, 5_000, i32::MAX][round % 5];
            let flat = round % 7 == 0;
            let mut place = |extent: i32| {
                let y = random.between(-extent, extent);
                (random.between(-extent, extent), if flat { 5 } else { y })
            };
            let entries: Vec<(Point, u32)> =
                (0..round as u32 / 4).rev().map(|id| (place(extent), id)).collect();
            let index = SpatialIndex::new(entries.iter().copied());
            assert!(index.starts.len() <= entries.len().max(4) + 1);
            for _ in 0..20 {
                let (center, other) = (place(extent), place(extent));
                let radius = [0, 1, extent as u32 / 3, extent as u32, u32::MAX][round % 5];
                let near = |at: &Point| {
                    let (dx, dy) =
                        (i64::from(at.0) - i64::from(center.0), i64::from(at.1) - i64::from(center.1));
                    i128::from(dx).pow(2) + i128::from(dy).pow(2) <= i128::from(radius).pow(2)
                };
                let mut expected: Vec<u32> =
                    entries.iter().filter(|(at, _)| near(at)).map(|(_, id)| *id).collect();
                expected.reverse();
                assert_eq!(index.within(center, radius), expected, "{center:?} {radius}");
                found += expected.len();
                let rect = Rect { left: center.0, top: center.1, right: other.0, bottom: other.1 };
                let inside = entries.iter().filter(|(at, _)| rect.contains(*at));
                let mut expected: Vec<u32> = inside.map(|(_, id)| *id).collect();
                expected.reverse();
                assert_eq!(index.in_rect(rect), expected, "{rect:?}");
            }
        }
        assert!(found > 10_000, "{found}");
    }

    #[test]
    fn an_empty_index_finds_nothing() {
        let index = SpatialIndex::<u32>::new([]);
        assert_eq!(index.within((0, 0), u32::MAX), []);
        assert_eq!(
            index.in_rect(Rect { left: i32::MIN, top: i32::MIN, right: i32::MAX, bottom: i32::MAX }),
            []
        );
    }
}
