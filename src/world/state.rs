//! The world: its state, and what happens in a tick.
//!
//! Comes in: an identity. Goes out: a world, its checksum; what can be read of it is in `view`. Never: a way to change the state other than by a
//! command (see `step`).

use crate::checksum::Checksum;
use crate::clan::Clan;
use crate::command::{Command, Refusal, KINDS};
use crate::crowd::Crowd;
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::fields::{fields, Field};
use crate::fight::Scratch;
use crate::fixed::{Angle, Fixed};
use crate::map::{self, Bands};
use crate::rng::Rng;
use crate::row::Row;
use crate::rules::{self, Rates, TickHz};
use crate::terrain::{Obstacle, Standing, Terrain};
use crate::turret::turrets_of;

/// What a world is made from. Equal identities and equal commands make equal worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Decides the map and every later chance.
    pub seed: u32,
    /// Side of the square map, pixels; [`rules::MAP_SIZE_MIN_PX`] to [`rules::MAP_SIZE_MAX_PX`].
    pub map_size_px: u32,
    /// Ticks a second.
    pub tick_hz: TickHz,
}

fields!(Identity: seed: u32, map_size_px: u32, tick_hz: TickHz);

/// Something that happened in a tick and that others may want to hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A player has a body now.
    Joined {
        /// Who.
        player: PlayerId,
    },
    /// A player's body is gone.
    Left {
        /// Who.
        player: PlayerId,
    },
    /// A player said something.
    Chat {
        /// Who.
        player: PlayerId,
        /// What.
        text: String,
    },
    /// A player swung what it holds.
    Swung {
        /// Who.
        player: PlayerId,
        /// With what: a number of [`rules::WEAPONS`].
        weapon: u8,
        /// Whether it struck anything or anyone; what follows says whom.
        hit: bool,
    },
    /// A thing was struck. It shakes.
    Struck {
        /// Which.
        object: EntityId,
        /// From who struck it to it.
        direction: Angle,
        /// Who struck it.
        player: PlayerId,
    },
    /// A player lost health.
    Hurt {
        /// Who.
        player: PlayerId,
        /// Whose doing it was, if it was somebody's.
        by: Option<PlayerId>,
        /// How many points it truly lost: never more than it had.
        amount: u16,
    },
    /// A player gained health.
    Healed {
        /// Who.
        player: PlayerId,
        /// How many points it truly gained.
        amount: u16,
    },
    /// A player has no health left and no body in the game until it plays again.
    Died {
        /// Who.
        player: PlayerId,
        /// Whose doing it was, if it was somebody's.
        by: Option<PlayerId>,
    },
    /// A player that was dead plays again.
    Spawned {
        /// Who.
        player: PlayerId,
    },
    /// Something was built.
    Placed {
        /// Which; [`World::structure`] says what and where.
        object: EntityId,
    },
    /// Something that was built is gone.
    Destroyed {
        /// Which.
        object: EntityId,
    },
    /// Something was shot; [`World::projectile`] says what and where, unless it has ended in the same tick.
    Shot {
        /// Which.
        projectile: EntityId,
    },
    /// What was shot is gone: it hit something, or has flown its way.
    ShotEnded {
        /// Which.
        projectile: EntityId,
        /// Where, from the left edge.
        x: Fixed,
        /// Where, from the top edge.
        y: Fixed,
    },
    /// An animal strikes.
    AnimalStruck {
        /// Which.
        animal: EntityId,
    },
    /// An animal lost health.
    AnimalHurt {
        /// Which.
        animal: EntityId,
        /// Whose doing it was, if it was somebody's.
        by: Option<PlayerId>,
        /// How many points it truly lost.
        amount: u16,
    },
    /// An animal has no health left and is gone.
    AnimalDied {
        /// Which.
        animal: EntityId,
        /// Whose doing it was, if it was somebody's.
        by: Option<PlayerId>,
    },
    /// A player asks to join a clan.
    Asked {
        /// Who.
        player: PlayerId,
        /// The clan's owner.
        owner: PlayerId,
    },
    /// A player shows its place to its clan.
    Pinged {
        /// Who.
        player: PlayerId,
    },
    /// A player has a choice to make and named something that its age does not offer. The command was refused.
    NotOffered {
        /// Who.
        player: PlayerId,
    },
    /// The operator tells everyone something.
    Said {
        /// What.
        text: String,
    },
}

