//! The map: biomes, movement, collision, structures, spatial indices.

pub mod biomes;
pub mod collision;
pub mod gathering;
pub mod map_generation;
pub mod movement;
pub mod narrow_gaps;
pub mod placement_edges;
pub mod player_index;
pub mod spatial_index;
pub mod structure_effects;
pub mod structures;
