//! Typed server packets off the hot path: one enum for all dialects.
//!
//! Encoding a [`OutgoingPacket`] appends its message in a dialect to a buffer. It appends nothing if
//! the dialect does not have the packet, so callers need not check the dialect. Long packets that
//! go to many clients are not here: the feed assembles them from shared records after
//! [`Dialect::prefix`]. Neither are the packets of every game (`welcome`, `pong`, `error`,
//! `disconnect`) and the greeting `io_init`, `init_data`: `connection` encodes them by name.
//! `games::moo::row_check` checks the layouts of all when a table is loaded.

use crate::packet::{Dialect, Direction, Row, Value, angle};

macro_rules! values {
    ($($value:expr),+) => { vec![$(Value::from($value)),+] };
}

/// A server packet. `MooMoo` and `Native` tell which dialects have it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[allow(missing_docs, reason = "a field that has no comment is the argument of the same name")]
pub enum OutgoingPacket<'a> {
    /// MooMoo: the answer to `enter_game`, before the client's own `add_player`.
    Setup { sid: u16 },
    /// MooMoo: before a player appears in an update for the first time.
    AddPlayer(AddPlayer<'a>),
    /// MooMoo: a player has left the game; `id` as in `add_player`.
    RemovePlayer { id: &'a str },
    /// Both: a player sends a chat message.
    Chat { player: u16, text: &'a str },
    /// Native: the receiver has a body now.
    Spawned { player: u16 },
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
            Self::Setup { .. } => "setup",
            Self::AddPlayer(_) => "add_player",
            Self::RemovePlayer { .. } => "remove_player",
            Self::Chat { .. } => "chat",
            Self::Spawned { .. } => "spawned",
            Self::Watching { .. } => "watching",
        }
    }

    /// The arguments in the order of both tables; encoding drops those that a row lacks.
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