/// What came of the commands of one tick. The world keeps one and reuses its room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// In the order in which they happened.
    pub events: Vec<Event>,
    /// The commands that were not carried out, and why.
    pub refused: Vec<(Command, Refusal)>,
    /// How many commands of each kind were carried out, by [`crate::Action::kind`].
    pub accepted: [u32; KINDS],
}

/// Everything that decides what happens next. Snapshot and checksum hold all of it and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) identity: Identity,
    /// Ticks completed.
    pub(crate) tick: u32,
    pub(crate) rng: Rng,
    /// The last sequence applied of the operator's commands.
    pub(crate) operator_sequence: u64,
    /// In the order of their numbers.
    pub(crate) players: Vec<Entity>,
    /// What nature placed, in the order of its numbers.
    pub(crate) others: Vec<Entity>,
    /// What players built, in the order of its numbers, which are above those of nature.
    pub(crate) structures: Vec<Entity>,
    /// The number of what is built next.
    pub(crate) next_id: EntityId,
    /// In the order of their numbers. Those of nature stay in the list when they are dead, until they come back.
    pub(crate) animals: Vec<Entity>,
    /// The number of the animal that comes next.
    pub(crate) next_animal: EntityId,
    /// What flies, in the order of its numbers.
    pub(crate) shots: Vec<Entity>,
    /// The number of what is shot next. It begins anew when nothing flies.
    pub(crate) next_shot: EntityId,
    /// In the order of their numbers.
    pub(crate) clans: Vec<Clan>,
    /// The number of the clan that is founded next.
    pub(crate) next_clan: u32,
}

fields!(State:
    identity: Identity,
    tick: u32,
    rng: Rng,
    operator_sequence: u64,
    players: Vec<Entity>,
    others: Vec<Entity>,
    structures: Vec<Entity>,
    next_id: EntityId,
    animals: Vec<Entity>,
    next_animal: EntityId,
    shots: Vec<Entity>,
    next_shot: EntityId,
    clans: Vec<Clan>,
    next_clan: u32,
);

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

/// What the seed's generator is asked for here, so that the map and later chance do not share numbers.
const PURPOSE_LATER: u32 = 2;

/// Events for which there is room from the start: a stroke, and what it does to a few.
const EVENTS_PER_PLAYER: usize = 6;

/// Events for which there is room from the start: a stroke, whom it hurts, and a few that the animal takes.
const EVENTS_PER_ANIMAL: usize = 6;
/// Projectiles for which there is room from the start, beside one for each turret: what the quickest weapon keeps in the
/// air.
const SHOTS_PER_PLAYER: usize = 4;

impl Outcome {
    pub(crate) fn clear(&mut self) {
        self.events.clear();
        self.refused.clear();
        self.accepted = [0; KINDS];
    }
}

impl World {
    /// The world before its first tick. A map size out of bounds is taken at the nearer bound.
    pub fn new(mut identity: Identity) -> World {
        identity.map_size_px = identity.map_size_px.clamp(rules::MAP_SIZE_MIN_PX, rules::MAP_SIZE_MAX_PX);
        let others = map::generate(identity.seed, identity.map_size_px);
        let mut world = World::from_state(State {
            identity,
            tick: 0,
            rng: Rng::new(identity.seed, PURPOSE_LATER),
            operator_sequence: 0,
            players: Vec::new(),
            next_id: EntityId(EntityId::FIRST_OTHER.0 + others.len() as u32),
            others,
            structures: Vec::new(),
            animals: Vec::new(),
            next_animal: EntityId::FIRST_ANIMAL,
            shots: Vec::new(),
            next_shot: EntityId::FIRST_SHOT,
            clans: Vec::new(),
            next_clan: 1,
        });
        world.populate();
        world
    }

    /// A world of that state, with everything that follows from it.
    pub(crate) fn from_state(state: State) -> World {
        let map_size_px = state.identity.map_size_px;
        let obstacle = |entity: &Entity| {
            let Body { x, y, radius_px, .. } = entity.body;
            Obstacle { x, y, radius_px }
        };
        let mut terrain = Terrain::new(map_size_px, state.others.iter().map(obstacle).collect());
        state.structures.iter().filter_map(Standing::of).for_each(|standing| terrain.put_up(standing));
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

    /// What stands on the map: what a controller needs to be run alone ([`crate::controller::act`]).
    pub fn terrain(&self) -> &Terrain {
        &self.terrain
    }

    /// The bands of land of this map.
    pub fn bands(&self) -> Bands {
        self.terrain.bands()
    }
}
