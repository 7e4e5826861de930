//! Typed client packets: one enum for all dialects, so that the session does not depend on any
//! dialect.
//!
//! A [`Decoded`] packet becomes a [`ClientPacket`], in which radians are converted to binary angles
//! and the MooMoo map of `enter_game` looks like the native list. Our own client encodes a
//! [`ClientPacket`] in a dialect. Arguments are found by name in the table, never by position.
//!
//! Packets that the world does not use yet still have their row: [`ClientPacket::Unused`].

use rmpv::Value;

use super::angle;
use super::dialect::{Decoded, Dialect};
use super::fit;
use super::grammar::{Argument, Shape, Unit};
use super::row::{Direction, Row};

/// The mode that a native client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// 0: watch without a body.
    Watch,
    /// 1: play.
    Play,
}

/// A clan request. Names are as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClanWish {
    /// Found a clan.
    Create {
        /// At most 7 characters.
        name: String,
    },
    /// Leave the player's own clan, or disband it if the player owns it.
    Leave,
    /// Ask to join a clan.
    Request {
        /// At most 7 characters.
        name: String,
    },
    /// Accept or refuse a player who asks to join.
    Answer {
        /// The player's number; 0 is the first player in the queue.
        player: u32,
        /// Whether the player is accepted.
        accept: bool,
    },
    /// Remove a member from the clan.
    Kick {
        /// The player's number.
        player: u32,
    },
}

/// A client packet. Angles are binary: 65,536 steps per turn, 0 right, a quarter down. `sequence`
/// is the command's number and `tick` the one for which it is meant, in dialects that carry them.
#[allow(missing_docs, reason = "sequence and tick are described once, for all variants")]
#[derive(Debug, Clone, PartialEq)]
pub enum ClientPacket<'a> {
    /// The first packet of a native client.
    Hello {
        /// The protocol version that the client speaks.
        version: u16,
        /// Whether the client plays or watches.
        mode: Mode,
        /// The player's name, at most 15 characters, as typed.
        name: Option<String>,
        /// The player's colour; 0 to 9 exist.
        skin: Option<u8>,
    },
    /// The client asks for a body.
    EnterGame {
        /// The player's name, at most 15 characters, as typed.
        name: Option<String>,
        /// The player's colour; 0 to 9 exist.
        skin: Option<u8>,
        /// The MooMoo dialects' request for resources at the start.
        moofoll: bool,
    },
    /// The player starts walking, or stops.
    Move {
        sequence: Option<u32>,
        tick: Option<u32>,
        /// The walking direction; `None` stops.
        direction: Option<u16>,
    },
    /// The player turns to a heading.
    Aim {
        sequence: Option<u32>,
        tick: Option<u32>,
        /// The new heading.
        heading: u16,
    },
    /// The player starts or stops attacking, or places the item in hand.
    Attack {
        sequence: Option<u32>,
        tick: Option<u32>,
        /// `true` starts the attack, `false` stops it.
        state: bool,
        /// The heading of the attack, if the packet carries one.
        heading: Option<u16>,
    },
    /// The player selects a weapon or an item.
    Select {
        sequence: Option<u32>,
        tick: Option<u32>,
        /// The number of a weapon or an item.
        id: u16,
        /// Whether `id` is a weapon; a missing argument means an item.
        is_weapon: bool,
    },
    /// The player chooses an upgrade of the current age.
    Upgrade {
        sequence: Option<u32>,
        tick: Option<u32>,
        /// Weapons below 16, then items.
        choice: u16,
    },
    /// The player sends a chat message.
    Chat {
        sequence: Option<u32>,
        tick: Option<u32>,
        /// The text, at most 30 characters, as typed.
        text: String,
    },
    /// The player makes a clan request.
    Clan {
        sequence: Option<u32>,
        tick: Option<u32>,
        /// The request.
        wish: ClanWish,
    },
    /// The player shows its position to its clan.
    MapPing { sequence: Option<u32>, tick: Option<u32> },
    /// The MooMoo dialects' auto-attack switch: attack without holding a button, or stop doing so.
    ToggleAttack,
    /// The client measures the round-trip time.
    Ping {
        /// Echoed in the pong.
        nonce: Option<u32>,
    },
    /// A watcher chooses the player to follow; `None` is the leader.
    Follow {
        /// The player's number.
        player: Option<u16>,
    },
    /// A known packet that the world does not use.
    Unused(&'a Row),
}

