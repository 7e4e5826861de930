//! Typed client packets: one enum for all dialects, so that the session does not depend on any
//! dialect.
//!
//! A [`Decoded`] packet becomes a [`ClientPacket`], in which radians are converted to binary angles
//! and the MooMoo map of `enter_game` looks like the native list. Our own client encodes a
//! [`ClientPacket`] in a dialect. Arguments are found by name in the table, never by position;
//! `needs` checks that the table has those which a packet requires.

use rmpv::Value;

use super::angle;
use super::decoded::Decoded;
use super::dialect::Dialect;
use super::row::{Direction, Row};

/// The mode that a native client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// 0: watch without a body.
    Watch,
    /// 1: play.
    Play,
}

/// A clan request. Names are as typed, at most 7 characters; a player is given by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "name and player are described once, for all variants")]
pub enum ClanWish {
    /// Found a clan.
    Create { name: String },
    /// Leave the player's own clan, or disband it if the player owns it.
    Leave,
    /// Ask to join a clan.
    Request { name: String },
    /// Accept or refuse a player who asks to join; player 0 is the first in the queue.
    Answer { player: u32, accept: bool },
    /// Remove a member from the clan.
    Kick { player: u32 },
}

/// A client packet. Angles are binary: 65,536 steps per turn, 0 right, a quarter down. `sequence`
/// is the command's number and `tick` the one for which it is meant, in dialects that carry them.
/// Names and texts are as typed; of the skins 0 to 9 exist.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "fields are described once, for all variants")]
pub enum ClientPacket<'a> {
    /// The first packet of a native client, with the protocol version that it speaks.
    Hello { version: u16, mode: Mode, name: Option<String>, skin: Option<u8> },
    /// The client asks for a body; `moofoll` also for resources, as the MooMoo dialects can.
    EnterGame { name: Option<String>, skin: Option<u8>, moofoll: bool },
    /// The player starts walking; without a direction it stops.
    Move { sequence: Option<u32>, tick: Option<u32>, direction: Option<u16> },
    /// The player turns to a heading.
    Aim { sequence: Option<u32>, tick: Option<u32>, heading: u16 },
    /// The player starts or stops attacking, or places the item in hand. Some dialects give the
    /// heading of the attack.
    Attack { sequence: Option<u32>, tick: Option<u32>, state: bool, heading: Option<u16> },
    /// The player selects a weapon or an item; a missing argument means an item.
    Select { sequence: Option<u32>, tick: Option<u32>, id: u16, is_weapon: bool },
    /// The player chooses an upgrade of the current age: weapons below 16, then items.
    Upgrade { sequence: Option<u32>, tick: Option<u32>, choice: u16 },
    /// The player sends a chat message of at most 30 characters.
    Chat { sequence: Option<u32>, tick: Option<u32>, text: String },
    /// The player makes a clan request.
    Clan { sequence: Option<u32>, tick: Option<u32>, wish: ClanWish },
    /// The player shows its position to its clan.
    MapPing { sequence: Option<u32>, tick: Option<u32> },
    /// The MooMoo dialects' auto-attack switch: attack without holding a button, or stop doing so.
    ToggleAttack,
    /// The client measures the round-trip time; the pong echoes the nonce.
    Ping { nonce: Option<u32> },
    /// A watcher chooses the player to follow; `None` is the leader.
    Follow { player: Option<u16> },
    /// A known packet that the world does not use.
    Unused(&'a Row),
}

impl<'a> ClientPacket<'a> {
    /// Converts a decoded packet. Optional arguments that the table lacks are left out; a packet
    /// without a required argument is unused.
    pub fn from_decoded(decoded: &Decoded<'a>) -> Self {
        Self::typed(decoded).unwrap_or(Self::Unused(decoded.row))
    }

    fn typed(from: &Decoded<'a>) -> Option<Self> {
        let (sequence, tick) = (from.number("sequence"), from.number("tick"));
        Some(match from.row.name.as_str() {
            "hello" => {
                let mode = if from.number::<u8>("mode")? == 0 { Mode::Watch } else { Mode::Play };
                let (name, skin) = (from.text("name"), from.number("skin"));
                Self::Hello { version: from.number("version")?, mode, name, skin }
            }
            "enter" | "enter_game" => {
                let moofoll = from.truth("moofoll").unwrap_or(false);
                Self::EnterGame { name: from.text("name"), skin: from.number("skin"), moofoll }
            }
            "move" => Self::Move { sequence, tick, direction: from.angle("direction") },
            // The client sends this when its window regains focus and no key is known to be held:
            // the player stops.
            "reset_move" => Self::Move { sequence, tick, direction: None },
            "aim" => Self::Aim { sequence, tick, heading: from.angle("heading")? },
            "attack" => {
                let (state, heading) = (from.truth("state")?, from.angle("heading"));
                Self::Attack { sequence, tick, state, heading }
            }
            "select" => {
                let is_weapon = from.truth("is_weapon").unwrap_or(false);
                Self::Select { sequence, tick, id: from.number("id")?, is_weapon }
            }
            "upgrade" => Self::Upgrade { sequence, tick, choice: from.number("choice")? },
            "chat" => Self::Chat { sequence, tick, text: from.text("text")? },
            "map_ping" => Self::MapPing { sequence, tick },
            // The other switch locks the direction, which the client handles alone.
            "toggle" if from.truth("what") == Some(true) => Self::ToggleAttack,
            "ping" => Self::Ping { nonce: from.number("nonce") },
            "follow" => Self::Follow { player: from.number("player") },
            _ => Self::Clan { sequence, tick, wish: ClanWish::typed(from)? },
        })
    }

