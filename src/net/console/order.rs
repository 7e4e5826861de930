//! The grammar of operator commands: one line, one command.
//!
//! Parsing a line gives an [`Order`], or what was expected instead. The parser never looks at the
//! server: whether the player exists, or the map reaches that far, is checked when the order is
//! executed.

use std::fmt;
use std::net::IpAddr;

use crate::limits;
use crate::world::rules::{ANIMALS, Group, ITEMS};
use crate::world::{PlayerId, Resource, Spawned};

/// An operator command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// List the commands.
    Help,
    /// List the players.
    Players,
    /// Send a message to everyone.
    Say(String),
    /// Spawn something.
    Spawn {
        /// What.
        what: Spawned,
        /// Centre from the left edge, pixels.
        x_px: u16,
        /// Centre from the top edge, pixels.
        y_px: u16,
    },
    /// Give a player something.
    Grant {
        /// Whom.
        who: Who,
        /// What.
        resource: Resource,
        /// How much.
        amount: u32,
    },
    /// Close a player's connection.
    Kick(Who),
    /// Close an address's connections and take no more of them.
    Ban(IpAddr),
    /// Take connections of an address again.
    Unban(IpAddr),
    /// List the banned addresses.
    Bans,
    /// Write the world to a file.
    Save,
    /// Start or stop a capture, or report its progress.
    Capture(Capture),
    /// Print the server's statistics.
    Stats,
    /// Stop the server.
    Stop,
}

/// The operation on a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Capture {
    /// Report its progress.
    Status,
    /// Start one: of this player's connection, or of all connections.
    On(Option<Who>),
    /// Stop it.
    Off,
}

/// How the operator names a player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// By its number.
    Number(PlayerId),
    /// By its name, which several players can share.
    Name(String),
}

/// Each command: its name, its arguments, its effect.
pub const COMMANDS: [(&str, &str, &str); 13] = [
    ("help", "", "these lines"),
    ("players", "", "list the players: number, age, points, health, position, address, name"),
    ("say", "TEXT", "tell everyone"),
    ("spawn", "TYPE X Y", "spawn an animal or an object at X, Y, in pixels from the top left"),
    ("grant", "PLAYER RESOURCE N", "give a player wood, food, stone or gold"),
    ("kick", "PLAYER", "close a player's connection"),
    (
        "ban",
        "ADDRESS",
        "close the connections of an address, or of the /64 of an IPv6 address, and accept no more from it",
    ),
    ("unban", "ADDRESS", "accept connections from an address, or from its /64, again"),
    ("bans", "", "list the banned addresses"),
    ("save", "", "write the world to a file, for --restore"),
    (
        "capture",
        "[on [PLAYER] | off]",
        "start or stop a capture for Wireshark; without an argument, show its state",
    ),
    ("stats", "", "show the server's key figures"),
    ("stop", "", "close all connections and stop the server"),
];

/// Why a line is not a valid command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misread {
    /// It is longer than [`limits::ORDER_BYTES`].
    TooLong,
    /// It does not begin with the name of a command.
    Unknown(String),
    /// The arguments of the command are invalid.
    Usage {
        /// The command's row of [`COMMANDS`].
        command: usize,
        /// What was expected, if the usage line alone does not say so.
        expected: String,
    },
}

impl Misread {
    /// The command that was meant, for the metrics.
    pub fn command(&self) -> &'static str {
        match self {
            Misread::Usage { command, .. } => COMMANDS[*command].0,
            Misread::TooLong | Misread::Unknown(_) => "unknown",
        }
    }
}

impl fmt::Display for Misread {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Misread::TooLong => write!(out, "a line may have at most {} bytes", limits::ORDER_BYTES),
            Misread::Unknown(word) => write!(out, "there is no command {word:?}; help lists them"),
            Misread::Usage { command, expected } => {
                let (name, arguments, _) = COMMANDS[*command];
                let gap = if arguments.is_empty() { "" } else { " " };
                write!(out, "usage: {name}{gap}{arguments}")?;
                if expected.is_empty() { Ok(()) } else { write!(out, "; {expected}") }
            }
        }
    }
}

