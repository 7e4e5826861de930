//! The world of one client: the map, the structures that it knows, and its own player, run by the
//! same rules as on the server.
//!
//! It has no other players, no animals and no projectiles of others, so a step computes what the
//! player's own commands lead to while nobody else interferes: movement, collisions, traps and
//! boost pads, swings, gathering, building. The server's news replace what differs.

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

/// The first number of structures that are built here and that the server has not confirmed. The
/// server does not reach it.
const FIRST_UNCONFIRMED: EntityId = EntityId(EntityId::FIRST_ANIMAL.0 - 0x0100_0000);

/// Whoever is slower than this does not walk: it has let go, or has just begun.
const MIN_WALK_PX_PER_S: i32 = 100;

/// See the [module](self).
#[derive(Debug)]
pub struct ClientWorld {
    world: World,
    /// The structures in view, by number, with their owners.
    known: BTreeMap<u32, PlacedStructure>,
    /// The members of the own player's clan, whose traps and spikes spare it.
    mates: Vec<PlayerId>,
}

/// The own player and what depends on its commands: all that a step of a [`ClientWorld`] changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnState {
    entity: Entity,
    /// Structures that were built in a step and that the server has not confirmed.
    pub built: Vec<PlacedStructure>,
}

/// The exact record of the own player, as the server sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnRecord {
    /// The sequence of the last command that the server has applied.
    pub sequence: u64,
    /// Position in 1/65,536 px.
    pub at: (Fixed, Fixed),
    /// Velocity in 1/65,536 px per tick.
    pub velocity: (Fixed, Fixed),
    /// Direction of view.
    pub heading: Angle,
    /// Direction of the walk; `None` stands.
    pub direction: Option<Angle>,
}

impl ClientWorld {
    /// The map of a world, empty of everything that moves.
    pub fn new(identity: Identity) -> ClientWorld {
        let world = World::without_animals(identity);
        ClientWorld { world, known: BTreeMap::new(), mates: Vec::new() }
    }

    /// The own player as it appears: at rest, with the initial kit.
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

    /// Replaces what the server has said exactly.
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

    /// Whether a trap that is not the player's own holds a body.
    fn holds(&self, body: &crate::Body) -> bool {
        let mut near = self.world.terrain.built_near(body.x, body.y).iter();
        let is_trap = |it: &PlacedStructure| it.item.group == Group::Trap && it.owner != body.owner;
        near.any(|standing| is_trap(standing) && standing.is_touched(body))
    }

    /// The members of the own player's clan.
    pub fn set_mates(&mut self, mates: &[PlayerId]) {
        self.mates = mates.to_vec();
        self.rebuild_structures();
    }

    fn rebuild_structures(&mut self) {
        let known = std::mem::take(&mut self.known);
        for standing in known.values() {
            self.world.terrain.take_down(standing);
            self.world.terrain.put_up(self.seen(*standing));
        }
        self.known = known;
    }

    /// A structure as the own player meets it: one of a mate is like its own.
    fn seen(&self, standing: PlacedStructure) -> PlacedStructure {
        let own = self.world.state.players.first().and_then(|entity| entity.id.player());
        match own.filter(|_| self.mates.contains(&standing.owner)) {
            Some(own) => PlacedStructure { owner: own, ..standing },
            None => standing,
        }
    }

    /// A structure comes into view. An item that these rules lack is left out.
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
            let seen = self.seen(standing);
            self.world.terrain.put_up(seen);
            self.known.insert(id, standing);
        }
    }

    /// A structure is gone.
    pub fn remove_structure(&mut self, id: u32) {
        if let Some(standing) = self.known.remove(&id) {
            self.world.terrain.take_down(&standing);
        }
    }

    /// The numbers of the structures in view.
    #[cfg(test)]
    pub(crate) fn known_numbers(&self) -> Vec<u32> {
        self.known.keys().copied().collect()
    }

    /// Runs one tick with commands of the own player. Returns the weapon of its swing, and whether
    /// the swing hit something, if it swung.
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
        // Nobody dies here: that is for the server to say.
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

    /// Moves a body that others see for some ticks, from a position and with a velocity in 1/65,536 px
    /// per tick: a player who walks goes on in its direction, one that is slower comes to rest. Returns
    /// the position.
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
        let most = |wanted: Fixed, was: Fixed| {
            let limit = Fixed(was.0.saturating_abs());
            wanted.clamp(Fixed::ZERO.saturating_sub(limit), limit)
        };
        for _ in 0..ticks {
            entity.act(&self.world.terrain, &self.world.rates);
            let body = &mut entity.body;
            (body.vx, body.vy) = (most(body.vx, velocity.0), most(body.vy, velocity.1));
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

    /// The weapon, and the item that the hand holds in its place.
    pub fn hand(&self) -> (u8, Option<u8>) {
        match &self.entity.controller {
            Controller::Player(player) => (player.hand.weapon, player.hand.item),
            _ => (rules::FIRST_WEAPON, None),
        }
    }

    /// The player itself, to read and to tell what the server has said of it.
    pub fn player_mut(&mut self) -> Option<&mut Player> {
        match &mut self.entity.controller {
            Controller::Player(player) => Some(player),
            _ => None,
        }
    }

    /// Health points.
    pub fn set_health(&mut self, health: u16) {
        self.entity.body.health = health;
    }
}

/// Whether a client runs an action before the server has confirmed it. What depends on others, such
/// as clans, chat and upgrades, waits for the server.
pub fn is_predicted(action: &Action) -> bool {
    matches!(action, Action::Move { .. } | Action::Aim { .. } | Action::Attack { .. } | Action::Select { .. })
}
