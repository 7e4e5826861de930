//! The world: the state, and the indices derived from it.
//!
//! Keeps the indices consistent with the state, and finds players and structures by ID. Ticks are
//! executed in `tick`; the public view is in `public_view`. Only commands and ticks change the
//! state.

use crate::controller::{Controller, Player};
use crate::entity::Embodied as _;
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::event::TickOutcome;
use crate::fields::Field;
use crate::player_index::PlayerIndex;
use crate::rules::{self, Rates};
use crate::scratch::Scratch;
use crate::state::{Identity, State};
use crate::terrain::biomes::BiomeBands;
use crate::terrain::sorted_index::SortedIndex;
use crate::terrain::{Obstacle, Terrain};
use tickwire_sim::Checksum;

/// The whole world: the state, and the indices derived from it.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) state: State,
    /// Constants of the tick rate.
    pub(crate) rates: Rates,
    /// Scenery and structures, indexed by position.
    pub(crate) terrain: Terrain,
    /// Living players, indexed by position. Rebuilt in each tick that needs it.
    pub(crate) player_index: PlayerIndex,
    /// Indices of the structures that act in each tick ([`Controller::is_active`]), in ascending
    /// order.
    pub(crate) active_structures: Vec<u32>,
    /// Whether each player acted in this tick, by index.
    pub(crate) awake: Vec<bool>,
    /// Animals, indexed by position. Rebuilt in each tick that needs it.
    pub(crate) animal_index: SortedIndex,
    /// Whether each animal acted in this tick, by index.
    pub(crate) woken_animals: Vec<bool>,
    /// Buffers reused by all swings.
    pub(crate) scratch: Scratch,
    /// Index of each player in the list of players, by player ID.
    pub(crate) index_by_player: Vec<u16>,
    pub(crate) outcome: TickOutcome,
}

/// Worlds are equal if their states are, because the indices are derived from the state.
impl PartialEq for World {
    fn eq(&self, other: &World) -> bool {
        self.state == other.state
    }
}

impl Eq for World {}

/// Reserved events per player: a swing and its effects on a few targets.
const EVENTS_PER_PLAYER: usize = 6;

/// Reserved events per animal: an attack, the damage to its victims, and a few hits on the animal.
const EVENTS_PER_ANIMAL: usize = 6;
/// Reserved projectiles per player, in addition to one per turret: as many as the fastest weapon
/// has in flight at once.
const SHOTS_PER_PLAYER: usize = 4;

impl World {
    /// Builds the world of a state, including all indices.
    pub(crate) fn from_state(state: State) -> World {
        let map_size_px = state.identity.map_size_px;
        let obstacle = |entity: &Entity| {
            let Body { x, y, radius_px, .. } = entity.body;
            Obstacle { x, y, radius_px }
        };
        let mut terrain = Terrain::new(map_size_px, state.scenery.iter().map(obstacle).collect());
        state.structures.iter().filter_map(Entity::standing).for_each(|standing| terrain.put_up(standing));
        let mut world = World {
            rates: state.identity.tick_hz.rates(),
            terrain,
            player_index: PlayerIndex::new(map_size_px),
            active_structures: active_structure_indices(&state),
            awake: Vec::new(),
            animal_index: SortedIndex::default(),
            woken_animals: Vec::new(),
            scratch: Scratch::default(),
            index_by_player: Vec::new(),
            outcome: TickOutcome::default(),
            state,
        };
        world.index_players();
        world.reserve();
        world
    }

    /// Reserves space for the events and projectiles of one tick, so that no tick allocates.
    pub(crate) fn reserve(&mut self) {
        let players = self.state.players.len();
        self.scratch.reserve(players);
        self.player_index.reserve(players);
        let animals = self.state.animals.len();
        self.animal_index.reserve(animals);
        self.woken_animals.reserve(animals);
        let events =
            EVENTS_PER_PLAYER * players + EVENTS_PER_ANIMAL * animals + 2 * self.active_structures.len();
        self.outcome.events.reserve(events);
        let shots = (SHOTS_PER_PLAYER * players + self.active_structures.len()).min(rules::MAX_SHOTS);
        self.state.shots.reserve(shots.saturating_sub(self.state.shots.len()));
    }

