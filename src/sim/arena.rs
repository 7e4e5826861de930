//! A rectangular map with walls, for games seen from above.

use crate::Rng;
use crate::fixed::{Angle, is_within};
use crate::geometry::{Point, Rect, has_line_of_sight};
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
}
