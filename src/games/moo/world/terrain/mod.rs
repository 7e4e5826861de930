//! The terrain: the edges of the map, and all immobile obstacles.
//!
//! The terrain contains no moving entities, so a controller can run on a terrain alone, for example
//! in a client that knows only the obstacles in its view.

pub(super) mod biomes;
pub(super) mod grid;
pub(super) mod sorted_index;
pub(super) mod structure_index;

use crate::entity::Body;
use crate::fixed::{clamp_i32, is_shorter, unit_direction, Angle, Fixed};
use crate::rules::{ANIMAL_RADIUS_MAX_PX, MAP_SIZE_MAX_PX, SUB_STEP_PX};
use crate::spawn::map::BiomeBands;
use crate::terrain::grid::Grid;
pub use crate::terrain::structure_index::PlacedStructure;
use crate::terrain::structure_index::StructureIndex;
use crate::trig::{cosine, sine};

/// A circular obstacle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// x coordinate of the centre.
    pub x: Fixed,
    /// y coordinate of the centre.
    pub y: Fixed,
    /// Radius, in pixels.
    pub radius_px: i32,
}

/// A map and its immobile obstacles.
#[derive(Clone, Debug)]
pub struct Terrain {
    map_size_px: u32,
    bands: BiomeBands,
    obstacles: Vec<Obstacle>,
    grid: Grid,
    built: StructureIndex,
}

/// Maximum radius of a body, in pixels. A query looks into one cell only, so each obstacle is
/// listed in each cell from which a body of this radius can touch it. Queries for the free space
/// around a spawn point use a smaller radius.
const REACH_PX: i32 = ANIMAL_RADIUS_MAX_PX;

/// Number of directions around a new structure that are tried to find a free position for a stuck
/// body.
const WAYS_AROUND: u32 = 32;

impl Terrain {
    /// Creates a square map with its scenery: all obstacles, or only the obstacles that a client
    /// knows. The side length is limited to [`MAP_SIZE_MAX_PX`].
    pub fn new(map_size_px: u32, obstacles: Vec<Obstacle>) -> Terrain {
        let map_size_px = map_size_px.min(MAP_SIZE_MAX_PX);
        let mut grid = Grid::new(map_size_px);
        grid.rebuild(obstacles.len(), |grid, index| {
            let Obstacle { x, y, radius_px } = obstacles[index];
            grid.around(x, y, Fixed::from_px(radius_px.saturating_add(REACH_PX)))
        });
        Terrain {
            map_size_px,
            bands: BiomeBands::new(map_size_px),
            obstacles,
            grid,
            built: StructureIndex::new(map_size_px),
        }
    }

    /// Side length of the map, in pixels.
    pub fn map_size_px(&self) -> u32 {
        self.map_size_px
    }

    /// The biomes.
    pub fn bands(&self) -> BiomeBands {
        self.bands
    }

    /// Whether a circle at this position is on the map and touches no obstacle. Valid for a radius
    /// of at most 84 px.
    pub fn is_free(&self, x: Fixed, y: Fixed, radius_px: i32) -> bool {
        let edge = Fixed::from_px(radius_px);
        let far = Fixed::from_px(self.map_size_px as i32).saturating_sub(edge);
        let on_map = x >= edge && y >= edge && x <= far && y <= far;
        on_map
            && self.near(x, y).all(|obstacle| !overlaps(obstacle, x, y, radius_px))
            && self.built_near(x, y).iter().all(|standing| {
                let PlacedStructure { x: at_x, y: at_y, item, .. } = *standing;
                let room = Obstacle { x: at_x, y: at_y, radius_px: item.scale_px };
                !overlaps(&room, x, y, radius_px)
            })
    }

    /// Adds a structure.
    pub fn put_up(&mut self, standing: PlacedStructure) {
        self.built.add(standing, REACH_PX);
    }

    /// Removes a structure.
    pub fn take_down(&mut self, standing: &PlacedStructure) {
        self.built.remove(standing, REACH_PX);
    }

    /// The structures that can be touched from a point, in ascending order of ID.
    pub(crate) fn built_near(&self, x: Fixed, y: Fixed) -> &[PlacedStructure] {
        self.built.near(x, y)
    }

