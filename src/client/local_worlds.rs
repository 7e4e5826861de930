//! The worlds of the built-in games for prediction: the `W` of a
//! [`PredictingClient`](super::predicting_client::PredictingClient) or a
//! [`Prediction`](crate::game::prediction::Prediction).

use crate::game::GameInfo;
use crate::game::simple::SimpleLocalWorld;
use crate::games;

/// The local player of `moo`, with positions in 1/65,536 px.
pub type MooLocalWorld = games::moo::prediction::MooLocalWorld;

/// The local tank of `tanks`.
pub type TanksLocalWorld = SimpleLocalWorld<games::tanks::Tanks>;

/// A built-in game by its name, for a
/// [`LockstepFollower`](super::lockstep_follower::LockstepFollower). A program with a game of its
/// own uses [`Game::INFO`](crate::game::Game::INFO).
pub fn built_in_game(name: &str) -> Option<&'static GameInfo> {
    games::INFO.iter().find(|info| info.name == name).copied()
}
