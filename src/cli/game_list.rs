//! The games of a program, and their packet tables.

use std::sync::Arc;

use super::output::CliError;
use super::value_parsers::parse_number;
use crate::game::{Game, GameInfo};
use crate::games;
use crate::packet::PacketTables;
use crate::server::embedded;
use crate::server::net::TcpGameFactory;
use crate::server::net::server_events::EventHook;
use crate::testing::simulate;

/// Values of a game's options, by name.
pub type OptionValues = Vec<(&'static str, u32)>;

/// A game of a program, with its factories for servers and simulations.
#[derive(Debug, Clone, Copy)]
pub struct GameEntry {
    /// Creates rooms for a server.
    pub factory: TcpGameFactory,
    /// Creates worlds for a simulation.
    pub simulation: simulate::SimGameFactory,
    /// Creates rooms for an embedded server.
    pub embedded: embedded::EmbeddedGameFactory,
}

impl GameEntry {
    /// The entry for a game's type.
    pub const fn of<G: Game>() -> GameEntry {
        GameEntry {
            factory: TcpGameFactory::for_game::<G>(),
            simulation: simulate::SimGameFactory::for_game::<G>(),
            embedded: embedded::EmbeddedGameFactory::for_game::<G>(),
        }
    }
}

/// The games of a program, and their packet tables.
#[derive(Debug, Clone)]
pub struct GameList {
    /// The games; the first is the game of the default room.
    pub factories: Vec<TcpGameFactory>,
    /// The same games for simulations, in any order.
    pub simulations: Vec<simulate::SimGameFactory>,
    /// The same games for embedded servers, in any order.
    pub embedded: Vec<embedded::EmbeddedGameFactory>,
    /// Packet tables of the games.
    pub codes: Arc<PacketTables>,
    /// The program's hook for events of a server.
    pub on_event: Option<EventHook>,
}

impl GameList {
    /// The games of this project.
    pub fn built_in() -> GameList {
        GameList {
            factories: TcpGameFactory::all(),
            simulations: simulate::SimGameFactory::all(),
            embedded: embedded::EmbeddedGameFactory::all(),
            codes: games::built_in_tables(),
            on_event: None,
        }
    }

    /// A list of these games alone.
    ///
    /// # Errors
    /// The list is empty, or a table is invalid. For a table, the message has the file, the line
    /// and the reason.
    pub fn of(games: &[GameEntry]) -> Result<GameList, CliError> {
        let factories: Vec<TcpGameFactory> = games.iter().map(|game| game.factory).collect();
        let simulations = games.iter().map(|game| game.simulation).collect();
        let embedded = games.iter().map(|game| game.embedded).collect();
        factories.first().ok_or("a server needs a game")?;
        let infos: Vec<&GameInfo> = factories.iter().map(|factory| factory.info).collect();
        let codes = GameInfo::tables_of(&infos).map_err(|error| error.to_string())?;
        Ok(GameList { codes: Arc::new(codes), simulations, embedded, factories, on_event: None })
    }

    /// The game of this name.
    ///
    /// # Errors
    /// The name is unknown. The message lists the games.
    pub fn named(&self, name: &str) -> Result<TcpGameFactory, CliError> {
        let known = self.factories.iter().find(|factory| factory.info.name == name).copied();
        known.ok_or_else(|| {
            let names: Vec<&str> = self.factories.iter().map(|factory| factory.info.name).collect();
            format!("unknown game {name:?}; the games are: {}", names.join(", "))
        })
    }

    /// The game of this name for a simulation. `None` selects the first game.
    ///
    /// # Errors
    /// The name is unknown. The message lists the games.
    pub fn simulation(&self, name: Option<&str>) -> Result<simulate::SimGameFactory, CliError> {
        let first = || self.factories.first().copied().ok_or_else(|| "this program has no game".to_owned());
        let factory = name.map_or_else(first, |name| self.named(name))?;
        simulate::SimGameFactory::find(&self.simulations, factory.info)
            .ok_or_else(|| format!("the game {} cannot be simulated", factory.info.name))
    }

    /// The game of this name for an embedded server. `None` selects the first game.
    ///
    /// # Errors
    /// The name is unknown. The message lists the games.
    pub fn embedded(&self, name: Option<&str>) -> Result<embedded::EmbeddedGameFactory, CliError> {
        let first = || self.factories.first().copied().ok_or_else(|| "this program has no game".to_owned());
        let factory = name.map_or_else(first, |name| self.named(name))?;
        embedded::EmbeddedGameFactory::find(&self.embedded, factory.info)
            .ok_or_else(|| format!("the game {} cannot be embedded", factory.info.name))
    }

    /// Parses the value of `--game`, a name with options after commas. Returns a list of the same
    /// games in which this game is the first, and the option values by name.
    ///
    /// # Errors
    /// The game or an option is unknown, or a value is out of range.
    pub fn with_default(&self, text: &str) -> Result<(GameList, OptionValues), CliError> {
        let (name, rest) = text.split_once(',').map_or((text, None), |(name, rest)| (name, Some(rest)));
        let first = self.named(name)?;
        let mut options: OptionValues = Vec::new();
        for option in rest.into_iter().flat_map(|rest| rest.split(',')) {
            let (key, value) =
                option.split_once('=').ok_or_else(|| format!("{option:?} must be OPTION=VALUE"))?;
            let Some(own) = first.info.options.iter().find(|own| own.flag == key) else {
                let names: Vec<&str> = first.info.options.iter().map(|own| own.flag).collect();
                return Err(format!(
                    "{key}: unknown option; the options of {name} are: {}",
                    names.join(", ")
                ));
            };
            if options.iter().any(|(known, _)| *known == own.name) {
                return Err(format!("{key} is given twice"));
            }
            let number = parse_number(value, own.min, own.max);
            options.push((own.name, number.map_err(|problem| format!("{key}={value}: {problem}"))?));
        }
        let others = self.factories.iter().filter(|factory| factory.info.name != name).copied();
        let factories = std::iter::once(first).chain(others).collect();
        let (simulations, embedded) = (self.simulations.clone(), self.embedded.clone());
        let (codes, on_event) = (Arc::clone(&self.codes), self.on_event.clone());
        Ok((GameList { factories, simulations, embedded, codes, on_event }, options))
    }

    /// The game infos of all games.
    pub fn info(&self) -> Vec<&'static GameInfo> {
        self.factories.iter().map(|factory| factory.info).collect()
    }

    /// Whether these are the games of this project.
    pub fn is_built_in(&self) -> bool {
        self.factories.iter().all(|factory| games::INFO.iter().any(|own| own.name == factory.info.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_is_named_with_its_options_and_refused_by_name() {
        let games = GameList::built_in();
        let first =
            |text| games.with_default(text).map(|(games, options)| (games.factories[0].info.name, options));
        assert_eq!(first("tanks"), Ok(("tanks", vec![])));
        assert_eq!(first("tanks,round=60"), Ok(("tanks", vec![("round_s", 60)])));
        assert_eq!(first("moo,map-size=2000"), Ok(("moo", vec![("map_size_px", 2000)])));
        for (text, problem) in [
            ("tanks,round", "\"round\" must be OPTION=VALUE"),
            ("tanks,map-size=2000", "map-size: unknown option; the options of tanks are: round"),
            ("tanks,round=1", "round=1: must be a whole number from 5 to 3600"),
            ("tanks,round=60,round=60", "round is given twice"),
        ] {
            assert_eq!(first(text), Err(problem.to_owned()));
        }
        let problem = first("chess").expect_err("no such game");
        assert!(problem.starts_with("unknown game \"chess\"; the games are: moo, "), "{problem}");
    }
}
