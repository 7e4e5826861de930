//! Typed server packets that are not on the hot path: one enum for all dialects.
//!
//! Encoding an [`OutgoingPacket`] appends its message in a dialect to a buffer. It appends nothing
//! if the dialect lacks the packet, so callers need not check the dialect. Two groups of packets
//! are not here. Long packets for many clients are assembled by the feed from shared records, after
//! [`Dialect::prefix`]. The packets of all games (`welcome`, `pong`, `error`, `disconnect`) and
//! `io_init` and `init_data` are encoded by name in `connection`. `games::moo::row_check` checks
//! the layouts of all packets when a table is loaded.

use crate::packet::{Dialect, Direction, Row, Value, angle};

macro_rules! values {
    ($($value:expr),+) => { vec![$(Value::from($value)),+] };
}

/// A server packet. `MooMoo` and `Native` state the dialects that have it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "a field that has no comment is the argument of the same name")]
pub enum OutgoingPacket<'a> {
    /// MooMoo: the response to `enter_game`, before the client's own `add_player`.
    Setup { sid: u16 },
    /// MooMoo: sent before a player is part of an update for the first time.
    AddPlayer(AddPlayer<'a>),
    /// MooMoo: a player has left the game; `id` as in `add_player`.
    RemovePlayer { id: &'a str },
    /// Both: a player sent a chat message.
    Chat { player: u16, text: &'a str },
    /// Native: the client's own player has a body now.
    Spawned { player: u16 },
    /// Native: the player that a spectator sees now; nil if there is none.
    Watching { player: Option<u16> },
}

/// A player that enters the view.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "a field that has no comment is the argument of the same name")]
pub struct AddPlayer<'a> {
    /// The player's identifier for this client. `remove_player` repeats it.
    pub id: &'a str,
    pub sid: u16,
    pub name: &'a str,
    pub x_px: i32,
    pub y_px: i32,
    /// Direction of view, 65,536 steps per turn.
    pub heading: u16,
    pub health: u16,
    pub max_health: u16,
    pub scale_px: i32,
    /// Colour index, 0 to 9.
    pub skin: u8,
    pub is_you: bool,
}

impl OutgoingPacket<'_> {
    /// Encodes the message in a dialect. Empty if the dialect lacks the packet.
    pub fn encode(&self, dialect: &Dialect) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_into(dialect, &mut out);
        out
    }

    /// Appends the message. Returns `false` and appends nothing if the dialect lacks the packet.
    pub fn encode_into(&self, dialect: &Dialect, out: &mut Vec<u8>) -> bool {
        let Some(row) = self.row(dialect) else { return false };
        let encoded = dialect.encode_into(out, Direction::ToClient, &row.name, &self.values());
        debug_assert!(encoded.is_ok(), "loading the tables checked that this value fits: {encoded:?}");
        encoded.is_ok()
    }

    /// The table row of this packet; `None` if the dialect lacks it.
    pub fn row<'d>(&self, dialect: &'d Dialect) -> Option<&'d Row> {
        dialect.row(Direction::ToClient, self.name())
    }

    /// The packet's name in the tables.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Setup { .. } => "setup",
            Self::AddPlayer(_) => "add_player",
            Self::RemovePlayer { .. } => "remove_player",
            Self::Chat { .. } => "chat",
            Self::Spawned { .. } => "spawned",
            Self::Watching { .. } => "watching",
        }
    }

    /// The arguments in the order of both tables. Encoding drops the arguments that a row lacks.
    fn values(&self) -> Vec<Value> {
        match *self {
            Self::Setup { sid } => values![sid],
            Self::AddPlayer(added) => {
                let AddPlayer { id, sid, name, x_px, y_px, heading, health, max_health, .. } = added;
                let (direction, scale, skin) = (angle::to_radians_2dec(heading), added.scale_px, added.skin);
                let player = values![id, sid, name, x_px, y_px, direction, health, max_health, scale, skin];
                values![player, added.is_you]
            }
            Self::RemovePlayer { id } => values![id],
            Self::Chat { player, text } => values![player, text],
            Self::Spawned { player } => values![player],
            Self::Watching { player } => vec![player.map_or(Value::Nil, Value::from)],
        }
    }
}
