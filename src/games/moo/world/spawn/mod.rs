//! Where entities come from: the map, spawn points of players, and entities that an operator adds.

pub(super) mod generate;
pub mod map;
pub(super) mod spawn_entities;
pub(super) mod spawn_point;
