//! The layout of the MooMoo dialects: full records of all players in view in each update, as
//! third-party clients expect.
//!
//! These clients also require the order of the original game within an update (see
//! tests/fixtures/conversations.tsv): `setup` before the client's own `add_player`, `add_player`
//! before the first record of a player, then the update, then the client's own possessions, then
//! objects, each once, then animals, then the leaderboard. Codes and types come from the dialect's
//! table; the values are identical in the four dialects.

mod events;
mod records;
mod update;

pub use update::{MoomooScratch, MoomooView};
