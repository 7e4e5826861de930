//! A rectangular map with walls, for games seen from above.

use crate::Rng;
use crate::fixed::{Angle, is_within};
use crate::geometry::{Point, Rect, has_line_of_sight};
use crate::path::{Cell, find_path};
use crate::trig::{cosine, direction, sine};

/// A map with an outer edge and rectangular walls. Bodies are circles.
///
/// ```
/// use tickwire_sim::arena::Arena;
/// use tickwire_sim::fixed::Angle;
/// use tickwire_sim::geometry::Rect;
///
/// const ARENA: Arena = Arena {
///     bounds: Rect::new(0, 0, 1000, 500),
///     walls: &[Rect::new(400, 0, 50, 300)],
/// };
/// const RIGHT: Angle = Angle(0);
///
/// assert_eq!(ARENA.step((380, 100), RIGHT, 30, 10), (390, 100), "stops at the wall");
/// assert_eq!(ARENA.step((980, 100), RIGHT, 30, 10), (990, 100), "stops at the edge");
/// assert!(!ARENA.has_line_of_sight((300, 100), (600, 100)));
///
/// // A shot hits the first of two targets, and none after the wall.
/// let targets = [((300, 104), "far"), ((235, 96), "near")];
/// assert_eq!(ARENA.shoot((0, 100), RIGHT, 900, 10, targets), ((225, 100), Some("near")));
/// let targets = [((500, 100), "after the wall")];
/// assert_eq!(ARENA.shoot((175, 100), RIGHT, 900, 10, targets), ((400, 100), None));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Arena<'a> {
    /// The edge of the map.
    pub bounds: Rect,
    /// The walls.
    pub walls: &'a [Rect],
}

/// The grid on which [`Arena::find_path`] searches, and the body that walks.
#[derive(Debug, Clone, Copy)]
pub struct PathGrid {
    /// Radius of the body.
    pub radius: i32,
    /// Side of a cell, at least 1. A passage is found if it is wide enough for two cells, or for a
    /// cell and the body. A cell must be no larger than the thinnest wall, or than `radius`.
    pub cell: i32,
    /// How far a path may lead from its start, in columns and rows of cells. It bounds the cost of
    /// a search: at most `(2 * reach + 1)²` cells are compared with all walls.
    pub reach: u8,
}

