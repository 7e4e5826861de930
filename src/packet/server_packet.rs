//! What the server says off the hot path, typed: one enum for all dialects.
//!
//! In: a [`ServerPacket`]. Out: the message of a dialect, appended to a buffer; nothing where the dialect does not have
//! such a packet, so that callers say what happened and need not ask who listens in which dialect. Binary
//! angles become radians of two decimals where the table says radians.
//!
//! What is long and goes to many is not here: the feed assembles updates, objects and leaderboards from shared records behind
//! [`Dialect::prefix`]. Their layouts are checked here when a table is loaded.

use rmpv::Value;

use super::angle;
use super::assembled;
use super::codes::{Direction, Row};
use super::dialect::Dialect;
use super::fit;

/// A packet of the server. Angles are binary: 65,536 a turn, 0 right, a quarter down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ServerPacket<'a> {
    /// MooMoo: the first packet.
    IoInit {
        /// Names the connection; any text.
        socket_id: &'a str,
    },
    /// MooMoo: the second packet. It lists the clans, of which there are none.
    InitData,
    /// MooMoo: the connection is about to be closed, for no fault of the client.
    Disconnect {
        /// The rule's name, as in the close frame that follows.
        reason: &'a str,
    },
    /// MooMoo: the answer to `enter_game`, before one's own `add_player`.
    Setup {
        /// One's own player.
        sid: u16,
    },
    /// MooMoo: before a player appears in an update for the first time.
    AddPlayer(AddPlayer<'a>),
    /// MooMoo: a player has left the game.
    RemovePlayer {
        /// The text that `add_player` gave.
        id: &'a str,
    },
    /// Both: somebody talks.
    Chat {
        /// Who.
        player: u16,
        /// What.
        text: &'a str,
    },
    /// Both: the answer to `ping`.
    Pong {
        /// Native: what the ping carried.
        nonce: u32,
        /// Native: ticks completed.
        tick: u32,
    },
    /// Native: the answer to `hello`.
    Welcome(Welcome<'a>),
    /// Native: the receiver has a body now.
    Spawned {
        /// Its player.
        player: u16,
    },
    /// Native: a packet was dropped, or the connection is about to be closed.
    Error {
        /// The rule's name, as in PROTOCOL.md.
        rule: &'a str,
        /// What was wrong, for people.
        detail: &'a str,
    },
    /// Native: whom a watcher follows now.
    Watching {
        /// The player, if there is one.
        player: Option<u16>,
    },
}

/// A player who comes into view.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AddPlayer<'a> {
    /// Names the player towards this client; `remove_player` repeats it.
    pub id: &'a str,
    /// The player's number.
    pub sid: u16,
    /// The player's name.
    pub name: &'a str,
    /// Position on the map, in pixels.
    pub x_px: i32,
    /// Position on the map, in pixels, growing down.
    pub y_px: i32,
    /// Where the player looks, 65,536 a turn.
    pub heading: u16,
    /// Health now.
    pub health: u16,
    /// Health at most.
    pub max_health: u16,
    /// Radius in pixels.
    pub scale_px: i32,
    /// Colour, 0 to 9.
    pub skin: u8,
    /// Whether it is the receiver.
    pub is_you: bool,
}

/// The world's identity, as a native client learns it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Welcome<'a> {
    /// Version of the protocol.
    pub version: u16,
    /// Hash of the world's code and constants, 16 hexadecimal digits.
    pub code_hash: &'a str,
    /// Seed of the map.
    pub seed: u32,
    /// Width and height of the map in pixels.
    pub map_size_px: u32,
    /// Ticks a second.
    pub tick_hz: u8,
    /// Updates a second.
    pub update_hz: u8,
    /// New at each start of the server, 16 hexadecimal digits.
    pub epoch: &'a str,
    /// Ticks completed.
    pub tick: u32,
}

