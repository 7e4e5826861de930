//! Path finding on a grid of square cells: A* with integer costs.
//!
//! A search visits only the cells at most `reach` columns and rows from its start. Its cost is
//! bounded by the `(2 * reach + 1)²` cells of this square, whatever the size of the map. It keeps
//! nothing between calls, so a world's state needs no part for it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A cell of a grid: column and row.
pub type Cell = (i32, i32);

/// The steps to the neighbours of a cell: straight ones first.
const STEPS: [(i32, i32); 8] = [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)];
/// Cost of a step to a neighbour in the same column or row.
const STRAIGHT: u32 = 10;
/// Cost of a diagonal step: about the square root of 2 times as much.
const DIAGONAL: u32 = 14;

/// Returns a shortest path between two cells: the cells after `from`, the last one is `to`. `None`
/// if no path exists within `reach` cells of `from`.
///
/// A step goes to one of the eight neighbours. A diagonal one needs both cells next to it free, so
/// that a path cuts no corners. `is_free` is called at most once for each cell, and never for
/// `from` and `to`, which count as free. Equal arguments give equal paths on every machine.
///
/// ```
/// use tickwire_sim::path::find_path;
///
/// let map = [
///     "..#..",
///     "..#..",
///     ".....",
/// ];
/// let is_free = |(column, row): (i32, i32)| {
///     let row = usize::try_from(row).ok().and_then(|row| map.get(row));
///     let column = usize::try_from(column).ok();
///     row.zip(column).and_then(|(row, column)| row.as_bytes().get(column)) == Some(&b'.')
/// };
/// let path = [(1, 1), (1, 2), (2, 2), (3, 2), (4, 1), (4, 0)];
/// assert_eq!(find_path((0, 0), (4, 0), 5, is_free).as_deref(), Some(&path[..]));
/// assert_eq!(find_path((0, 0), (4, 0), 3, is_free), None, "farther than the reach");
/// assert_eq!(find_path((0, 0), (0, 0), 5, is_free), Some(vec![]));
/// ```
pub fn find_path(from: Cell, to: Cell, reach: u8, is_free: impl FnMut(Cell) -> bool) -> Option<Vec<Cell>> {
    let mut window = Window::around(from, reach, is_free);
    let (start, target) = (window.index(from)?, window.index(to)?);
    window.cells[target].is_free = Some(true);
    window.cells[start] = VisitedCell { cost: 0, previous: start, is_free: Some(true) };
    // Of equal estimates, the cell nearest to the target comes first. The index makes the order
    // total, so that it does not depend on how the heap works.
    let mut open = BinaryHeap::from([Reverse((least_cost(from, to), least_cost(from, to), start))]);
    while let Some(Reverse((estimate, rest, at))) = open.pop() {
        if at == target {
            return Some(window.path(start, target));
        }
        let cost = window.cells[at].cost;
        if estimate > cost + rest {
            // A cheaper path to this cell was found after this entry was added.
            continue;
        }
        let (column, row) = window.cell(at);
        for (dx, dy) in STEPS {
            let next = (column.saturating_add(dx), row.saturating_add(dy));
            let is_diagonal = dx != 0 && dy != 0;
            let cost = cost + if is_diagonal { DIAGONAL } else { STRAIGHT };
            let Some(index) = window.index(next).filter(|index| cost < window.cells[*index].cost) else {
                continue;
            };
            let cuts_corner =
                is_diagonal && !(window.is_free((next.0, row)) && window.is_free((column, next.1)));
            if window.is_free(next) && !cuts_corner {
                (window.cells[index].cost, window.cells[index].previous) = (cost, at);
                let rest = least_cost(next, to);
                open.push(Reverse((cost + rest, rest, index)));
            }
        }
    }
    None
}

/// The cost of a path without obstacles.
fn least_cost(from: Cell, to: Cell) -> u32 {
    let (dx, dy) = (from.0.abs_diff(to.0), from.1.abs_diff(to.1));
    let diagonal = dx.min(dy);
    DIAGONAL * diagonal + STRAIGHT * (dx.max(dy) - diagonal)
}

/// A cell that a search may visit.
#[derive(Clone, Copy)]
struct VisitedCell {
    /// Cost of the cheapest known path from the start; `u32::MAX` if there is none.
    cost: u32,
    /// Index of the cell before it on this path.
    previous: usize,
    /// Whether the cell is free; `None` if it is not known yet.
    is_free: Option<bool>,
}

/// The square of cells that a search may visit.
struct Window<F> {
    /// The cell with the smallest column and row.
    corner: Cell,
    /// Number of columns and rows.
    side: u32,
    /// The cells, row by row.
    cells: Vec<VisitedCell>,
    is_free: F,
}

impl<F: FnMut(Cell) -> bool> Window<F> {
    fn around((column, row): Cell, reach: u8, is_free: F) -> Window<F> {
        let side = 2 * u32::from(reach) + 1;
        let cell = VisitedCell { cost: u32::MAX, previous: 0, is_free: None };
        let corner = (column.saturating_sub(reach.into()), row.saturating_sub(reach.into()));
        Window { corner, side, cells: vec![cell; (side * side) as usize], is_free }
    }

    /// Returns the index of a cell; `None` if it is outside.
    fn index(&self, cell: Cell) -> Option<usize> {
        let along = |at: i32, first: i32| {
            at.checked_sub(first).and_then(|at| u32::try_from(at).ok()).filter(|at| *at < self.side)
        };
        Some((along(cell.1, self.corner.1)? * self.side + along(cell.0, self.corner.0)?) as usize)
    }

