//! The games: one directory per game, and their list, which is empty without the feature
//! `built-in-games`.

use std::sync::{Arc, OnceLock};

use crate::game::prediction::NewPredictor;
use crate::game::{Game, GameInfo};
use crate::packet::PacketTables;

/// A visitor of the types of all games; see [`visit`].
pub trait Visitor {
    /// Called once for each game.
    fn game<G: Game>(&mut self);
}

/// Declares the games: for each game, the module in its directory and the type of the game.
macro_rules! games {
    ($($module:ident: $game:ty,)*) => {
        $(pub mod $module;)*

        /// Visits the type of each game, starting with the default game.
        pub fn visit(_visitor: &mut impl Visitor) {
            $(_visitor.game::<$game>();)*
        }

        /// Names, rates and options of the games, in the order of [`visit`].
        pub const INFO: &[&GameInfo] = &[$(<$game as Game>::INFO),*];

        /// Returns the function that creates the predictor of the game with this dialect; `None`
        /// if the game has no prediction. This function refers to no code of a game, so that a
        /// build for prediction alone contains nothing else of the games.
        pub fn predictor(_dialect: &str) -> Option<NewPredictor> {
            $(if <$game as Game>::PATHS.iter().any(|(_, known)| *known == _dialect) {
                return <$game as Game>::PREDICTOR;
            })*
            None
        }
    };
}

// Each game is registered here only, with one line. The first is the default game. Rustfmt does not
// follow modules into a macro: `rustfmt src/games/*/mod.rs` formats the games.
#[cfg(feature = "built-in-games")]
games! {
    moo: moo::Moo,
    tanks: crate::game::Simple<tanks::Tanks>,
}

#[cfg(not(feature = "built-in-games"))]
games! {}

/// The packet tables of all games, parsed on first use.
pub fn built_in_tables() -> Arc<PacketTables> {
    static TABLES: OnceLock<Arc<PacketTables>> = OnceLock::new();
    let tables = || INFO.iter().flat_map(|info| info.tables.iter().copied()).collect::<Vec<_>>();
    let read = || Arc::new(PacketTables::from_texts(&tables()).expect("the built-in tables are tested"));
    Arc::clone(TABLES.get_or_init(read))
}
