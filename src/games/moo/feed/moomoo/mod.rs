//! The layout of the MooMoo dialects: full records of all players in view in each turn,
//! as third-party clients expect.
//!
//! Those clients also need the order of the original game within a turn (see
//! tests/fixtures/conversations.tsv): setup before the client's own add-player, add-player before the
//! first record of a player, then the update, then what the player owns, then objects, each once, then
//! animals, then the leaderboard. Codes and types come from the dialect's table; the values are the
//! same for all four dialects.

mod events;
mod records;
mod update;

pub use update::{MoomooScratch, MoomooView};
