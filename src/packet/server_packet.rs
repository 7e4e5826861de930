//! What the server says off the hot path, typed: one enum for all dialects.
//!
//! In: a [`ServerPacket`]. Out: the message of a dialect, appended to a buffer; nothing where the dialect does not have
//! such a packet, so that callers say what happened and need not ask who listens in which dialect. Binary
//! angles become radians of two decimals where the table says radians.
//!
//! The update of each turn (`update_players` of the MooMoo dialects, `update` of the native one) is not here: the feed
//! assembles it from shared records behind [`Dialect::prefix`]. Its layout is checked here when a table is loaded.

use rmpv::Value;

use super::angle;
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
    /// Both: the best by score, best first.
    Leaderboard {
        /// At most ten.
        rows: &'a [LeaderboardRow<'a>],
        /// Native: the receiver's own place from 1, if it plays.
        place: Option<u16>,
        /// Native: players in all.
        players: u16,
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
    /// Both (`load_objects`, `objects`): scenery that comes into view, each once.
    Objects(&'a [ObjectRow]),
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

/// One line of the leaderboard.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LeaderboardRow<'a> {
    /// The player's number.
    pub player: u16,
    /// The player's name.
    pub name: &'a str,
    /// Points.
    pub score: u32,
}

/// A natural object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectRow {
    /// Its number.
    pub id: u32,
    /// 0 tree, 1 bush, 2 rock, 3 gold.
    pub kind: u8,
    /// Position on the map, in pixels.
    pub x_px: i32,
    /// Position on the map, in pixels, growing down.
    pub y_px: i32,
    /// Radius of the picture in pixels.
    pub scale_px: i32,
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
            Self::Setup { .. } => &["setup"],
            Self::AddPlayer(_) => &["add_player"],
            Self::RemovePlayer { .. } => &["remove_player"],
            Self::Leaderboard { .. } => &["leaderboard"],
            Self::Chat { .. } => &["chat"],
            Self::Pong { .. } => &["pong"],
            Self::Objects(_) => &["load_objects", "objects"],
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
            Self::Setup { sid } => vec![Value::from(sid)],
            Self::AddPlayer(player) => vec![player.value(), Value::from(player.is_you)],
            Self::RemovePlayer { id } => vec![Value::from(id)],
            Self::Leaderboard { rows, place, players } => {
                let cells = rows.iter().flat_map(LeaderboardRow::values).collect();
                let values =
                    [Value::Array(cells), place.map_or(Value::Nil, Value::from), Value::from(players)];
                as_many_as(row, values)
            }
            Self::Chat { player, text } => vec![Value::from(player), Value::from(text)],
            Self::Pong { nonce, tick } => as_many_as(row, [Value::from(nonce), Value::from(tick)]),
            Self::Objects(rows) if row.name == "load_objects" => {
                vec![Value::Array(rows.iter().flat_map(ObjectRow::moomoo_values).collect())]
            }
            Self::Objects(rows) => {
                vec![Value::Array(rows.iter().flat_map(ObjectRow::native_values).collect())]
            }
            Self::Welcome(welcome) => welcome.values(),
            Self::Spawned { player } => vec![Value::from(player)],
            Self::Error { rule, detail } => vec![Value::from(rule), Value::from(detail)],
            Self::Watching { player } => vec![player.map_or(Value::Nil, Value::from)],
        }
    }
}

/// The native dialect says more in these packets than the MooMoo dialects can hold.
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

impl LeaderboardRow<'_> {
    fn values(&self) -> [Value; 3] {
        [Value::from(self.player), Value::from(self.name), Value::from(self.score)]
    }
}

impl ObjectRow {
    /// `sid, x, y, dir, scale, type, item, owner`: natural objects are not turned, are no item and have no owner.
    fn moomoo_values(&self) -> [Value; 8] {
        let Self { id, kind, x_px, y_px, scale_px } = *self;
        let natural = (Value::from(0), Value::Nil, Value::from(-1));
        let (x, y, scale) = (Value::from(x_px), Value::from(y_px), Value::from(scale_px));
        [Value::from(id), x, y, natural.0, scale, Value::from(kind), natural.1, natural.2]
    }

    fn native_values(&self) -> [Value; 5] {
        let Self { id, kind, x_px, y_px, scale_px } = *self;
        [Value::from(id), Value::from(kind), Value::from(x_px), Value::from(y_px), Value::from(scale_px)]
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
    said.extend(assembled().into_iter().filter(|(name, _)| *name == row.name).map(|(_, values)| values));
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
fn samples() -> [ServerPacket<'static>; 13] {
    const HEX: &str = "0123456789abcdef";
    const NAME: &str = "fifteen letters";
    const ROW: LeaderboardRow<'_> = LeaderboardRow { player: u16::MAX, name: NAME, score: u32::MAX };
    const OBJECT: ObjectRow = ObjectRow { id: u32::MAX, kind: 3, x_px: 32_767, y_px: 32_767, scale_px: 255 };
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
        ServerPacket::Setup { sid: u16::MAX },
        ServerPacket::AddPlayer(PLAYER),
        ServerPacket::RemovePlayer { id: HEX },
        ServerPacket::Leaderboard { rows: &[ROW, ROW], place: Some(u16::MAX), players: u16::MAX },
        ServerPacket::Chat { player: u16::MAX, text: NAME },
        ServerPacket::Pong { nonce: u32::MAX, tick: u32::MAX },
        ServerPacket::Objects(&[OBJECT, OBJECT]),
        ServerPacket::Welcome(WELCOME),
        ServerPacket::Spawned { player: u16::MAX },
        ServerPacket::Error { rule: NAME, detail: HEX },
        ServerPacket::Watching { player: None },
    ]
}

/// What the feed assembles by hand, so that a table with another stride is refused at start.
fn assembled() -> [(&'static str, Vec<Value>); 2] {
    let list = |values: &[i64]| Value::Array(values.iter().map(|value| Value::from(*value)).collect());
    let mut player = vec![Value::from(1), Value::from(1), Value::from(1), Value::from(1.57), Value::from(-1)];
    player.extend([Value::from(0), Value::from(0), Value::Nil]);
    player.extend([0; 5].map(Value::from));
    let mut enter = vec![Value::from(u16::MAX), Value::from("a name")];
    enter.extend([9, 0, u16::MAX, 255].map(Value::from));
    let far = i64::from(i32::MAX);
    let update = vec![
        Value::from(u32::MAX),
        list(&[i64::from(u32::MAX), -32_768, far, far, -far, -far, 65_535, 65_535]),
        list(&[1, 65_535]),
        Value::Array(enter),
        list(&[65_535, 65_535, 65_535, 255]),
        list(&[65_535, -65_535, 65_535]),
        list(&[65_535, 255]),
    ];
    [("update_players", vec![Value::Array(player)]), ("update", update)]
}