impl Arena<'_> {
    /// Moves a body. It stops at the edge and at walls, and slides along them.
    pub fn step(&self, from: Point, heading: Angle, length: i32, radius: i32) -> Point {
        self.keep_inside(offset(from, heading, length), radius)
    }

    /// Returns the nearest place of a body that is outside the walls and inside the edge. Where
    /// walls are closer to each other than the body is wide, it may overlap one of them.
    pub fn keep_inside(&self, place: Point, radius: i32) -> Point {
        let Rect { left, top, right, bottom } = self.bounds;
        let (x, y) = self.walls.iter().fold(place, |place, wall| wall.push_out(place, radius));
        (x.clamp(left + radius, right - radius), y.clamp(top + radius, bottom - radius))
    }

    /// Returns a random place of a body in a part of the map.
    pub fn random_place(&self, part: Rect, radius: i32, random: &mut Rng) -> Point {
        let place = (random.between(part.left, part.right), random.between(part.top, part.bottom));
        self.keep_inside(place, radius)
    }

    /// Returns whether no wall is between two points.
    pub fn has_line_of_sight(&self, from: Point, to: Point) -> bool {
        has_line_of_sight(from, to, self.walls)
    }

    /// Returns the points of a path around the walls, without `from`; the last one is `to`. A body
    /// that [steps](Arena::step) to each of them in turn arrives. `None` if no path exists within
    /// the reach of the grid.
    ///
    /// A body that follows another one needs only the first point, and a new path some ticks later.
    ///
    /// ```
    /// use tickwire_sim::arena::{Arena, PathGrid};
    /// use tickwire_sim::geometry::Rect;
    ///
    /// const ARENA: Arena = Arena {
    ///     bounds: Rect::new(0, 0, 400, 400),
    ///     walls: &[Rect::new(180, 0, 40, 200)],
    /// };
    /// const GRID: PathGrid = PathGrid { radius: 10, cell: 40, reach: 10 };
    ///
    /// let path = ARENA.find_path((150, 140), (250, 140), &GRID).unwrap();
    /// let expected = [(140, 180), (140, 220), (180, 220), (220, 220), (260, 220), (260, 180)];
    /// assert_eq!(path, [&expected[..], &[(250, 140)]].concat());
    /// assert_eq!(ARENA.find_path((150, 140), (250, 140), &PathGrid { reach: 1, ..GRID }), None);
    /// ```
    pub fn find_path(&self, from: Point, to: Point, grid: &PathGrid) -> Option<Vec<Point>> {
        let cell = grid.cell.max(1);
        let center = |(column, row): Cell| {
            (self.bounds.left + column * cell + cell / 2, self.bounds.top + row * cell + cell / 2)
        };
        // With all of the cell free, a body reaches the next cell wherever it is in this one.
        let half = grid.radius.max(cell - cell / 2);
        let size = (self.bounds.right - self.bounds.left, self.bounds.bottom - self.bounds.top);
        let is_free = |place: Cell| {
            if !(0..=size.0 / cell).contains(&place.0) || !(0..=size.1 / cell).contains(&place.1) {
                return false;
            }
            let square = Rect::around(center(place), half);
            let Rect { left, top, right, bottom } = square;
            self.bounds.contains((left, top))
                && self.bounds.contains((right, bottom))
                && !self.walls.iter().any(|wall| wall.overlaps(&square))
        };
        let own_cell =
            |(x, y): Point| ((x - self.bounds.left).div_euclid(cell), (y - self.bounds.top).div_euclid(cell));
        // A body at a wall may be in a cell that is not free.
        let free_cell = |place: Point| {
            let own = own_cell(place);
            let around = (0..9).map(|at| (own.0 + at % 3 - 1, own.1 + at / 3 - 1));
            let distance = |cell: &Cell| {
                let (dx, dy) = (center(*cell).0.abs_diff(place.0), center(*cell).1.abs_diff(place.1));
                u64::from(dx).pow(2) + u64::from(dy).pow(2)
            };
            if is_free(own) { Some(own) } else { around.filter(|cell| is_free(*cell)).min_by_key(distance) }
        };
        let (start, target) = (free_cell(from)?, free_cell(to)?);
        let mut cells = find_path(start, target, grid.reach, is_free)?;
        if target == own_cell(to) {
            cells.pop();
        }
        let first = (start != own_cell(from)).then_some(start);
        Some(first.into_iter().chain(cells).map(center).chain([to]).collect())
    }

    /// Fires a shot at some targets. Returns the point where it ends, and the first target that it
    /// hits before a wall. Targets are squares around their place, with half a side of `radius`.
    pub fn shoot<T>(
        &self,
        from: Point,
        heading: Angle,
        range: i32,
        radius: i32,
        targets: impl IntoIterator<Item = (Point, T)>,
    ) -> (Point, Option<T>) {
        let to = offset(from, heading, range);
        let wall = self.walls.iter().filter_map(|wall| wall.entry(from, to)).min();
        let hits = targets.into_iter().filter_map(|(place, target)| {
            let part = Rect::around(place, radius).entry(from, to)?;
            wall.is_none_or(|wall| part < wall).then_some((part, target))
        });
        let hit = hits.min_by_key(|(part, _)| *part);
        let part = hit.as_ref().map(|(part, _)| *part).or(wall).unwrap_or(1 << 16);
        let along = |from: i32, to: i32| {
            from + ((i64::from(to) - i64::from(from)) * i64::from(part) / (1 << 16)) as i32
        };
        ((along(from.0, to.0), along(from.1, to.1)), hit.map(|(_, target)| target))
    }
}

/// Returns the point at a distance from another one.
pub fn offset(from: Point, heading: Angle, length: i32) -> Point {
    let part = |part: i32| (i64::from(part) * i64::from(length) / (1 << 16)) as i32;
    (from.0.saturating_add(part(cosine(heading))), from.1.saturating_add(part(sine(heading))))
}

/// Returns the direction from one point to another.
pub fn heading(from: Point, to: Point) -> Angle {
    direction(i64::from(to.0) - i64::from(from.0), i64::from(to.1) - i64::from(from.1))
}

/// Returns the distance between two points, rounded down.
pub fn distance(one: Point, other: Point) -> i32 {
    let square = |one: i32, other: i32| u64::from(one.abs_diff(other)).pow(2);
    let distance = square(one.0, other.0).saturating_add(square(one.1, other.1)).isqrt();
    i32::try_from(distance).unwrap_or(i32::MAX)
}

