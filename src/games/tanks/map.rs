//! The map: walls and depots, generated from the seed alone.
//!
//! The page generates the same map from the seed in `welcome`, with the same steps in the same
//! order (`makeMap` in `page.html`). A test compares the two. No two walls touch, not even at a
//! corner, so walls never enclose an area.

use tickwire_sim::Rng;
use tickwire_sim::fields::{Field, Malformed, Reader, Sink};
use tickwire_sim::fixed::Fixed;

use super::rules::{DEPOT_REACH, TILE_PX, TILES, WALL_LENGTH, WALL_TRIES};

/// Stream of the map's random generator. The game has another stream, so that map and game have
/// unrelated random numbers.
const MAP_RNG_STREAM: u32 = 1;
/// Depots, in tiles: one in the middle, and one in each quarter.
const DEPOTS: [(i32, i32); 5] = [(30, 30), (14, 14), (45, 14), (14, 45), (45, 45)];

/// The wall tiles of a map. Only the seed is part of the state.
#[derive(Clone, Debug, PartialEq)]
pub struct Map {
    seed: u32,
    /// One bit per tile, by row.
    walls: [u64; TILES as usize],
}

impl Field for Map {
    const MIN_BYTES: usize = u32::MIN_BYTES;

    fn write(&self, sink: &mut impl Sink) {
        self.seed.write(sink);
    }

    fn read(reader: &mut Reader<'_>) -> Result<Map, Malformed> {
        u32::read(reader).map(Map::new)
    }
}

impl Map {
    /// Generates the map of a seed.
    pub fn new(seed: u32) -> Map {
        let mut map = Map { seed, walls: [0; TILES as usize] };
        let mut random = Rng::new(seed, MAP_RNG_STREAM);
        for _ in 0..WALL_TRIES {
            let length = random.between(2, WALL_LENGTH);
            let (wide, high) = if random.below(2) == 0 { (length, 1) } else { (1, length) };
            let (left, top) = (random.between(2, TILES - 2 - wide), random.between(2, TILES - 2 - high));
            if map.is_free_around((left, top), (wide, high)) {
                for y in top..top + high {
                    (left..left + wide).for_each(|x| map.build(x, y));
                }
            }
        }
        map.build_edge();
        map
    }

    /// A map without walls except its edge.
    #[cfg(test)]
    pub fn empty() -> Map {
        let mut map = Map { seed: 0, walls: [0; TILES as usize] };
        map.build_edge();
        map
    }

    fn build_edge(&mut self) {
        for along in 0..TILES {
            for edge in [0, TILES - 1] {
                self.build(along, edge);
                self.build(edge, along);
            }
        }
    }

    pub(super) fn build(&mut self, x: i32, y: i32) {
        self.walls[y as usize] |= 1 << x;
    }

    /// Whether a wall at this position would touch neither a wall nor a depot.
    fn is_free_around(&self, (left, top): (i32, i32), (wide, high): (i32, i32)) -> bool {
        let touches =
            |x: i32, y: i32| (left - 1..=left + wide).contains(&x) && (top - 1..=top + high).contains(&y);
        let is_near = |&(x, y): &(i32, i32)| (-1..=1).any(|dx| (-1..=1).any(|dy| touches(x + dx, y + dy)));
        let mut around = (top - 1..=top + high).flat_map(|y| (left - 1..=left + wide).map(move |x| (x, y)));
        !DEPOTS.iter().any(is_near) && !around.any(|(x, y)| self.is_wall(x, y))
    }

    /// Whether a tile is a wall. All tiles off the map are walls.
    pub fn is_wall(&self, x: i32, y: i32) -> bool {
        let row = usize::try_from(y).ok().and_then(|y| self.walls.get(y));
        !(0..TILES).contains(&x) || row.is_none_or(|row| row >> x & 1 == 1)
    }

    /// Whether a circle overlaps a wall.
    pub fn is_blocked(&self, x: Fixed, y: Fixed, radius: Fixed) -> bool {
        let tile = |at: Fixed| at.to_px().div_euclid(TILE_PX);
        let (left, right) = (tile(x.saturating_sub(radius)), tile(x.saturating_add(radius)));
        let (top, bottom) = (tile(y.saturating_sub(radius)), tile(y.saturating_add(radius)));
        (top..=bottom).any(|row| {
            (left..=right).any(|column| {
                let apart = |at: Fixed, tile: i32| {
                    let (low, high) = (Fixed::from_px(tile * TILE_PX), Fixed::from_px((tile + 1) * TILE_PX));
                    at.distance(Fixed(at.0.clamp(low.0, high.0)))
                };
                let (dx, dy) = (apart(x, column), apart(y, row));
                self.is_wall(column, row) && tickwire_sim::fixed::is_shorter(dx, dy, radius.0 as u32)
            })
        })
    }

    /// Whether a tank at this position is supplied by a depot.
    pub fn is_at_depot(x: Fixed, y: Fixed) -> bool {
        DEPOTS.iter().any(|(column, row)| {
            let middle = |tile: i32| Fixed::from_px(tile * TILE_PX + TILE_PX / 2);
            let (dx, dy) = (x.distance(middle(*column)), y.distance(middle(*row)));
            tickwire_sim::fixed::is_within(dx, dy, DEPOT_REACH.0 as u32)
        })
    }

    /// The centre of a random tile without a wall.
    pub fn random_free_position(&self, random: &mut Rng) -> (Fixed, Fixed) {
        let middle = |tile: i32| Fixed::from_px(tile * TILE_PX + TILE_PX / 2);
        loop {
            let (x, y) = (random.between(1, TILES - 2), random.between(1, TILES - 2));
            // Most tiles are free, so the loop ends soon.
            if !self.is_wall(x, y) {
                return (middle(x), middle(y));
            }
        }
    }

    /// A hash of the walls, compared with the hash of the page's map.
    #[cfg(test)]
    pub fn hash(&self) -> u32 {
        let tiles = (0..TILES * TILES).map(|at| u32::from(self.is_wall(at % TILES, at / TILES)));
        tiles.fold(0x811c_9dc5, |hash: u32, wall| (hash ^ wall).wrapping_mul(0x0100_0193))
    }
}
