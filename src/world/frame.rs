//! The command frame: the commands of one tick as bytes.
//!
//! Encoding and decoding do not check what a command does; every encoded frame can be decoded.
//!
//! ```text
//!    0       4        6                              one command
//!    +-------+--------+----------+----------+--      +--------+----------+------+-------------
//!    | tick  | count  | command  | command  |  ...   | player | sequence | kind | the kind's own
//!    | u32   | u16    |          |          |        | u16    | u64      | u8   |
//!    +-------+--------+----------+----------+--      +--------+----------+------+-------------
//!
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
//!        17 say    text: length u8, UTF-8
//! ```
//!
//! Numbers are little-endian. The same bytes are used in captures and in test fixtures.

use std::fmt;

use crate::command::{Action, Command, Selection, Spawned};
use crate::entity::PlayerId;
use crate::fixed::Angle;
use crate::rules::{self, AnimalKind, Resource};

/// Bytes of a text in a command frame. A longer text is truncated at a character boundary; the rest
/// still exceeds every limit on text, so it is rejected just as the whole text would be.
pub const TEXT_BYTES: usize = 255;

/// Maximum number of commands in a frame: its count has 16 bits. More are an error, so that no
/// command is silently omitted.
pub const FRAME_COMMANDS: usize = 65_535;

const _: () = assert!(TEXT_BYTES / 4 > rules::CHAT_CHARS && TEXT_BYTES / 4 > rules::NAME_CHARS);
const _: () = assert!(TEXT_BYTES / 4 > rules::CLAN_CHARS && TEXT_BYTES / 4 > rules::SAY_CHARS);

/// The commands of one tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The tick in which they are executed: [`crate::World::tick`] before that step.
    pub tick: u32,
    /// The commands, in any order.
    pub commands: Vec<Command>,
}

/// Why bytes are not a command frame, or commands cannot be encoded as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// This number of commands is more than [`FRAME_COMMANDS`].
    TooMany(usize),
    /// The bytes end before the last command does.
    Truncated,
    /// Bytes follow the last command.
    Trailing,
    /// There is no action of this kind.
    Kind(u8),
    /// The flag of a move is neither 0 (stop) nor 1 (a direction follows).
    Direction(u8),
    /// A flag is neither 0 nor 1.
    Flag(u8),
    /// There is no resource with this number.
    Resource(u8),
    /// There is no animal with this number.
    Animal(u8),
    /// A text is not UTF-8.
    Text,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::TooMany(count) => {
                write!(f, "{count} commands in one tick: a command frame holds at most {FRAME_COMMANDS}")
            }
            FrameError::Truncated => f.write_str("the command frame is truncated"),
            FrameError::Trailing => f.write_str("the command frame has extra bytes after its last command"),
            FrameError::Kind(kind) => {
                write!(f, "the command frame contains a command of unknown kind {kind}")
            }
            FrameError::Direction(flag) => {
                write!(f, "a move in the command frame has the invalid direction flag {flag}")
            }
            FrameError::Flag(flag) => write!(f, "a flag in the command frame is {flag} instead of 0 or 1"),
            FrameError::Resource(number) => {
                write!(f, "the command frame names the unknown resource {number}")
            }
            FrameError::Animal(number) => write!(f, "the command frame names the unknown animal {number}"),
            FrameError::Text => f.write_str("a string in the command frame is not UTF-8"),
        }
    }
}

impl std::error::Error for FrameError {}

/// Appends a frame with these commands.
///
/// # Errors
/// [`FrameError::TooMany`] if there are more than [`FRAME_COMMANDS`]; then nothing is appended.
pub fn encode_frame(tick: u32, commands: &[Command], out: &mut Vec<u8>) -> Result<(), FrameError> {
    if commands.len() > FRAME_COMMANDS {
        return Err(FrameError::TooMany(commands.len()));
    }
    out.extend_from_slice(&tick.to_le_bytes());
    out.extend_from_slice(&(commands.len() as u16).to_le_bytes());
    for command in commands {
        encode(command, out);
    }
    Ok(())
}

/// Decodes a frame.
///
/// # Errors
/// The bytes are not exactly one frame.
pub fn decode_frame(bytes: &[u8]) -> Result<Frame, FrameError> {
    let mut reader = Reader { bytes };
    let tick = reader.u32()?;
    let count = reader.u16()?;
    // Memory is reserved as commands are decoded, so a false count costs nothing.
    let mut commands = Vec::new();
    for _ in 0..count {
        commands.push(decode(&mut reader)?);
    }
    if reader.bytes.is_empty() {
        Ok(Frame { tick, commands })
    } else {
        Err(FrameError::Trailing)
    }
}

