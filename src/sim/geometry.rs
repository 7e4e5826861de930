//! Rectangles as walls: line of sight, sweeps, and collisions with circles.
//!
//! Coordinates are in units of the game, from -2^30 to 2^30. Results are equal on every machine.
//! Inexact results are rounded towards the start of the segment, or towards the rectangle.
//!
//! ```
//! use tickwire_sim::geometry::{Rect, has_line_of_sight, sweep};
//!
//! let walls = [Rect::new(100, 0, 20, 80)];
//! assert!(!has_line_of_sight((0, 40), (200, 40), &walls));
//! assert!(has_line_of_sight((0, 90), (200, 90), &walls));
//! assert_eq!(sweep((0, 40), (200, 40), &walls), (100, 40));
//! assert_eq!(walls[0].push_out((95, 40), 10), (90, 40));
//! ```

use crate::fixed::square_root;

/// A point: x and y.
pub type Point = (i32, i32);

/// A rectangle with its edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rect {
    /// The smallest x.
    pub left: i32,
    /// The smallest y.
    pub top: i32,
    /// The largest x.
    pub right: i32,
    /// The largest y.
    pub bottom: i32,
}

impl Rect {
    /// Creates a rectangle from its corner with the smallest coordinates, and its size.
    pub const fn new(left: i32, top: i32, width: i32, height: i32) -> Rect {
        Rect { left, top, right: left + width, bottom: top + height }
    }

    /// Creates the square around a center, with half of its side.
    pub const fn around((x, y): Point, half: i32) -> Rect {
        Rect { left: x - half, top: y - half, right: x + half, bottom: y + half }
    }

    /// Converts the four edges, for example to another unit.
    pub fn map(self, convert: impl Fn(i32) -> i32) -> Rect {
        let Rect { left, top, right, bottom } = self;
        Rect { left: convert(left), top: convert(top), right: convert(right), bottom: convert(bottom) }
    }

    /// Returns whether a point is in the rectangle or on its edge.
    pub const fn contains(&self, (x, y): Point) -> bool {
        self.left <= x && x <= self.right && self.top <= y && y <= self.bottom
    }

    /// Returns whether two rectangles have more than an edge in common.
    pub const fn overlaps(&self, other: &Rect) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    /// Returns where a segment meets the rectangle first, as a fraction of the segment's length in
    /// 1/65,536, rounded down. `None` if they do not meet.
    pub fn entry(&self, from: Point, to: Point) -> Option<u32> {
        let is_beside = |from: i32, to: i32, low: i32, high: i32| from.max(to) < low || from.min(to) > high;
        if is_beside(from.0, to.0, self.left, self.right) || is_beside(from.1, to.1, self.top, self.bottom) {
            // The common case.
            return None;
        }
        // Liang and Barsky: the segment is in the rectangle between the last entry and the first
        // exit of the four half planes. Each is a fraction with a positive denominator.
        let (mut entry, mut exit) = ((0, 1), (1, 1));
        let (dx, dy) = (i128::from(to.0) - i128::from(from.0), i128::from(to.1) - i128::from(from.1));
        for (step, inside) in [
            (-dx, i128::from(from.0) - i128::from(self.left)),
            (dx, i128::from(self.right) - i128::from(from.0)),
            (-dy, i128::from(from.1) - i128::from(self.top)),
            (dy, i128::from(self.bottom) - i128::from(from.1)),
        ] {
            let is_later =
                |(one, below): (i128, i128), (other, under): (i128, i128)| one * under > other * below;
            match step {
                0 if inside < 0 => return None,
                0 => {}
                1.. if is_later(exit, (inside, step)) => exit = (inside, step),
                ..0 if is_later((-inside, -step), entry) => entry = (-inside, -step),
                _ => {}
            }
        }
        let (numerator, denominator) = entry;
        (numerator * exit.1 <= exit.0 * denominator).then(|| ((numerator << 16) / denominator) as u32)
    }

