//! TODO: spawn

pub(super) mod generate;
pub mod map;
pub(super) mod spawn_entities;
pub(super) mod spawn_point;