    /// The parameters from which the world was generated.
    pub fn identity(&self) -> &Identity {
        &self.state.identity
    }

    /// Number of completed ticks.
    pub fn tick(&self) -> u32 {
        self.state.tick
    }

    /// Sequence number of the last operator command applied. After a restore, the operator
    /// continues from this number.
    pub fn operator_sequence(&self) -> u64 {
        self.state.operator_sequence
    }

    /// The outcome of the last tick: the return value of [`World::step`], for callers that also
    /// need the world.
    pub fn outcome(&self) -> &TickOutcome {
        &self.outcome
    }

    /// Computes a checksum of the whole state. The cost is proportional to the size of the state.
    pub fn checksum(&self) -> u64 {
        let mut checksum = Checksum::new();
        self.state.write(&mut checksum);
        checksum.get()
    }

    /// The obstacles of the map: an argument of [`crate::Entity::act`].
    pub fn terrain(&self) -> &Terrain {
        &self.terrain
    }

    /// The biomes of this map.
    pub fn bands(&self) -> BiomeBands {
        self.terrain.bands()
    }

    /// Returns the index of a player, or `Err` with the index at which it would be inserted.
    pub(crate) fn find(&self, id: PlayerId) -> Result<usize, usize> {
        let players = &self.state.players;
        let indexed = self.index_by_player.get(usize::from(id.0)).map(|at| usize::from(*at));
        match indexed.filter(|at| players.get(*at).is_some_and(|entity| entity.id == id.entity())) {
            Some(at) => Ok(at),
            None => players.binary_search_by_key(&id.entity(), |entity| entity.id),
        }
    }

    /// Rebuilds the map from player IDs to indices, so that a lookup needs no search.
    pub(crate) fn index_players(&mut self) {
        let last = self.state.players.last().and_then(|entity| entity.id.player());
        self.index_by_player.clear();
        self.index_by_player.resize(last.map_or(0, |id| usize::from(id.0) + 1), 0);
        for (at, entity) in self.state.players.iter().enumerate() {
            if let Some(id) = entity.id.player() {
                self.index_by_player[usize::from(id.0)] = at as u16;
            }
        }
    }

    pub(crate) fn player_mut(&mut self, id: PlayerId) -> Option<(&mut Player, &mut Body)> {
        let at = self.find(id).ok()?;
        let Entity { body, controller, .. } = &mut self.state.players[at];
        match controller {
            Controller::Player(player) => Some((player, body)),
            _ => None,
        }
    }

    /// The index of the structure with this ID.
    pub(crate) fn find_structure(&self, id: EntityId) -> Option<usize> {
        self.state.structures.binary_search_by_key(&id, |entity| entity.id).ok()
    }

    /// Adds the structure just appended to the list to `active_structures`, if it acts in each
    /// tick.
    pub(crate) fn add_active_structure(&mut self) {
        if self.state.structures.last().is_some_and(is_active) {
            self.active_structures.push(self.state.structures.len() as u32 - 1);
            self.reserve();
        }
    }

    /// Updates `active_structures` after the removal of the structure at `gone`: the following
    /// structures moved down by one index.
    pub(crate) fn shift_active_structures(&mut self, gone: usize) {
        self.active_structures.retain(|at| *at as usize != gone);
        for at in self.active_structures.iter_mut().filter(|at| **at as usize > gone) {
            *at -= 1;
        }
    }

    /// Marks the position indices as stale, because an entity moved.
    pub(crate) fn invalidate_position_indices(&mut self) {
        self.player_index.invalidate();
        self.animal_index.invalidate();
    }

    /// Rebuilds the position indices of players and animals if they are stale. The index of animals
    /// includes dead animals.
    pub(crate) fn update_position_indices(&mut self) {
        let State { players, animals, .. } = &self.state;
        self.player_index.update(players);
        self.animal_index.update(animals.len(), |at| animals[at].body.x);
    }
}

/// The indices of the structures that act in each tick, in ascending order.
pub(crate) fn active_structure_indices(state: &State) -> Vec<u32> {
    let places = state.structures.iter().zip(0..).filter(|(entity, _)| is_active(entity));
    places.map(|(_, at)| at).collect()
}

fn is_active(entity: &Entity) -> bool {
    entity.controller.item().is_some_and(|item| entity.controller.is_active(item))
}
