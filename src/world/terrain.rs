//! What a body stands on and runs into: the edges of the map and what does not move.
//!
//! Comes in: obstacles, once, and what players build; then bodies. Goes out: bodies where they can be. Never: anything that
//! moves. So a controller can be run on it alone, also by a client that knows only the obstacles it has seen.

use crate::built::Built;
pub use crate::built::Standing;
use crate::entity::Body;
use crate::fixed::{clamp_i32, is_shorter, ray, Angle, Fixed};
use crate::grid::Grid;
use crate::map::Bands;
use crate::rules::{ANIMAL_RADIUS_MAX_PX, MAP_SIZE_MAX_PX, SUB_STEP_PX};
use crate::trig::{cosine, sine};

/// A round thing that does not move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Centre from the left edge.
    pub x: Fixed,
    /// Centre from the top edge.
    pub y: Fixed,
    /// Radius, pixels.
    pub radius_px: i32,
}

/// A map with obstacles on it.
#[derive(Clone, Debug)]
pub struct Terrain {
    map_size_px: u32,
    bands: Bands,
    obstacles: Vec<Obstacle>,
    grid: Grid,
    built: Built,
}

/// Bodies are looked for in one cell only, so an obstacle is put in each cell from which it can be touched. No body is
/// larger than this, and no newcomer asks for more room.
const REACH_PX: i32 = ANIMAL_RADIUS_MAX_PX;

/// In how many directions around something new a place is looked for, for a body that would be stuck in it.
const WAYS_AROUND: u32 = 32;

impl Terrain {
    /// A square map of that side (taken at [`MAP_SIZE_MAX_PX`] when larger), and obstacles on it: all of them, or those
    /// that one knows of.
    pub fn new(map_size_px: u32, obstacles: Vec<Obstacle>) -> Terrain {
        let map_size_px = map_size_px.min(MAP_SIZE_MAX_PX);
        let mut grid = Grid::new(map_size_px);
        grid.rebuild(obstacles.len(), |grid, index| {
            let Obstacle { x, y, radius_px } = obstacles[index];
            grid.around(x, y, Fixed::from_px(radius_px.saturating_add(REACH_PX)))
        });
        Terrain {
            map_size_px,
            bands: Bands::new(map_size_px),
            obstacles,
            grid,
            built: Built::new(map_size_px),
        }
    }

    /// Side of the map, pixels.
    pub fn map_size_px(&self) -> u32 {
        self.map_size_px
    }

    /// The bands of land.
    pub fn bands(&self) -> Bands {
        self.bands
    }

    /// Whether a circle of at most 84 px there is on the map and touches no obstacle.
    pub fn is_free(&self, x: Fixed, y: Fixed, radius_px: i32) -> bool {
        let edge = Fixed::from_px(radius_px);
        let far = Fixed::from_px(self.map_size_px as i32).minus(edge);
        let on_map = x >= edge && y >= edge && x <= far && y <= far;
        on_map
            && self.near(x, y).all(|obstacle| !overlaps(obstacle, x, y, radius_px))
            && self.built_near(x, y).iter().all(|standing| {
                let Standing { x: at_x, y: at_y, item, .. } = *standing;
                let room = Obstacle { x: at_x, y: at_y, radius_px: item.scale_px };
                !overlaps(&room, x, y, radius_px)
            })
    }

    /// Puts up something that was built, or that one sees to have been built.
    pub fn put_up(&mut self, standing: Standing) {
        self.built.add(standing, REACH_PX);
    }

    /// Takes down what was put up so.
    pub fn take_down(&mut self, standing: &Standing) {
        self.built.remove(standing, REACH_PX);
    }

    /// What was built and can be touched from a point, in the order of its numbers.
    pub(crate) fn built_near(&self, x: Fixed, y: Fixed) -> &[Standing] {
        self.built.near(x, y)
    }

