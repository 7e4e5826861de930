//! The worlds of the built-in games, as one client knows them: the `W` of a
//! [`Player`](super::player::Player) or a [`Prediction`](crate::game::predict::Prediction).

use crate::game::simple::Local;
use crate::games;

/// The own player of `moo`. Its places are in 1/65,536 px.
pub type Moo = games::moo::predict::OwnWorld;

/// The own tank of `tanks`.
pub type Tanks = Local<games::tanks::Tanks>;