/// Returns whether two points are at most `reach` apart.
pub fn is_near(one: Point, other: Point, reach: i32) -> bool {
    u32::try_from(reach).is_ok_and(|reach| is_within(one.0.abs_diff(other.0), one.1.abs_diff(other.1), reach))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARENA: Arena<'static> = Arena {
        bounds: Rect::new(0, 0, 1000, 800),
        walls: &[Rect::new(300, 200, 60, 400), Rect::new(500, 0, 40, 300)],
    };

    #[test]
    fn a_body_that_walks_at_random_never_enters_a_wall_or_leaves_the_map() {
        let mut random = Rng::new(5, 1);
        let mut place = ARENA.random_place(ARENA.bounds, 12, &mut random);
        let mut distance = 0;
        for _ in 0..20_000 {
            let next = ARENA.step(place, Angle(random.below(1 << 16) as u16), 9, 12);
            distance += place.0.abs_diff(next.0) + place.1.abs_diff(next.1);
            place = next;
            assert!((12..=988).contains(&place.0) && (12..=788).contains(&place.1), "{place:?}");
            // A push is rounded towards the wall, by less than two units.
            let is_free = |wall: &Rect| wall.push_out(place, 10) == place;
            assert!(ARENA.walls.iter().all(is_free), "{place:?}");
        }
        assert!(distance > 100_000);
    }

    #[test]
    fn a_body_that_follows_paths_around_the_walls_arrives() {
        let mut random = Rng::new(8, 1);
        let arena = Arena {
            bounds: ARENA.bounds,
            walls: &[
                Rect::new(300, 200, 60, 400),
                Rect::new(500, 0, 40, 300),
                Rect::new(500, 380, 40, 420),
                Rect::new(700, 100, 20, 600),
            ],
        };
        let mut detours = 0;
        for grid in [
            PathGrid { radius: 12, cell: 20, reach: 60 },
            PathGrid { radius: 12, cell: 12, reach: 100 },
            PathGrid { radius: 30, cell: 20, reach: 60 },
        ] {
            for _ in 0..60 {
                let [mut at, target] = [(); 2].map(|()| {
                    // A wall at the edge may push a body over the edge, and back into the wall.
                    let is_free = |at: &Point| !arena.walls.iter().any(|wall| wall.contains(*at));
                    let mut places =
                        std::iter::repeat_with(|| arena.random_place(arena.bounds, grid.radius, &mut random));
                    places.find(is_free).expect("a free place")
                });
                let has_detour = !arena.has_line_of_sight(at, target);
                let mut ticks = 0;
                while !is_near(at, target, 12) {
                    let next = arena
                        .find_path(at, target, &grid)
                        .unwrap_or_else(|| panic!("{grid:?}: no path from {at:?} to {target:?}"))[0];
                    at = arena.step(at, heading(at, next), 6, grid.radius);
                    ticks += 1;
                    assert!(ticks < 1_000, "{grid:?}: {at:?} on the way to {target:?}");
                }
                detours += u32::from(has_detour);
            }
        }
        assert!(detours > 60, "{detours}");
    }

    #[test]
    fn paths_on_the_largest_map_with_the_largest_cells_exist() {
        let max = 1 << 30;
        let arena =
            Arena { bounds: Rect { left: -max, top: -max, right: max - 1, bottom: max - 1 }, walls: &[] };
        for (cell, reach) in [(1 << 24, 255), (1 << 28, 255), (max, 255), (1 << 24, 2)] {
            let grid = PathGrid { radius: 10, cell, reach };
            let path = arena.find_path((-max + 10, -max + 10), (max - 20, max - 20), &grid);
            assert_eq!(path.is_some(), reach == 255, "{grid:?}");
        }
    }

    #[test]
    fn a_path_exists_only_where_the_body_fits() {
        let walls = [Rect::new(0, 100, 180, 40), Rect::new(260, 100, 140, 40)];
        let arena = Arena { bounds: Rect::new(0, 0, 400, 300), walls: &walls };
        let path = |radius| arena.find_path((40, 40), (40, 260), &PathGrid { radius, cell: 20, reach: 30 });
        assert!(path(30).is_some());
        assert_eq!(path(42), None, "the gap is 80 wide");
    }

    #[test]
    fn a_shot_hits_what_a_line_of_sight_reaches_first() {
        let mut random = Rng::new(6, 1);
        let (mut hits, mut misses) = (0, 0);
        for _ in 0..5_000 {
            let [from, target] = [(); 2].map(|()| ARENA.random_place(ARENA.bounds, 12, &mut random));
            let (end, hit) = ARENA.shoot(from, heading(from, target), 2_000, 12, [(target, ())]);
            let is_far = !is_near(from, target, 40);
            match hit {
                Some(()) => assert!(is_near(end, target, 20), "{from:?} to {target:?}: {end:?}"),
                // Next to a corner, the ray may pass while the square is hidden.
                None => assert!(!is_far || !ARENA.has_line_of_sight(from, target), "{from:?} to {target:?}"),
            }
            hits += u32::from(hit.is_some());
            misses += u32::from(hit.is_none());
        }
        assert!(hits > 1_000 && misses > 500, "{hits} {misses}");
    }

    #[test]
    fn a_distance_is_rounded_down_and_has_no_overflow() {
        assert_eq!(distance((-3, 1), (0, -3)), 5);
        assert_eq!(distance((0, 0), (1, 1)), 1);
        assert_eq!(distance((i32::MIN, i32::MIN), (i32::MAX, i32::MAX)), i32::MAX);
    }
}
