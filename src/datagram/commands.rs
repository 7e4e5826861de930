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

use std::collections::VecDeque;
use std::time::Duration;

use super::error::DatagramError;
use crate::limits;
use crate::packet::msgpack::{ValueKind, read_head, write_array_len, write_nil, write_uint};

/// Value of `tick` if the commands have no target tick.
const NO_TICK: u32 = u32::MAX;
/// Length of the fields before the bits, in bytes.
const FIXED_BYTES: usize = 10;
/// Length of the two fields of a body before its code, in bytes.
const BODY_HEAD_BYTES: usize = 2;

/// The code and the arguments of a command, without sequence number and tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CommandBody<'a> {
    code: &'a [u8],
    /// Number of arguments after sequence number and tick.
    arguments: usize,
    /// The encoded arguments.
    encoded: &'a [u8],
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
    fn write(&self, out: &mut Vec<u8>) {
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

/// A command that the server has not acknowledged.
#[derive(Debug, Clone)]
struct QueuedCommand {
    sequence: u32,
    tick: Option<u32>,
    /// The body after its length.
    body: Vec<u8>,
    /// The whole packet, for the stream.
    packet: Vec<u8>,
    sent: Duration,
    is_in_stream: bool,
}

/// The commands of a client that the server has not acknowledged.
#[derive(Debug, Default)]
pub struct CommandQueue {
    commands: VecDeque<QueuedCommand>,
    /// The first command since the start; 0 before.
    first: u32,
    /// Whether the server has the first command.
    is_open: bool,
}

impl CommandQueue {
    /// Starts again, because the server counts the next command as the first of a new player.
    pub fn restart(&mut self) {
        *self = CommandQueue::default();
    }

    /// Adds a command with its packet. Returns whether the packet must be sent in the stream: until
    /// the server has the first command, because it executes only the next one by datagram and does
    /// not know with which number a player starts; and a command that does not fit the lane.
    pub fn push(&mut self, sequence: u32, tick: Option<u32>, packet: &[u8], now: Duration) -> bool {
        if self.first == 0 {
            self.first = sequence;
        }
        let body = body_of(packet).filter(|body| body.len() <= limits::LANE_COMMAND_BYTES);
        let is_in_stream = !self.is_open || body.is_none();
        if let Some(body) = body {
            let packet = packet.to_vec();
            self.commands.push_back(QueuedCommand { sequence, tick, body, packet, sent: now, is_in_stream });
        }
        is_in_stream
    }

    /// Removes the commands up to this sequence number, which the server has.
    pub fn acknowledge(&mut self, sequence: u32) {
        self.is_open |= self.first != 0 && sequence >= self.first;
        while self.commands.front().is_some_and(|command| command.sequence <= sequence) {
            self.commands.pop_front();
        }
    }

    /// Returns whether no command waits for the server.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Appends the packets that the stream must carry, because the lane has not carried them within
    /// `patience`, or because the queue is full. Packets are in order, and each is appended once.
    pub fn take_overdue(&mut self, now: Duration, patience: Duration, mut send: impl FnMut(&[u8])) {
        let excess = self.commands.len().saturating_sub(limits::LANE_COMMANDS);
        let is_overdue = |command: &QueuedCommand| now.saturating_sub(command.sent) >= patience;
        let overdue = self.commands.iter().rposition(is_overdue).map_or(0, |at| at + 1).max(excess);
        for command in self.commands.iter_mut().take(overdue).filter(|command| !command.is_in_stream) {
            command.is_in_stream = true;
            send(&command.packet);
        }
        // The stream is reliable, so the lane need not repeat what does not fit.
        if excess > 0 {
            self.commands.drain(..excess);
        }
    }

    /// Appends the content of a message with the oldest commands that fit into `most` bytes.
    /// Returns the number of commands.
    pub fn write(&self, most: usize, out: &mut Vec<u8>) -> usize {
        let Some(first) = self.commands.front() else { return 0 };
        let step = self.step();
        let (mut same, mut bodies) = (Vec::new(), Vec::new());
        let mut before: Option<&QueuedCommand> = None;
        for command in self.commands.iter().take(limits::LANE_COMMANDS) {
            let is_next = before.is_none_or(|before| before.sequence + 1 == command.sequence);
            let later = match (before.map_or(first.tick, |before| before.tick), command.tick) {
                (Some(before), Some(tick)) => {
                    tick.checked_sub(before).and_then(|later| u8::try_from(later).ok())
                }
                (None, None) => Some(0),
                _ => None,
            };
            let Some(later) = later.filter(|_| is_next) else { break };
            let is_same = before.is_some_and(|before| {
                before.body == command.body && (later == step || command.tick.is_none())
            });
            let body_bytes = if is_same { 0 } else { BODY_HEAD_BYTES + command.body.len() };
            if FIXED_BYTES + same.len() / 8 + 1 + bodies.len() + body_bytes > most {
                break;
            }
            same.push(is_same);
            if !is_same {
                bodies.extend([later, command.body.len() as u8]);
                bodies.extend_from_slice(&command.body);
            }
            before = Some(command);
        }
        out.extend(first.sequence.to_be_bytes());
        out.extend(first.tick.unwrap_or(NO_TICK).to_be_bytes());
        out.extend([step, same.len() as u8]);
        for eight in same.chunks(8) {
            out.push((0..).zip(eight).fold(0, |byte, (bit, same)| byte | u8::from(*same) << (7 - bit)));
        }
        out.extend_from_slice(&bodies);
        same.len()
    }

    /// The ticks between the last two commands.
    fn step(&self) -> u8 {
        let mut newest = self.commands.iter().rev().map(|command| command.tick);
        let (last, before) = (newest.next().flatten(), newest.next().flatten());
        let step = last.zip(before).and_then(|(last, before)| last.checked_sub(before));
        step.and_then(|step| u8::try_from(step).ok()).unwrap_or_default()
    }
}

/// Returns the body of a packet whose first arguments are sequence number and tick.
fn body_of(packet: &[u8]) -> Option<Vec<u8>> {
    let code = read_head(packet, 1).ok()?;
    let code_end = 1 + code.head + code.length;
    let list = read_head(packet, code_end).ok()?;
    let mut at = code_end + list.head;
    for _ in 0..2 {
        let value = read_head(packet, at).ok()?;
        at += value.head + value.length;
    }
    let body = CommandBody {
        code: packet.get(1..code_end)?,
        arguments: list.length.checked_sub(2)?,
        encoded: packet.get(at..)?,
    };
    let mut bytes = Vec::new();
    body.write(&mut bytes);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Direction, PacketTables, Value};

    const NOW: Duration = Duration::ZERO;

    const TABLE: &str = "direction\tname\tlane\ttest:int\targuments\tmeaning\n\
        to_server\tcontrol\treliable\t4\tsequence:u32 tick:u32.tick|nil drive:i8 aim:num.rad fires:bool\tdrive\n";

    /// A command as a packet.
    fn control(sequence: u32, tick: Option<u32>, drive: i64) -> Vec<u8> {
        let tables = PacketTables::from_texts(&[("test.tsv", TABLE)]).expect("a good table");
        let dialect = tables.dialect("test").expect("its dialect");
        let tick = tick.map_or(Value::Nil, Value::from);
        let values = [sequence.into(), tick, drive.into(), Value::F64(1.5), true.into()];
        dialect.encode(Direction::ToServer, "control", &values).expect("it fits")
    }

    /// A queue whose first command the server has.
    fn open_queue() -> CommandQueue {
        let mut queue = CommandQueue::default();
        assert!(queue.push(1, Some(10), &control(1, Some(10), 0), NOW), "the first goes by the stream");
        assert!(!queue.is_open);
        queue.acknowledge(1);
        queue
    }

    #[test]
    fn a_block_contains_the_packets_that_were_queued() {
        let mut queue = open_queue();
        let mut expected = Vec::new();
        // Commands 2 to 9: six repeat their predecessor one step later.
        for (sequence, tick, drive) in [
            (2, 12, 1),
            (3, 14, 1),
            (4, 16, 1),
            (5, 18, -1),
            (6, 20, -1),
            (7, 22, -1),
            (8, 24, -1),
            (9, 26, -1),
        ] {
            let packet = control(sequence, Some(tick), drive);
            assert!(!queue.push(sequence, Some(tick), &packet, NOW));
            expected.push(packet);
        }
        let mut block = Vec::new();
        assert_eq!(queue.write(1_000, &mut block), 8);
        let bodies = 2 * (BODY_HEAD_BYTES + body_of(&expected[0]).expect("it is a packet").len());
        assert_eq!(block.len(), FIXED_BYTES + 1 + bodies, "two bodies, and a bit for each command");
        assert_eq!(block[FIXED_BYTES], 0b0110_1111);
        let read = CommandBlock::read(&block).expect("it is right");
        let packets: Vec<Vec<u8>> = read
            .iter()
            .map(|command| {
                let mut packet = Vec::new();
                command.write_packet(&mut packet);
                packet
            })
            .collect();
        assert_eq!(packets, expected);
        queue.acknowledge(8);
        let mut rest = Vec::new();
        assert_eq!(queue.write(1_000, &mut rest), 1);
        assert_eq!(CommandBlock::read(&rest).expect("it is right").first(), 9);
    }

    #[test]
    fn commands_without_a_tick_repeat_too_and_a_mixed_queue_ends_a_block() {
        let mut queue = open_queue();
        for sequence in 2..6 {
            queue.push(sequence, None, &control(sequence, None, 1), NOW);
        }
        queue.push(6, Some(3), &control(6, Some(3), 1), NOW);
        let mut block = Vec::new();
        assert_eq!(queue.write(1_000, &mut block), 4);
        let ticks: Vec<_> =
            CommandBlock::read(&block).expect("it is right").iter().map(|one| one.tick).collect();
        assert_eq!(ticks, [None; 4]);
        assert_eq!(block[FIXED_BYTES], 0b0111_0000);
    }

    #[test]
    fn a_block_ends_at_its_bounds() {
        let mut queue = open_queue();
        for sequence in 2..200 {
            queue.push(
                sequence,
                Some(sequence),
                &control(sequence, Some(sequence), i64::from(sequence % 3) - 1),
                NOW,
            );
        }
        let body = BODY_HEAD_BYTES + queue.commands[0].body.len();
        for most in 0..400 {
            let mut block = Vec::new();
            let count = queue.write(most, &mut block);
            let expected = (0..=limits::LANE_COMMANDS)
                .take_while(|count| *count == 0 || FIXED_BYTES + (count - 1) / 8 + 1 + count * body <= most)
                .last();
            assert_eq!(Some(count), expected, "{most} bytes");
        }
        let mut block = Vec::new();
        assert_eq!(queue.write(60_000, &mut block), limits::LANE_COMMANDS);
    }

    #[test]
    fn the_stream_carries_overdue_commands_once_and_in_order() {
        let mut queue = open_queue();
        let at = Duration::from_millis;
        for sequence in 2..6 {
            queue.push(
                sequence,
                Some(sequence),
                &control(sequence, Some(sequence), 0),
                at(100 * u64::from(sequence)),
            );
        }
        let mut sent = Vec::new();
        queue.take_overdue(at(600), at(300), |packet| sent.push(packet.to_vec()));
        assert_eq!(sent, [control(2, Some(2), 0), control(3, Some(3), 0)]);
        queue.take_overdue(at(650), at(300), |packet| sent.push(packet.to_vec()));
        assert_eq!(sent.len(), 2, "no packet is sent twice");
        let mut block = Vec::new();
        assert_eq!(queue.write(1_000, &mut block), 4, "the lane still repeats them");
        queue.take_overdue(at(700), at(300), |packet| sent.push(packet.to_vec()));
        assert_eq!(sent[2..], [control(4, Some(4), 0)]);
    }

    #[test]
    fn every_damaged_block_is_refused_by_its_rule() {
        let mut queue = open_queue();
        for sequence in 2..5 {
            queue.push(
                sequence,
                Some(sequence),
                &control(sequence, Some(sequence), i64::from(sequence) - 3),
                NOW,
            );
        }
        let mut block = Vec::new();
        queue.write(1_000, &mut block);
        for end in 0..block.len() {
            assert_eq!(CommandBlock::read(&block[..end]), Err(DatagramError::Truncated), "{end} bytes");
        }
        let changed = |at: usize, to: u8| {
            let mut block = block.clone();
            block[at] = to;
            block
        };
        let cases = [
            ([&block[..], &[0]].concat(), DatagramError::BytesLeft),
            (changed(9, 0), DatagramError::NoCommand),
            (changed(FIXED_BYTES, 0b1000_0000), DatagramError::NothingBefore),
            (changed(FIXED_BYTES + 3, 0xc0), DatagramError::NotMessagePack),
            (changed(FIXED_BYTES + 4, 0xc0), DatagramError::NotMessagePack),
        ];
        for (bytes, rule) in cases {
            assert_eq!(CommandBlock::read(&bytes), Err(rule), "{bytes:02x?}");
        }
        let mut last = block.clone();
        last[..4].copy_from_slice(&(u32::MAX - 1).to_be_bytes());
        assert_eq!(CommandBlock::read(&last), Err(DatagramError::NumberTooLarge));
        let mut late = block;
        late[4..8].copy_from_slice(&(u32::MAX - 2).to_be_bytes());
        assert_eq!(CommandBlock::read(&late), Err(DatagramError::NumberTooLarge));
    }
}