/// The type of argument that a typed packet requires.
#[derive(Clone, Copy)]
enum Need {
    Angle,
    Whole,
    Truth,
    Text,
    Map,
}

/// The packets with a typed variant, and their required arguments; `|` separates dialects' names.
const NEEDS: [(&str, &[(&str, Need)]); 16] = [
    ("hello", &[("version", Need::Whole), ("mode", Need::Whole)]),
    ("enter", &[("name", Need::Text)]),
    ("enter_game", &[("player", Need::Map)]),
    ("move", &[("direction", Need::Angle)]),
    ("aim", &[("heading", Need::Angle)]),
    ("attack", &[("state", Need::Truth)]),
    ("select", &[("id", Need::Whole), ("is_weapon", Need::Truth)]),
    ("upgrade", &[("choice", Need::Whole)]),
    ("chat", &[("text", Need::Text)]),
    ("clan_create", &[("name", Need::Text)]),
    ("clan_request", &[("name", Need::Text)]),
    ("clan_answer", &[("player|sid", Need::Whole)]),
    ("clan_kick", &[("player|sid", Need::Whole)]),
    ("toggle", &[("what", Need::Truth)]),
    ("ping", &[]),
    ("follow", &[("player", Need::Whole)]),
];

/// Checks that a row with the name of a typed packet has the arguments which that packet requires.
/// A table without them is rejected.
pub(super) fn check_row(row: &Row) -> Result<(), String> {
    if row.direction != Direction::ToServer {
        return Ok(());
    }
    let needs = NEEDS.iter().find(|(name, _)| *name == row.name).map_or(&[][..], |(_, needs)| needs);
    for (name, need) in needs {
        let argument =
            row.arguments.iter().find(|argument| name.split('|').any(|name| argument.name == name));
        let Some(argument) = argument else {
            return Err(format!("the server needs an argument {name:?} in {}", row.name));
        };
        if !need.met_by(argument) {
            return Err(format!("the server cannot use {argument} in {}", row.name));
        }
    }
    Ok(())
}

impl Need {
    fn met_by(self, argument: &Argument) -> bool {
        let shape = &argument.kind.shape;
        match self {
            Need::Angle => matches!(
                shape,
                Shape::Num { unit: Some(Unit::Rad) }
                    | Shape::Int { unit: Some(Unit::Turn16 | Unit::Turn8), .. }
            ),
            Need::Whole => matches!(shape, Shape::Int { .. }),
            Need::Truth => matches!(shape, Shape::Bool | Shape::Flag),
            Need::Text => matches!(shape, Shape::Str { .. }),
            Need::Map => matches!(shape, Shape::Map(_)),
        }
    }
}

impl<'a> ClientPacket<'a> {
    /// Converts a decoded packet. Optional arguments that the table lacks are left out; a packet
    /// without a required argument is unused.
    pub fn from_decoded(decoded: &Decoded<'a>) -> Self {
        let row = decoded.row;
        let (sequence, tick) = (number(decoded.get("sequence")), number(decoded.get("tick")));
        let known = match row.name.as_str() {
            "hello" => hello(decoded),
            "enter" | "enter_game" => Some(enter_game(decoded)),
            "move" => {
                let direction = angle_of(decoded, "direction");
                Some(Self::Move { sequence, tick, direction })
            }
            // The client sends this when its window regains focus and no key is known to be held:
            // the player stops.
            "reset_move" => Some(Self::Move { sequence, tick, direction: None }),
            "aim" => angle_of(decoded, "heading").map(|heading| Self::Aim { sequence, tick, heading }),
            "attack" => {
                let heading = angle_of(decoded, "heading");
                truth(decoded.get("state")).map(|state| Self::Attack { sequence, tick, state, heading })
            }
            "select" => {
                let is_weapon = truth(decoded.get("is_weapon")).unwrap_or(false);
                number(decoded.get("id")).map(|id| Self::Select { sequence, tick, id, is_weapon })
            }
            "upgrade" => number(decoded.get("choice")).map(|choice| Self::Upgrade { sequence, tick, choice }),
            "chat" => text(decoded.get("text")).map(|text| Self::Chat { sequence, tick, text }),
            "map_ping" => Some(Self::MapPing { sequence, tick }),
            // The other switch locks the direction, which the client handles alone.
            "toggle" if truth(decoded.get("what")) == Some(true) => Some(Self::ToggleAttack),
            "ping" => Some(Self::Ping { nonce: number(decoded.get("nonce")) }),
            "follow" => Some(Self::Follow { player: number(decoded.get("player")) }),
            _ => ClanWish::from_decoded(decoded).map(|wish| Self::Clan { sequence, tick, wish }),
        };
        known.unwrap_or(Self::Unused(row))
    }