    /// Moves a body by a way, in steps so short that it cannot pass through anything. Tells whether it ran into an
    /// obstacle; at the edge of the map it loses the speed towards it.
    pub(crate) fn walk(&self, body: &mut Body, way_x: Fixed, way_y: Fixed) -> bool {
        let longest = way_x.0.unsigned_abs().max(way_y.0.unsigned_abs());
        let steps = i64::from(longest) / i64::from(Fixed::from_px(SUB_STEP_PX).0) + 1;
        if steps == 1 {
            // Nearly everyone, who needs none of the divisions below.
            let from = (body.x, body.y);
            (body.x, body.y) = (body.x.plus(way_x), body.y.plus(way_y));
            return self.settle(body) | self.keep_out_of_gaps(body, from);
        }
        let part = |way: Fixed, step: i64| Fixed((i64::from(way.0) * step / steps) as i32);
        let mut touched = false;
        for step in 1..=steps {
            let from = (body.x, body.y);
            body.x = body.x.plus(part(way_x, step)).minus(part(way_x, step - 1));
            body.y = body.y.plus(part(way_y, step)).minus(part(way_y, step - 1));
            touched |= self.settle(body);
            if self.keep_out_of_gaps(body, from) {
                return true;
            }
        }
        touched
    }

    /// Whether a body overlaps something solid.
    fn is_in_something(&self, body: &Body) -> bool {
        let (x, y) = (body.x, body.y);
        let mut solids = self.near(x, y).copied().chain(self.built.near(x, y).iter().filter_map(solid));
        solids.any(|solid| overlaps(&solid, x, y, body.radius_px))
    }

    /// Where a body goes that something new was built upon, when to be put on its rim would leave the body stuck: to the nearest
    /// free place around the new thing, to which the way leads through no narrow gap that was there before. `None` when the body
    /// is not stuck, or there is no such place.
    ///
    /// ```text
    ///      a    b     the body • stood before the gap a─b when c was built upon it. The gap keeps it from going up, and the
    ///        •        new gaps a─c and b─c close the other ways; so it goes at once to the nearest place around c
    ///        c  •
    /// ```
    pub(crate) fn place_beside(&self, body: &Body, new: &Standing) -> Option<(Fixed, Fixed)> {
        let new_solid = solid(new).filter(|solid| overlaps(solid, body.x, body.y, body.radius_px))?;
        let mut settled = body.clone();
        self.settle(&mut settled);
        if !self.keep_out_of_gaps(&mut settled, (body.x, body.y)) && !self.is_in_something(&settled) {
            return None;
        }
        let mut straight = body.clone();
        put_on_rim(&mut straight, &new_solid);
        let (dx, dy) = (straight.x.minus(new_solid.x), straight.y.minus(new_solid.y));
        (0..WAYS_AROUND).find_map(|way| {
            // 0, 1 to the one side, 1 to the other, 2 to the one side, and so on.
            let turn = (way + 1) / 2 * (0x1_0000 / WAYS_AROUND);
            let turn = Angle(if way % 2 == 0 { turn } else { 0x1_0000 - turn } as u16);
            let mut there = body.clone();
            there.x = new_solid.x.plus(dx.times(cosine(turn))).minus(dy.times(sine(turn)));
            there.y = new_solid.y.plus(dx.times(sine(turn))).plus(dy.times(cosine(turn)));
            put_on_rim(&mut there, &new_solid);
            let to = (there.x, there.y);
            self.hold_on_map(&mut there);
            let is_free = to == (there.x, there.y) && !self.is_in_something(&there);
            (is_free && self.is_way_open(body, to, new)).then_some(to)
        })
    }

    /// Whether a way leads through no narrow gap, but for those beside what is new.
    fn is_way_open(&self, body: &Body, to: (Fixed, Fixed), new: &Standing) -> bool {
        let (dx, dy) = (to.0.minus(body.x), to.1.minus(body.y));
        let longest = dx.0.abs().max(dy.0.abs());
        let steps = i64::from(longest / Fixed::from_px(SUB_STEP_PX).0 + 1);
        let part = |way: Fixed, step: i64| Fixed((i64::from(way.0) * step / steps) as i32);
        let mut at = body.clone();
        (1..=steps).all(|step| {
            let from = (at.x, at.y);
            (at.x, at.y) = (body.x.plus(part(dx, step)), body.y.plus(part(dy, step)));
            // What is new has the highest number of all.
            let older = match self.built.near(at.x, at.y).split_last() {
                Some((last, older)) if last.id == new.id => older,
                _ => self.built.near(at.x, at.y),
            };
            !self.passes_a_gap(older, from, &at)
        })
    }