    /// Moves a body by a vector, in steps so short that it cannot pass through an obstacle. Returns
    /// whether it touched an obstacle. At the edge of the map the body loses its velocity towards
    /// the edge.
    pub(crate) fn walk(&self, body: &mut Body, way_x: Fixed, way_y: Fixed) -> bool {
        let longest = way_x.0.unsigned_abs().max(way_y.0.unsigned_abs());
        let steps = i64::from(longest) / i64::from(Fixed::from_px(SUB_STEP_PX).0) + 1;
        if steps == 1 {
            // The common case needs none of the divisions below.
            let from = (body.x, body.y);
            (body.x, body.y) = (body.x.saturating_add(way_x), body.y.saturating_add(way_y));
            return self.settle(body) | self.keep_out_of_gaps(body, from);
        }
        let part = |way: Fixed, step: i64| Fixed((i64::from(way.0) * step / steps) as i32);
        let mut touched = false;
        for step in 1..=steps {
            let from = (body.x, body.y);
            body.x = body.x.saturating_add(part(way_x, step)).saturating_sub(part(way_x, step - 1));
            body.y = body.y.saturating_add(part(way_y, step)).saturating_sub(part(way_y, step - 1));
            touched |= self.settle(body);
            if self.keep_out_of_gaps(body, from) {
                return true;
            }
        }
        touched
    }

    /// Whether a body overlaps a solid obstacle.
    fn is_in_something(&self, body: &Body) -> bool {
        let (x, y) = (body.x, body.y);
        let mut solids = self.near(x, y).copied().chain(self.built.near(x, y).iter().filter_map(solid));
        solids.any(|solid| overlaps(&solid, x, y, body.radius_px))
    }

    /// The new position of a body that would be stuck in a new structure: the nearest free position
    /// around the structure that can be reached without passing through an older narrow gap. `None`
    /// if the body is not stuck, or there is no such position.
    ///
    /// ```text
    ///        a    b     The body • stood below the gap a─b when c was built on it.
    ///          •        It cannot pass up through that gap, and the new gaps a─c and b─c
    ///          c  •     block the other ways, so it moves to the nearest position around c.
    /// ```
    pub(crate) fn place_beside(&self, body: &Body, new: &PlacedStructure) -> Option<(Fixed, Fixed)> {
        let new_solid = solid(new).filter(|solid| overlaps(solid, body.x, body.y, body.radius_px))?;
        let mut settled = body.clone();
        self.settle(&mut settled);
        if !self.keep_out_of_gaps(&mut settled, (body.x, body.y)) && !self.is_in_something(&settled) {
            return None;
        }
        let mut straight = body.clone();
        put_on_rim(&mut straight, &new_solid);
        let (dx, dy) = (straight.x.saturating_sub(new_solid.x), straight.y.saturating_sub(new_solid.y));
        (0..WAYS_AROUND).find_map(|way| {
            // The order of the turns: 0, 1 to one side, 1 to the other side, 2 to the first side,
            // and so on.
            let turn = way.div_ceil(2) * (0x1_0000 / WAYS_AROUND);
            let turn = Angle(if way % 2 == 0 { turn } else { 0x1_0000 - turn } as u16);
            let mut moved = body.clone();
            moved.x =
                new_solid.x.saturating_add(dx.scaled(cosine(turn))).saturating_sub(dy.scaled(sine(turn)));
            moved.y =
                new_solid.y.saturating_add(dx.scaled(sine(turn))).saturating_add(dy.scaled(cosine(turn)));
            put_on_rim(&mut moved, &new_solid);
            let to = (moved.x, moved.y);
            self.hold_on_map(&mut moved);
            let is_free = to == (moved.x, moved.y) && !self.is_in_something(&moved);
            (is_free && self.is_way_open(body, to, new)).then_some(to)
        })
    }

    /// Whether a path avoids all narrow gaps. Gaps next to the new structure do not count.
    fn is_way_open(&self, body: &Body, to: (Fixed, Fixed), new: &PlacedStructure) -> bool {
        let (dx, dy) = (to.0.saturating_sub(body.x), to.1.saturating_sub(body.y));
        let longest = dx.0.abs().max(dy.0.abs());
        let steps = i64::from(longest / Fixed::from_px(SUB_STEP_PX).0 + 1);
        let part = |way: Fixed, step: i64| Fixed((i64::from(way.0) * step / steps) as i32);
        let mut at = body.clone();
        (1..=steps).all(|step| {
            let from = (at.x, at.y);
            (at.x, at.y) = (body.x.saturating_add(part(dx, step)), body.y.saturating_add(part(dy, step)));
            // The new structure has the highest ID.
            let older = match self.built.near(at.x, at.y).split_last() {
                Some((last, older)) if last.id == new.id => older,
                _ => self.built.near(at.x, at.y),
            };
            !self.passes_a_gap(older, from, &at)
        })
    }

