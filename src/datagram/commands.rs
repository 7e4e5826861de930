//! Redundant commands: each datagram to the server repeats the commands that the server may lack.
//!
//! ```text
//!   first u32 │ tick u32 │ step u8 │ count u8 │ same: count bits │ a body for each bit 0
//!
//!   first   sequence number of the first command; each further command has the next number
//!   tick    target tick of the first command; 0xffffffff if the commands have none
//!   step    ticks from a command to one with bit 1
//!   same    most significant bit first. 1: like the command before it. 0: it has a body
//!
//!   body:  later u8 │ length u8 │ code │ arguments
//!
//!   later   ticks after the command before it; 0 for the first
//!   length  bytes of code and arguments
//!   code, arguments   as in the packet, but the array lacks its first values, sequence and tick
//! ```
//!
//! The server executes the commands in order. It ignores those that it has, and all of them if it
//! lacks a command before the first.

use super::error::DatagramError;
use crate::packet::msgpack::{ValueKind, read_head, write_array_len, write_nil, write_uint};

/// Value of `tick` if the commands have no target tick.
pub(super) const NO_TICK: u32 = u32::MAX;
/// Length of the fields before the bits, in bytes.
pub(super) const FIXED_BYTES: usize = 10;
/// Length of the two fields of a body before its code, in bytes.
pub(super) const BODY_HEAD_BYTES: usize = 2;

/// The code and the arguments of a command, without sequence number and tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CommandBody<'a> {
    pub(super) code: &'a [u8],
    /// Number of arguments after sequence number and tick.
    pub(super) arguments: usize,
    /// The encoded arguments.
    pub(super) encoded: &'a [u8],
}

impl<'a> CommandBody<'a> {
    /// Reads a body after its length.
    fn read(bytes: &'a [u8]) -> Result<CommandBody<'a>, DatagramError> {
        let head = |at| read_head(bytes, at).map_err(|_| DatagramError::NotMessagePack);
        let code = head(0)?;
        if !matches!(code.kind, ValueKind::Int | ValueKind::Str) {
            return Err(DatagramError::NotMessagePack);
        }
        let code_bytes = code.head.saturating_add(code.length);
        let list = head(code_bytes)?;
        if list.kind != ValueKind::Array {
            return Err(DatagramError::NotMessagePack);
        }
        let encoded = &bytes[code_bytes + list.head..];
        Ok(CommandBody { code: &bytes[..code_bytes], arguments: list.length, encoded })
    }

    /// Appends the body after its length.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.code);
        write_array_len(out, self.arguments);
        out.extend_from_slice(self.encoded);
    }
}

/// A command of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockCommand<'a> {
    /// The sequence number.
    pub sequence: u32,
    /// The target tick.
    pub tick: Option<u32>,
    body: CommandBody<'a>,
}

impl BlockCommand<'_> {
    /// Appends the command as a MessagePack packet, as in a WebSocket message.
    pub fn write_packet(&self, out: &mut Vec<u8>) {
        write_array_len(out, 2);
        out.extend_from_slice(self.body.code);
        write_array_len(out, self.body.arguments + 2);
        write_uint(out, self.sequence.into());
        match self.tick {
            Some(tick) => write_uint(out, tick.into()),
            None => write_nil(out),
        }
        out.extend_from_slice(self.body.encoded);
    }
}

/// A block of commands whose layout was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandBlock<'a> {
    first: u32,
    tick: Option<u32>,
    step: u8,
    count: u8,
    same: &'a [u8],
    bodies: &'a [u8],
}

impl<'a> CommandBlock<'a> {
    /// Reads a block, and checks all its commands.
    pub fn read(content: &'a [u8]) -> Result<CommandBlock<'a>, DatagramError> {
        let (fixed, rest) = content.split_first_chunk::<FIXED_BYTES>().ok_or(DatagramError::Truncated)?;
        let [a, b, c, d, e, f, g, h, step, count] = *fixed;
        let tick = u32::from_be_bytes([e, f, g, h]);
        let bits = rest.split_at_checked(usize::from(count).div_ceil(8));
        let (same, bodies) = bits.ok_or(DatagramError::Truncated)?;
        let block = CommandBlock {
            first: u32::from_be_bytes([a, b, c, d]),
            tick: Some(tick).filter(|tick| *tick != NO_TICK),
            step,
            count,
            same,
            bodies,
        };
        let mut walk = Walk::new(block);
        if count == 0 {
            return Err(DatagramError::NoCommand);
        }
        while walk.next_command()?.is_some() {}
        if walk.bodies.is_empty() { Ok(block) } else { Err(DatagramError::BytesLeft) }
    }

    /// The sequence number of the first command.
    pub fn first(&self) -> u32 {
        self.first
    }

    /// Iterates over the commands.
    pub fn iter(&self) -> impl Iterator<Item = BlockCommand<'a>> + use<'a> {
        let mut walk = Walk::new(*self);
        // `read` has checked all commands.
        std::iter::from_fn(move || walk.next_command().ok().flatten())
    }
}

/// The position of a reader in a block.
struct Walk<'a> {
    block: CommandBlock<'a>,
    index: u8,
    bodies: &'a [u8],
    before: Option<BlockCommand<'a>>,
}

impl<'a> Walk<'a> {
    fn new(block: CommandBlock<'a>) -> Walk<'a> {
        Walk { block, index: 0, bodies: block.bodies, before: None }
    }

    fn next_command(&mut self) -> Result<Option<BlockCommand<'a>>, DatagramError> {
        let CommandBlock { first, tick, step, count, same, .. } = self.block;
        if self.index == count {
            return Ok(None);
        }
        let is_same = same[usize::from(self.index / 8)] & (0x80 >> (self.index % 8)) != 0;
        let (later, body) = match (is_same, self.before) {
            (true, None) => return Err(DatagramError::NothingBefore),
            (true, Some(before)) => (step, before.body),
            (false, _) => {
                let (head, rest) =
                    self.bodies.split_first_chunk::<BODY_HEAD_BYTES>().ok_or(DatagramError::Truncated)?;
                let [later, length] = *head;
                let body = rest.split_at_checked(length.into()).ok_or(DatagramError::Truncated)?;
                self.bodies = body.1;
                (later, CommandBody::read(body.0)?)
            }
        };
        let tick = match self.before.map_or(tick, |before| before.tick) {
            Some(tick) => {
                let tick = tick.checked_add(later.into()).filter(|tick| *tick != NO_TICK);
                Some(tick.ok_or(DatagramError::NumberTooLarge)?)
            }
            None => None,
        };
        let sequence = first.checked_add(self.index.into()).ok_or(DatagramError::NumberTooLarge)?;
        let command = BlockCommand { sequence, tick, body };
        self.index += 1;
        self.before = Some(command);
        Ok(Some(command))
    }
}
