//! Queue of a client's commands that the server has not acknowledged. Datagrams repeat each of
//! them; the stream carries some of them as well.
//!
//! ```text
//!   command ─► queue ─┬─► every datagram, until it is acknowledged
//!                     └─► the stream: the first command of a player, long and overdue commands
//! ```

use std::collections::VecDeque;
use std::time::Duration;

use super::commands::{BODY_HEAD_BYTES, CommandBody, FIXED_BYTES, NO_TICK};
use crate::limits;
use crate::packet::msgpack::read_head;

/// A command that the server has not acknowledged.
#[derive(Debug, Clone)]
struct QueuedCommand {
    sequence: u32,
    tick: Option<u32>,
    /// The body after its length.
    body: Vec<u8>,
    /// The whole packet, for the stream.
    packet: Vec<u8>,
    queued_at: Duration,
    is_in_stream: bool,
}

/// The queue of one player's commands.
#[derive(Debug, Default)]
pub struct CommandQueue {
    commands: VecDeque<QueuedCommand>,
    /// Sequence number of the player's first command; 0 before it.
    first: u32,
    /// Whether the server has acknowledged the first command.
    is_open: bool,
}

impl CommandQueue {
    /// Empties the queue for a new player. Passes packets that only the lane has carried to
    /// `stream`, because the server must receive them before the packet that starts the player.
    pub fn restart(&mut self, stream: impl FnMut(&[u8])) {
        self.take_overdue(Duration::ZERO, Duration::ZERO, stream);
        *self = CommandQueue::default();
    }

    /// Adds a command with its packet, and passes the packets that the stream must carry to
    /// `stream`. These are all commands until the first one is acknowledged, because the server
    /// does not know a player's first sequence number and executes only successive commands from
    /// datagrams. A command that is too long for the lane goes in the stream after all earlier
    /// ones.
    pub fn push(
        &mut self,
        sequence: u32,
        tick: Option<u32>,
        packet: &[u8],
        now: Duration,
        mut stream: impl FnMut(&[u8]),
    ) {
        if self.first == 0 {
            self.first = sequence;
        }
        let Some(body) = body_of(packet).filter(|body| body.len() <= limits::LANE_COMMAND_BYTES) else {
            self.take_overdue(now, Duration::ZERO, &mut stream);
            return stream(packet);
        };
        let is_in_stream = !self.is_open;
        if is_in_stream {
            stream(packet);
        }
        let packet = packet.to_vec();
        let queued_at = now;
        self.commands.push_back(QueuedCommand { sequence, tick, body, packet, queued_at, is_in_stream });
    }

    /// Removes the commands up to this sequence number.
    pub fn acknowledge(&mut self, sequence: u32) {
        self.is_open |= self.first != 0 && sequence >= self.first;
        while self.commands.front().is_some_and(|command| command.sequence <= sequence) {
            self.commands.pop_front();
        }
    }

