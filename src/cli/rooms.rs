//! The value of `--room`: a room's name, its game, and its options.

use std::path::PathBuf;
use std::str::FromStr;

use super::values;
use crate::limits;
use crate::net::Config;
use crate::packet::endpoint::is_room_name;
use crate::room::{Options, Room};
use crate::world::{Identity, TickHz, World, rules};

/// The games that a room can play.
const GAMES: [&str; 1] = ["moo"];

/// The options of a room, as an error lists them.
const OPTIONS: [&str; 8] = [
    "seed",
    "map-size",
    "tick-hz",
    "update-hz",
    "moomoo-update-hz",
    "command-delay-ticks",
    "max-clients",
    "restore",
];

/// See the [module](self). An option that is not given has the value of the server's flag.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RoomArg {
    /// The name.
    pub name: String,
    /// A file from which the world is restored.
    pub restore: Option<PathBuf>,
    seed: Option<u32>,
    map_size_px: Option<u32>,
    tick_hz: Option<TickHz>,
    update_hz: Option<u32>,
    moomoo_update_hz: Option<u32>,
    command_delay_ticks: Option<u32>,
    max_clients: Option<usize>,
}

impl FromStr for RoomArg {
    type Err = String;

    fn from_str(text: &str) -> Result<RoomArg, String> {
        let (room, options) = text.split_once(',').map_or((text, None), |(room, rest)| (room, Some(rest)));
        let (name, game) = room.split_once('=').unwrap_or((room, GAMES[0]));
        if !is_room_name(name) {
            let most = limits::ROOM_NAME_CHARS;
            return Err(format!("{name:?} is not a room name: use 1 to {most} characters of a-z, 0-9 and -"));
        }
        if !GAMES.contains(&game) {
            return Err(format!("unknown game {game:?}; the games are: {}", GAMES.join(", ")));
        }
        let mut arg = RoomArg { name: name.to_owned(), ..RoomArg::default() };
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
}

impl RoomArg {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let (map_min, map_max) = (rules::MAP_SIZE_MIN_PX, rules::MAP_SIZE_MAX_PX);
        match key {
            "seed" => self.seed = Some(number(value, 0, u32::MAX)?),
            "map-size" => self.map_size_px = Some(number(value, map_min, map_max)?),
            "tick-hz" => self.tick_hz = Some(values::tick_hz(value)?),
            "update-hz" => self.update_hz = Some(number(value, 1, 60)?),
            "moomoo-update-hz" => self.moomoo_update_hz = Some(number(value, 1, 60)?),
            "command-delay-ticks" => self.command_delay_ticks = Some(number(value, 0, u32::MAX)?),
            "max-clients" => self.max_clients = Some(number(value, 1, u32::MAX)? as usize),
            "restore" => self.restore = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown option; the options are: {}", OPTIONS.join(", "))),
        }
        Ok(())
    }

    /// The values from which the room's world is generated.
    pub fn identity(&self, server: &Identity) -> Identity {
        Identity {
            seed: self.seed.unwrap_or(server.seed),
            map_size_px: self.map_size_px.unwrap_or(server.map_size_px),
            tick_hz: self.tick_hz.unwrap_or(server.tick_hz),
        }
    }

    /// The room, in which this world goes on.
    pub fn room(&self, server: &Config, world: World) -> Room {
        let config = Config {
            update_hz: self.update_hz.unwrap_or(server.update_hz),
            moomoo_update_hz: self.moomoo_update_hz.unwrap_or(server.moomoo_update_hz),
            command_delay_ticks: self.command_delay_ticks.unwrap_or(server.command_delay_ticks),
            ..server.clone()
        };
        let options = config.room_options(&self.name, &world);
        let max_clients = self.max_clients.unwrap_or(options.max_clients);
        Room::new(world, Options { max_clients, ..options })
    }
}

fn number(text: &str, least: u32, most: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| format!("must be a whole number from {least} to {most}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_a_name_with_options() {
        let plain: RoomArg = "two".parse().expect("a name");
        assert_eq!(plain, RoomArg { name: "two".to_owned(), ..RoomArg::default() });
        assert_eq!("two=moo".parse().as_ref(), Ok(&plain));
        let arg: RoomArg =
            "two=moo,seed=7,map-size=2000,tick-hz=60,max-clients=3".parse().expect("all is right");
        assert_eq!((arg.seed, arg.map_size_px, arg.max_clients), (Some(7), Some(2_000), Some(3)));
        let server = Identity { seed: 1, map_size_px: 9_000, tick_hz: TickHz::Hz30 };
        assert_eq!(plain.identity(&server), server);
        assert_eq!(arg.identity(&server), Identity { seed: 7, map_size_px: 2_000, tick_hz: TickHz::Hz60 });
    }

    #[test]
    fn what_is_wrong_is_said_by_name() {
        for (text, expected) in [
            ("", "\"\" is not a room name"),
            ("Two", "\"Two\" is not a room name: use 1 to 32 characters of a-z, 0-9 and -"),
            ("a/b", "is not a room name"),
            (&"a".repeat(33), "is not a room name"),
            ("two=tanks", "unknown game \"tanks\"; the games are: moo"),
            ("two=", "unknown game \"\""),
            ("two,seed", "\"seed\" must be OPTION=VALUE"),
            ("two,", "\"\" must be OPTION=VALUE"),
            ("two,seed=x", "seed=x: must be a whole number from 0 to 4294967295"),
            ("two,seed=1,seed=2", "seed is given twice"),
            ("two,map-size=100", "map-size=100: must be a whole number from 1440 to 32000"),
            ("two,tick-hz=31", "tick-hz=31: must be 15, 20, 30 or 60"),
            ("two,update-hz=61", "update-hz=61: must be a whole number from 1 to 60"),
            ("two,max-clients=0", "max-clients=0: must be"),
            ("two,colour=red", "colour=red: unknown option; the options are: seed, map-size"),
        ] {
            let problem = text.parse::<RoomArg>().expect_err(text);
            assert!(problem.contains(expected), "{text}: {problem}");
        }
    }
}
