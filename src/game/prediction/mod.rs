//! Prediction: a client runs its own player by the game's own rules, ahead of the server.
//!
//! ```text
//!   server's packets ─► hear ─► confirmed state of tick T ─┐ reconcile: the commands that the
//!   own packets ──────► say ──► pending commands ──────────┤ server has not applied run again
//!                time ─► advance ─────────────────────────►└► state now, ahead by the lead
//! ```
//!
//! The client is ahead by the **lead**: a command that leaves now for the predicted tick reaches the
//! server just before the server runs that tick. The lead is measured from the server's answers, and
//! includes the delays of the last [`LEAD_WINDOW`](crate::limits::LEAD_WINDOW), so that on a line with jitter commands
//! still arrive in time: then both ends run the same commands in the same ticks, and the server's news
//! confirm what is shown. Where they differ, the difference is the **correction**: it is counted, and
//! shown over a few frames.
//!
//! A game implements [`LocalWorld`]; [`Prediction`] is the same for all. Times are durations since any
//! moment of the client's choice. This module reads no clock.

mod clock;
mod corrections;
mod exported_numbers;
mod interpolation;
mod local_world;
mod pending;
mod position;
#[allow(clippy::module_inception, reason = "the type Prediction and its file have one name")]
mod prediction;
mod remote_players;

pub use clock::Clock;
pub use corrections::Corrections;
pub use exported_numbers::{Predictor, StartPredictor, start};
pub use interpolation::Track;
pub use local_world::{Acked, LocalWorld};
pub use position::Place;
pub use prediction::{Prediction, Shown, Switches};
pub use remote_players::Others;