    /// Encodes the packet in a dialect; empty if the dialect does not have it.
    pub fn encode(&self, dialect: &Dialect) -> Vec<u8> {
        let row = self.names().iter().find_map(|name| dialect.row(Direction::ToServer, name));
        let Some(row) = row else { return Vec::new() };
        let values: Vec<Value> = row.arguments.iter().map(|argument| self.value(argument)).collect();
        dialect.encode(Direction::ToServer, &row.name, &values).unwrap_or_default()
    }

    /// Sequence number and intended tick of a command.
    fn order(&self) -> (Option<u32>, Option<u32>) {
        match self {
            Self::Move { sequence, tick, .. }
            | Self::Aim { sequence, tick, .. }
            | Self::Attack { sequence, tick, .. }
            | Self::Select { sequence, tick, .. }
            | Self::Upgrade { sequence, tick, .. }
            | Self::Chat { sequence, tick, .. }
            | Self::Clan { sequence, tick, .. }
            | Self::MapPing { sequence, tick } => (*sequence, *tick),
            _ => (None, None),
        }
    }

    /// The names of this packet in the tables.
    fn names(&self) -> &'static [&'static str] {
        match self {
            Self::Hello { .. } => &["hello"],
            Self::EnterGame { .. } => &["enter_game", "enter"],
            Self::Move { .. } => &["move"],
            Self::Aim { .. } => &["aim"],
            Self::Attack { .. } => &["attack"],
            Self::Select { .. } => &["select"],
            Self::Upgrade { .. } => &["upgrade"],
            Self::Chat { .. } => &["chat"],
            Self::Clan { wish: ClanWish::Create { .. }, .. } => &["clan_create"],
            Self::Clan { wish: ClanWish::Leave, .. } => &["clan_leave"],
            Self::Clan { wish: ClanWish::Request { .. }, .. } => &["clan_request"],
            Self::Clan { wish: ClanWish::Answer { .. }, .. } => &["clan_answer"],
            Self::Clan { wish: ClanWish::Kick { .. }, .. } => &["clan_kick"],
            Self::MapPing { .. } => &["map_ping"],
            Self::ToggleAttack => &["toggle"],
            Self::Ping { .. } => &["ping"],
            Self::Follow { .. } => &["follow"],
            Self::Unused(_) => &[],
        }
    }

    /// The value of an argument; nil if this packet does not carry it.
    fn value(&self, argument: &Argument) -> Value {
        match (self, argument.name.as_str()) {
            (Self::EnterGame { .. }, "player") => match &argument.kind.shape {
                Shape::Map(members) => {
                    let pair = |member: &Argument| (Value::from(member.name.as_str()), self.value(member));
                    Value::Map(members.iter().map(pair).collect())
                }
                _ => Value::Nil,
            },
            (Self::EnterGame { moofoll, .. }, "moofoll") => Value::from(*moofoll),
            (Self::Hello { version, .. }, "version") => Value::from(*version),
            (Self::Hello { mode, .. }, "mode") => Value::from(u8::from(*mode == Mode::Play)),
            (Self::Hello { name, .. } | Self::EnterGame { name, .. }, "name") => or_nil(name.as_deref()),
            (Self::Hello { skin, .. } | Self::EnterGame { skin, .. }, "skin") => or_nil(*skin),
            (_, "sequence") => or_nil(self.order().0),
            (_, "tick") => or_nil(self.order().1),
            (Self::Move { direction, .. }, "direction") => angle_value(*direction, argument),
            (Self::Aim { heading, .. }, "heading") => angle_value(Some(*heading), argument),
            (Self::Attack { heading, .. }, "heading") => angle_value(*heading, argument),
            (Self::Attack { state, .. }, "state") => Value::from(*state),
            (Self::Select { id, .. }, "id") => Value::from(*id),
            (Self::Select { is_weapon, .. }, "is_weapon") => Value::from(*is_weapon),
            (Self::Upgrade { choice, .. }, "choice") => Value::from(*choice),
            (Self::Chat { text, .. }, "text") => Value::from(text.as_str()),
            (Self::Clan { wish, .. }, name) => wish.value(name),
            // There is only one kind of ping.
            (Self::MapPing { .. }, "kind") | (Self::ToggleAttack, "what") => Value::from(1),
            (Self::Ping { nonce }, "nonce") => or_nil(*nonce),
            (Self::Follow { player }, "player") => or_nil(*player),
            _ => Value::Nil,
        }
    }
}

