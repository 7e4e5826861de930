//! Generates a world: the map, then the animals.

use crate::entity::EntityId;
use crate::rng::Rng;
use crate::rules;
use crate::spawn::map;
use crate::state::{Identity, State};
use crate::world::World;

/// Stream of the random generator of the running world. The map has another stream, so that map and
/// world have unrelated random numbers.
const EVENTS_RNG_STREAM: u32 = 2;

impl World {
    /// Generates the world before its first tick. A map size outside the limits is clamped.
    pub fn new(identity: Identity) -> World {
        let mut world = World::without_animals(identity);
        world.populate();
        world
    }

    /// Generates the world without animals.
    pub(crate) fn without_animals(mut identity: Identity) -> World {
        identity.map_size_px = identity.map_size_px.clamp(rules::MAP_SIZE_MIN_PX, rules::MAP_SIZE_MAX_PX);
        let others = map::generate(identity.seed, identity.map_size_px);
        World::from_state(State {
            identity,
            tick: 0,
            rng: Rng::new(identity.seed, EVENTS_RNG_STREAM),
            operator_sequence: 0,
            players: Vec::new(),
            next_id: EntityId(EntityId::FIRST_NON_PLAYER.0 + others.len() as u32),
            scenery: others,
            structures: Vec::new(),
            animals: Vec::new(),
            next_animal: EntityId::FIRST_ANIMAL,
            shots: Vec::new(),
            next_shot: EntityId::FIRST_SHOT,
            clans: Vec::new(),
            next_clan: 1,
        })
    }
}
