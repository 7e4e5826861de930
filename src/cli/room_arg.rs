//! The value of `--room`: a room's name, its game, and its options.

use std::path::PathBuf;

use tickwire_sim::WorldParams;

use super::game_list::GameList;
use super::value_parsers::parse_number;
use crate::limits;
use crate::packet::routes::is_room_name;
use crate::server::net::{ServerConfig, TcpGameFactory};
use crate::server::room::RoomConfig;

/// Name of the flag and of the room option for the update rate of foreign dialects. MooMoo has the
/// only foreign dialects. Scripts use this name and the environment variable, so neither may
/// change.
pub const FOREIGN_UPDATE_FLAG: &str = "moomoo-update-hz";
pub const FOREIGN_VARIABLE: &str = "TICKWIRE_MOOMOO_UPDATE_HZ";

/// The options of a room of any game, for error messages. The options of its game follow.
const ROOM_OPTIONS: [&str; 6] =
    ["seed", "tick-hz", "update-hz", "command-delay-ticks", "max-clients", "restore"];

/// The value of `--room`. A missing option has the value of the server's flag, or the default of
/// its game.
#[derive(Debug, Clone)]
pub struct RoomArg {
    /// Name of the room.
    pub name: String,
    /// Game of the room.
    pub game: TcpGameFactory,
    /// File from which the world is restored.
    pub restore: Option<PathBuf>,
    seed: Option<u32>,
    tick_hz: Option<u32>,
    update_hz: Option<u32>,
    foreign_update_hz: Option<u32>,
    command_delay_ticks: Option<u32>,
    max_clients: Option<usize>,
    /// Options of the game, by name.
    options: Vec<(&'static str, u32)>,
}

impl RoomArg {
    /// Parses the value of the flag, for a program with these games.
    ///
    /// # Errors
    /// A description of the invalid part.
    pub fn read(text: &str, games: &GameList) -> Result<RoomArg, String> {
        let (room, options) = text.split_once(',').map_or((text, None), |(room, rest)| (room, Some(rest)));
        let (name, game_name) = room.split_once('=').map_or((room, None), |(room, game)| (room, Some(game)));
        if !is_room_name(name) {
            let max_chars = limits::ROOM_NAME_CHARS;
            return Err(format!(
                "{name:?} is not a room name: use 1 to {max_chars} characters of a-z, 0-9 and -"
            ));
        }
        let first = || games.factories.first().copied().ok_or_else(|| "a server needs a game".to_owned());
        let game = game_name.map_or_else(first, |name| games.named(name))?;
        let mut arg = RoomArg {
            name: name.to_owned(),
            game,
            restore: None,
            seed: None,
            tick_hz: None,
            update_hz: None,
            foreign_update_hz: None,
            command_delay_ticks: None,
            max_clients: None,
            options: Vec::new(),
        };
        let mut given: Vec<&str> = Vec::new();
        for option in options.into_iter().flat_map(|options| options.split(',')) {
            let (key, value) =
                option.split_once('=').ok_or_else(|| format!("{option:?} must be OPTION=VALUE"))?;
            if given.contains(&key) {
                return Err(format!("{key} is given twice"));
            }
            given.push(key);
            arg.set(key, value).map_err(|problem| format!("{key}={value}: {problem}"))?;
        }
        Ok(arg)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let info = self.game.info;
        match key {
            "seed" => self.seed = Some(parse_number(value, 0, u32::MAX)?),
            "tick-hz" => self.tick_hz = Some(info.check_tick_hz(parse_number(value, 0, u32::MAX)?)?),
            "update-hz" => self.update_hz = Some(parse_number(value, 1, 60)?),
            FOREIGN_UPDATE_FLAG if info.foreign_dialects.is_some() => {
                self.foreign_update_hz = Some(parse_number(value, 1, 60)?)
            }
            "command-delay-ticks" => self.command_delay_ticks = Some(parse_number(value, 0, u32::MAX)?),
            "max-clients" => self.max_clients = Some(parse_number(value, 1, u32::MAX)? as usize),
            "restore" => self.restore = Some(PathBuf::from(value)),
            _ => {
                let Some(own) = info.options.iter().find(|option| option.flag == key) else {
                    let own = info.options.iter().map(|option| option.flag);
                    let foreign = info.foreign_dialects.map(|_| FOREIGN_UPDATE_FLAG);
                    let names: Vec<&str> = ROOM_OPTIONS.into_iter().chain(foreign).chain(own).collect();
                    return Err(format!("unknown option; the options are: {}", names.join(", ")));
                };
                self.options.push((own.name, parse_number(value, own.min, own.max)?));
            }
        }
        Ok(())
    }

