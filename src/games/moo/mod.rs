//! The default game: a world like MooMoo.io, in its own dialect and four MooMoo dialects.

pub mod bot;
mod bots;
#[cfg(not(target_family = "wasm"))]
pub mod checker;
#[cfg(not(target_family = "wasm"))]
mod checking_observer;
#[cfg(not(target_family = "wasm"))]
mod checks;
pub mod client_packet;
#[cfg(not(target_family = "wasm"))]
mod compare_to_published;
mod describe;
pub mod feed;
mod game;
mod operator_commands;
pub mod packet_handler;
pub mod prediction;
mod published;
mod row_check;
pub mod rules_json;
mod table_check;

pub use tickwire_moo_world as world;

pub use describe::describe;
pub use game::{Moo, MooPublisher, MooScratch, MooView};
pub use published::PublishedState;
