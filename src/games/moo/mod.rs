//! The game of this server: a MooMoo-like world, in its own dialect and four foreign ones.

#[cfg(not(target_family = "wasm"))]
mod compare_to_published;
mod bot_entry;
#[cfg(not(target_family = "wasm"))]
pub mod checker;
#[cfg(not(target_family = "wasm"))]
mod checking_observer;
pub mod bot;
pub mod client_packet;
pub mod rules_json;
pub mod feed;
mod game;
mod row_check;
mod operator_commands;
pub mod prediction;
mod table_check;
mod published;
#[cfg(not(target_family = "wasm"))]
mod simulation_hooks;
pub mod packet_handler;
mod describe;

pub use tickwire_moo_world as world;

pub use game::{Moo, MooPublisher, MooScratch, MooView};
pub use published::PublishedState;
pub use describe::words;
