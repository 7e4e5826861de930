//! Datagrams of lanes. The first byte chooses one of four parts:
//!
//! - Arbitrary messages, whose commands are queued and written again: the new block contains the same packets.
//! - Two ends, and a network that loses, repeats, reorders and changes datagrams: each end opens every datagram once,
//!   none that was changed, and a tick counts as acknowledged only if all its datagrams were opened.
//! - The commands of a client, whose datagrams are lost, repeated and reordered, and whose stream is slow: the server
//!   executes each command once and in order, and misses none.
//! - The two ends without a key, as in a data channel: no datagram is changed, and more of them are sent.

use std::collections::VecDeque;
use std::time::Duration;

use tickwire::datagram::command_queue::CommandQueue;
use tickwire::datagram::commands::CommandBlock;
use tickwire::datagram::header::DatagramHeader;
use tickwire::datagram::{DatagramError, LaneEndpoint, LaneKey, Message, message};
use tickwire::packet::Direction;

use super::choose;

const NOW: Duration = Duration::ZERO;
/// Most steps of a script.
const MOST_STEPS: usize = 64;

/// See the [module](self).
pub fn run(mut bytes: &[u8]) {
    let part = choose(&mut bytes, 4);
    let steps = &bytes[..bytes.len().min(MOST_STEPS)];
    match part {
        0 => messages(bytes),
        1 => sealed(steps),
        2 => commands(steps),
        _ => unsealed(steps),
    }
}

/// Reads a header and messages, and writes both again.
fn messages(bytes: &[u8]) {
    if let Some(header) = DatagramHeader::read(bytes) {
        assert_eq!(header.bytes(), bytes[..header.bytes().len()]);
    }
    let mut written = Vec::new();
    for message in message::read(bytes) {
        let start = written.len();
        match message {
            Ok(Message::Packet(packet)) => message::write_packet(&mut written, packet),
            Ok(Message::Received(sequence)) => message::write_received(&mut written, sequence),
            Ok(Message::Commands(block)) => {
                again(&block);
                return;
            }
            Err(_) => break,
        }
        assert!(bytes[start..].starts_with(&written[start..]), "a message is written again as it was read");
    }
}

/// The packets of a block, queued and written again.
fn again(block: &CommandBlock<'_>) {
    let mut queue = CommandQueue::default();
    let mut packets = Vec::new();
    // The queue is open once the server has the first command.
    queue.push(block.first(), None, b"", NOW, |_| {});
    queue.acknowledge(block.first());
    for command in block.iter() {
        let mut packet = Vec::new();
        command.write_packet(&mut packet);
        queue.push(command.sequence, command.tick, &packet, NOW, |_| {});
        packets.push(packet);
    }
    let mut written = Vec::new();
    let count = queue.write(usize::MAX, &mut written);
    if count == 0 {
        return;
    }
    let read = CommandBlock::read(&written).expect("a written block is right");
    for (at, command) in read.iter().enumerate() {
        let mut packet = Vec::new();
        command.write_packet(&mut packet);
        assert_eq!(packet, packets[at], "command {at} of {count}");
    }
    assert_eq!(read.iter().count(), count);
}

/// Most datagrams of one input.
const MOST_SENT: usize = 160;

/// A datagram that one end has sealed, with its only message byte.
struct Sent {
    bytes: Vec<u8>,
    message: u8,
    to: usize,
    sequence: u64,
}

/// The tick of a datagram in the script: two datagrams have the same.
fn tick_of(sequence: u64) -> u32 {
    (sequence / 2) as u32
}

/// Two ends and their network. Index 0 is the client.
struct Lane {
    ends: [LaneEndpoint; 2],
    sent: Vec<Sent>,
    /// For each end, the newest sequence number that it has opened.
    newest: [u64; 2],
    /// For each end, whether it has opened each datagram that was sent to it, from number 1.
    opened: [Vec<bool>; 2],
    acked_ticks: [Option<u32>; 2],
}

impl Lane {
    fn new(key: Option<&LaneKey>) -> Lane {
        let ends =
            [Direction::ToServer, Direction::ToClient].map(|direction| LaneEndpoint::new(direction, 9, key));
        Lane {
            ends,
            sent: Vec::with_capacity(MOST_SENT),
            newest: [0; 2],
            opened: Default::default(),
            acked_ticks: [None; 2],
        }
    }