    /// The parameters of the room's world: the room's options first, then the server's flags if the
    /// game is the same, then the defaults.
    pub fn identity(&self, server: &ServerConfig) -> WorldParams {
        let info = self.game.info;
        let is_same = info.name == server.game.info.name;
        let mut identity = (info.identity)(self.seed.unwrap_or(server.identity.seed));
        if is_same {
            identity.options.clone_from(&server.identity.options);
            identity.tick_hz = server.identity.tick_hz;
        }
        identity.tick_hz = self.tick_hz.unwrap_or(identity.tick_hz);
        self.options.iter().for_each(|(name, value)| identity.set(name, *value));
        identity
    }

    /// The settings of the room, for a world with this tick rate.
    pub fn options(&self, server: &ServerConfig, tick_hz: u32) -> RoomConfig {
        // The server's rate is for its own game. A room of another game updates in each tick.
        let is_same = self.game.info.name == server.game.info.name;
        let usual_hz = if is_same { server.update_hz } else { tick_hz };
        let config = ServerConfig {
            update_hz: self.update_hz.unwrap_or(usual_hz),
            foreign_update_hz: self.foreign_update_hz.unwrap_or(server.foreign_update_hz),
            command_delay_ticks: self.command_delay_ticks.unwrap_or(server.command_delay_ticks),
            ..server.clone()
        };
        let options = config.room_options(&self.name, tick_hz);
        RoomConfig { max_clients: self.max_clients.unwrap_or(options.max_clients), ..options }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_a_name_with_options() {
        let mut server = ServerConfig::new(([127, 0, 0, 1], 0).into());
        server.identity = WorldParams { seed: 1, tick_hz: 30, options: vec![("map_size_px", 9_000)] };
        for text in ["two", "two=moo"] {
            let plain = RoomArg::read(text, &GameList::built_in()).expect("a name");
            assert_eq!((&*plain.name, plain.game.info.name), ("two", "moo"));
            assert_eq!(plain.identity(&server), server.identity);
        }
        let text = "two=moo,seed=7,map-size=2000,tick-hz=60,max-clients=3";
        let arg = RoomArg::read(text, &GameList::built_in()).expect("all is right");
        let expected = WorldParams { seed: 7, tick_hz: 60, options: vec![("map_size_px", 2_000)] };
        assert_eq!(arg.identity(&server), expected);
        assert_eq!(arg.options(&server, 60).max_clients, 3);
    }

    #[test]
    fn an_error_names_the_wrong_part() {
        for (text, expected) in [
            ("", "\"\" is not a room name"),
            ("Two", "\"Two\" is not a room name: use 1 to 32 characters of a-z, 0-9 and -"),
            ("a/b", "is not a room name"),
            (&"a".repeat(33), "is not a room name"),
            ("two=chess", "unknown game \"chess\"; the games are: moo"),
            ("two=", "unknown game \"\""),
            ("two,seed", "\"seed\" must be OPTION=VALUE"),
            ("two,", "\"\" must be OPTION=VALUE"),
            ("two,seed=x", "seed=x: must be a whole number from 0 to 4294967295"),
            ("two,seed=1,seed=2", "seed is given twice"),
            ("two,map-size=100", "map-size=100: must be a whole number from 1440 to 32000"),
            ("two,tick-hz=31", "tick-hz=31: must be 15, 20, 30 or 60"),
            ("two,update-hz=61", "update-hz=61: must be a whole number from 1 to 60"),
            ("two,max-clients=0", "max-clients=0: must be"),
            (
                "two,colour=red",
                "colour=red: unknown option; the options are: seed, tick-hz, update-hz, command-delay-ticks, max-clients, restore, moomoo-update-hz, map-size",
            ),
            (
                "two=tanks,moomoo-update-hz=5",
                "moomoo-update-hz=5: unknown option; the options are: seed, tick-hz, update-hz, command-delay-ticks, max-clients, restore, round",
            ),
        ] {
            let problem = RoomArg::read(text, &GameList::built_in()).expect_err(text);
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