    /// Moves a body back if it passed through a gap that is too narrow for it: between two
    /// obstacles, or between an obstacle and the edge of the map. Without this check, a body put on
    /// the rim of each obstacle in turn would slip through. Returns whether the body was moved
    /// back.
    ///
    /// ```text
    ///     from •        A gap is too narrow if it is narrower than the body's diameter. The
    ///        a─┼──b     body is moved back to `from` if its centre crosses the line a─b.
    ///       to •
    /// ```
    pub(crate) fn keep_out_of_gaps(&self, body: &mut Body, from: (Fixed, Fixed)) -> bool {
        let to = (body.x, body.y);
        let built = self.built.near(body.x, body.y);
        // Gaps between scenery objects are not checked, because all players fit through them.
        if built.is_empty() || from == to || !self.passes_a_gap(built, from, body) {
            return false;
        }
        (body.x, body.y) = from;
        // A pushed body may have started off the map.
        self.hold_on_map(body);
        true
    }

    fn passes_a_gap(&self, built: &[PlacedStructure], from: (Fixed, Fixed), body: &Body) -> bool {
        let to = (body.x, body.y);
        let way = from.0.distance(to.0).max(from.1.distance(to.1));
        let width_px = 2 * body.radius_px;
        built.iter().enumerate().any(|(at, standing)| {
            let a = match solid(standing) {
                Some(a) => a,
                None => return false,
            };
            let reach = Fixed::from_px(a.radius_px + body.radius_px).0.unsigned_abs().saturating_add(way);
            if a.x.distance(to.0) > reach || a.y.distance(to.1) > reach {
                return false;
            }
            let others = built[at + 1..].iter().filter_map(solid).chain(self.near(to.0, to.1).copied());
            let gaps = others.filter(|b| overlaps(b, a.x, a.y, a.radius_px + width_px)).map(|b| (b.x, b.y));
            gaps.chain(self.edges_near(&a, width_px)).any(|b| crosses(from, to, (a.x, a.y), b))
        })
    }

    /// The points on the edges of the map that are closer to an obstacle than `width_px`.
    fn edges_near(&self, a: &Obstacle, width_px: i32) -> impl Iterator<Item = (Fixed, Fixed)> {
        let far = Fixed::from_px(self.map_size_px as i32);
        let room = Fixed::from_px(a.radius_px + width_px).0.unsigned_abs();
        let edges = [(Fixed::ZERO, a.y), (far, a.y), (a.x, Fixed::ZERO), (a.x, far)];
        let centre = (a.x, a.y);
        let is_near =
            move |edge: &(Fixed, Fixed)| edge.0.distance(centre.0) < room && edge.1.distance(centre.1) < room;
        IntoIterator::into_iter(edges).filter(is_near)
    }

    /// Moves a body that overlaps an obstacle to the obstacle's rim, and a body off the map to the
    /// edge of the map. Returns whether the body touched an obstacle.
    pub(crate) fn settle(&self, body: &mut Body) -> bool {
        let mut touched = false;
        for obstacle in self.near(body.x, body.y) {
            if overlaps(obstacle, body.x, body.y, body.radius_px) {
                put_on_rim(body, obstacle);
                touched = true;
            }
        }
        for standing in self.built.near(body.x, body.y) {
            let PlacedStructure { x, y, item, .. } = *standing;
            let obstacle = Obstacle { x, y, radius_px: item.radius_px };
            if item.group.is_solid() && overlaps(&obstacle, body.x, body.y, body.radius_px) {
                put_on_rim(body, &obstacle);
                touched = true;
            }
        }
        self.hold_on_map(body);
        touched
    }

