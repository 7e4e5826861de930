//! The command frame: the commands of one tick as bytes.
//!
//! Encoding and decoding do not check whether a command is allowed: the world does that.
//!
//! ```text
//!    0       4        6                              one command
//!    +-------+--------+----------+----------+--      +--------+----------+---------------------
//!    | tick  | count  | command  | command  |  ...   | player | sequence | action, encoded by
//!    | u32   | u16    |          |          |        | u16    | u64      | the game
//!    +-------+--------+----------+----------+--      +--------+----------+---------------------
//! ```
//!
//! Numbers are little-endian. The same bytes are used in captures and in test fixtures. Only the
//! game can determine where an action ends, so decoding a frame needs the action type of its game.

pub use crate::reader::MAX_COMMANDS;
use crate::{Action, Command, EncodedAction, Malformed, PlayerId, RawCommand, Reader};

/// Maximum bytes of a text in a command frame. A longer text is truncated at a character boundary.
pub const MAX_TEXT_BYTES: usize = 255;

/// The commands of one tick.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFrame<Action> {
    /// The tick in which the commands are executed: the value of [`crate::Sim::tick`] before the
    /// step.
    pub tick: u32,
    /// The commands, in any order.
    pub commands: Vec<Command<Action>>,
}

impl<Action> Default for CommandFrame<Action> {
    fn default() -> Self {
        CommandFrame { tick: 0, commands: Vec::new() }
    }
}

/// Appends a text in the format of actions: its length in a byte, then UTF-8. The text is truncated
/// to [`MAX_TEXT_BYTES`].
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    let end = text.floor_char_boundary(MAX_TEXT_BYTES);
    out.push(end as u8);
    out.extend_from_slice(&text.as_bytes()[..end]);
}

fn write_header(tick: u32, count: usize, out: &mut Vec<u8>) -> Result<(), Malformed> {
    let short = u16::try_from(count).map_err(|_| Malformed::TooMany(count))?;
    out.extend_from_slice(&tick.to_le_bytes());
    out.extend_from_slice(&short.to_le_bytes());
    Ok(())
}

fn write_command<A>(command: &Command<A>, out: &mut Vec<u8>) {
    out.extend_from_slice(&command.player.0.to_le_bytes());
    out.extend_from_slice(&command.sequence.to_le_bytes());
}

/// Appends a frame with these commands.
///
/// # Errors
/// [`Malformed::TooMany`] if there are more than [`MAX_COMMANDS`]; then nothing is appended.
pub fn encode_raw(tick: u32, commands: &[RawCommand], out: &mut Vec<u8>) -> Result<(), Malformed> {
    write_header(tick, commands.len(), out)?;
    for command in commands {
        write_command(command, out);
        out.extend_from_slice(command.action.bytes());
    }
    Ok(())
}

/// Appends a frame with these commands, and encodes their actions.
///
/// # Errors
/// As [`encode_raw`].
pub fn encode<A: Action>(tick: u32, commands: &[Command<A>], out: &mut Vec<u8>) -> Result<(), Malformed> {
    write_header(tick, commands.len(), out)?;
    for command in commands {
        write_command(command, out);
        command.action.write(out);
    }
    Ok(())
}

/// Decodes a frame of the game with the action type `A`.
///
/// # Errors
/// The bytes are not exactly one frame.
pub fn decode<A: Action>(bytes: &[u8]) -> Result<CommandFrame<A>, Malformed> {
    read(bytes, A::read)
}

/// Decodes a frame of the game with the action type `A`, but leaves each action encoded.
///
/// # Errors
/// The bytes are not exactly one frame.
pub fn decode_raw<A: Action>(bytes: &[u8]) -> Result<CommandFrame<EncodedAction>, Malformed> {
    read(bytes, |reader| {
        let before = reader.rest();
        A::read(reader)?;
        Ok(EncodedAction::new(&before[..before.len() - reader.rest().len()]))
    })
}

fn read<A>(
    bytes: &[u8],
    action: impl Fn(&mut Reader<'_>) -> Result<A, Malformed>,
) -> Result<CommandFrame<A>, Malformed> {
    let mut reader = Reader::new(bytes);
    let (tick, count) = (reader.u32()?, reader.u16()?);
    // Memory is allocated as commands are decoded, so a false count costs nothing.
    let mut commands = Vec::new();
    for _ in 0..count {
        let (player, sequence) = (PlayerId(reader.u16()?), reader.u64()?);
        commands.push(Command { player, sequence, action: action(&mut reader)? });
    }
    if reader.rest().is_empty() { Ok(CommandFrame { tick, commands }) } else { Err(Malformed::Trailing) }
}
