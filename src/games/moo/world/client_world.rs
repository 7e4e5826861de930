//! The world of one client: the map, the structures in view, and the local player, simulated with
//! the server's rules.
//!
//! Other players, animals and foreign projectiles are missing. A step therefore computes the result
//! of the local player's commands as if no other entity interfered: movement, collisions, traps and
//! boost pads, swings, gathering, building. Updates from the server replace the predicted values
//! that differ.

use std::collections::BTreeMap;

use crate::command::{Action, Command};
use crate::controller::{Controller, Player};
use crate::entity::{Entity, EntityId, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{self, Group};
use crate::state::Identity;
use crate::terrain::structure_index::PlacedStructure;
use crate::world::World;

/// First ID of structures built in the prediction and not yet confirmed. In practice the server
/// does not reach IDs this high.
const FIRST_UNCONFIRMED: EntityId = EntityId(EntityId::FIRST_ANIMAL.0 - 0x0100_0000);

/// A remote player with at most this speed, in pixels per second, counts as stopping, because its
/// key was either released or just pressed.
const MIN_WALK_PX_PER_S: i32 = 100;

/// Simulates the local player between two updates of the server.
#[derive(Debug)]
pub struct ClientWorld {
    world: World,
    /// The structures in view, by ID, with their real owners.
    known: BTreeMap<u32, PlacedStructure>,
    /// Members of the local player's clan. Their traps and spikes do not affect the local player.
    clan_mates: Vec<PlayerId>,
}

/// The own player and its unconfirmed structures: everything that a step of a [`ClientWorld`]
/// changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnState {
    entity: Entity,
    /// Structures built in a step and not yet confirmed by the server.
    pub built: Vec<PlacedStructure>,
}

/// The exact record of the local player in a server update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnRecord {
    /// Sequence number of the last command that the server applied.
    pub sequence: u64,
    /// Position in 1/65,536 px.
    pub at: (Fixed, Fixed),
    /// Velocity in 1/65,536 px per tick.
    pub velocity: (Fixed, Fixed),
    /// Direction of view.
    pub heading: Angle,
    /// Direction of movement; `None` if the player is not walking.
    pub direction: Option<Angle>,
}

impl ClientWorld {
    /// Creates the world with its scenery only.
    pub fn new(identity: Identity) -> ClientWorld {
        let world = World::without_animals(identity);
        ClientWorld { world, known: BTreeMap::new(), clan_mates: Vec::new() }
    }

    /// Spawns the local player at rest, with the initial kit.
    pub fn appear(&mut self, id: PlayerId, tick: u32, exact: &OwnRecord) -> OwnState {
        let entity = crate::tick::apply::newcomer(id, "", 0, tick, exact.at);
        self.world.state.players.clear();
        self.world.state.players.push(entity.clone());
        self.world.index_players();
        self.world.reserve();
        self.rebuild_structures();
        let mut state = OwnState { entity, built: Vec::new() };
        self.correct(&mut state, exact);
        state
    }

    /// Replaces the predicted state with the server's record, and discards unconfirmed structures.
    pub fn correct(&self, state: &mut OwnState, exact: &OwnRecord) {
        let OwnState { entity, built } = state;
        built.clear();
        let body = &mut entity.body;
        (body.x, body.y) = exact.at;
        (body.vx, body.vy) = exact.velocity;
        body.heading = exact.heading;
        let held = self.holds(&entity.body);
        if let Controller::Player(player) = &mut entity.controller {
            player.sequence = exact.sequence;
            player.direction = exact.direction;
            player.ground.held = held;
        }
    }

    /// Whether a trap of another owner holds the body.
    fn holds(&self, body: &crate::Body) -> bool {
        let mut near = self.world.terrain.built_near(body.x, body.y).iter();
        let is_trap = |it: &PlacedStructure| it.item.group == Group::Trap && it.owner != body.owner;
        near.any(|standing| is_trap(standing) && standing.is_touched(body))
    }

    /// Sets the members of the local player's clan.
    pub fn set_mates(&mut self, mates: &[PlayerId]) {
        self.clan_mates = mates.to_vec();
        self.rebuild_structures();
    }

    fn rebuild_structures(&mut self) {
        let known = std::mem::take(&mut self.known);
        for standing in known.values() {
            self.world.terrain.take_down(standing);
            self.world.terrain.put_up(self.as_met_by_own_player(*standing));
        }
        self.known = known;
    }

    /// The structure with its effective owner: a structure of a clan mate counts as the local
    /// player's.
    fn as_met_by_own_player(&self, standing: PlacedStructure) -> PlacedStructure {
        let own = self.world.state.players.first().and_then(|entity| entity.id.player());
        match own.filter(|_| self.clan_mates.contains(&standing.owner)) {
            Some(own) => PlacedStructure { owner: own, ..standing },
            None => standing,
        }
    }