impl ClanWish {
    fn from_decoded(decoded: &Decoded<'_>) -> Option<ClanWish> {
        let player = || number(decoded.get("player").or_else(|| decoded.get("sid")));
        let name = || text(decoded.get("name"));
        Some(match decoded.row.name.as_str() {
            "clan_create" => ClanWish::Create { name: name()? },
            "clan_leave" => ClanWish::Leave,
            "clan_request" => ClanWish::Request { name: name()? },
            "clan_answer" => match truth(decoded.get("accept")) {
                Some(accept) => ClanWish::Answer { player: player()?, accept },
                // Some clients send the answer without a player: it applies to the first player in
                // the queue.
                None => ClanWish::Answer { player: 0, accept: player()? != 0 },
            },
            "clan_kick" => ClanWish::Kick { player: player()? },
            _ => return None,
        })
    }

    fn value(&self, argument: &str) -> Value {
        match (self, argument) {
            (ClanWish::Create { name } | ClanWish::Request { name }, "name") => Value::from(name.as_str()),
            (ClanWish::Answer { accept, .. }, "accept") => Value::from(u8::from(*accept)),
            (ClanWish::Answer { player, .. } | ClanWish::Kick { player }, "player" | "sid") => {
                Value::from(*player)
            }
            _ => Value::Nil,
        }
    }
}

fn hello<'a>(decoded: &Decoded<'a>) -> Option<ClientPacket<'a>> {
    let mode = match number::<u8>(decoded.get("mode"))? {
        0 => Mode::Watch,
        _ => Mode::Play,
    };
    let (name, skin) = (text(decoded.get("name")), number(decoded.get("skin")));
    Some(ClientPacket::Hello { version: number(decoded.get("version"))?, mode, name, skin })
}

/// The native list and the MooMoo map carry the same three things.
fn enter_game<'a>(decoded: &Decoded<'a>) -> ClientPacket<'a> {
    let in_map = |name: &str| {
        let pairs = decoded.get("player")?.as_map()?;
        pairs.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
    };
    let field = |name: &str| decoded.get(name).or_else(|| in_map(name));
    ClientPacket::EnterGame {
        name: text(field("name")),
        skin: number(field("skin")),
        moofoll: truth(field("moofoll")).unwrap_or(false),
    }
}

fn or_nil<T: Into<Value>>(value: Option<T>) -> Value {
    value.map_or(Value::Nil, Into::into)
}

fn number<N: TryFrom<i64>>(value: Option<&Value>) -> Option<N> {
    value.and_then(fit::whole).and_then(|number| N::try_from(number).ok())
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

/// Canonical values are a real boolean (`bool`) or 0 and 1 (`flag`).
fn truth(value: Option<&Value>) -> Option<bool> {
    let value = value?;
    value.as_bool().or_else(|| fit::whole(value).map(|number| number != 0))
}

/// The unit of an angle is a matter of the table: radians, or a binary angle of 16 or 8 bits.
fn angle_of(decoded: &Decoded<'_>, name: &str) -> Option<u16> {
    let value = decoded.get(name)?;
    let argument = &decoded.row.arguments[decoded.row.argument(name)?];
    match &argument.kind.shape {
        Shape::Num { .. } => angle::from_radians(value.as_f64()?),
        Shape::Int { unit: Some(Unit::Turn8), .. } => {
            number::<u8>(Some(value)).map(|turn| u16::from(turn) << 8)
        }
        _ => number(Some(value)),
    }
}

fn angle_value(angle: Option<u16>, argument: &Argument) -> Value {
    let Some(angle) = angle else { return Value::Nil };
    match &argument.kind.shape {
        Shape::Num { .. } => Value::from(angle::to_radians_2dec(angle)),
        Shape::Int { unit: Some(Unit::Turn8), .. } => Value::from(angle >> 8),
        _ => Value::from(angle),
    }
}
