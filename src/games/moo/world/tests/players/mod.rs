//! Players: commands, items, buildings, clans, experience, death.

pub mod building;
pub mod clan_limits;
pub mod clans;
pub mod commands;
pub mod death;
pub mod experience;
pub mod item_edges;
pub mod items;
pub mod key_presses;
pub mod score;
pub mod similar_names;
pub mod sleep;
pub mod spawn_point;
