//! Spawns animals, and structures without an owner, at the start or for the operator.
//!
//! Animals spawn on free ground in their biome, structures on free ground. The generated map is
//! never changed, and the limits are never exceeded.

use crate::command::{Command, Rejection, Spawned};
use crate::controller::{Animal, Controller};
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::fixed::{Angle, Fixed};
use crate::rng::Rng;
use crate::rules::{self, thirds, AnimalKind, Group, Item, ANIMALS};
use crate::spawn::map::{by_area, Biome};
use crate::terrain::Terrain;
use crate::world::World;
use crate::Action;

/// Stream of the random generator of the initial animals. The map has another stream, so that map
/// and animals have unrelated random numbers.
const ANIMALS_RNG_STREAM: u32 = 3;

impl World {
    /// Spawns the initial animals. An animal without a free position starts dead and respawns
    /// later.
    pub(crate) fn populate(&mut self) {
        let mut rng = Rng::new(self.state.identity.seed, ANIMALS_RNG_STREAM);
        for animal in &ANIMALS {
            for _ in 0..by_area(animal.count, self.state.identity.map_size_px) {
                let place = place_at_home(animal.kind, &self.terrain, &[], &mut rng);
                let middle = Fixed::from_px(self.terrain.map_size_px() as i32 / 2);
                let mut newcomer = Animal::new(animal.kind, true, rng.below(3 * RANDOM_WAIT_MS));
                newcomer.sense_wait = 1 + rng.below(u32::from(newcomer.sense_wait)) as u16;
                let at = self.add_animal(newcomer, place.unwrap_or((middle, middle)));
                if let Some((animal, body)) = self.state.animals[at].animal_mut() {
                    body.heading = Angle(rng.below(1 << 16) as u16);
                    if place.is_none() {
                        (*animal, body.health) = (animal.dead_copy(), 0);
                    }
                }
            }
        }
        self.reserve();
    }

    /// Respawns a dead animal in its biome, or retries after [`rules::ANIMAL_RESPAWN_RETRY_MS`] if
    /// there is no free position.
    pub(crate) fn respawn_animal(&mut self, at: usize) {
        let state = &mut self.state;
        if let Some((animal, body)) = state.animals[at].animal_mut() {
            match place_at_home(animal.kind, &self.terrain, &state.players, &mut state.rng) {
                Some((x, y)) => {
                    (body.x, body.y, body.health) = (x, y, animal.kind.animal().health);
                    let sense_wait = animal.sense_wait;
                    *animal = Animal {
                        sense_wait,
                        ..Animal::new(animal.kind, true, thirds(SPAWN_PAUSE_MS).into())
                    };
                }
                None => animal.wait = thirds(rules::ANIMAL_RESPAWN_RETRY_MS).into(),
            }
        }
    }

    /// Checks whether the operator can spawn an entity at a position.
    pub(crate) fn check_spawn(&self, command: &Command) -> Result<(), Rejection> {
        let (what, x, y) = match command.action {
            Action::Spawn { what, x_px, y_px } => (what, whole(x_px), whole(y_px)),
            _ => return Err(Rejection::UnknownThing),
        };
        match what {
            Spawned::Animal(kind) => {
                if self.state.animals.len() >= rules::MAX_ANIMALS
                    || self.state.next_animal >= EntityId::FIRST_SHOT
                {
                    return Err(Rejection::TooMany);
                }
                let is_free = self.terrain.is_free(x, y, kind.animal().radius_px);
                is_free.then_some(()).ok_or(Rejection::NoRoom)
            }
            Spawned::Item(id) => {
                let item = placeable(id).ok_or(Rejection::UnknownThing)?;
                if self.spawned_count() >= rules::MAX_SPAWNED {
                    return Err(Rejection::TooMany);
                }
                self.check_space(x, y, item)
            }
        }
    }

    /// Spawns an entity that was checked.
    pub(crate) fn spawn(&mut self, what: Spawned, (x_px, y_px): (u16, u16)) {
        let (x, y) = (whole(x_px), whole(y_px));
        match what {
            Spawned::Animal(kind) => {
                let wait = u32::from(thirds(SPAWN_PAUSE_MS));
                self.add_animal(Animal::new(kind, false, wait), (x, y));
                self.reserve();
            }
            Spawned::Item(id) => {
                if let Some(item) = placeable(id) {
                    self.build(body(x, y, item.radius_px, item.health), item);
                }
            }
        }
    }

    fn spawned_count(&self) -> usize {
        let structures = self.state.structures.iter();
        structures.filter(|entity| entity.body.owner == PlayerId::OPERATOR).count()
    }

    /// Adds an animal. Returns its index.
    fn add_animal(&mut self, animal: Animal, (x, y): (Fixed, Fixed)) -> usize {
        let id = self.state.next_animal;
        self.state.next_animal = EntityId(id.0 + 1);
        let kind = animal.kind.animal();
        let body = body(x, y, kind.radius_px, kind.health);
        self.state.animals.push(Entity { id, body, controller: Controller::Animal(animal) });
        self.state.animals.len() - 1
    }
}

/// Maximum time until the animals of a new world start to walk, in milliseconds. The time of each
/// animal is random, so that they do not all start at once.
const RANDOM_WAIT_MS: u32 = 5_000;

/// Time for which an animal stands after it spawns, in milliseconds.
const SPAWN_PAUSE_MS: u16 = 2_000;

/// A body at rest without an owner.
fn body(x: Fixed, y: Fixed, radius_px: i32, health: u16) -> Body {
    let still = Fixed::ZERO;
    Body { x, y, vx: still, vy: still, heading: Angle(0), radius_px, health, owner: PlayerId::OPERATOR }
}

fn whole(px: u16) -> Fixed {
    Fixed::from_px(i32::from(px))
}

/// The item with this ID, if it can be built.
fn placeable(id: u8) -> Option<&'static Item> {
    rules::item(id).filter(|item| item.group != Group::Food)
}

/// Finds free ground in the animal's biome, away from all players; `None` after
/// [`rules::ANIMAL_RESPAWN_ATTEMPTS`] attempts.
fn place_at_home(
    kind: AnimalKind,
    terrain: &Terrain,
    players: &[Entity],
    rng: &mut Rng,
) -> Option<(Fixed, Fixed)> {
    let (bands, size_px, radius_px) =
        (terrain.bands(), terrain.map_size_px() as i32, kind.animal().radius_px);
    let (top_px, bottom_px) = match kind.home() {
        Biome::Snow => (0, bands.snow_end_px),
        Biome::Plains | Biome::River => (bands.snow_end_px, bands.desert_start_px),
        Biome::Desert => (bands.desert_start_px, size_px),
    };
    let room = Fixed::from_px(rules::ANIMAL_RESPAWN_CLEARANCE_PX).0.unsigned_abs();
    for _ in 0..rules::ANIMAL_RESPAWN_ATTEMPTS {
        let x = Fixed::from_px(rng.between(radius_px, size_px - radius_px));
        let y = Fixed::from_px(rng.between(top_px + radius_px, bottom_px - radius_px));
        let is_home = |at: Fixed| bands.biome_at(at) == kind.home();
        let radius = Fixed::from_px(radius_px);
        let is_near = |it: &Entity| it.body.x.0.abs_diff(x.0) < room && it.body.y.0.abs_diff(y.0) < room;
        if is_home(y.saturating_sub(radius))
            && is_home(y.saturating_add(radius))
            && terrain.is_free(x, y, radius_px)
            && !players.iter().any(|player| player.is_alive() && is_near(player))
        {
            return Some((x, y));
        }
    }
    None
}