    /// Puts a body back to where it came from if it went through a gap that is too narrow for it: between two things that
    /// stand nearer to each other than the body is wide, or between one and the edge of the map. To be put on the rim of
    /// each of them in turn would let it slip through. Tells whether it did.
    ///
    /// ```text
    ///      from •            a gap is too narrow when every point of the line a─b is nearer to a or b
    ///         a─┼──b         than the body's rim to its centre; then the centre never crosses the line
    ///        to •
    /// ```
    pub(crate) fn keep_out_of_gaps(&self, body: &mut Body, from: (Fixed, Fixed)) -> bool {
        let to = (body.x, body.y);
        let built = self.built.near(body.x, body.y);
        // Things of nature leave room for everyone but the largest animals.
        if built.is_empty() || from == to || !self.passes_a_gap(built, from, body) {
            return false;
        }
        (body.x, body.y) = from;
        // Who is pushed may have come from off the map.
        self.hold_on_map(body);
        true
    }

    fn passes_a_gap(&self, built: &[Standing], from: (Fixed, Fixed), body: &Body) -> bool {
        let to = (body.x, body.y);
        let way = from.0.apart(to.0).max(from.1.apart(to.1));
        let width_px = 2 * body.radius_px;
        built.iter().enumerate().any(|(at, standing)| {
            let a = match solid(standing) {
                Some(a) => a,
                None => return false,
            };
            let reach = Fixed::from_px(a.radius_px + body.radius_px).0.unsigned_abs().saturating_add(way);
            if a.x.apart(to.0) > reach || a.y.apart(to.1) > reach {
                return false;
            }
            let others = built[at + 1..].iter().filter_map(solid).chain(self.near(to.0, to.1).copied());
            let gaps = others.filter(|b| overlaps(b, a.x, a.y, a.radius_px + width_px)).map(|b| (b.x, b.y));
            gaps.chain(self.edges_near(&a, width_px)).any(|b| crosses(from, to, (a.x, a.y), b))
        })
    }

    /// The points of the edges of the map beside something, of which it is less than a width away.
    fn edges_near(&self, a: &Obstacle, width_px: i32) -> impl Iterator<Item = (Fixed, Fixed)> {
        let far = Fixed::from_px(self.map_size_px as i32);
        let room = Fixed::from_px(a.radius_px + width_px).0.unsigned_abs();
        let edges = [(Fixed::ZERO, a.y), (far, a.y), (a.x, Fixed::ZERO), (a.x, far)];
        let centre = (a.x, a.y);
        let is_near =
            move |edge: &(Fixed, Fixed)| edge.0.apart(centre.0) < room && edge.1.apart(centre.1) < room;
        IntoIterator::into_iter(edges).filter(is_near)
    }

    /// Puts a body that is in an obstacle on its rim, and one that is off the map on the edge. Tells whether it touched
    /// an obstacle.
    pub(crate) fn settle(&self, body: &mut Body) -> bool {
        let mut touched = false;
        for obstacle in self.near(body.x, body.y) {
            if overlaps(obstacle, body.x, body.y, body.radius_px) {
                put_on_rim(body, obstacle);
                touched = true;
            }
        }
        for standing in self.built.near(body.x, body.y) {
            let Standing { x, y, item, .. } = *standing;
            let obstacle = Obstacle { x, y, radius_px: item.radius_px };
            if item.group.is_solid() && overlaps(&obstacle, body.x, body.y, body.radius_px) {
                put_on_rim(body, &obstacle);
                touched = true;
            }
        }
        self.hold_on_map(body);
        touched
    }