    /// Moves a body that is off the map to the edge. The body loses its velocity towards the edge.
    fn hold_on_map(&self, body: &mut Body) {
        let edge = Fixed::from_px(body.radius_px);
        let far = Fixed::from_px(self.map_size_px as i32).saturating_sub(edge).max(edge);
        hold(&mut body.x, &mut body.vx, edge, far);
        hold(&mut body.y, &mut body.vy, edge, far);
    }

    /// The scenery that may overlap the square around a point, with indices. May include more
    /// distant objects, and duplicates.
    pub(crate) fn obstacles_around(
        &self,
        x: Fixed,
        y: Fixed,
        reach: Fixed,
    ) -> impl Iterator<Item = (usize, &Obstacle)> {
        self.grid.within(self.grid.around(x, y, reach)).map(move |index| (index, &self.obstacles[index]))
    }

    /// The structures that may overlap the square around a point. May include more distant
    /// structures, and duplicates.
    pub(crate) fn built_around(
        &self,
        x: Fixed,
        y: Fixed,
        reach: Fixed,
    ) -> impl Iterator<Item = &PlacedStructure> {
        self.built.around(x, y, reach)
    }

    fn near(&self, x: Fixed, y: Fixed) -> impl Iterator<Item = &Obstacle> {
        self.grid.at(x, y).iter().map(move |index| &self.obstacles[*index as usize])
    }
}

/// The solid part of a structure; `None` if it is not solid.
fn solid(standing: &PlacedStructure) -> Option<Obstacle> {
    let PlacedStructure { x, y, item, .. } = *standing;
    Some(Obstacle { x, y, radius_px: item.radius_px }).filter(|_| item.group.is_solid())
}

/// Whether the path between two points crosses the line from `a` to `b`, or ends on it. A path that
/// starts on the line does not cross it.
fn crosses(from: (Fixed, Fixed), to: (Fixed, Fixed), a: (Fixed, Fixed), b: (Fixed, Fixed)) -> bool {
    let wide = |at: Fixed| i64::from(at.0);
    let side = |p: (Fixed, Fixed), q: (Fixed, Fixed), at: (Fixed, Fixed)| {
        let (dx, dy) = (wide(q.0) - wide(p.0), wide(q.1) - wide(p.1));
        (dx * (wide(at.1) - wide(p.1)) - dy * (wide(at.0) - wide(p.0))).signum()
    };
    let (before, after) = (side(a, b, from), side(a, b, to));
    before != 0 && before != after && side(from, to, a) != side(from, to, b)
}

/// Whether a circle overlaps an obstacle.
fn overlaps(obstacle: &Obstacle, x: Fixed, y: Fixed, radius_px: i32) -> bool {
    let reach = Fixed::from_px(obstacle.radius_px.saturating_add(radius_px));
    is_shorter(obstacle.x.distance(x), obstacle.y.distance(y), reach.0.max(0) as u32)
}

/// Moves a body straight away from an obstacle's centre until they only touch; to the right if the
/// centres coincide.
fn put_on_rim(body: &mut Body, obstacle: &Obstacle) {
    let reach = i64::from(Fixed::from_px(obstacle.radius_px.saturating_add(body.radius_px)).0);
    let (dx, dy) =
        (i64::from(body.x.0) - i64::from(obstacle.x.0), i64::from(body.y.0) - i64::from(obstacle.y.0));
    let (dx, dy, length) = unit_direction(dx, dy);
    body.x = Fixed(clamp_i32(i64::from(obstacle.x.0) + scale_up(dx, reach, length)));
    body.y = Fixed(clamp_i32(i64::from(obstacle.y.0) + scale_up(dy, reach, length)));
}

/// Computes `value * factor / divisor`, rounded away from zero, so that rounding never leaves an
/// overlap with the obstacle.
fn scale_up(value: i64, factor: i64, divisor: i64) -> i64 {
    let magnitude = (value.abs() * factor + divisor - 1) / divisor;
    magnitude * value.signum()
}

/// Clamps a coordinate to the map. At the edge, the velocity towards the edge becomes 0.
fn hold(at: &mut Fixed, velocity: &mut Fixed, low: Fixed, high: Fixed) {
    if *at < low {
        *at = low;
        *velocity = (*velocity).max(Fixed::ZERO);
    } else if *at > high {
        *at = high;
        *velocity = (*velocity).min(Fixed::ZERO);
    }
}
