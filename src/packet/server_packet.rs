//! Typed server packets off the hot path: one enum for all dialects.
//!
//! Encoding a [`ServerPacket`] appends its message in a dialect to a buffer. It appends nothing if
//! the dialect does not have the packet, so callers need not check the dialect. Binary angles
//! become radians of two decimals where the table says radians.
//!
//! Long packets that go to many clients are not here: the feed assembles updates, objects and
//! leaderboards from shared records after [`Dialect::prefix`]. Their layouts are checked here when
//! a table is loaded.

use rmpv::Value;

use super::angle;
use super::assembled;
use super::dialect::Dialect;
use super::fit;
use super::row::{Direction, Row};

macro_rules! values {
    ($($value:expr),+) => { vec![$(Value::from($value)),+] };
}

/// A server packet. Angles are binary: 65,536 steps per turn, 0 right, a quarter down.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ServerPacket<'a> {
    /// MooMoo: the first packet.
    IoInit {
        /// The connection's identifier; any text.
        socket_id: &'a str,
    },
    /// MooMoo: the second packet. Its list of clans is always empty.
    InitData,
    /// MooMoo: the connection is about to be closed, through no fault of the client.
    Disconnect {
        /// The rule's name, as in the close frame that follows.
        reason: &'a str,
    },
    /// MooMoo: the answer to `enter_game`, before the client's own `add_player`.
    Setup {
        /// The client's own player.
        sid: u16,
    },
    /// MooMoo: before a player appears in an update for the first time.
    AddPlayer(AddPlayer<'a>),
    /// MooMoo: a player has left the game.
    RemovePlayer {
        /// The same text as in `add_player`.
        id: &'a str,
    },
    /// Both: a player sends a chat message.
    Chat {
        /// The speaker.
        player: u16,
        /// The text.
        text: &'a str,
    },
    /// Both: the answer to `ping`.
    Pong {
        /// Native: the nonce of the ping.
        nonce: u32,
        /// Native: ticks completed.
        tick: u32,
    },
    /// Native: the answer to `hello`.
    Welcome(Welcome<'a>),
    /// Native: the receiver has a body now.
    Spawned {
        /// The receiver's player.
        player: u16,
    },
    /// Native: a packet was dropped, or the connection is about to be closed.
    Error {
        /// The rule's name, as in PROTOCOL.md.
        rule: &'a str,
        /// A description of the problem, for people.
        detail: &'a str,
    },
    /// Native: the player that a watcher follows now.
    Watching {
        /// The player, if there is one.
        player: Option<u16>,
    },
}

/// A player who enters the view.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AddPlayer<'a> {
    /// The player's identifier for this client; `remove_player` repeats it.
    pub id: &'a str,
    /// The player's number.
    pub sid: u16,
    /// The player's name.
    pub name: &'a str,
    /// Position on the map, in pixels.
    pub x_px: i32,
    /// Position on the map, in pixels, growing down.
    pub y_px: i32,
    /// The player's heading, 65,536 steps per turn.
    pub heading: u16,
    /// Current health.
    pub health: u16,
    /// Maximum health.
    pub max_health: u16,
    /// Radius in pixels.
    pub scale_px: i32,
    /// Colour, 0 to 9.
    pub skin: u8,
    /// Whether the player is the receiver's own.
    pub is_you: bool,
}

/// The world's identity, as sent to a native client.
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
    /// Ticks per second.
    pub tick_hz: u8,
    /// Updates per second.
    pub update_hz: u8,
    /// New at each start of the server, 16 hexadecimal digits.
    pub epoch: &'a str,
    /// Ticks completed.
    pub tick: u32,
}