impl Order {
    /// The command's name, for log and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Order::Help => "help",
            Order::Players => "players",
            Order::Say(_) => "say",
            Order::Spawn { .. } => "spawn",
            Order::Grant { .. } => "grant",
            Order::Kick(_) => "kick",
            Order::Ban(_) => "ban",
            Order::Unban(_) => "unban",
            Order::Bans => "bans",
            Order::Save => "save",
            Order::Capture(_) => "capture",
            Order::Stats => "stats",
            Order::Stop => "stop",
        }
    }

    /// Whether the command is read-only: an open `/admin` page sends such commands every second, so
    /// they are logged as details.
    pub fn only_looks(&self) -> bool {
        matches!(
            self,
            Order::Help | Order::Players | Order::Bans | Order::Stats | Order::Capture(Capture::Status)
        )
    }
}

/// Parses a line; `None` for an empty line.
///
/// # Errors
/// [`Misread`] says what was expected.
pub fn read(line: &str) -> Result<Option<Order>, Misread> {
    if line.len() > limits::ORDER_BYTES {
        return Err(Misread::TooLong);
    }
    let line = line.trim();
    if line.is_empty() {
        return Ok(None);
    }
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim_start();
    let Some(command) = COMMANDS.iter().position(|(name, ..)| *name == word) else {
        return Err(Misread::Unknown(word.chars().take(limits::PACKET_EXCERPT_CHARS).collect()));
    };
    order(word, rest).map(Some).map_err(|expected| Misread::Usage { command, expected })
}

/// What was expected, in words; empty when the usage says it all.
type Expected = String;

fn order(word: &str, rest: &str) -> Result<Order, Expected> {
    match word {
        "say" if !rest.is_empty() => Ok(Order::Say(rest.to_owned())),
        "spawn" => spawn(rest),
        "grant" => grant(rest),
        "kick" => Ok(Order::Kick(who(rest)?)),
        "ban" => Ok(Order::Ban(address(rest)?)),
        "unban" => Ok(Order::Unban(address(rest)?)),
        "capture" => capture(rest),
        _ if !rest.is_empty() => Err("it takes no arguments".to_owned()),
        "help" => Ok(Order::Help),
        "players" => Ok(Order::Players),
        "bans" => Ok(Order::Bans),
        "save" => Ok(Order::Save),
        "stats" => Ok(Order::Stats),
        "stop" => Ok(Order::Stop),
        _ => Err(Expected::new()),
    }
}

fn capture(rest: &str) -> Result<Order, Expected> {
    let (word, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    Ok(Order::Capture(match word {
        "" => Capture::Status,
        "off" if rest.is_empty() => Capture::Off,
        "on" if rest.is_empty() => Capture::On(None),
        "on" => Capture::On(Some(who(rest)?)),
        _ => return Err(Expected::new()),
    }))
}

fn spawn(rest: &str) -> Result<Order, Expected> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [kind, x, y] = words[..] else { return Err(Expected::new()) };
    let what = spawned(kind).ok_or_else(|| {
        let known: Vec<String> = spawnable().map(|(name, _)| name).collect();
        format!("TYPE must be one of {}", known.join(", "))
    })?;
    let px = |name: &str, digits: &str| {
        digits.parse().map_err(|_| format!("{name} must be a whole number of pixels, 0 to {}", u16::MAX))
    };
    Ok(Order::Spawn { what, x_px: px("X", x)?, y_px: px("Y", y)? })
}

/// What can appear, and by which name: animals, then the items that stand on the map, with `_` for spaces.
fn spawnable() -> impl Iterator<Item = (String, Spawned)> {
    let animals = ANIMALS.iter().map(|animal| (animal.name.to_owned(), Spawned::Animal(animal.kind)));
    let items = ITEMS.iter().filter(|item| item.group != Group::Food);
    animals.chain(items.map(|item| (item.name.replace(' ', "_"), Spawned::Item(item.id))))
}

fn spawned(name: &str) -> Option<Spawned> {
    spawnable().find(|(known, _)| known == name).map(|(_, what)| what)
}

