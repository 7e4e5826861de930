//! The game of this server: a MooMoo-like world, in its own dialect and four foreign ones.

#[cfg(not(target_family = "wasm"))]
mod agreement;
mod bots;
#[cfg(not(target_family = "wasm"))]
pub mod check;
#[cfg(not(target_family = "wasm"))]
mod checked;
pub mod client;
pub mod client_packet;
pub mod facts;
pub mod feed;
mod game;
mod needs;
mod orders;
pub mod predict;
mod served;
mod shown;
#[cfg(not(target_family = "wasm"))]
mod trial;
pub mod verbs;
mod words;

pub use tickwire_world as world;

pub use game::{Moo, Publisher, Scratch, View};
pub use shown::Shown;
pub use words::words;