    fn cell(&self, index: usize) -> Cell {
        let index = index as u32;
        (self.corner.0 + (index % self.side) as i32, self.corner.1 + (index / self.side) as i32)
    }

    fn is_free(&mut self, cell: Cell) -> bool {
        let Some(index) = self.index(cell) else { return false };
        match self.cells[index].is_free {
            Some(is_free) => is_free,
            None => *self.cells[index].is_free.insert((self.is_free)(cell)),
        }
    }

    /// Returns the cells of the path to a cell, without the start.
    fn path(&self, start: usize, target: usize) -> Vec<Cell> {
        let back = std::iter::successors(Some(target), |at| Some(self.cells[*at].previous));
        let mut path: Vec<Cell> = back.take_while(|at| *at != start).map(|at| self.cell(at)).collect();
        path.reverse();
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    /// The costs of the cheapest paths from a cell, by relaxation until nothing changes.
    fn costs(from: Cell, reach: i32, is_free: impl Fn(Cell) -> bool) -> Vec<(Cell, u32)> {
        let around = |at: i32| at - reach..=at + reach;
        let cells = around(from.1).flat_map(|row| around(from.0).map(move |column| (column, row)));
        let mut costs: Vec<(Cell, u32)> =
            cells.filter(|cell| is_free(*cell)).map(|cell| (cell, u32::MAX)).collect();
        loop {
            let old = costs.clone();
            let cost_of = |cell: Cell| {
                old.binary_search_by_key(&(cell.1, cell.0), |((column, row), _)| (*row, *column))
                    .ok()
                    .map(|at| old[at].1)
            };
            for (cell, cost) in &mut costs {
                let steps = STEPS.iter().filter_map(|(dx, dy)| {
                    let before = cost_of((cell.0 + dx, cell.1 + dy))?;
                    cost_of((cell.0 + dx, cell.1))?;
                    cost_of((cell.0, cell.1 + dy))?;
                    before.checked_add(if *dx != 0 && *dy != 0 { DIAGONAL } else { STRAIGHT })
                });
                *cost = if *cell == from { 0 } else { steps.min().unwrap_or(u32::MAX) };
            }
            if costs == old {
                return costs;
            }
        }
    }

    #[test]
    fn a_path_is_as_short_as_the_shortest_and_takes_only_free_steps() {
        let mut random = Rng::new(3, 8);
        let (mut found, mut missing) = (0, 0);
        for _ in 0..40 {
            let corner = (random.between(-50, 50), random.between(-50, 50));
            let blocked: Vec<bool> = (0..15 * 15).map(|_| random.below(100) < 35).collect();
            let from = (corner.0 + 7, corner.1 + 7);
            let is_free = |cell: Cell| {
                cell == from || !blocked[((cell.1 - corner.1) * 15 + cell.0 - corner.0) as usize]
            };
            for (to, cost) in costs(from, 7, is_free) {
                let path = find_path(from, to, 7, |cell| {
                    assert!(cell != from && cell != to);
                    is_free(cell)
                });
                assert_eq!(path.is_some(), cost < u32::MAX, "{from:?} to {to:?}");
                let Some(path) = path else {
                    missing += 1;
                    continue;
                };
                found += 1;
                assert_eq!(path.last().unwrap_or(&from), &to);
                let mut at = from;
                let mut total = 0;
                for next in path {
                    let step = (next.0 - at.0, next.1 - at.1);
                    assert!(STEPS.contains(&step) && is_free(next), "{at:?} to {next:?}");
                    assert!(is_free((next.0, at.1)) && is_free((at.0, next.1)), "a corner at {at:?}");
                    total += if step.0 != 0 && step.1 != 0 { DIAGONAL } else { STRAIGHT };
                    at = next;
                }
                assert_eq!(total, cost, "{from:?} to {to:?}");
            }
        }
        assert!(found > 3_000 && missing > 100, "{found} {missing}");
    }

    #[test]
    fn a_search_visits_each_cell_within_its_reach_at_most_once() {
        let mut visited = Vec::new();
        // A ring around the target, so that the search visits all it can.
        let is_free = |(column, row): Cell| (column - 9).abs().max((row - 5).abs()) != 1;
        let path = find_path((0, 0), (9, 5), 9, |cell| {
            visited.push(cell);
            is_free(cell)
        });
        assert_eq!(path, None);
        let count = visited.len();
        visited.sort_unstable();
        visited.dedup();
        assert_eq!(visited.len(), count);
        assert!(visited.iter().all(|(column, row)| column.abs() <= 9 && row.abs() <= 9));
        assert!((300..19 * 19).contains(&count), "{count}");
    }

    #[test]
    fn cells_at_the_ends_of_the_numbers_have_paths() {
        for (from, to) in [
            ((i32::MAX, i32::MIN), (i32::MAX - 2, i32::MIN + 1)),
            ((i32::MIN, i32::MAX), (i32::MIN + 1, i32::MAX - 2)),
        ] {
            assert_eq!(find_path(from, to, 4, |_| true).map(|path| path.len()), Some(2), "{from:?}");
        }
        assert_eq!(find_path((i32::MIN, 0), (i32::MAX, 0), 255, |_| true), None);
        assert_eq!(find_path((0, 0), (1, 0), 0, |_| true), None);
    }
}
