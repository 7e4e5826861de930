//! The games: a folder for each, and the list of them.

pub mod moo;
pub mod tanks;

use std::sync::{Arc, OnceLock};

use crate::game::simple::Simple;
use crate::game::{About, Game as _};
use crate::host::client::Line;
use crate::host::core::Kind;
use crate::packet::Codes;

/// All games, for a host with lines of this kind. The first is the default. A game is registered here
/// and nowhere else.
pub fn all<L: Line>() -> [Kind<L>; 2] {
    [Kind::of::<moo::Moo>(), Kind::of::<Simple<tanks::Tanks>>()]
}

/// The game that is played if nothing else is said. By itself, so that a program that plays no other
/// does not hold the others.
pub fn default<L: Line>() -> Kind<L> {
    Kind::of::<moo::Moo>()
}

/// What there is to know of each game, in the order of [`all`].
pub const ABOUT: [&About; 2] = [moo::Moo::ABOUT, Simple::<tanks::Tanks>::ABOUT];

/// The packet tables of all games.
pub fn codes() -> Arc<Codes> {
    static CODES: OnceLock<Arc<Codes>> = OnceLock::new();
    let tables = || ABOUT.iter().flat_map(|about| about.tables.iter().copied()).collect::<Vec<_>>();
    let read = || Arc::new(Codes::from_texts(&tables()).expect("the built-in tables are tested"));
    Arc::clone(CODES.get_or_init(read))
}
