//! Typed server packets off the hot path: one enum for all dialects.
//!
//! Encoding a [`OutgoingPacket`] appends its message in a dialect to a buffer. It appends nothing if
//! the dialect does not have the packet, so callers need not check the dialect. Long packets that
//! go to many clients are not here: the feed assembles them from shared records after
//! [`Dialect::prefix`]. `packet::needs` checks the layouts of both when a table is loaded.

use crate::packet::{Dialect, Direction, Row, Value, angle};

macro_rules! values {
    ($($value:expr),+) => { vec![$(Value::from($value)),+] };
}

/// A server packet. `MooMoo` and `Native` tell which dialects have it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "a field that has no comment is the argument of the same name")]
pub enum OutgoingPacket<'a> {
    /// MooMoo: the first packet. The identifier of the connection is any text.
    IoInit { socket_id: &'a str },
    /// MooMoo: the second packet. Its list of clans is always empty.
    InitData,
    /// MooMoo: the connection is about to be closed, through no fault of the client. The reason is
    /// a rule's name, as in the close frame that follows.
    Disconnect { reason: &'a str },
    /// MooMoo: the answer to `enter_game`, before the client's own `add_player`.
    Setup { sid: u16 },
    /// MooMoo: before a player appears in an update for the first time.
    AddPlayer(AddPlayer<'a>),
    /// MooMoo: a player has left the game; `id` as in `add_player`.
    RemovePlayer { id: &'a str },
    /// Both: a player sends a chat message.
    Chat { player: u16, text: &'a str },
    /// Both: the answer to `ping`. Only the native one has arguments: the nonce of the ping, and the
    /// ticks completed.
    Pong { nonce: u32, tick: u32 },
    /// Native: the answer to `hello`.
    Welcome(Welcome<'a>),
    /// Native: the receiver has a body now.
    Spawned { player: u16 },
    /// Native: a packet was dropped, or the connection is about to be closed: a rule's name, as in
    /// PROTOCOL.md, and a description for people.
    Error { rule: &'a str, detail: &'a str },
    /// Native: the player that a watcher follows now, if there is one.
    Watching { player: Option<u16> },
}

/// A player who enters the view.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "a field that has no comment is the argument of the same name")]
pub struct AddPlayer<'a> {
    /// The player's identifier for this client; `remove_player` repeats it.
    pub id: &'a str,
    pub sid: u16,
    pub name: &'a str,
    pub x_px: i32,
    pub y_px: i32,
    /// 65,536 steps per turn.
    pub heading: u16,
    pub health: u16,
    pub max_health: u16,
    pub scale_px: i32,
    /// Colour, 0 to 9.
    pub skin: u8,
    pub is_you: bool,
}

/// The world's identity, as sent to a native client.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "a field that has no comment is the argument of the same name")]
pub struct Welcome<'a> {
    pub version: u16,
    /// Hash of the world's code and constants, 16 hexadecimal digits.
    pub code_hash: &'a str,
    pub seed: u32,
    pub map_size_px: u32,
    pub tick_hz: u8,
    pub update_hz: u8,
    /// New at each start of the server, 16 hexadecimal digits.
    pub epoch: &'a str,
    /// Ticks completed.
    pub tick: u32,
}

impl OutgoingPacket<'_> {
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
        let encoded = dialect.encode_into(out, Direction::ToClient, &row.name, &self.values());
        debug_assert!(encoded.is_ok(), "loading the tables checked that this value fits: {encoded:?}");
        encoded.is_ok()
    }

    /// The row of this packet; `None` if the dialect does not have it.
    pub fn row<'d>(&self, dialect: &'d Dialect) -> Option<&'d Row> {
        dialect.row(Direction::ToClient, self.name())
    }

    /// The packet's name in the tables.
    pub fn name(&self) -> &'static str {
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

    /// The arguments in the order of both tables; encoding drops those that a row lacks.
    fn values(&self) -> Vec<Value> {
        match *self {
            Self::IoInit { socket_id } => values![socket_id],
            Self::InitData => values![vec![(Value::from("teams"), Value::Array(Vec::new()))]],
            Self::Disconnect { reason } => values![reason],
            Self::Setup { sid } => values![sid],
            Self::AddPlayer(added) => {
                let AddPlayer { id, sid, name, x_px, y_px, heading, health, max_health, .. } = added;
                let (direction, scale, skin) = (angle::to_radians_2dec(heading), added.scale_px, added.skin);
                let player = values![id, sid, name, x_px, y_px, direction, health, max_health, scale, skin];
                values![player, added.is_you]
            }
            Self::RemovePlayer { id } => values![id],
            Self::Chat { player, text } => values![player, text],
            Self::Pong { nonce, tick } => values![nonce, tick],
            Self::Welcome(welcome) => {
                let Welcome { version, code_hash, seed, map_size_px, tick_hz, update_hz, epoch, tick } =
                    welcome;
                values![version, code_hash, seed, map_size_px, tick_hz, update_hz, epoch, tick]
            }
            Self::Spawned { player } => values![player],
            Self::Error { rule, detail } => values![rule, detail],
            Self::Watching { player } => vec![player.map_or(Value::Nil, Value::from)],
        }
    }
}