impl ServerPacket<'_> {
    /// The message in a dialect; empty where the dialect has no such packet.
    pub fn encode(&self, dialect: &Dialect) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_into(dialect, &mut out);
        out
    }

    /// Appends the message; `false` (and nothing appended) where the dialect has no such packet.
    pub fn encode_into(&self, dialect: &Dialect, out: &mut Vec<u8>) -> bool {
        let row = self.names().iter().find_map(|name| dialect.row(Direction::ToClient, name));
        let Some(row) = row else { return false };
        let encoded = dialect.encode_into(out, Direction::ToClient, &row.name, &self.values(row));
        debug_assert!(encoded.is_ok(), "loading checked that this fits: {encoded:?}");
        encoded.is_ok()
    }

    /// The names under which the tables have this packet.
    fn names(&self) -> &'static [&'static str] {
        match self {
            Self::IoInit { .. } => &["io_init"],
            Self::InitData => &["init_data"],
            Self::Disconnect { .. } => &["disconnect"],
            Self::Setup { .. } => &["setup"],
            Self::AddPlayer(_) => &["add_player"],
            Self::RemovePlayer { .. } => &["remove_player"],
            Self::Chat { .. } => &["chat"],
            Self::Pong { .. } => &["pong"],
            Self::Welcome(_) => &["welcome"],
            Self::Spawned { .. } => &["spawned"],
            Self::Error { .. } => &["error"],
            Self::Watching { .. } => &["watching"],
        }
    }

    /// The arguments in the order of both tables.
    fn values(&self, row: &Row) -> Vec<Value> {
        match *self {
            Self::IoInit { socket_id } => vec![Value::from(socket_id)],
            Self::InitData => vec![Value::Map(vec![(Value::from("teams"), Value::Array(Vec::new()))])],
            Self::Disconnect { reason } => vec![Value::from(reason)],
            Self::Setup { sid } => vec![Value::from(sid)],
            Self::AddPlayer(player) => vec![player.value(), Value::from(player.is_you)],
            Self::RemovePlayer { id } => vec![Value::from(id)],
            Self::Chat { player, text } => vec![Value::from(player), Value::from(text)],
            Self::Pong { nonce, tick } => as_many_as(row, [Value::from(nonce), Value::from(tick)]),
            Self::Welcome(welcome) => welcome.values(),
            Self::Spawned { player } => vec![Value::from(player)],
            Self::Error { rule, detail } => vec![Value::from(rule), Value::from(detail)],
            Self::Watching { player } => vec![player.map_or(Value::Nil, Value::from)],
        }
    }
}

/// The native dialect says more in a packet than the MooMoo dialects can hold.
fn as_many_as<const N: usize>(row: &Row, values: [Value; N]) -> Vec<Value> {
    values.into_iter().take(row.arguments.len()).collect()
}

impl AddPlayer<'_> {
    fn value(&self) -> Value {
        Value::Array(vec![
            Value::from(self.id),
            Value::from(self.sid),
            Value::from(self.name),
            Value::from(self.x_px),
            Value::from(self.y_px),
            Value::from(angle::to_radians_2dec(self.heading)),
            Value::from(self.health),
            Value::from(self.max_health),
            Value::from(self.scale_px),
            Value::from(self.skin),
        ])
    }
}

impl Welcome<'_> {
    fn values(&self) -> Vec<Value> {
        vec![
            Value::from(self.version),
            Value::from(self.code_hash),
            Value::from(self.seed),
            Value::from(self.map_size_px),
            Value::from(self.tick_hz),
            Value::from(self.update_hz),
            Value::from(self.epoch),
            Value::from(self.tick),
        ]
    }
}

/// Whether a row that the server speaks can carry what the server says in it. Tables are refused otherwise: a client
/// would never get that packet, and nobody would know why.
pub(super) fn check_row(row: &Row) -> Result<(), String> {
    if row.direction != Direction::ToClient {
        return Ok(());
    }
    let typed = samples().into_iter().filter(|sample| sample.names().contains(&row.name.as_str()));
    let mut said: Vec<Vec<Value>> = typed.map(|sample| sample.values(row)).collect();
    said.extend(assembled::sample(row));
    for values in said {
        if values.len() > row.arguments.len() {
            return Err(format!("the server says more than the arguments of {} can hold", row.name));
        }
        let fitted = fit::fit_arguments(&row.arguments, values.clone());
        let fitted =
            fitted.map_err(|wrong| format!("the server's own {} does not fit: {wrong}", row.name))?;
        if fitted[..values.len()] != values {
            return Err(format!("the server's own {} would be changed by these types", row.name));
        }
    }
    Ok(())
}

/// One of each typed packet, with the largest values that it can have.
fn samples() -> [ServerPacket<'static>; 12] {
    const HEX: &str = "0123456789abcdef";
    const NAME: &str = "fifteen letters";
    const WELCOME: Welcome<'_> = Welcome {
        version: 1,
        code_hash: HEX,
        seed: u32::MAX,
        map_size_px: 32_767,
        tick_hz: 60,
        update_hz: 60,
        epoch: HEX,
        tick: u32::MAX,
    };
    const PLAYER: AddPlayer<'_> = AddPlayer {
        id: HEX,
        sid: u16::MAX,
        name: NAME,
        x_px: 32_767,
        y_px: 32_767,
        heading: 8_192,
        health: u16::MAX,
        max_health: u16::MAX,
        scale_px: 255,
        skin: 9,
        is_you: true,
    };
    [
        ServerPacket::IoInit { socket_id: HEX },
        ServerPacket::InitData,
        ServerPacket::Disconnect { reason: NAME },
        ServerPacket::Setup { sid: u16::MAX },
        ServerPacket::AddPlayer(PLAYER),
        ServerPacket::RemovePlayer { id: HEX },
        ServerPacket::Chat { player: u16::MAX, text: NAME },
        ServerPacket::Pong { nonce: u32::MAX, tick: u32::MAX },
        ServerPacket::Welcome(WELCOME),
        ServerPacket::Spawned { player: u16::MAX },
        ServerPacket::Error { rule: NAME, detail: HEX },
        ServerPacket::Watching { player: None },
    ]
}
