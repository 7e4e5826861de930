//! The games: a folder for each, and the list of them.

pub mod moo;

use crate::game::{About, Game as _};
use crate::host::client::Line;
use crate::host::core::Kind;

/// All games, for a host with lines of this kind. The first is the default. A game is registered here
/// and nowhere else.
pub fn all<L: Line>() -> [Kind<L>; 1] {
    [Kind::of::<moo::Moo>()]
}

/// The game that is played if nothing else is said.
pub fn default<L: Line>() -> Kind<L> {
    let [first, ..] = all();
    first
}

/// What there is to know of each game, in the order of [`all`].
pub const ABOUT: [&About; 1] = [moo::Moo::ABOUT];
