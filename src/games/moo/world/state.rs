//! The state: everything that determines the future of a world.

use crate::clan::Clan;
use crate::entity::{Entity, EntityId};
use crate::fields::fields;
use crate::rng::Rng;
use crate::rules::TickHz;

/// The parameters of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Seed of the map and of all later random events.
    pub seed: u32,
    /// Side length of the square map, in pixels: [`crate::rules::MAP_SIZE_MIN_PX`] to
    /// [`crate::rules::MAP_SIZE_MAX_PX`].
    pub map_size_px: u32,
    /// Ticks per second.
    pub tick_hz: TickHz,
}

fields!(Identity: seed: u32, map_size_px: u32, tick_hz: TickHz);

/// Everything that determines the future of a world. Snapshot and checksum contain exactly these
/// fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) identity: Identity,
    /// Number of completed ticks.
    pub(crate) tick: u32,
    pub(crate) rng: Rng,
    /// Sequence number of the last operator command applied.
    pub(crate) operator_sequence: u64,
    /// Players, in ascending order of ID.
    pub(crate) players: Vec<Entity>,
    /// Scenery, in ascending order of ID.
    pub(crate) scenery: Vec<Entity>,
    /// Structures, in ascending order of ID. Their IDs are higher than all scenery IDs.
    pub(crate) structures: Vec<Entity>,
    /// ID of the next structure.
    pub(crate) next_id: EntityId,
    /// Animals, in ascending order of ID. Dead natural animals stay in the list until they respawn.
    pub(crate) animals: Vec<Entity>,
    /// ID of the next animal.
    pub(crate) next_animal: EntityId,
    /// Projectiles, in ascending order of ID.
    pub(crate) shots: Vec<Entity>,
    /// ID of the next projectile. Reset when no projectile is in flight.
    pub(crate) next_shot: EntityId,
    /// Clans, in ascending order of ID.
    pub(crate) clans: Vec<Clan>,
    /// ID of the next clan.
    pub(crate) next_clan: u32,
}

fields!(State:
    identity: Identity,
    tick: u32,
    rng: Rng,
    operator_sequence: u64,
    players: Vec<Entity>,
    scenery: Vec<Entity>,
    structures: Vec<Entity>,
    next_id: EntityId,
    animals: Vec<Entity>,
    next_animal: EntityId,
    shots: Vec<Entity>,
    next_shot: EntityId,
    clans: Vec<Clan>,
    next_clan: u32,
);
