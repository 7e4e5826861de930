//! The games: a folder for each, and the list of them.

use std::sync::{Arc, OnceLock};

use crate::game::prediction::NewPredictor;
use crate::game::simple::Simple;
use crate::game::{Game, GameInfo};
use crate::packet::PacketTables;

/// Receives the types of games from [`visit`].
pub trait Visitor {
    /// Called once for each game.
    fn game<G: Game>(&mut self);
}

/// Declares the games: each is the module of its folder, and its type.
macro_rules! games {
    ($first:ident: $default:ty, $($other:ident: $game:ty,)*) => {
        pub mod $first;
        $(pub mod $other;)*

        /// The default game.
        pub type Default = $default;

        /// Visits the type of each game. The first is the default game.
        pub fn visit(visitor: &mut impl Visitor) {
            visitor.game::<$default>();
            $(visitor.game::<$game>();)*
        }

        /// Names, rates and options of the games, in the order of [`visit`].
        pub const INFO: &[&GameInfo] = &[<$default as Game>::INFO, $(<$game as Game>::INFO),*];

        /// What runs a client's own player ahead of the server in the game of this name, if the game has
        /// prediction. It refers to no more of a game than that.
        pub fn predictor(name: &str) -> Option<NewPredictor> {
            match name {
                <$default as Game>::NAME => <$default as Game>::PREDICTOR,
                $(<$game as Game>::NAME => <$game as Game>::PREDICTOR,)*
                _ => None,
            }
        }
    };
}

// A game is registered here and nowhere else: one line. Rustfmt does not follow modules into a macro:
// `rustfmt src/games/*/mod.rs` formats the games.
games! {
    moo: moo::Moo,
    tanks: Simple<tanks::Tanks>,
}

/// The packet tables of all games.
pub fn codes() -> Arc<PacketTables> {
    static CODES: OnceLock<Arc<PacketTables>> = OnceLock::new();
    let tables = || INFO.iter().flat_map(|about| about.tables.iter().copied()).collect::<Vec<_>>();
    let read = || Arc::new(PacketTables::from_texts(&tables()).expect("the built-in tables are tested"));
    Arc::clone(CODES.get_or_init(read))
}
