//! Prediction: a client simulates the local player by the game's rules, before the server's answer.
//!
//! ```text
//!   received packets ─► on_packet ─► confirmed state of tick T ─┐ reconcile: pending commands are
//!   sent packets ─────► on_sent ───► pending commands ──────────┤ re-simulated
//!   time ─────────────► advance ─────────────────────────────►└► predicted state, ahead by lead
//! ```
//!
//! The client is ahead of the server by the **lead**: a command sent now for the predicted tick
//! reaches the server just before the server executes that tick. The lead is computed from the
//! server's acks. It covers the delays of the last minute, so that commands arrive in time despite
//! jitter. Then both ends execute the same commands in the same ticks, and received states confirm
//! the prediction. A difference is a **correction**. The correction is counted, and blended over a
//! few frames.
//!
//! A game implements [`LocalWorld`]; [`Prediction`] is the same for all games. Times are durations
//! since an arbitrary epoch of the client. This module reads no clock.

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

pub use clock::ServerClock;
pub use corrections::Corrections;
pub use exported_numbers::{NewPredictor, Predictor, new_predictor};
#[cfg(tickwire_prediction)]
pub use exported_numbers::{register, registered};
pub use interpolation::PositionHistory;
pub use local_world::{Acked, LocalWorld};
pub use position::Position;
pub use prediction::{Prediction, PredictionFeatures, RenderedState};
pub use remote_players::RemotePlayers;