    fn send(&mut self, from: usize, message: u8) {
        if self.sent.len() == MOST_SENT {
            return;
        }
        let end = &mut self.ends[from];
        let sequence = end.sequence() + 1;
        let bytes = end.seal(&[message], Some(tick_of(sequence)), NOW);
        self.sent.push(Sent { bytes, message, to: 1 - from, sequence });
        self.opened[1 - from].push(false);
    }

    /// Opens a sent datagram, maybe again; 0 is the last one.
    fn open(&mut self, which: usize) {
        let Some(last) = self.sent.len().checked_sub(1) else { return };
        let Sent { bytes, message, to, sequence } = &self.sent[last - which % self.sent.len()];
        let (newest, opened) = (&mut self.newest[*to], &mut self.opened[*to][*sequence as usize - 1]);
        let is_new = !*opened;
        match self.ends[*to].open(bytes, NOW) {
            Ok(one) => {
                assert!(is_new && one.sequence == *sequence, "{sequence} was opened before");
                assert!(one.messages.len() == 1 && one.messages[0] == *message, "{sequence} was changed");
                *opened = true;
                *newest = *sequence.max(newest);
            }
            Err(DatagramError::Repeated) => assert!(!is_new, "{sequence} is new"),
            Err(DatagramError::TooOld) => assert!(*newest > sequence + 64, "{sequence} is not too old"),
            Err(other) => panic!("{other:?}"),
        }
        self.check_acked_tick(*to);
    }

    /// A tick that an end newly takes as acknowledged: the other end has opened all its datagrams.
    fn check_acked_tick(&mut self, end: usize) {
        let (tick, before) = (self.ends[end].acked_tick(), self.acked_ticks[end]);
        let (Some(acked), true) = (tick, tick != before) else { return };
        assert!(tick > before, "{before:?} was acknowledged before {acked}");
        self.acked_ticks[end] = tick;
        for sequence in u64::from(acked) * 2..u64::from(acked) * 2 + 2 {
            let is_sent = (1..=self.ends[end].sequence()).contains(&sequence);
            assert!(
                !is_sent || self.opened[1 - end][sequence as usize - 1],
                "{sequence} of {acked} was not opened"
            );
        }
    }

    /// Opens a sent datagram after a change of one bit; 0 is the last one.
    fn open_changed(&mut self, which: usize, bit: u8) {
        let Some(last) = self.sent.len().checked_sub(1) else { return };
        let Sent { bytes, to, .. } = &self.sent[last - which % self.sent.len()];
        let (end, mut changed) = (&mut self.ends[*to], bytes.clone());
        let (at, before) = (which % changed.len(), end.stats());
        changed[at] ^= 1 << bit;
        assert!(end.open(&changed, NOW).is_err(), "byte {at} was changed");
        assert_eq!(end.stats().received, before.received);
        assert_eq!(end.acked_tick(), self.acked_ticks[*to]);
    }
}

/// Each byte is a step: its lower two bits choose what happens, the others to which datagram.
fn sealed(bytes: &[u8]) {
    let mut lane = Lane::new(Some(&LaneKey([7; 32])));
    for byte in bytes {
        let which = usize::from(byte >> 2);
        match byte & 3 {
            2 => lane.open(which),
            3 => lane.open_changed(which, byte & 7),
            from => lane.send(from.into(), *byte),
        }
    }
}

/// The same for a carrier that encrypts: no datagram is changed, but some steps send more of them
/// than either end remembers.
fn unsealed(bytes: &[u8]) {
    let mut lane = Lane::new(None);
    for byte in bytes {
        let which = usize::from(byte >> 2);
        match byte & 3 {
            2 => lane.open(which),
            3 if which >= 62 => (0..70).for_each(|_| lane.send(which & 1, *byte)),
            3 => lane.open(4 * which),
            from => lane.send(from.into(), *byte),
        }
    }
}

/// The server's end of the commands: the sequence number of the last one that it has.
#[derive(Default)]
struct Server {
    last: u32,
    /// A buffer.
    packet: Vec<u8>,
}

impl Server {
    /// A datagram: only the next command is executed.
    fn receive_block(&mut self, block: &[u8], sent: &[Vec<u8>]) {
        for command in CommandBlock::read(block).expect("a written block is right").iter() {
            if command.sequence == self.last + 1 {
                self.packet.clear();
                command.write_packet(&mut self.packet);
                let expected = sent.get(self.last as usize);
                assert_eq!(Some(&self.packet), expected, "command {}", command.sequence);
                self.last += 1;
            }
        }
    }

