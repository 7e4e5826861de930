//! Typed client packets: one enum for all dialects, so that [`verbs`](super::packet_handler) do not
//! depend on any dialect.
//!
//! A [`DecodedPacket`] packet becomes a [`ClientPacket`], in which radians are converted to binary angles,
//! and the map of a MooMoo `enter_game` becomes the same variant as the native list. The reverse, which only clients
//! need, is in `client::said`. Arguments are found by name in the table, never by position; `packet::needs`
//! checks that the table has the arguments that each packet requires.

use crate::packet::{DecodedPacket, Row};

/// The mode that a native client requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// 0: watch without a body.
    Spectate,
    /// 1: play.
    Play,
}

/// A clan command. Names are as typed, at most 7 characters; a player is given by its number.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "name and player are described once, for all variants")]
pub enum ClanAction {
    /// Found a clan.
    Create { name: String },
    /// Leave the player's own clan, or disband it if the player owns it.
    Leave,
    /// Ask to join a clan.
    Request { name: String },
    /// Accept or decline a player who asks to join; player 0 is the first in the queue.
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
    /// A clan command of the player.
    Clan { sequence: Option<u32>, tick: Option<u32>, action: ClanAction },
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
            "enter" | "enter_game" => {
                let moofoll = from.bool_value("moofoll").unwrap_or(false);
                Self::EnterGame { name: from.text("name"), skin: from.integer("skin"), moofoll }
            }
            "move" => Self::Move { sequence, tick, direction: from.angle("direction") },
            // Sent when the window regains focus and no key is known to be held.
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
            // The other switch locks the direction, which the client handles alone.
            "toggle" if from.bool_value("what") == Some(true) => Self::ToggleAttack,
            "ping" => Self::Ping { nonce: from.integer("nonce") },
            "follow" => Self::Follow { player: from.integer("player") },
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
                // An answer without a player applies to the first in the queue.
                None => ClanAction::Answer { player: 0, accept: player()? != 0 },
            },
            "clan_kick" => ClanAction::Kick { player: player()? },
            _ => return None,
        })
    }
}
