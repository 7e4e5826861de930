//! Origins of entities: the map, the spawn points of players, and entities that the operator
//! spawns.

pub(super) mod generate;
pub mod map;
pub(super) mod spawn_entities;
pub(super) mod spawn_point;