fn encode(command: &Command, out: &mut Vec<u8>) {
    out.extend_from_slice(&command.player.0.to_le_bytes());
    out.extend_from_slice(&command.sequence.to_le_bytes());
    out.push(command.action.kind());
    match &command.action {
        Action::Join { player, name, skin } => {
            out.extend_from_slice(&player.0.to_le_bytes());
            out.push(*skin);
            encode_text(name, out);
        }
        Action::Leave { player } => out.extend_from_slice(&player.0.to_le_bytes()),
        Action::Move { direction: None } => out.push(0),
        Action::Move { direction: Some(angle) } => {
            out.push(1);
            out.extend_from_slice(&angle.0.to_le_bytes());
        }
        Action::Aim { heading } => out.extend_from_slice(&heading.0.to_le_bytes()),
        Action::Chat { text } => encode_text(text, out),
        Action::Attack { on } => out.push(u8::from(*on)),
        Action::Upgrade { choice } => out.push(*choice),
        Action::Select { what: Selection::Weapon(id) } => out.extend_from_slice(&[0, *id]),
        Action::Select { what: Selection::Item(id) } => out.extend_from_slice(&[1, *id]),
        Action::Respawn { name, skin } => {
            out.push(*skin);
            encode_text(name, out);
        }
        Action::Grant { player, resource, amount } => {
            out.extend_from_slice(&player.0.to_le_bytes());
            out.push(*resource as u8);
            out.extend_from_slice(&amount.to_le_bytes());
        }
        Action::ClanCreate { name } | Action::ClanRequest { name } => encode_text(name, out),
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
        Action::Say { text } => encode_text(text, out),
    }
}

fn encode_text(text: &str, out: &mut Vec<u8>) {
    let mut end = text.len().min(TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    out.push(end as u8);
    out.extend_from_slice(&text.as_bytes()[..end]);
}

fn decode(reader: &mut Reader<'_>) -> Result<Command, FrameError> {
    let player = PlayerId(reader.u16()?);
    let sequence = reader.u64()?;
    let action = match reader.u8()? {
        0 => {
            let player = PlayerId(reader.u16()?);
            let skin = reader.u8()?;
            Action::Join { player, skin, name: reader.text()? }
        }
        1 => Action::Leave { player: PlayerId(reader.u16()?) },
        2 => match reader.u8()? {
            0 => Action::Move { direction: None },
            1 => Action::Move { direction: Some(Angle(reader.u16()?)) },
            flag => return Err(FrameError::Direction(flag)),
        },
        3 => Action::Aim { heading: Angle(reader.u16()?) },
        4 => Action::Chat { text: reader.text()? },
        5 => Action::Attack { on: reader.flag()? },
        6 => {
            let skin = reader.u8()?;
            Action::Respawn { skin, name: reader.text()? }
        }
        7 => {
            let (player, resource) = (PlayerId(reader.u16()?), reader.u8()?);
            let resource = Resource::from_number(resource).ok_or(FrameError::Resource(resource))?;
            Action::Grant { player, resource, amount: reader.u32()? }
        }
        8 => Action::Upgrade { choice: reader.u8()? },
        9 => {
            let of_item = reader.flag()?;
            let id = reader.u8()?;
            Action::Select { what: if of_item { Selection::Item(id) } else { Selection::Weapon(id) } }
        }
        10 => Action::ClanCreate { name: reader.text()? },
        11 => Action::ClanLeave,
        12 => Action::ClanRequest { name: reader.text()? },
        13 => Action::ClanAnswer { player: PlayerId(reader.u16()?), accept: reader.flag()? },
        14 => Action::ClanKick { player: PlayerId(reader.u16()?) },
        15 => Action::Ping,
        16 => {
            let (is_item, number) = (reader.flag()?, reader.u8()?);
            let animal = || AnimalKind::from_number(number).ok_or(FrameError::Animal(number));
            let what = if is_item { Spawned::Item(number) } else { Spawned::Animal(animal()?) };
            Action::Spawn { what, x_px: reader.u16()?, y_px: reader.u16()? }
        }
        17 => Action::Say { text: reader.text()? },
        kind => return Err(FrameError::Kind(kind)),
    };
    Ok(Command { player, sequence, action })
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], FrameError> {
        if count > self.bytes.len() {
            return Err(FrameError::Truncated);
        }
        let (taken, rest) = self.bytes.split_at(count);
        self.bytes = rest;
        Ok(taken)
    }

    fn u8(&mut self) -> Result<u8, FrameError> {
        Ok(self.take(1)?[0])
    }

    fn flag(&mut self) -> Result<bool, FrameError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            flag => Err(FrameError::Flag(flag)),
        }
    }

    fn u16(&mut self) -> Result<u16, FrameError> {
        let bytes = self.take(2)?;
        Ok(u16::from_le_bytes([bytes[0], bytes[1]]))
    }

    fn u32(&mut self) -> Result<u32, FrameError> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn u64(&mut self) -> Result<u64, FrameError> {
        let (low, high) = (self.u32()?, self.u32()?);
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    fn text(&mut self) -> Result<String, FrameError> {
        let length = usize::from(self.u8()?);
        let text = std::str::from_utf8(self.take(length)?);
        text.map(str::to_string).map_err(|_| FrameError::Text)
    }
}
