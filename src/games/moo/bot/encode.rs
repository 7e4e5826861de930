//! Encodes typed client packets in a dialect: the reverse of [`ClientPacket::from_decoded`].
//! Arguments are found by name in the table.

use crate::game::bots::EncodePacket;
use crate::games::moo::client_packet::{ClanAction, ClientPacket, Mode};
use crate::packet::angle::to_radians_2dec;
use crate::packet::grammar::{Shape, Unit};
use crate::packet::{Dialect, Direction, Row, Value};

impl EncodePacket for ClientPacket<'_> {
    fn encode(&self, dialect: &Dialect) -> Vec<u8> {
        ClientPacket::encode(self, dialect)
    }
}

impl ClientPacket<'_> {
    /// Encodes the packet in a dialect. Empty if the dialect lacks the packet.
    pub fn encode(&self, dialect: &Dialect) -> Vec<u8> {
        self.draft(dialect).map_or_else(Vec::new, PacketDraft::encode)
    }

    /// Whether the dialect has the packet. Tables may lack packets that the server does not
    /// require.
    pub fn is_in(&self, dialect: &Dialect) -> bool {
        self.draft(dialect).is_some_and(|draft| draft.row.is_some())
    }

    fn draft<'d>(&self, dialect: &'d Dialect) -> Option<PacketDraft<'d>> {
        let draft = |name| PacketDraft::new(dialect, name);
        let command = |name, sequence: &Option<u32>, tick: &Option<u32>| {
            draft(name).set("sequence", or_nil(*sequence)).set("tick", or_nil(*tick))
        };
        Some(match self {
            Self::Hello { version, mode, name, skin } => {
                let hello =
                    draft("hello").set("version", *version).set("mode", u8::from(*mode == Mode::Play));
                hello.set("name", or_nil(name.as_deref())).set("skin", or_nil(*skin))
            }
            Self::EnterGame { name, skin, moofoll } => {
                let (name, skin) = (or_nil(name.as_deref()), or_nil(*skin));
                let is_native = dialect.row(Direction::ToServer, "enter_game").is_none();
                let join = draft(if is_native { "join" } else { "enter_game" });
                join.set("name", name).set("skin", skin).set("moofoll", *moofoll)
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
            Self::Clan { sequence, tick, action } => action.fill(|name| command(name, sequence, tick)),
            // There is only one kind of map ping.
            Self::MapPing { sequence, tick } => command("map_ping", sequence, tick).set("kind", 1),
            Self::ToggleAttack => draft("toggle").set("what", 1),
            Self::Ping { nonce } => draft("ping").set("nonce", or_nil(*nonce)),
            Self::Spectate { player } => draft("spectate").set("player", or_nil(*player)),
            Self::Unused(_) => return None,
        })
    }
}

impl ClanAction {
    fn fill<'d>(&self, command: impl Fn(&'static str) -> PacketDraft<'d>) -> PacketDraft<'d> {
        let of_player = |name, player: u32| command(name).set("player", player).set("sid", player);
        match self {
            ClanAction::Create { name } => command("clan_create").set("name", name.as_str()),
            ClanAction::Leave => command("clan_leave"),
            ClanAction::Request { name } => command("clan_request").set("name", name.as_str()),
            ClanAction::Answer { player, accept } => {
                of_player("clan_answer", *player).set("accept", u8::from(*accept))
            }
            ClanAction::Kick { player } => of_player("clan_kick", *player),
        }
    }
}

/// A packet under construction, with a value for each argument of its row. Arguments that the row
/// lacks are dropped; without a row, the packet is empty.
struct PacketDraft<'d> {
    dialect: &'d Dialect,
    row: Option<&'d Row>,
    values: Vec<Value>,
}

impl<'d> PacketDraft<'d> {
    fn new(dialect: &'d Dialect, name: &str) -> Self {
        let row = dialect.row(Direction::ToServer, name);
        PacketDraft { dialect, row, values: vec![Value::Nil; row.map_or(0, |row| row.arguments.len())] }
    }

    /// Sets an argument, or a key of a map argument.
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
        let value = argument.zip(angle).map(|(argument, angle)| angle_value(angle, &argument.ty.shape));
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

/// An angle in the unit of its argument: radians, or a binary angle of 16 or 8 bits.
fn angle_value(angle: u16, shape: &Shape) -> Value {
    match shape {
        Shape::Num { .. } => Value::from(to_radians_2dec(angle)),
        Shape::Int { unit: Some(Unit::Turn8), .. } => Value::from(angle >> 8),
        _ => Value::from(angle),
    }
}