    /// Adds a structure that came into view. Does nothing if these rules lack the item.
    pub fn add_structure(
        &mut self,
        id: u32,
        item: u8,
        owner: PlayerId,
        (x, y): (Fixed, Fixed),
        heading: Angle,
    ) {
        self.remove_structure(id);
        if let Some(item) = rules::item(item) {
            let standing = PlacedStructure { id: EntityId(id), owner, item, x, y, heading };
            let structure = self.as_met_by_own_player(standing);
            self.world.terrain.put_up(structure);
            self.known.insert(id, standing);
        }
    }

    /// Removes a structure.
    pub fn remove_structure(&mut self, id: u32) {
        if let Some(standing) = self.known.remove(&id) {
            self.world.terrain.take_down(&standing);
        }
    }

    /// IDs of the structures in view.
    #[cfg(test)]
    pub(crate) fn known_numbers(&self) -> Vec<u32> {
        self.known.keys().copied().collect()
    }

    /// Executes one tick with commands of the local player. If the player swung, returns its weapon
    /// and whether the swing hit something.
    pub fn step(
        &mut self,
        tick: u32,
        state: &mut OwnState,
        commands: &mut Vec<Command>,
    ) -> Option<(u8, bool)> {
        let world = &mut self.world;
        world.state.tick = tick;
        world.state.next_id = EntityId(FIRST_UNCONFIRMED.0 + state.built.len() as u32);
        let Some(slot) = world.state.players.first_mut() else {
            commands.clear();
            return None;
        };
        // The player never dies in the prediction, because only the server decides about deaths.
        let health = &mut state.entity.body.health;
        *health = (*health).max(rules::PLAYER_HEALTH - 1);
        std::mem::swap(slot, &mut state.entity);
        state.built.iter().for_each(|standing| world.terrain.put_up(*standing));
        let outcome = world.step(commands);
        let swung = outcome.events.iter().find_map(|event| match event {
            WorldEvent::Swung { weapon, hit, .. } => Some((*weapon, *hit)),
            _ => None,
        });
        state.built.iter().for_each(|standing| world.terrain.take_down(standing));
        for entity in world.state.structures.drain(..) {
            if let Some(standing) = entity.standing() {
                world.terrain.take_down(&standing);
                state.built.push(standing);
            }
        }
        world.active_structures.clear();
        world.state.shots.clear();
        std::mem::swap(&mut world.state.players[0], &mut state.entity);
        swung
    }

    /// Returns the position of a remote player, extrapolated by some ticks. `velocity` is in
    /// 1/65,536 px per tick. A player faster than `MIN_WALK_PX_PER_S` keeps walking in its
    /// direction. A slower player comes to rest.
    pub fn extrapolate(&self, at: (Fixed, Fixed), velocity: (Fixed, Fixed), ticks: u32) -> (Fixed, Fixed) {
        let mut entity = crate::tick::apply::newcomer(PlayerId(1), "", 0, 0, at);
        (entity.body.vx, entity.body.vy) = velocity;
        if let Controller::Player(player) = &mut entity.controller {
            let (vx, vy) = (i64::from(velocity.0 .0), i64::from(velocity.1 .0));
            let walks = vx * vx + vy * vy
                > (i64::from(MIN_WALK_PX_PER_S << 16) / i64::from(self.world.rates.hz)).pow(2);
            player.direction = Some(crate::trig::direction(vx, vy)).filter(|_| walks);
            player.stirred = false;
        }
        let max_step = |wanted: Fixed, was: Fixed| {
            let limit = Fixed(was.0.saturating_abs());
            wanted.clamp(Fixed::ZERO.saturating_sub(limit), limit)
        };
        for _ in 0..ticks {
            entity.act(&self.world.terrain, &self.world.rates);
            let body = &mut entity.body;
            (body.vx, body.vy) = (max_step(body.vx, velocity.0), max_step(body.vy, velocity.1));
        }
        (entity.body.x, entity.body.y)
    }
}

impl OwnState {
    /// The position in 1/65,536 px.
    pub fn at(&self) -> (Fixed, Fixed) {
        (self.entity.body.x, self.entity.body.y)
    }

    /// The direction of view.
    pub fn heading(&self) -> Angle {
        self.entity.body.heading
    }

    /// The weapon, and the item held in its place.
    pub fn hand(&self) -> (u8, Option<u8>) {
        match &self.entity.controller {
            Controller::Player(player) => (player.hand.weapon, player.hand.item),
            _ => (rules::FIRST_WEAPON, None),
        }
    }

    /// The player's controller, for reading and for applying values of the server.
    pub fn player_mut(&mut self) -> Option<&mut Player> {
        match &mut self.entity.controller {
            Controller::Player(player) => Some(player),
            _ => None,
        }
    }

    /// Sets the health points.
    pub fn set_health(&mut self, health: u16) {
        self.entity.body.health = health;
    }
}

/// Whether a client predicts an action before the server confirms it. An action with a result that
/// depends on other players, such as clans, chat and upgrades, is not predicted.
pub fn is_predicted(action: &Action) -> bool {
    matches!(action, Action::Move { .. } | Action::Aim { .. } | Action::Attack { .. } | Action::Select { .. })
}