fn grant(rest: &str) -> Result<Order, Expected> {
    // A name may hold spaces: what is last counts.
    let mut words = rest.rsplitn(3, char::is_whitespace);
    let (Some(amount), Some(resource), Some(player)) = (words.next(), words.next(), words.next()) else {
        return Err(Expected::new());
    };
    let names = ["wood", "food", "stone", "gold"];
    let resource = names.iter().position(|name| *name == resource).map(|at| Resource::ALL[at]);
    Ok(Order::Grant {
        who: who(player)?,
        resource: resource.ok_or_else(|| format!("RESOURCE must be one of {}", names.join(", ")))?,
        amount: amount.parse().map_err(|_| format!("N must be a whole number, 0 to {}", u32::MAX))?,
    })
}

/// A number, or a name; a name in quotes is one whatever it looks like.
fn who(text: &str) -> Result<Who, Expected> {
    let text = text.trim();
    if let Some(name) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return Ok(Who::Name(name.to_owned()));
    }
    if text.is_empty() {
        return Err("PLAYER must be a number from `players`, or a name".to_owned());
    }
    if text.bytes().any(|byte| !byte.is_ascii_digit()) {
        return Ok(Who::Name(text.to_owned()));
    }
    match text.parse() {
        Ok(number) if number > 0 => Ok(Who::Number(PlayerId(number))),
        _ => Err(format!(
            "PLAYER must be a number from 1 to {}, or a name, in quotes if it looks like a number",
            u16::MAX
        )),
    }
}

