//! The state: everything that decides what happens next.

use crate::clan::Clan;
use crate::entity::{Entity, EntityId};
use crate::fields::fields;
use crate::rng::Rng;
use crate::rules::TickHz;

/// What a world is made from. Equal identities and equal commands make equal worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Decides the map and every later chance.
    pub seed: u32,
    /// Side of the square map, pixels; [`crate::rules::MAP_SIZE_MIN_PX`] to [`crate::rules::MAP_SIZE_MAX_PX`].
    pub map_size_px: u32,
    /// Ticks a second.
    pub tick_hz: TickHz,
}

fields!(Identity: seed: u32, map_size_px: u32, tick_hz: TickHz);

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
