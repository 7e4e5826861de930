//! The state: everything that determines the future of a world.

use crate::clan::Clan;
use crate::entity::{Entity, EntityId};
use crate::fields::fields;
use crate::rng::Rng;
use crate::rules::TickHz;

/// The parameters of a world. Equal identities and equal commands give equal worlds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Seed of the map and of all later random events.
    pub seed: u32,
    /// Side length of the square map, in pixels; [`crate::rules::MAP_SIZE_MIN_PX`] to
    /// [`crate::rules::MAP_SIZE_MAX_PX`].
    pub map_size_px: u32,
    /// Ticks per second.
    pub tick_hz: TickHz,
}

fields!(Identity: seed: u32, map_size_px: u32, tick_hz: TickHz);

/// Everything that determines the future of a world. Snapshot and checksum contain all of it and
/// nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) identity: Identity,
    /// Number of completed ticks.
    pub(crate) tick: u32,
    pub(crate) rng: Rng,
    /// The sequence of the last operator command applied.
    pub(crate) operator_sequence: u64,
    /// Players, in order of their numbers.
    pub(crate) players: Vec<Entity>,
    /// Scenery, in order of its numbers.
    pub(crate) others: Vec<Entity>,
    /// Structures, in order of their numbers, which are higher than those of scenery.
    pub(crate) structures: Vec<Entity>,
    /// The number of the next structure.
    pub(crate) next_id: EntityId,
    /// Animals, in order of their numbers. Dead natural animals stay in the list until they
    /// respawn.
    pub(crate) animals: Vec<Entity>,
    /// The number of the next animal.
    pub(crate) next_animal: EntityId,
    /// Projectiles, in order of their numbers.
    pub(crate) shots: Vec<Entity>,
    /// The number of the next projectile. It is reset when no projectile is in flight.
    pub(crate) next_shot: EntityId,
    /// Clans, in order of their numbers.
    pub(crate) clans: Vec<Clan>,
    /// The number of the next clan.
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