    /// Encodes the packet in a dialect; empty if the dialect does not have it.
    pub fn encode(&self, dialect: &Dialect) -> Vec<u8> {
        let draft = |name| Draft::new(dialect, name);
        let command = |name, sequence: &Option<u32>, tick: &Option<u32>| {
            draft(name).set("sequence", or_nil(*sequence)).set("tick", or_nil(*tick))
        };
        let draft = match self {
            Self::Hello { version, mode, name, skin } => {
                let hello =
                    draft("hello").set("version", *version).set("mode", u8::from(*mode == Mode::Play));
                hello.set("name", or_nil(name.as_deref())).set("skin", or_nil(*skin))
            }
            Self::EnterGame { name, skin, moofoll } => {
                let (name, skin) = (or_nil(name.as_deref()), or_nil(*skin));
                let is_native = dialect.row(Direction::ToServer, "enter_game").is_none();
                let enter = draft(if is_native { "enter" } else { "enter_game" });
                enter.set("name", name).set("skin", skin).set("moofoll", *moofoll)
            }
            Self::Move { sequence, tick, direction } => {
                command("move", sequence, tick).set_angle("direction", *direction)
            }
            Self::Aim { sequence, tick, heading } => {
                command("aim", sequence, tick).set_angle("heading", Some(*heading))
            }
            Self::Attack { sequence, tick, state, heading } => {
                command("attack", sequence, tick).set("state", *state).set_angle("heading", *heading)
            }
            Self::Select { sequence, tick, id, is_weapon } => {
                command("select", sequence, tick).set("id", *id).set("is_weapon", *is_weapon)
            }
            Self::Upgrade { sequence, tick, choice } => {
                command("upgrade", sequence, tick).set("choice", *choice)
            }
            Self::Chat { sequence, tick, text } => command("chat", sequence, tick).set("text", text.as_str()),
            Self::Clan { sequence, tick, wish } => wish.fill(|name| command(name, sequence, tick)),
            // There is only one kind of ping.
            Self::MapPing { sequence, tick } => command("map_ping", sequence, tick).set("kind", 1),
            Self::ToggleAttack => draft("toggle").set("what", 1),
            Self::Ping { nonce } => draft("ping").set("nonce", or_nil(*nonce)),
            Self::Follow { player } => draft("follow").set("player", or_nil(*player)),
            Self::Unused(_) => return Vec::new(),
        };
        draft.encode()
    }
}

impl ClanWish {
    fn typed(from: &Decoded<'_>) -> Option<ClanWish> {
        let player = || from.number("player").or_else(|| from.number("sid"));
        Some(match from.row.name.as_str() {
            "clan_create" => ClanWish::Create { name: from.text("name")? },
            "clan_leave" => ClanWish::Leave,
            "clan_request" => ClanWish::Request { name: from.text("name")? },
            "clan_answer" => match from.truth("accept") {
                Some(accept) => ClanWish::Answer { player: player()?, accept },
                // Some clients send the answer without a player: it applies to the first player in
                // the queue.
                None => ClanWish::Answer { player: 0, accept: player()? != 0 },
            },
            "clan_kick" => ClanWish::Kick { player: player()? },
            _ => return None,
        })
    }

    fn fill<'d>(&self, command: impl Fn(&'static str) -> Draft<'d>) -> Draft<'d> {
        let of_player = |name, player: u32| command(name).set("player", player).set("sid", player);
        match self {
            ClanWish::Create { name } => command("clan_create").set("name", name.as_str()),
            ClanWish::Leave => command("clan_leave"),
            ClanWish::Request { name } => command("clan_request").set("name", name.as_str()),
            ClanWish::Answer { player, accept } => {
                of_player("clan_answer", *player).set("accept", u8::from(*accept))
            }
            ClanWish::Kick { player } => of_player("clan_kick", *player),
        }
    }
}

/// A packet under construction: a value for each argument of its row. What the dialect lacks, the
/// packet or an argument of it, is left out.
struct Draft<'d> {
    dialect: &'d Dialect,
    row: Option<&'d Row>,
    values: Vec<Value>,
}

impl<'d> Draft<'d> {
    fn new(dialect: &'d Dialect, name: &str) -> Self {
        let row = dialect.row(Direction::ToServer, name);
        Draft { dialect, row, values: vec![Value::Nil; row.map_or(0, |row| row.arguments.len())] }
    }

    /// Sets an argument, or a key of an argument that is a map.
    fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        let arguments = self.row.map_or(&[][..], |row| &row.arguments);
        for (argument, slot) in arguments.iter().zip(&mut self.values) {
            if argument.name == name {
                *slot = value.into();
                break;
            }
            if argument.has_key(name) {
                let pair = (Value::from(name), value.into());
                match slot {
                    Value::Map(pairs) => pairs.push(pair),
                    empty => *empty = Value::Map(vec![pair]),
                }
                break;
            }
        }
        self
    }

    fn set_angle(self, name: &str, angle: Option<u16>) -> Self {
        let argument = self.row.and_then(|row| Some(&row.arguments[row.argument(name)?]));
        let value = argument.zip(angle).map(|(argument, angle)| angle::write(angle, &argument.kind.shape));
        self.set(name, or_nil(value))
    }

    fn encode(self) -> Vec<u8> {
        let Some(row) = self.row else { return Vec::new() };
        self.dialect.encode(Direction::ToServer, &row.name, &self.values).unwrap_or_default()
    }
}

fn or_nil<T: Into<Value>>(value: Option<T>) -> Value {
    value.map_or(Value::Nil, Into::into)
}