    /// Returns whether all commands are acknowledged.
    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// Passes the packets that the stream must carry to `send`, because they were not acknowledged
    /// within `patience`, or because the queue is full. Passes each packet once, in order.
    pub fn take_overdue(&mut self, now: Duration, patience: Duration, mut send: impl FnMut(&[u8])) {
        let excess = self.commands.len().saturating_sub(limits::LANE_COMMANDS);
        let is_overdue = |command: &QueuedCommand| now.saturating_sub(command.queued_at) >= patience;
        let overdue = self.commands.iter().rposition(is_overdue).map_or(0, |at| at + 1).max(excess);
        for command in self.commands.iter_mut().take(overdue).filter(|command| !command.is_in_stream) {
            command.is_in_stream = true;
            send(&command.packet);
        }
        // The stream is reliable, so the lane need not repeat commands beyond its limit.
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
        let mut previous: Option<&QueuedCommand> = None;
        for command in self.commands.iter().take(limits::LANE_COMMANDS) {
            let is_next = previous.is_none_or(|previous| previous.sequence + 1 == command.sequence);
            let later = match (previous.map_or(first.tick, |previous| previous.tick), command.tick) {
                (Some(previous), Some(tick)) => {
                    tick.checked_sub(previous).and_then(|later| u8::try_from(later).ok())
                }
                (None, None) => Some(0),
                _ => None,
            };
            let Some(later) = later.filter(|_| is_next) else { break };
            let is_same = previous.is_some_and(|previous| {
                previous.body == command.body && (later == step || command.tick.is_none())
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
            previous = Some(command);
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

    /// Ticks between the last two commands; 0 if unknown or above 255.
    fn step(&self) -> u8 {
        let mut newest = self.commands.iter().rev().map(|command| command.tick);
        let (last, previous) = (newest.next().flatten(), newest.next().flatten());
        let step = last.zip(previous).and_then(|(last, previous)| last.checked_sub(previous));
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
    use super::super::DatagramError;
    use super::super::commands::CommandBlock;
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

    /// A queue whose first command is acknowledged.
    fn open_queue() -> CommandQueue {
        let mut queue = CommandQueue::default();
        let mut in_stream = 0;
        queue.push(1, Some(10), &control(1, Some(10), 0), NOW, |_| in_stream += 1);
        assert_eq!((in_stream, queue.is_open), (1, false), "the stream carries the first command");
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
            queue.push(sequence, Some(tick), &packet, NOW, |_| panic!("in the stream"));
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
    fn commands_without_a_tick_repeat_and_a_command_with_a_tick_ends_their_block() {
        let mut queue = open_queue();
        for sequence in 2..6 {
            queue.push(sequence, None, &control(sequence, None, 1), NOW, |_| {});
        }
        queue.push(6, Some(3), &control(6, Some(3), 1), NOW, |_| {});
        let mut block = Vec::new();
        assert_eq!(queue.write(1_000, &mut block), 4);
        let ticks: Vec<_> =
            CommandBlock::read(&block).expect("it is right").iter().map(|one| one.tick).collect();
        assert_eq!(ticks, [None; 4]);
        assert_eq!(block[FIXED_BYTES], 0b0111_0000);
    }

    #[test]
    fn a_block_ends_at_the_limits_of_bytes_and_commands() {
        let mut queue = open_queue();
        for sequence in 2..200 {
            queue.push(
                sequence,
                Some(sequence),
                &control(sequence, Some(sequence), i64::from(sequence % 3) - 1),
                NOW,
                |_| {},
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
                |_| {},
            );
        }
        let mut sent = Vec::new();
        queue.take_overdue(at(600), at(300), |packet| sent.push(packet.to_vec()));
        assert_eq!(sent, [control(2, Some(2), 0), control(3, Some(3), 0)]);
        queue.take_overdue(at(650), at(300), |packet| sent.push(packet.to_vec()));
        assert_eq!(sent.len(), 2, "no packet is sent twice");
        let mut block = Vec::new();
        assert_eq!(queue.write(1_000, &mut block), 4, "datagrams still repeat all commands");
        queue.take_overdue(at(700), at(300), |packet| sent.push(packet.to_vec()));
        assert_eq!(sent[2..], [control(4, Some(4), 0)]);
        // Bytes without a command's body, here an empty packet, follow all earlier commands.
        queue.push(6, None, b"", at(700), |packet| sent.push(packet.to_vec()));
        assert_eq!(sent[3..], [control(5, Some(5), 0), Vec::new()]);
        queue.push(7, Some(7), &control(7, Some(7), 0), at(700), |_| panic!("in the stream"));
        queue.restart(|packet| sent.push(packet.to_vec()));
        assert_eq!((&sent[5..], queue.is_empty()), (&[control(7, Some(7), 0)][..], true));
    }

    #[test]
    fn each_damaged_block_breaks_its_rule() {
        let mut queue = open_queue();
        for sequence in 2..5 {
            queue.push(
                sequence,
                Some(sequence),
                &control(sequence, Some(sequence), i64::from(sequence) - 3),
                NOW,
                |_| {},
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
