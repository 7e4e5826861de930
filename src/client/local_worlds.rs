//! The worlds of the built-in games, as one client knows them: the `W` of a
//! [`Player`](super::predicting_client::PredictingClient) or a [`Prediction`](crate::game::prediction::Prediction).

use crate::game::GameInfo;
use crate::game::simple::SimpleLocalWorld;
use crate::games;

/// The own player of `moo`. Its places are in 1/65,536 px.
pub type MooLocalWorld = games::moo::prediction::MooLocalWorld;

/// The own tank of `tanks`.
pub type TanksLocalWorld = SimpleLocalWorld<games::tanks::Tanks>;

/// A built-in game by its name, as [`Follower`](super::lockstep_follower::LockstepFollower) needs it; a program with a game of its own uses
/// [`Game::ABOUT`](crate::game::Game::ABOUT).
pub fn game(name: &str) -> Option<&'static GameInfo> {
    games::INFO.iter().find(|about| about.name == name).copied()
}
