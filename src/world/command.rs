//! Commands: everything that changes the world.
//!
//! Comes in: values from the session, or the bytes of a command frame. Goes out: the same. Never: trust. A command says
//! what somebody wants; whether it happens is decided when it is applied.

use std::fmt;

use crate::entity::PlayerId;
use crate::fixed::Angle;
use crate::rules::{self, Resource};

/// What somebody wants, and who, and as which of their wishes. The tick is the one in which it is stepped.
///
/// The order of the fields is the canonical order of commands within a tick. It is total, so that the order of arrival
/// can never matter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Command {
    /// Who wants it; 0 for the operator.
    pub player: PlayerId,
    /// Strictly increasing per issuer, from 1. A repeat is refused.
    pub sequence: u32,
    /// What is wanted.
    pub action: Action,
}

/// What can be wanted. The order of the variants is the order of their kinds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Action {
    /// A player gets a body. Operator only.
    Join {
        /// Who joins, 1 or more.
        player: PlayerId,
        /// At most [`crate::rules::NAME_CHARS`] characters without control characters; may be empty.
        name: String,
        /// Colour index. The world only keeps it.
        skin: u8,
    },
    /// A player's body goes. Operator only.
    Leave {
        /// Who leaves.
        player: PlayerId,
    },
    /// Walk in a direction until told otherwise.
    Move {
        /// Any angle; `None` stops.
        direction: Option<Angle>,
    },
    /// Look somewhere.
    Aim {
        /// Any angle.
        heading: Angle,
    },
    /// Say something to those around.
    Chat {
        /// 1 to [`crate::rules::CHAT_CHARS`] characters without control characters.
        text: String,
    },
    /// Swing what is in the hand, at once if it is ready, and again and again until told otherwise.
    Attack {
        /// Whether to go on, or to stop.
        on: bool,
    },
    /// Play again after death, by that name and in that colour.
    Respawn {
        /// As in [`Action::Join`].
        name: String,
        /// As in [`Action::Join`].
        skin: u8,
    },
    /// A player is given something. Operator only.
    Grant {
        /// Who is given it.
        player: PlayerId,
        /// What.
        resource: Resource,
        /// How much. What goes beyond the bound of a `u32` is lost.
        amount: u32,
    },
}

/// How many kinds of action there are.
pub const KINDS: usize = 8;

impl Action {
    /// The kind's number: its place in the order, its byte in a command frame, its index in counts.
    pub fn kind(&self) -> u8 {
        match self {
            Action::Join { .. } => 0,
            Action::Leave { .. } => 1,
            Action::Move { .. } => 2,
            Action::Aim { .. } => 3,
            Action::Chat { .. } => 4,
            Action::Attack { .. } => 5,
            Action::Respawn { .. } => 6,
            Action::Grant { .. } => 7,
        }
    }
}

/// Why a command was not carried out. A refused command leaves no trace in the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// The sequence is not above the last one applied for this issuer.
    Repeated,
    /// The issuer has no body in the world.
    UnknownIssuer,
    /// Only the operator may do this.
    OperatorOnly,
    /// Only a player may do this, since it needs a body.
    PlayerOnly,
    /// The number 0 is the operator's and cannot join.
    ReservedPlayer,
    /// This player has a body already.
    AlreadyJoined,
    /// This player has no body that could go.
    UnknownPlayer,
    /// The name has more than [`crate::rules::NAME_CHARS`] characters.
    NameTooLong,
    /// The name holds a control character.
    NameForbidden,
    /// There is nothing but space in the text.
    ChatEmpty,
    /// The text has more than [`crate::rules::CHAT_CHARS`] characters.
    ChatTooLong,
    /// The text holds a control character.
    ChatForbidden,
    /// The issuer is dead; it has to play again first.
    Dead,
    /// The issuer lives, so it cannot begin again.
    Alive,
}

impl Refusal {
    /// The reason's name in logs, metrics and the wire's `error` packet.
    pub fn name(self) -> &'static str {
        match self {
            Refusal::Repeated => "repeated",
            Refusal::UnknownIssuer => "unknown_issuer",
            Refusal::OperatorOnly => "operator_only",
            Refusal::PlayerOnly => "player_only",
            Refusal::ReservedPlayer => "reserved_player",
            Refusal::AlreadyJoined => "already_joined",
            Refusal::UnknownPlayer => "unknown_player",
            Refusal::NameTooLong => "name_too_long",
            Refusal::NameForbidden => "name_forbidden",
            Refusal::ChatEmpty => "chat_empty",
            Refusal::ChatTooLong => "chat_too_long",
            Refusal::ChatForbidden => "chat_forbidden",
            Refusal::Dead => "dead",
            Refusal::Alive => "alive",
        }
    }
}

