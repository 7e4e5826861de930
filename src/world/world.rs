//! The world: the state, and what is made from it to be quick.
//!
//! This file keeps the two in step and answers where a player or a structure is in its list. What happens in a tick is in `step`, what can
//! be read of a world in `view`. Nothing changes the state but a command and the passing of ticks.

use crate::checksum::Checksum;
use crate::controller::{Controller, Player};
use crate::crowd::Crowd;
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::event::Outcome;
use crate::fields::Field;
use crate::land::Bands;
use crate::row::Row;
use crate::rules::{self, Group, Item, Rates};
use crate::scratch::Scratch;
use crate::state::{Identity, State};
use crate::terrain::{Obstacle, Terrain};

/// The whole world: the state, and what is made from it to be quick.
#[derive(Clone, Debug)]
pub struct World {
    pub(crate) state: State,
    /// The constants of the tick rate.
    pub(crate) rates: Rates,
    /// What of the state does not move, by place.
    pub(crate) terrain: Terrain,
    /// Who of the players is where; found out in each tick that needs it.
    pub(crate) crowd: Crowd,
    /// Where in the list of structures the turrets are, in its order.
    pub(crate) turrets: Vec<u32>,
    /// Which players acted in this tick, by their index.
    pub(crate) awake: Vec<bool>,
    /// Animals by place; found out in each tick that needs it.
    pub(crate) row: Row,
    /// Which animals acted in this tick, by their index.
    pub(crate) roused: Vec<bool>,
    /// Room for what a stroke needs.
    pub(crate) scratch: Scratch,
    /// Where each player is in the list, by its number.
    pub(crate) seats: Vec<u16>,
    pub(crate) outcome: Outcome,
}

/// Worlds are equal when their states are; what is made from a state follows it.
impl PartialEq for World {
    fn eq(&self, other: &World) -> bool {
        self.state == other.state
    }
}

impl Eq for World {}

/// Events for which there is room from the start: a stroke, and what it does to a few.
const EVENTS_PER_PLAYER: usize = 6;

/// Events for which there is room from the start: a stroke, whom it hurts, and a few that the animal takes.
const EVENTS_PER_ANIMAL: usize = 6;
/// Projectiles for which there is room from the start, beside one for each turret: what the quickest weapon keeps in the
/// air.
const SHOTS_PER_PLAYER: usize = 4;

impl World {
    /// A world of that state, with everything that follows from it.
    pub(crate) fn from_state(state: State) -> World {
        let map_size_px = state.identity.map_size_px;
        let obstacle = |entity: &Entity| {
            let Body { x, y, radius_px, .. } = entity.body;
            Obstacle { x, y, radius_px }
        };
        let mut terrain = Terrain::new(map_size_px, state.others.iter().map(obstacle).collect());
        state.structures.iter().filter_map(Entity::standing).for_each(|standing| terrain.put_up(standing));
        let mut world = World {
            rates: state.identity.tick_hz.rates(),
            terrain,
            crowd: Crowd::new(map_size_px),
            turrets: turrets_of(&state),
            awake: Vec::new(),
            row: Row::default(),
            roused: Vec::new(),
            scratch: Scratch::default(),
            seats: Vec::new(),
            outcome: Outcome::default(),
            state,
        };
        world.note_seats();
        world.make_room();
        world
    }

    /// Makes room for what the players who are here may do in a tick, so that none has to.
    pub(crate) fn make_room(&mut self) {
        let players = self.state.players.len();
        self.scratch.reserve(players);
        self.crowd.reserve(players);
        let animals = self.state.animals.len();
        self.row.reserve(animals);
        self.roused.reserve(animals);
        let events = EVENTS_PER_PLAYER * players + EVENTS_PER_ANIMAL * animals + 2 * self.turrets.len();
        self.outcome.events.reserve(events);
        let shots = (SHOTS_PER_PLAYER * players + self.turrets.len()).min(rules::SHOTS_MOST);
        self.state.shots.reserve(shots.saturating_sub(self.state.shots.len()));
    }

    /// What it was made from.
    pub fn identity(&self) -> &Identity {
        &self.state.identity
    }

    /// Ticks completed.
    pub fn tick(&self) -> u32 {
        self.state.tick
    }

    /// The last sequence applied of the operator's commands: who goes on from a restored world counts from here.
    pub fn operator_sequence(&self) -> u64 {
        self.state.operator_sequence
    }

    /// What came of the last tick's commands: what [`World::step`] returned, for those who need the world as well.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// One number over every field of the state. Costs a walk over everything, so ask when it is due.
    pub fn checksum(&self) -> u64 {
        let mut checksum = Checksum::new();
        self.state.write(&mut checksum);
        checksum.get()
    }

    /// What stands on the map: what a controller needs to be run alone ([`crate::Entity::act`]).
    pub fn terrain(&self) -> &Terrain {
        &self.terrain
    }

    /// The bands of land of this map.
    pub fn bands(&self) -> Bands {
        self.terrain.bands()
    }

    /// Where a player is in the list, or where it would be.
    pub(crate) fn find(&self, id: PlayerId) -> Result<usize, usize> {
        let players = &self.state.players;
        let noted = self.seats.get(usize::from(id.0)).map(|at| usize::from(*at));
        match noted.filter(|at| players.get(*at).map_or(false, |entity| entity.id == id.entity())) {
            Some(at) => Ok(at),
            None => players.binary_search_by_key(&id.entity(), |entity| entity.id),
        }
    }

    /// Notes where each player is in the list, so that nobody has to be looked for.
    pub(crate) fn note_seats(&mut self) {
        let last = self.state.players.last().and_then(|entity| entity.id.player());
        self.seats.clear();
        self.seats.resize(last.map_or(0, |id| usize::from(id.0) + 1), 0);
        for (at, entity) in self.state.players.iter().enumerate() {
            if let Some(id) = entity.id.player() {
                self.seats[usize::from(id.0)] = at as u16;
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

    /// Where a structure is in the list.
    pub(crate) fn find_structure(&self, id: EntityId) -> Option<usize> {
        self.state.structures.binary_search_by_key(&id, |entity| entity.id).ok()
    }

    /// Notes what was put at the end of the list of structures, if it is a turret.
    pub(crate) fn note_turret(&mut self, item: &Item) {
        if item.group == Group::Turret {
            self.turrets.push(self.state.structures.len() as u32 - 1);
            self.make_room();
        }
    }

    /// Notes that what stood at that place in the list of structures is gone, so that what follows has moved up.
    pub(crate) fn close_ranks(&mut self, gone: usize) {
        self.turrets.retain(|at| *at as usize != gone);
        for at in self.turrets.iter_mut().filter(|at| **at as usize > gone) {
            *at -= 1;
        }
    }

    /// Somebody has moved.
    pub(crate) fn forget_places(&mut self) {
        self.crowd.forget();
        self.row.forget();
    }

    /// Finds out where everyone is, unless that is known. The dead animals are among them.
    pub(crate) fn find_places(&mut self) {
        let State { players, animals, .. } = &self.state;
        self.crowd.update(players);
        self.row.update(animals.len(), |at| animals[at].body.x);
    }
}

/// The places of the turrets in the list of structures, in the order of the list.
pub(crate) fn turrets_of(state: &State) -> Vec<u32> {
    let is_turret = |entity: &Entity| entity.standing().map_or(false, |it| it.item.group == Group::Turret);
    let places = state.structures.iter().zip(0..).filter(|(entity, _)| is_turret(entity));
    places.map(|(_, at)| at).collect()
}
