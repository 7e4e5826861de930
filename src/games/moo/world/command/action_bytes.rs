//! Encoding of actions in a command frame of [`tickwire_sim::command_frame`]: the kind, then the
//! fields of that kind.
//!
//! ```text
//!    kind 0 join   player u16, skin u8, name: length u8, UTF-8
//!         1 leave  player u16
//!         2 move   0, or 1 and direction u16
//!         3 aim    heading u16
//!         4 chat   text: length u8, UTF-8
//!         5 attack 0 or 1
//!         6 respawn skin u8, name: length u8, UTF-8
//!         7 grant  player u16, resource u8, amount u32
//!         8 upgrade choice u8
//!         9 select 0 for a weapon or 1 for an item, its number u8
//!        10 clan create   name: length u8, UTF-8
//!        11 clan leave
//!        12 clan request  name: length u8, UTF-8
//!        13 clan answer   player u16, 0 or 1
//!        14 clan kick     player u16
//!        15 ping
//!        16 spawn  0 for an animal or 1 for an item, its number u8, x u16, y u16
//!        17 announce  text: length u8, UTF-8
//!        18 disconnect  player u16
//! ```
//!
//! Numbers are little-endian. Captures and test fixtures use the same bytes.

pub use tickwire_sim::command_frame::encode as encode_frame;
use tickwire_sim::command_frame::write_text;
use tickwire_sim::{Malformed, MembershipChange, Reader, MAX_TEXT_BYTES};

use crate::command::{Action, Selection, Spawned};
use crate::entity::PlayerId;
use crate::fixed::Angle;
use crate::rules::{self, AnimalKind, Resource};

/// The commands of one tick.
pub type MooCommandFrame = tickwire_sim::command_frame::CommandFrame<Action>;

// Encoding truncates a long text to `MAX_TEXT_BYTES`. The truncated text still exceeds each limit
// on text, so that it is rejected like the original text.
const _: () = assert!(MAX_TEXT_BYTES / 4 > rules::CHAT_CHARS && MAX_TEXT_BYTES / 4 > rules::NAME_CHARS);
const _: () =
    assert!(MAX_TEXT_BYTES / 4 > rules::CLAN_CHARS && MAX_TEXT_BYTES / 4 > rules::MAX_ANNOUNCEMENT_CHARS);

/// Decodes a command frame.
///
/// # Errors
/// The bytes are not exactly one command frame.
pub fn decode_frame(bytes: &[u8]) -> Result<MooCommandFrame, Malformed> {
    tickwire_sim::command_frame::decode(bytes)
}

impl tickwire_sim::Action for Action {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(self.kind());
        match self {
            Action::Join { player, name, skin } => {
                out.extend_from_slice(&player.0.to_le_bytes());
                out.push(*skin);
                write_text(name, out);
            }
            Action::Leave { player } => out.extend_from_slice(&player.0.to_le_bytes()),
            Action::Move { direction: None } => out.push(0),
            Action::Move { direction: Some(angle) } => {
                out.push(1);
                out.extend_from_slice(&angle.0.to_le_bytes());
            }
            Action::Aim { heading } => out.extend_from_slice(&heading.0.to_le_bytes()),
            Action::Chat { text } => write_text(text, out),
            Action::Attack { on } => out.push(u8::from(*on)),
            Action::Upgrade { choice } => out.push(*choice),
            Action::Select { what: Selection::Weapon(id) } => out.extend_from_slice(&[0, *id]),
            Action::Select { what: Selection::Item(id) } => out.extend_from_slice(&[1, *id]),
            Action::Respawn { name, skin } => {
                out.push(*skin);
                write_text(name, out);
            }
            Action::Grant { player, resource, amount } => {
                out.extend_from_slice(&player.0.to_le_bytes());
                out.push(*resource as u8);
                out.extend_from_slice(&amount.to_le_bytes());
            }
            Action::ClanCreate { name } | Action::ClanRequest { name } => write_text(name, out),
            Action::ClanLeave | Action::Ping => {}
            Action::ClanAnswer { player, accept } => {
                out.extend_from_slice(&player.0.to_le_bytes());
                out.push(u8::from(*accept));
            }
            Action::ClanKick { player } => out.extend_from_slice(&player.0.to_le_bytes()),
            Action::Spawn { what, x_px, y_px } => {
                match what {
                    Spawned::Animal(kind) => out.extend_from_slice(&[0, *kind as u8]),
                    Spawned::Item(id) => out.extend_from_slice(&[1, *id]),
                }
                out.extend_from_slice(&x_px.to_le_bytes());
                out.extend_from_slice(&y_px.to_le_bytes());
            }
            Action::Announce { text } => write_text(text, out),
            Action::Disconnect { player } => out.extend_from_slice(&player.0.to_le_bytes()),
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Action, Malformed> {
        Ok(match reader.u8()? {
            0 => {
                let player = PlayerId(reader.u16()?);
                let skin = reader.u8()?;
                Action::Join { player, skin, name: reader.text()? }
            }
            1 => Action::Leave { player: PlayerId(reader.u16()?) },
            2 => match reader.u8()? {
                0 => Action::Move { direction: None },
                1 => Action::Move { direction: Some(Angle(reader.u16()?)) },
                _ => return Err(Malformed::Value("direction flag")),
            },
            3 => Action::Aim { heading: Angle(reader.u16()?) },
            4 => Action::Chat { text: reader.text()? },
            5 => Action::Attack { on: reader.bool()? },
            6 => {
                let skin = reader.u8()?;
                Action::Respawn { skin, name: reader.text()? }
            }
            7 => {
                let (player, resource) = (PlayerId(reader.u16()?), reader.u8()?);
                let resource = Resource::from_number(resource).ok_or(Malformed::Value("resource"))?;
                Action::Grant { player, resource, amount: reader.u32()? }
            }
            8 => Action::Upgrade { choice: reader.u8()? },
            9 => {
                let of_item = reader.bool()?;
                let id = reader.u8()?;
                Action::Select { what: if of_item { Selection::Item(id) } else { Selection::Weapon(id) } }
            }
            10 => Action::ClanCreate { name: reader.text()? },
            11 => Action::ClanLeave,
            12 => Action::ClanRequest { name: reader.text()? },
            13 => Action::ClanAnswer { player: PlayerId(reader.u16()?), accept: reader.bool()? },
            14 => Action::ClanKick { player: PlayerId(reader.u16()?) },
            15 => Action::Ping,
            16 => {
                let (is_item, number) = (reader.bool()?, reader.u8()?);
                let animal = || AnimalKind::from_number(number).ok_or(Malformed::Value("animal"));
                let what = if is_item { Spawned::Item(number) } else { Spawned::Animal(animal()?) };
                Action::Spawn { what, x_px: reader.u16()?, y_px: reader.u16()? }
            }
            17 => Action::Announce { text: reader.text()? },
            18 => Action::Disconnect { player: PlayerId(reader.u16()?) },
            kind => return Err(Malformed::Kind(kind)),
        })
    }

    fn membership(&self) -> Option<MembershipChange> {
        match self {
            Action::Join { player, name, .. } => Some(MembershipChange::Joined(*player, name.clone())),
            Action::Leave { player } => Some(MembershipChange::Left(*player)),
            Action::Disconnect { player } => Some(MembershipChange::Disconnected(*player)),
            _ => None,
        }
    }

    fn accompanies_join(&self, joined: PlayerId) -> bool {
        let gift = rules::MOOFOLL_GIFT;
        matches!(self, Action::Grant { player, amount, .. } if *player == joined && *amount == gift)
    }
}
