//! The games of a program, and the packet tables of all of them.

use std::sync::Arc;

use super::output::Failure;
use crate::game::About;
use crate::games;
use crate::net::Kind;
use crate::packet::Codes;

/// See the [module](self).
#[derive(Debug, Clone)]
pub struct Games {
    /// The games; the first is the one of the default room.
    pub kinds: Vec<Kind>,
    /// Their packet tables.
    pub codes: Arc<Codes>,
}

impl Games {
    /// The games of this project.
    pub fn built_in() -> Games {
        Games { kinds: games::all().to_vec(), codes: Codes::builtin() }
    }

    /// These games alone.
    ///
    /// # Errors
    /// A table of theirs cannot be used: its file, line and reason; or none was given.
    pub fn of(kinds: Vec<Kind>) -> Result<Games, Failure> {
        let first = kinds.first().ok_or("a server needs a game")?;
        let mut tables = first.about.tables.to_vec();
        for kind in &kinds {
            tables.extend(
                kind.about.tables.iter().filter(|table| !tables.contains(table)).copied().collect::<Vec<_>>(),
            );
        }
        let codes = Codes::from_texts(&tables).map_err(|error| error.to_string())?;
        kinds.iter().try_for_each(|kind| kind.about.check_tables(&codes))?;
        Ok(Games { codes: Arc::new(codes), kinds })
    }

    /// The game of this name.
    ///
    /// # Errors
    /// There is none; lists the games.
    pub fn named(&self, name: &str) -> Result<Kind, Failure> {
        let known = self.kinds.iter().find(|kind| kind.about.name == name).copied();
        known.ok_or_else(|| {
            let names: Vec<&str> = self.kinds.iter().map(|kind| kind.about.name).collect();
            format!("unknown game {name:?}; the games are: {}", names.join(", "))
        })
    }

    /// What there is to know of each game.
    pub fn about(&self) -> Vec<&'static About> {
        self.kinds.iter().map(|kind| kind.about).collect()
    }

    /// Whether these are the games of this project, for which it has bots and a simulator.
    pub fn are_built_in(&self) -> bool {
        self.kinds.iter().all(|kind| games::ABOUT.iter().any(|own| own.name == kind.about.name))
    }
}