/// An address without a port, or the /64 of one of IPv6. An IPv4 address that is written as one of IPv6 is one of IPv4, as the listener takes it.
fn address(text: &str) -> Result<IpAddr, Expected> {
    let text = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    // As `bans` lists it: an address of IPv6 stands for all of its /64.
    let (text, is_prefix) = text.strip_suffix("/64").map_or((text, false), |prefix| (prefix, true));
    let address: Option<IpAddr> = text.parse().ok().map(|address: IpAddr| address.to_canonical());
    address.filter(|address| !is_prefix || address.is_ipv6()).ok_or_else(|| {
        "ADDRESS must be an IP address without a port, such as 203.0.113.9 or 2001:db8::9".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::AnimalKind;

    fn number(number: u16) -> Who {
        Who::Number(PlayerId(number))
    }

    fn name(name: &str) -> Who {
        Who::Name(name.to_owned())
    }

    fn grant(who: Who, resource: Resource, amount: u32) -> Order {
        Order::Grant { who, resource, amount }
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn lines_that_are_orders() {
        let cow = Spawned::Animal(AnimalKind::Cow);
        let rows = [
            ("help", Order::Help),
            ("  players\t", Order::Players),
            ("say two  spaces, kept", Order::Say("two  spaces, kept".to_owned())),
            ("say \"quotes are said\"", Order::Say("\"quotes are said\"".to_owned())),
            ("spawn cow 0 65535", Order::Spawn { what: cow, x_px: 0, y_px: 65_535 }),
            ("spawn  wood_wall  10  20", Order::Spawn { what: Spawned::Item(3), x_px: 10, y_px: 20 }),
            ("spawn turret 1 2", Order::Spawn { what: Spawned::Item(17), x_px: 1, y_px: 2 }),
            ("grant 7 wood 0", grant(number(7), Resource::Wood, 0)),
            ("grant Ann gold 4294967295", grant(name("Ann"), Resource::Gold, u32::MAX)),
            ("grant Ann of wood food 5", grant(name("Ann of wood"), Resource::Food, 5)),
            ("grant \"7\" stone 5", grant(name("7"), Resource::Stone, 5)),
            ("kick 65535", Order::Kick(number(65_535))),
            ("kick Ann B", Order::Kick(name("Ann B"))),
            ("kick \"12\"", Order::Kick(name("12"))),
            ("kick 12a", Order::Kick(name("12a"))),
            ("ban 203.0.113.9", Order::Ban(ip("203.0.113.9"))),
            ("ban ::ffff:203.0.113.9", Order::Ban(ip("203.0.113.9"))),
            ("ban [2001:db8::9]", Order::Ban(ip("2001:db8::9"))),
            ("unban ::1", Order::Unban(ip("::1"))),
            ("unban 2001:db8::/64", Order::Unban(ip("2001:db8::"))),
            ("bans", Order::Bans),
            ("save", Order::Save),
            ("capture", Order::Capture(Capture::Status)),
            ("capture on", Order::Capture(Capture::On(None))),
            ("capture  on  Ann B", Order::Capture(Capture::On(Some(name("Ann B"))))),
            ("capture on 7", Order::Capture(Capture::On(Some(number(7))))),
            ("capture off", Order::Capture(Capture::Off)),
            ("stats", Order::Stats),
            ("stop", Order::Stop),
        ];
        for (line, expected) in &rows {
            assert_eq!(read(line).as_ref(), Ok(&Some(expected.clone())), "{line}");
        }
        for (command, ..) in COMMANDS {
            assert!(rows.iter().any(|(_, order)| order.name() == command), "{command} has no row");
        }
    }

    #[test]
    fn lines_that_are_none_say_what_was_expected() {
        for (line, expected) in [
            ("frobnicate now", "there is no command \"frobnicate\"; help lists them"),
            ("HELP", "there is no command \"HELP\"; help lists them"),
            ("\u{1b}[2J", "there is no command \"\\u{1b}[2J\"; help lists them"),
            ("say", "usage: say TEXT"),
            ("say   ", "usage: say TEXT"),
            ("players 7", "usage: players; it takes no arguments"),
            ("stop now", "usage: stop; it takes no arguments"),
            ("spawn cow 1", "usage: spawn TYPE X Y"),
            ("spawn cow 1 2 3", "usage: spawn TYPE X Y"),
            ("spawn cow -1 2", "X must be a whole number of pixels, 0 to 65535"),
            ("spawn cow 1 65536", "Y must be a whole number of pixels, 0 to 65535"),
            ("spawn cow 1.5 2", "X must be a whole number of pixels"),
            ("spawn dragon 1 2", "TYPE must be one of cow, pig, bull, wolf, wood_wall, "),
            ("spawn apple 1 2", "TYPE must be one of"),
            ("grant 7 wood", "usage: grant PLAYER RESOURCE N"),
            ("grant wood 5", "usage: grant PLAYER RESOURCE N"),
            ("grant 7 iron 5", "RESOURCE must be one of wood, food, stone, gold"),
            ("grant 7 wood -5", "N must be a whole number, 0 to 4294967295"),
            ("grant 7 wood 4294967296", "N must be a whole number"),
            ("grant 0 wood 5", "PLAYER must be a number from 1 to 65535, or a name"),
            ("capture now", "usage: capture [on [PLAYER] | off]"),
            ("capture off 7", "usage: capture [on [PLAYER] | off]"),
            ("capture on 0", "PLAYER must be a number from 1 to 65535"),
            ("kick", "usage: kick PLAYER; PLAYER must be a number from `players`, or a name"),
            ("kick 65536", "PLAYER must be a number from 1 to 65535"),
            ("ban", "usage: ban ADDRESS; ADDRESS must be an IP address without a port"),
            ("ban example.org", "ADDRESS must be an IP address"),
            ("ban 203.0.113.9:5000", "without a port"),
            ("unban 203.0.113", "ADDRESS must be an IP address"),
            ("unban 203.0.113.9/64", "ADDRESS must be an IP address"),
        ] {
            let told = read(line).expect_err(line).to_string();
            assert!(told.contains(expected), "{line}: {told}");
        }
    }

    #[test]
    fn a_line_is_bounded_and_an_empty_one_is_nothing() {
        let longest = format!("say {}", "a".repeat(limits::ORDER_BYTES - 4));
        assert!(matches!(read(&longest), Ok(Some(Order::Say(_)))));
        assert_eq!(read(&format!("{longest}a")), Err(Misread::TooLong));
        assert_eq!(read(" \t\r"), Ok(None));
    }

    #[test]
    fn everything_that_stands_can_be_spawned_by_its_name() {
        for item in ITEMS.iter().filter(|item| item.group != Group::Food) {
            assert_eq!(spawned(&item.name.replace(' ', "_")), Some(Spawned::Item(item.id)));
        }
        assert_eq!(spawnable().count(), ANIMALS.len() + ITEMS.len() - 3);
    }
}