impl ServerPacket<'_> {
    /// Encodes the message in a dialect; empty if the dialect does not have the packet.
    pub fn encode(&self, dialect: &Dialect) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_into(dialect, &mut out);
        out
    }

    /// Appends the message; returns `false` (and appends nothing) if the dialect does not have the
    /// packet.
    pub fn encode_into(&self, dialect: &Dialect, out: &mut Vec<u8>) -> bool {
        let Some(row) = self.row(dialect) else { return false };
        let encoded = dialect.encode_into(out, Direction::ToClient, &row.name, &self.values(row));
        debug_assert!(encoded.is_ok(), "loading the tables checked that this value fits: {encoded:?}");
        encoded.is_ok()
    }

    /// The row of this packet; `None` if the dialect does not have it.
    pub fn row<'d>(&self, dialect: &'d Dialect) -> Option<&'d Row> {
        dialect.row(Direction::ToClient, self.name())
    }

    /// The packet's name in the tables.
    fn name(&self) -> &'static str {
        match self {
            Self::IoInit { .. } => "io_init",
            Self::InitData => "init_data",
            Self::Disconnect { .. } => "disconnect",
            Self::Setup { .. } => "setup",
            Self::AddPlayer(_) => "add_player",
            Self::RemovePlayer { .. } => "remove_player",
            Self::Chat { .. } => "chat",
            Self::Pong { .. } => "pong",
            Self::Welcome(_) => "welcome",
            Self::Spawned { .. } => "spawned",
            Self::Error { .. } => "error",
            Self::Watching { .. } => "watching",
        }
    }

    /// The arguments in the order of both tables.
    fn values(&self, row: &Row) -> Vec<Value> {
        match *self {
            Self::IoInit { socket_id } => values![socket_id],
            Self::InitData => vec![Value::Map(vec![(Value::from("teams"), Value::Array(Vec::new()))])],
            Self::Disconnect { reason } => values![reason],
            Self::Setup { sid } => values![sid],
            Self::AddPlayer(player) => values![player.value(), player.is_you],
            Self::RemovePlayer { id } => values![id],
            Self::Chat { player, text } => values![player, text],
            Self::Pong { nonce, tick } => {
                // The MooMoo dialects have no arguments for it.
                values![nonce, tick].into_iter().take(row.arguments.len()).collect()
            }
            Self::Welcome(welcome) => welcome.values(),
            Self::Spawned { player } => values![player],
            Self::Error { rule, detail } => values![rule, detail],
            Self::Watching { player } => vec![player.map_or(Value::Nil, Value::from)],
        }
    }
}

impl AddPlayer<'_> {
    fn value(&self) -> Value {
        let AddPlayer { id, sid, name, x_px, y_px, heading, health, max_health, scale_px, skin, .. } = *self;
        let direction = angle::to_radians_2dec(heading);
        Value::Array(values![id, sid, name, x_px, y_px, direction, health, max_health, scale_px, skin])
    }
}

impl Welcome<'_> {
    fn values(&self) -> Vec<Value> {
        let Welcome { version, code_hash, seed, map_size_px, tick_hz, update_hz, epoch, tick } = *self;
        values![version, code_hash, seed, map_size_px, tick_hz, update_hz, epoch, tick]
    }
}

/// Checks that a row can carry the values that the server sends in it. A table that fails is
/// rejected: otherwise clients would never receive that packet, with no error to explain why.
pub(super) fn check_row(row: &Row) -> Result<(), String> {
    if row.direction != Direction::ToClient {
        return Ok(());
    }
    let typed = samples().into_iter().filter(|sample| sample.name() == row.name);
    let mut said: Vec<Vec<Value>> = typed.map(|sample| sample.values(row)).collect();
    said.extend(assembled::sample(row));
    for values in said {
        if values.len() > row.arguments.len() {
            return Err(format!("the server sends more arguments than {} has", row.name));
        }
        let fitted = fit::fit_arguments(&row.arguments, values.clone());
        let fitted = fitted.map_err(|wrong| {
            format!("the server's own packet {} does not match the tables: {wrong}", row.name)
        })?;
        if fitted[..values.len()] != values {
            return Err(format!(
                "the server's own packet {} would be changed by the types of these tables",
                row.name
            ));
        }
    }
    Ok(())
}

/// One sample of each typed packet, with the largest values that it can have.
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