    /// A packet of the stream: a command that the server has is ignored.
    fn receive_packet(&mut self, packet: &[u8], sent: &[Vec<u8>]) {
        let at = sequence_of(packet);
        assert_eq!(sent[at as usize - 1], packet, "command {at}");
        assert!(at <= self.last + 1, "command {at} comes in the stream after {}", self.last);
        self.last = self.last.max(at);
    }
}

/// A number in MessagePack, as short as possible.
fn number(packet: &mut Vec<u8>, number: u32) {
    match number {
        0..0x80 => packet.push(number as u8),
        0x80..0x100 => packet.extend([0xcc, number as u8]),
        _ => packet.extend([0xcd, (number >> 8) as u8, number as u8]),
    }
}

/// The sequence number of a packet of [`packet`].
fn sequence_of(packet: &[u8]) -> u32 {
    match packet[3..] {
        [0xcd, high, low, ..] => u16::from_be_bytes([high, low]).into(),
        [0xcc, number, ..] | [number, ..] => number.into(),
        [] => panic!("a packet has a sequence number"),
    }
}

/// A command as a packet: some have equal arguments, and some do not fit the lane.
fn packet(sequence: u32, tick: Option<u32>, which: u8) -> Vec<u8> {
    let mut packet = Vec::with_capacity(16);
    packet.extend([0x92, 4, 0x93]);
    number(&mut packet, sequence);
    match tick {
        Some(tick) => number(&mut packet, tick),
        None => packet.push(0xc0),
    }
    match which {
        0 => {
            packet.extend([0xc4, 250]);
            packet.resize(packet.len() + 250, 0);
        }
        which => packet.push(which % 3),
    }
    packet
}

/// Most commands of one input: the last numbers do not fit one byte.
const MOST_COMMANDS: usize = 130;

/// A client, whose commands are in its queue and in the stream.
#[derive(Default)]
struct Client {
    queue: CommandQueue,
    sent: Vec<Vec<u8>>,
    stream: VecDeque<Vec<u8>>,
    now: Duration,
}

impl Client {
    fn push(&mut self, tick: Option<u32>, which: u8) {
        if self.sent.len() == MOST_COMMANDS {
            return;
        }
        let sequence = self.sent.len() as u32 + 1;
        let (packet, stream) = (packet(sequence, tick, which), &mut self.stream);
        self.queue.push(sequence, tick, &packet, self.now, |packet| stream.push_back(packet.to_vec()));
        self.sent.push(packet);
    }

    fn take_overdue(&mut self, patience: Duration) {
        let stream = &mut self.stream;
        self.queue.take_overdue(self.now, patience, |packet| stream.push_back(packet.to_vec()));
    }
}

/// Each byte is a step: its lower three bits choose what happens, the others with which values.
fn commands(bytes: &[u8]) {
    let (mut client, mut server, mut tick) = (Client::default(), Server::default(), 100);
    let (mut datagrams, mut acks) = (Vec::<Vec<u8>>::new(), Vec::new());
    for byte in bytes {
        let which = byte >> 3;
        client.now += Duration::from_millis(10);
        match byte & 7 {
            0 | 1 => {
                tick += u32::from(which / 4);
                client.push((byte & 1 == 0).then_some(tick), which);
            }
            2 => {
                let mut block = Vec::new();
                if client.queue.write(16 << (which % 7), &mut block) > 0 {
                    datagrams.push(block);
                }
            }
            3 if !datagrams.is_empty() => {
                let at = datagrams.len() - 1 - usize::from(which) % datagrams.len();
                server.receive_block(&datagrams[at], &client.sent);
                acks.push(server.last);
            }
            4 => {
                let count = client.stream.len().min(which.into());
                client.stream.drain(..count).for_each(|packet| server.receive_packet(&packet, &client.sent));
                acks.push(server.last);
            }
            // An acknowledgement may be repeated, and come after a newer one.
            5 if !acks.is_empty() => {
                client.queue.acknowledge(acks[acks.len() - 1 - usize::from(which) % acks.len()]);
            }
            6 => client.take_overdue(Duration::from_millis(u64::from(which) * 10)),
            _ if which == 0 => client.queue.restart(|packet| client.stream.push_back(packet.to_vec())),
            // More commands than one block may have.
            _ if which == 31 => (0..70).for_each(|_| {
                tick += 1;
                client.push(Some(tick), which);
            }),
            _ => {}
        }
    }
    client.take_overdue(Duration::ZERO);
    client.stream.iter().for_each(|packet| server.receive_packet(packet, &client.sent));
    assert_eq!(server.last as usize, client.sent.len(), "the server has every command");
}
