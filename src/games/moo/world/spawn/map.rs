//! Generates the map: all scenery, from the seed alone. The biomes are in `terrain::biomes`.
//!
//! ```text
//!     each of the 7 x 7 areas: 9 trees, 3 bushes
//!     anywhere: 32 rocks, 7 gold; the river has no scenery
//!     other map sizes: in proportion
//! ```

use crate::controller::{Controller, Scenery, SceneryKind};
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::fixed::{Angle, Fixed};
use crate::rng::Rng;
use crate::rules;
pub use crate::rules::Biome;
pub use crate::terrain::biomes::BiomeBands;

/// Stream of the random generator of the map. Later events have another stream, so that map and
/// events have unrelated random numbers.
const PURPOSE_MAP: u32 = 1;

/// Positions tried for an object before it is omitted. The map is so sparse that this does not
/// happen at the usual sizes (a test counts the objects).
const TRIES: u32 = 256;

/// A square area for an object, in pixels.
#[derive(Clone, Copy)]
struct Area {
    left: i32,
    top: i32,
    side: i32,
}

/// Generates all scenery of a map, in ascending order of ID.
pub(crate) fn generate(seed: u32, map_size_px: u32) -> Vec<Entity> {
    let mut planter = Planter {
        rng: Rng::new(seed, PURPOSE_MAP),
        map_size_px: map_size_px as i32,
        bands: BiomeBands::new(map_size_px),
        placed: Vec::new(),
    };
    planter.plant_areas();
    let whole = Area { left: 0, top: 0, side: map_size_px as i32 };
    for (kind, usual) in [(SceneryKind::Rock, rules::ROCKS), (SceneryKind::Gold, rules::GOLD)] {
        for _ in 0..by_area(usual, map_size_px).max(1) {
            planter.plant(kind, whole);
        }
    }
    planter.placed
}

/// Scales a count from the default map size to another size: in proportion to the area, rounded to
/// the nearest.
pub(crate) fn by_area(usual: u32, map_size_px: u32) -> u32 {
    let square = |px: u32| u64::from(px) * u64::from(px);
    let whole = square(rules::MAP_SIZE_PX);
    ((u64::from(usual) * square(map_size_px) + whole / 2) / whole) as u32
}

/// The number of areas along one side of a map.
pub(crate) fn areas_per_side(map_size_px: u32) -> u32 {
    ((map_size_px * rules::AREAS_PER_SIDE + rules::MAP_SIZE_PX / 2) / rules::MAP_SIZE_PX).max(1)
}

struct Planter {
    rng: Rng,
    map_size_px: i32,
    bands: BiomeBands,
    placed: Vec<Entity>,
}

impl Planter {
    fn plant_areas(&mut self) {
        let areas = areas_per_side(self.map_size_px as u32) as i32;
        let side = self.map_size_px / areas;
        for index in 0..areas * areas {
            let area = Area { left: index % areas * side, top: index / areas * side, side };
            for (kind, count) in
                [(SceneryKind::Tree, rules::TREES_PER_AREA), (SceneryKind::Bush, rules::BUSHES_PER_AREA)]
            {
                for _ in 0..count {
                    self.plant(kind, area);
                }
            }
        }
    }

    /// Places one object on free ground, with a gap around it that a player fits through.
    fn plant(&mut self, kind: SceneryKind, area: Area) {
        let Some(scale_px) = self.rng.choose(kind.scales_px()).copied() else { return };
        let radius_px = kind.radius_px(scale_px);
        for _ in 0..TRIES {
            let x_px = self.rng.between(area.left, area.left + area.side - 1);
            let y_px = self.rng.between(area.top, area.top + area.side - 1);
            if self.has_room(x_px, y_px, radius_px) {
                let id = EntityId(EntityId::FIRST_NON_PLAYER.0 + self.placed.len() as u32);
                self.placed.push(thing(id, kind, scale_px, (x_px, y_px)));
                return;
            }
        }
    }

    fn has_room(&self, x_px: i32, y_px: i32, radius_px: i32) -> bool {
        let edge = radius_px + rules::SCENERY_GAP_PX;
        let far = self.map_size_px - edge;
        let on_map = (edge..=far).contains(&x_px) && (edge..=far).contains(&y_px);
        let dry = y_px + radius_px < self.bands.river_start_px || y_px - radius_px > self.bands.river_end_px;
        on_map
            && dry
            && self.placed.iter().all(|other| {
                let (dx, dy) = (other.body.x.to_px() - x_px, other.body.y.to_px() - y_px);
                let apart = other.body.radius_px + edge;
                dx * dx + dy * dy >= apart * apart
            })
    }
}

fn thing(id: EntityId, kind: SceneryKind, scale_px: i32, (x_px, y_px): (i32, i32)) -> Entity {
    let body = Body {
        x: Fixed::from_px(x_px),
        y: Fixed::from_px(y_px),
        vx: Fixed::ZERO,
        vy: Fixed::ZERO,
        heading: Angle(0),
        radius_px: kind.radius_px(scale_px),
        health: 0,
        owner: PlayerId::OPERATOR,
    };
    Entity { id, body, controller: Controller::Scenery(Scenery { kind, scale_px }) }
}
