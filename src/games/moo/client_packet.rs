//! Typed client packets: one enum for all dialects, so that
//! [`packet_handler`](super::packet_handler) does not depend on a dialect.
//!
//! A [`DecodedPacket`] is converted to a [`ClientPacket`]: radians become binary angles, and the
//! map of a MooMoo `enter_game` becomes the same variant as the native list. The reverse, which
//! only clients need, is in `bot::encode`. Arguments are found by name in the table, never by
//! position. `row_check` checks that a table has the arguments that each packet requires.

use crate::packet::{DecodedPacket, Row};

/// The mode that a native client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// 0: spectate without a body.
    Spectate,
    /// 1: play.
    Play,
}

/// A clan command. Names are as typed, at most 7 characters. `player` is a player ID.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "name and player are described once, for all variants")]
pub enum ClanAction {
    /// Founds a clan.
    Create { name: String },
    /// Leaves the player's own clan; dissolves it if the player owns it.
    Leave,
    /// Requests to join a clan.
    Request { name: String },
    /// Accepts or declines the request of a player; 0 selects the first applicant.
    Answer { player: u32, accept: bool },
    /// Removes a member from the clan.
    Kick { player: u32 },
}

/// A client packet. Angles are binary: 65,536 steps per turn, 0 is right, a quarter turn is down.
/// `sequence` is the command's sequence number and `tick` its target tick, in dialects that have
/// them. Names and texts are as typed. Valid skins are 0 to 9.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "fields are described once, for all variants")]
pub enum ClientPacket<'a> {
    /// The first packet of a native client, with its protocol version.
    Hello { version: u16, mode: Mode, name: Option<String>, skin: Option<u8> },
    /// Requests a body; with `moofoll` also resources, as clients of the MooMoo dialects can.
    EnterGame { name: Option<String>, skin: Option<u8>, moofoll: bool },
    /// Walks in a direction; without a direction it stops.
    Move { sequence: Option<u32>, tick: Option<u32>, direction: Option<u16> },
    /// Sets the direction of view.
    Aim { sequence: Option<u32>, tick: Option<u32>, heading: u16 },
    /// Starts or stops attacking, or uses the item in hand. Some dialects include the heading of
    /// the attack.
    Attack { sequence: Option<u32>, tick: Option<u32>, state: bool, heading: Option<u16> },
    /// Selects a weapon or an item. A missing `is_weapon` means an item.
    Select { sequence: Option<u32>, tick: Option<u32>, id: u16, is_weapon: bool },
    /// Chooses an upgrade of the current age: weapons below 16, then items.
    Upgrade { sequence: Option<u32>, tick: Option<u32>, choice: u16 },
    /// Sends a chat message of at most 30 characters.
    Chat { sequence: Option<u32>, tick: Option<u32>, text: String },
    /// Executes a clan command.
    Clan { sequence: Option<u32>, tick: Option<u32>, action: ClanAction },
    /// Sends the player's position to its clan.
    MapPing { sequence: Option<u32>, tick: Option<u32> },
    /// Starts or stops auto-attack, which attacks without a held button. MooMoo dialects only.
    ToggleAttack,
    /// Measures the round-trip time. The pong repeats the nonce.
    Ping { nonce: Option<u32> },
    /// Chooses the player to spectate; `None` is the leader.
    Spectate { player: Option<u16> },
    /// A known packet that has no effect in this game.
    Unused(&'a Row),
}

impl<'a> ClientPacket<'a> {
    /// Converts a decoded packet. Optional arguments that the table lacks are `None`. A packet
    /// without a required argument is [`ClientPacket::Unused`].
    pub fn from_decoded(decoded: &DecodedPacket<'a>) -> Self {
        Self::try_from_decoded(decoded).unwrap_or(Self::Unused(decoded.row))
    }

    fn try_from_decoded(from: &DecodedPacket<'a>) -> Option<Self> {
        let (sequence, tick) = (from.integer("sequence"), from.integer("tick"));
        Some(match from.row.name.as_str() {
            "hello" => {
                let mode = if from.integer::<u8>("mode")? == 0 { Mode::Spectate } else { Mode::Play };
                let (name, skin) = (from.text("name"), from.integer("skin"));
                Self::Hello { version: from.integer("version")?, mode, name, skin }
            }
            "join" | "enter_game" => {
                let moofoll = from.bool_value("moofoll").unwrap_or(false);
                Self::EnterGame { name: from.text("name"), skin: from.integer("skin"), moofoll }
            }
            "move" => Self::Move { sequence, tick, direction: from.angle("direction") },
            // Clients send it when the window regains focus and they know of no held key.
            "reset_move" => Self::Move { sequence, tick, direction: None },
            "aim" => Self::Aim { sequence, tick, heading: from.angle("heading")? },
            "attack" => {
                let (state, heading) = (from.bool_value("state")?, from.angle("heading"));
                Self::Attack { sequence, tick, state, heading }
            }
            "select" => {
                let is_weapon = from.bool_value("is_weapon").unwrap_or(false);
                Self::Select { sequence, tick, id: from.integer("id")?, is_weapon }
            }
            "upgrade" => Self::Upgrade { sequence, tick, choice: from.integer("choice")? },
            "chat" => Self::Chat { sequence, tick, text: from.text("text")? },
            "map_ping" => Self::MapPing { sequence, tick },
            // The other value of `what` locks the direction of view, which the client handles
            // itself.
            "toggle" if from.bool_value("what") == Some(true) => Self::ToggleAttack,
            "ping" => Self::Ping { nonce: from.integer("nonce") },
            "spectate" => Self::Spectate { player: from.integer("player") },
            _ => Self::Clan { sequence, tick, action: ClanAction::typed(from)? },
        })
    }
}

impl ClanAction {
    fn typed(from: &DecodedPacket<'_>) -> Option<ClanAction> {
        let player = || from.integer("player").or_else(|| from.integer("sid"));
        Some(match from.row.name.as_str() {
            "clan_create" => ClanAction::Create { name: from.text("name")? },
            "clan_leave" => ClanAction::Leave,
            "clan_request" => ClanAction::Request { name: from.text("name")? },
            "clan_answer" => match from.bool_value("accept") {
                Some(accept) => ClanAction::Answer { player: player()?, accept },
                // An answer without a player applies to the first applicant.
                None => ClanAction::Answer { player: 0, accept: player()? != 0 },
            },
            "clan_kick" => ClanAction::Kick { player: player()? },
            _ => return None,
        })
    }
}