    /// Puts a body that is off the map on the edge, where it loses the speed towards it.
    fn hold_on_map(&self, body: &mut Body) {
        let edge = Fixed::from_px(body.radius_px);
        let far = Fixed::from_px(self.map_size_px as i32).minus(edge).max(edge);
        hold(&mut body.x, &mut body.vx, edge, far);
        hold(&mut body.y, &mut body.vy, edge, far);
    }

    /// The obstacles that may reach into the square around a point, with their places in the list. May hold some that lie
    /// further off, and some more than once.
    pub(crate) fn obstacles_around(
        &self,
        x: Fixed,
        y: Fixed,
        reach: Fixed,
    ) -> impl Iterator<Item = (usize, &Obstacle)> {
        self.grid.within(self.grid.around(x, y, reach)).map(move |index| (index, &self.obstacles[index]))
    }

    /// What was built and may reach into the square around a point, likewise.
    pub(crate) fn built_around(&self, x: Fixed, y: Fixed, reach: Fixed) -> impl Iterator<Item = &Standing> {
        self.built.around(x, y, reach)
    }

    fn near(&self, x: Fixed, y: Fixed) -> impl Iterator<Item = &Obstacle> {
        self.grid.at(x, y).iter().map(move |index| &self.obstacles[*index as usize])
    }
}

/// What of a structure stands in the way.
fn solid(standing: &Standing) -> Option<Obstacle> {
    let Standing { x, y, item, .. } = *standing;
    Some(Obstacle { x, y, radius_px: item.radius_px }).filter(|_| item.group.is_solid())
}

/// Whether the way from one point to another crosses the line from `a` to `b`, or ends on it. Who stands on it may leave.
fn crosses(from: (Fixed, Fixed), to: (Fixed, Fixed), a: (Fixed, Fixed), b: (Fixed, Fixed)) -> bool {
    let wide = |at: Fixed| i64::from(at.0);
    let side = |p: (Fixed, Fixed), q: (Fixed, Fixed), at: (Fixed, Fixed)| {
        let (dx, dy) = (wide(q.0) - wide(p.0), wide(q.1) - wide(p.1));
        (dx * (wide(at.1) - wide(p.1)) - dy * (wide(at.0) - wide(p.0))).signum()
    };
    let (before, after) = (side(a, b, from), side(a, b, to));
    before != 0 && before != after && side(from, to, a) != side(from, to, b)
}

/// Whether a circle there overlaps the obstacle.
fn overlaps(obstacle: &Obstacle, x: Fixed, y: Fixed, radius_px: i32) -> bool {
    let reach = Fixed::from_px(obstacle.radius_px.saturating_add(radius_px));
    is_shorter(obstacle.x.apart(x), obstacle.y.apart(y), reach.0.max(0) as u32)
}

/// Moves a body straight away from the obstacle's centre until they only touch; to the right if it is at the centre.
fn put_on_rim(body: &mut Body, obstacle: &Obstacle) {
    let reach = i64::from(Fixed::from_px(obstacle.radius_px.saturating_add(body.radius_px)).0);
    let (dx, dy) =
        (i64::from(body.x.0) - i64::from(obstacle.x.0), i64::from(body.y.0) - i64::from(obstacle.y.0));
    let (dx, dy, length) = ray(dx, dy);
    body.x = Fixed(clamp_i32(i64::from(obstacle.x.0) + scale_up(dx, reach, length)));
    body.y = Fixed(clamp_i32(i64::from(obstacle.y.0) + scale_up(dy, reach, length)));
}

/// `value * factor / divisor`, rounded away from zero: a body on the rim is never a hair inside.
fn scale_up(value: i64, factor: i64, divisor: i64) -> i64 {
    let magnitude = (value.abs() * factor + divisor - 1) / divisor;
    magnitude * value.signum()
}

/// Holds a coordinate on the map; against the edge the speed towards it is lost.
fn hold(at: &mut Fixed, velocity: &mut Fixed, low: Fixed, high: Fixed) {
    if *at < low {
        *at = low;
        *velocity = (*velocity).max(Fixed::ZERO);
    } else if *at > high {
        *at = high;
        *velocity = (*velocity).min(Fixed::ZERO);
    }
}