    /// Returns the nearest center at which a circle touches the rectangle from outside, or the
    /// given center if they do not overlap.
    pub fn push_out(&self, (x, y): Point, radius: i32) -> Point {
        if self.contains((x, y)) {
            let distances = [x - self.left, self.right - x, y - self.top, self.bottom - y];
            let nearest = (0..4).min_by_key(|side| distances[*side]).unwrap_or_default();
            return match nearest {
                0 => (self.left - radius, y),
                1 => (self.right + radius, y),
                2 => (x, self.top - radius),
                _ => (x, self.bottom + radius),
            };
        }
        let (near_x, near_y) = (x.clamp(self.left, self.right), y.clamp(self.top, self.bottom));
        let (dx, dy) = (i64::from(x) - i64::from(near_x), i64::from(y) - i64::from(near_y));
        let (distance, radius) = (square_root((dx * dx + dy * dy) as u64) as i64, i64::from(radius));
        if distance >= radius {
            return (x, y);
        }
        (near_x + (dx * radius / distance) as i32, near_y + (dy * radius / distance) as i32)
    }
}

/// Returns whether no wall meets the segment between two points.
pub fn has_line_of_sight(from: Point, to: Point, walls: &[Rect]) -> bool {
    walls.iter().all(|wall| wall.entry(from, to).is_none())
}

/// Returns the point at which a moving point meets the first wall, or `to` if it meets none.
pub fn sweep(from: Point, to: Point, walls: &[Rect]) -> Point {
    let Some(part) = walls.iter().filter_map(|wall| wall.entry(from, to)).min() else { return to };
    let along = |from: i32, to: i32| {
        let way = i64::from(to) - i64::from(from);
        (i64::from(from) + way * i64::from(part) / (1 << 16)) as i32
    };
    (along(from.0, to.0), along(from.1, to.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    const WALL: Rect = Rect { left: 10, top: 20, right: 30, bottom: 40 };

    #[test]
    fn a_segment_meets_a_rectangle_where_it_enters_it() {
        for (from, to, expected) in [
            ((0, 30), (40, 30), Some(1 << 14)),
            ((40, 30), (0, 30), Some(1 << 14)),
            ((20, 0), (20, 80), Some(1 << 14)),
            ((0, 10), (40, 50), Some(1 << 14)),
            ((15, 25), (16, 26), Some(0)),
            ((10, 0), (10, 100), Some((20 << 16) / 100)),
            ((0, 30), (9, 30), None),
            ((0, 0), (30, 19), None),
            ((0, 45), (40, 41), None),
            ((20, 30), (20, 30), Some(0)),
            ((0, 0), (0, 0), None),
            ((i32::MIN, 30), (i32::MAX, 30), Some(1 << 15)),
        ] {
            assert_eq!(WALL.entry(from, to), expected, "{from:?} to {to:?}");
        }
    }

    #[test]
    fn a_segment_meets_a_rectangle_if_and_only_if_one_of_its_points_is_inside() {
        let mut random = Rng::new(7, 3);
        let mut met = 0;
        for _ in 0..20_000 {
            // All points of the segment are whole numbers.
            let (x, y) = (random.between(-20, 60), random.between(-20, 70));
            let [dx, dy] = [(); 2].map(|()| random.between(-2, 2));
            let steps = random.between(0, 60);
            let to = (x + dx * steps, y + dy * steps);
            let is_inside = (0..=steps).any(|at| WALL.contains((x + dx * at, y + dy * at)));
            let entry = WALL.entry((x, y), to);
            assert!(!is_inside || entry.is_some(), "({x}, {y}) to {to:?}");
            let is_near = (0..=steps).any(|at| {
                let near = Rect { left: 9, top: 19, right: 31, bottom: 41 };
                near.contains((x + dx * at, y + dy * at))
            });
            assert!(is_near || entry.is_none(), "({x}, {y}) to {to:?}");
            met += usize::from(entry.is_some());
        }
        assert!(met > 2_000);
    }

    #[test]
    fn a_circle_that_was_pushed_out_no_longer_overlaps() {
        let mut random = Rng::new(8, 3);
        for _ in 0..20_000 {
            let (center, radius) = ((random.between(-10, 50), random.between(0, 60)), random.between(1, 15));
            let (x, y) = WALL.push_out(center, radius);
            let (dx, dy) = (x - x.clamp(10, 30), y - y.clamp(20, 40));
            // The result is rounded towards the rectangle.
            assert!(dx * dx + dy * dy >= (radius - 2).max(0).pow(2), "{center:?} with {radius}: ({x}, {y})");
            let distance = (center.0 - center.0.clamp(10, 30), center.1 - center.1.clamp(20, 40));
            if distance.0.pow(2) + distance.1.pow(2) >= radius.pow(2) {
                assert_eq!((x, y), center);
            }
        }
    }
}
