//! Chooses the position at which a player spawns.
//!
//! A player does not spawn on scenery, in the river, on another entity, or near an animal that
//! hunts, as long as the map has any other position.
//!
//! On a map for hundreds of players, players would rarely meet. A player therefore spawns on the
//! same screen as another player, unless that area is crowded. The first player spawns anywhere on
//! the plains.

use crate::controller::Controller;
use crate::entity::Entity;
use crate::fixed::{is_within, Fixed};
use crate::player_index::PlayerIndex;
use crate::rng::Rng;
use crate::rules;
use crate::spawn::map::{Biome, BiomeBands};
use crate::terrain::Terrain;

/// Random positions tried before the map is searched row by row.
const TRIES_ANYWHERE: u32 = 64;

/// Distance between two positions of the search row by row, in pixels.
const SEARCH_PX: u32 = 64;
/// Maximum number of positions in that search, on any map.
const SEARCH_POSITIONS: u32 = 16_384;

/// Chooses the position for a new player. `crowd` is the index of the living players.
pub(crate) fn choose_spawn_position(
    (players, animals): (&[Entity], &[Entity]),
    crowd: &PlayerIndex,
    terrain: &Terrain,
    rng: &mut Rng,
) -> (Fixed, Fixed) {
    let land = SpawnSearch { players, crowd, animals, terrain, bands: terrain.bands() };
    land.near_player(rng).or_else(|| land.on_the_plains(rng)).unwrap_or_else(|| land.any_free(rng))
}

struct SpawnSearch<'a> {
    players: &'a [Entity],
    crowd: &'a PlayerIndex,
    animals: &'a [Entity],
    terrain: &'a Terrain,
    bands: BiomeBands,
}

impl SpawnSearch<'_> {
    fn near_player(&self, rng: &mut Rng) -> Option<(Fixed, Fixed)> {
        let living = self.crowd.living();
        if living.is_empty() {
            return None;
        }
        for _ in 0..rules::SPAWN_TRIES {
            let host = &self.players[*rng.choose(living)? as usize].body;
            let aside = rng.between(-rules::SPAWN_NEAR_X_PX, rules::SPAWN_NEAR_X_PX);
            let above = rng.between(-rules::SPAWN_NEAR_Y_PX, rules::SPAWN_NEAR_Y_PX);
            let (x, y) =
                (host.x.saturating_add(Fixed::from_px(aside)), host.y.saturating_add(Fixed::from_px(above)));
            if self.is_suitable(x, y) && !self.is_crowded(x, y) {
                return Some((x, y));
            }
        }
        None
    }

    fn on_the_plains(&self, rng: &mut Rng) -> Option<(Fixed, Fixed)> {
        let size = self.terrain.map_size_px() as i32;
        for _ in 0..TRIES_ANYWHERE {
            let x = Fixed::from_px(rng.between(0, size));
            let y = Fixed::from_px(rng.between(self.bands.snow_end_px, self.bands.desert_start_px));
            if self.is_suitable(x, y) {
                return Some((x, y));
            }
        }
        None
    }

    /// Searches row by row from a random position, for the first dry position without scenery and
    /// far from hunting animals. If there is none, returns a position near a hunting animal; as a
    /// last resort, the middle of the northern plains. Another player may be at this position; then
    /// both are pushed apart.
    fn any_free(&self, rng: &mut Rng) -> (Fixed, Fixed) {
        let columns = self.terrain.map_size_px() / SEARCH_PX;
        let places = columns * columns;
        let first = rng.below(places);
        let centre = |cell: u32| Fixed::from_px((cell * SEARCH_PX + SEARCH_PX / 2) as i32);
        let free = (0..places.min(SEARCH_POSITIONS))
            .map(|index| (first + index) % places)
            .map(|place| (centre(place % columns), centre(place / columns)))
            .filter(|(x, y)| self.is_dry(*y) && self.terrain.is_free(*x, *y, rules::SPAWN_CLEARANCE_PX));
        free.clone()
            .find(|(x, y)| is_far_from_hunters(self.animals, *x, *y))
            .or_else(|| free.clone().next())
            .unwrap_or((centre(columns / 2), self.middle_of_the_plains()))
    }

    fn is_dry(&self, y: Fixed) -> bool {
        self.bands.biome_at(y) != Biome::River
    }

    fn middle_of_the_plains(&self) -> Fixed {
        Fixed::from_px((self.bands.snow_end_px + self.bands.river_start_px) / 2)
    }

    fn is_suitable(&self, x: Fixed, y: Fixed) -> bool {
        self.is_dry(y)
            && self.terrain.is_free(x, y, rules::SPAWN_CLEARANCE_PX)
            && !self.player_within(x, y, rules::SPAWN_CLEARANCE_PX + rules::PLAYER_RADIUS_PX)
            && !self.animal_within(x, y, rules::SPAWN_CLEARANCE_PX)
            && is_far_from_hunters(self.animals, x, y)
    }

    fn player_within(&self, x: Fixed, y: Fixed, reach_px: i32) -> bool {
        self.players_near(x, y, reach_px).any(|at| is_in_box(at, x, y, reach_px, reach_px))
    }

    fn animal_within(&self, x: Fixed, y: Fixed, room_px: i32) -> bool {
        self.animals.iter().filter(|animal| animal.body.health > 0).any(|animal| {
            let reach_px = room_px + animal.body.radius_px;
            is_in_box((animal.body.x, animal.body.y), x, y, reach_px, reach_px)
        })
    }

    fn is_crowded(&self, x: Fixed, y: Fixed) -> bool {
        let (wide, high) = (rules::SPAWN_VIEW_X_PX, rules::SPAWN_VIEW_Y_PX);
        let mut near = self.players_near(x, y, wide).filter(|at| is_in_box(*at, x, y, wide, high));
        near.nth(rules::SPAWN_CROWD - 1).is_some()
    }

    /// The positions of the players that may be in the square around a point.
    fn players_near(&self, x: Fixed, y: Fixed, reach_px: i32) -> impl Iterator<Item = (Fixed, Fixed)> + '_ {
        let near = self.crowd.near(x, y, Fixed::from_px(reach_px)).chain(self.crowd.added());
        near.map(|spot| (spot.x, spot.y))
    }
}

fn is_in_box((at_x, at_y): (Fixed, Fixed), x: Fixed, y: Fixed, wide_px: i32, high_px: i32) -> bool {
    at_x.distance(x) < Fixed::from_px(wide_px).0.unsigned_abs()
        && at_y.distance(y) < Fixed::from_px(high_px).0.unsigned_abs()
}

/// Whether all living animals of kinds that hunt are far from a position, regardless of their
/// current goals.
pub(crate) fn is_far_from_hunters(animals: &[Entity], x: Fixed, y: Fixed) -> bool {
    let room = Fixed::from_px(rules::SPAWN_HUNTER_ROOM_PX).0.unsigned_abs();
    !animals.iter().any(|entity| {
        let hunts = matches!(&entity.controller, Controller::Animal(animal) if animal.hunts());
        hunts
            && entity.body.health > 0
            && is_within(entity.body.x.distance(x), entity.body.y.distance(y), room)
    })
}