// ---- the command frame ---------------------------------------------------------------------------------------
//
//    0       4        6                              one command
//    +-------+--------+----------+----------+--      +--------+----------+------+-------------
//    | tick  | count  | command  | command  |  ...   | player | sequence | kind | the kind's own
//    | u32   | u16    |          |          |        | u16    | u32      | u8   |
//    +-------+--------+----------+----------+--      +--------+----------+------+-------------
//
//    kind 0 join   player u16, skin u8, name: length u8, UTF-8
//         1 leave  player u16
//         2 move   0, or 1 and direction u16
//         3 aim    heading u16
//         4 chat   text: length u8, UTF-8
//         5 attack 0 or 1
//         6 respawn skin u8, name: length u8, UTF-8
//         7 grant  player u16, resource u8, amount u32
//
// Numbers are written least significant byte first. The same bytes go over the wire, into the journal and into test
// fixtures.

/// Bytes of a text in a command frame. A longer one is cut at a character; what is left of it still has more characters
/// than any text may have, so it is refused just as the whole would have been.
pub const TEXT_BYTES: usize = 255;

/// Commands that one frame can hold.
pub const FRAME_COMMANDS: usize = 65_535;

const _: () = assert!(TEXT_BYTES / 4 > rules::CHAT_CHARS && TEXT_BYTES / 4 > rules::NAME_CHARS);

/// The commands of one tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The tick in which they are stepped: [`crate::World::tick`] before that step.
    pub tick: u32,
    /// The commands, in any order.
    pub commands: Vec<Command>,
}

/// Why bytes are not a command frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// The bytes end before the commands do.
    Truncated,
    /// The bytes go on after the last command.
    Trailing,
    /// There is no action of that kind.
    Kind(u8),
    /// A move neither stops nor has a direction.
    Direction(u8),
    /// A flag is neither 0 nor 1.
    Flag(u8),
    /// There is no resource of that number.
    Resource(u8),
    /// A text is not UTF-8.
    Text,
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameError::Truncated => f.write_str("the command frame ends before its commands do"),
            FrameError::Trailing => f.write_str("the command frame goes on after its last command"),
            FrameError::Kind(kind) => write!(f, "the command frame holds a command of unknown kind {kind}"),
            FrameError::Direction(flag) => write!(f, "a move in the command frame has {flag} directions"),
            FrameError::Flag(flag) => write!(f, "a flag in the command frame is {flag}"),
            FrameError::Resource(number) => write!(f, "the command frame names the resource {number}"),
            FrameError::Text => f.write_str("a text in the command frame is not UTF-8"),
        }
    }
}

impl std::error::Error for FrameError {}

/// Appends a frame of these commands. Commands beyond [`FRAME_COMMANDS`] are left out.
pub fn encode_frame(tick: u32, commands: &[Command], out: &mut Vec<u8>) {
    let commands = &commands[..commands.len().min(FRAME_COMMANDS)];
    out.extend_from_slice(&tick.to_le_bytes());
    out.extend_from_slice(&(commands.len() as u16).to_le_bytes());
    for command in commands {
        encode(command, out);
    }
}

/// The frame that the bytes hold.
///
/// # Errors
/// When they are not exactly one frame.
pub fn decode_frame(bytes: &[u8]) -> Result<Frame, FrameError> {
    let mut reader = Reader { bytes };
    let tick = reader.u32()?;
    let count = reader.u16()?;
    // Room is made as commands are found, so a count that is not true costs nothing.
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
        Action::Respawn { name, skin } => {
            out.push(*skin);
            encode_text(name, out);
        }
        Action::Grant { player, resource, amount } => {
            out.extend_from_slice(&player.0.to_le_bytes());
            out.push(*resource as u8);
            out.extend_from_slice(&amount.to_le_bytes());
        }
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
    let sequence = reader.u32()?;
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

    fn text(&mut self) -> Result<String, FrameError> {
        let length = usize::from(self.u8()?);
        let text = std::str::from_utf8(self.take(length)?);
        text.map(str::to_string).map_err(|_| FrameError::Text)
    }
}
