//! The behaviour of one attacker of each kind.

use std::time::Duration;

use super::{datagram_flood, lockstep, msgpack_bombs};
use crate::game::BotRng;
use crate::games::moo::client_packet::ClientPacket;
use crate::testing::abuse::client::{hello, packet};
use crate::testing::hostile::{HostileKind, KEY, garbage, write_frame};
use crate::ws::frame::{Header, Opcode};

/// Receive buffer of an attacker that reads little or nothing, in bytes. The buffer is small, so
/// that it fills up quickly.
const SMALL_ROOM_BYTES: usize = 4 * 1024;
/// Number of one-byte frames in a block. Each frame has seven bytes.
const TINY_FRAMES: usize = 4096;
/// Start of a request head that never ends.
const SLOW_HEAD: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ";
/// A request for the largest page.
const PAGE: &[u8] = b"GET /wasm/tickwire.wasm HTTP/1.1\r\nHost: a\r\n\r\n";
/// Time for which a client that requests a page stays connected. It is longer than the time after
/// which a server closes the connection of a client that does not read.
const PAGE_STAY: Duration = Duration::from_secs(13);
/// Number of short messages in a block of a flooding attacker. A block of long messages (4 KB each)
/// has `FLOOD_LONG_FRAMES`.
const FLOOD_FRAMES: usize = 1024;
const FLOOD_LONG_FRAMES: usize = 32;
/// Number of random bytes in a block.
const GARBAGE_BYTES: usize = 256;
/// Number of commands per block of an attacker that sends far too many. It sends a hundred blocks
/// per second.
const COMMANDS: usize = 64;
/// Number of commands with repeated and decreasing sequence numbers. All later commands have the
/// largest possible number.
const REVERSED_COMMANDS: u32 = 200;

/// Chat message of each reconnecting attacker.
pub(super) const CHAT_LINE: &str = "reconnect";
/// Time for which a reconnecting attacker stays after its chat message or join. It is longer than a
/// tick of any rate, because a server drops the queued commands of a client that leaves.
const LINGER: Duration = Duration::from_millis(80);

impl Behavior {
    /// The behaviour of the attacker of this kind with this index.
    pub(super) fn new(kind: HostileKind, index: usize) -> Behavior {
        let is_odd = index % 2 == 1;
        let behavior = Behavior::default();
        match kind {
            HostileKind::Idle => Behavior { upgrades: false, request: b"", ..behavior },
            HostileKind::MessageFlood => {
                Behavior { opening: hello(), ..Behavior::flood(flood_messages(), FLOOD_FRAMES) }
            }
            HostileKind::ByteFlood => Behavior {
                opening: hello(),
                ..Behavior::flood(long_packet().repeat(FLOOD_LONG_FRAMES), FLOOD_LONG_FRAMES)
            },
            HostileKind::Garbage => {
                Behavior::flood(garbage(&mut BotRng::new(index as u64), GARBAGE_BYTES).collect(), 1)
            }
            HostileKind::Slowloris => {
                Behavior { upgrades: false, block: vec![b'a'], every: Duration::from_secs(1), ..behavior }
            }
            HostileKind::StalledReaders => Behavior {
                reads: ReadMode::Nothing,
                opening: hello(),
                every: Duration::from_secs(1),
                ..Behavior::flood(pings(100), 100)
            },
            HostileKind::DripReaders => Behavior { reads: ReadMode::Drip, opening: hello(), ..behavior },
            HostileKind::PingFlood => Behavior { opening: hello(), block: pings(64), frames: 64, ..behavior },
            HostileKind::TinyFragments => {
                let (opening, block) = (fragment(Opcode::Binary, 0), tiny_fragments());
                Behavior { opening, block, frames: TINY_FRAMES, ..behavior }
            }
            HostileKind::CommandFlood => {
                let commands = if is_odd { COMMANDS } else { 1 };
                Behavior { opening: hello(), commands, frames: commands, ..behavior }
            }
            HostileKind::Contradictions => {
                let sequences =
                    [SequencePattern::FarAhead, SequencePattern::ToAndFro, SequencePattern::Back][index % 3];
                Behavior { opening: hello(), commands: 1, frames: 1, sequences, ..behavior }
            }
            HostileKind::SeatHolders => {
                Behavior { opening: hello(), has_key: true, leaves: true, lingers: LINGER, ..behavior }
            }
            HostileKind::SyncFlood => {
                Behavior { opening: lockstep::hello(), block: lockstep::request(), frames: 1, ..behavior }
            }
            HostileKind::FalseChecksums => Behavior {
                opening: lockstep::hello(),
                every: Duration::from_secs(1),
                ..Behavior::flood(lockstep::false_checksums(index), lockstep::CHECKSUMS as usize)
            },
            HostileKind::Churn => Behavior { leaves: true, ..Behavior::churn(index) },
            HostileKind::Reconnect => {
                let opening = [hello(), chat()].concat();
                Behavior { opening, leaves: true, lingers: LINGER, ..behavior }
            }
            HostileKind::Bombs => {
                let block = msgpack_bombs::frame(index);
                Behavior { opening: hello(), block, frames: 1, every: Duration::from_millis(20), ..behavior }
            }
            HostileKind::DatagramFlood | HostileKind::LaneTheft => {
                Behavior { opening: datagram_flood::opening(), sends_datagrams: true, ..behavior }
            }
            HostileKind::HalfOpenPages => {
                let (reads, stays) = (ReadMode::Nothing, Some(PAGE_STAY));
                Behavior { upgrades: false, request: PAGE, reads, stays, ..behavior }
            }
            _ => Behavior::half_open(is_odd),
        }
    }
}

/// The amount that an attacker reads after its upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadMode {
    All,
    Drip,
    Nothing,
}

/// The sequence numbers and target ticks of an attacker's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SequencePattern {
    /// New sequence numbers, and no target tick.
    New,
    /// New sequence numbers, and target ticks in the far future.
    FarAhead,
    /// New sequence numbers, and target ticks alternately in the past and in the far future.
    ToAndFro,
    /// Sequence numbers that repeat and decrease, and finally always the largest possible number.
    Back,
}

impl SequencePattern {
    /// The sequence number and target tick of the command with this index, starting at 1.
    pub(super) fn numbers(self, number: u32) -> (u32, Option<u32>) {
        match self {
            SequencePattern::New => (number, None),
            SequencePattern::FarAhead => (number, Some(u32::MAX - number % 7)),
            SequencePattern::ToAndFro => (number, Some(if number.is_multiple_of(2) { u32::MAX } else { 0 })),
            SequencePattern::Back if number > REVERSED_COMMANDS => (u32::MAX, None),
            SequencePattern::Back => (number / 4 * 3 + number % 4, Some(number)),
        }
    }
}

/// The behaviour of one attacker.
#[derive(Debug)]
pub(super) struct Behavior {
    /// Whether the attacker requests an upgrade and waits for the response. Otherwise it sends
    /// `request` immediately.
    pub(super) upgrades: bool,
    /// The bytes that the attacker sends instead of an upgrade request; empty for none.
    pub(super) request: &'static [u8],
    /// Whether the attacker disconnects after its upgrade request, without waiting for the
    /// response.
    pub(super) closes_after_request: bool,
    /// The bytes that the attacker sends first.
    pub(super) opening: Vec<u8>,
    /// The bytes that the attacker sends repeatedly after `opening`.
    pub(super) block: Vec<u8>,
    /// Number of commands after each block.
    pub(super) commands: usize,
    pub(super) sequences: SequencePattern,
    /// Whether the attacker connects with a resume key.
    pub(super) has_key: bool,
    /// Number of frames per block, including commands.
    pub(super) frames: usize,
    /// Whether the attacker sends a block of datagrams as well.
    pub(super) sends_datagrams: bool,
    /// Time between two blocks.
    pub(super) every: Duration,
    /// Whether the attacker disconnects once `opening` is sent.
    pub(super) leaves: bool,
    /// Time after which the attacker reconnects, unless the server ends the connection earlier.
    pub(super) stays: Option<Duration>,
    /// Time for which the attacker stays connected before it disconnects.
    pub(super) lingers: Duration,
    pub(super) reads: ReadMode,
}

impl Default for Behavior {
    fn default() -> Behavior {
        Behavior {
            upgrades: true,
            request: SLOW_HEAD,
            closes_after_request: false,
            opening: Vec::new(),
            block: Vec::new(),
            commands: 0,
            sequences: SequencePattern::New,
            has_key: false,
            frames: 0,
            sends_datagrams: false,
            every: Duration::from_millis(10),
            leaves: false,
            stays: None,
            lingers: Duration::ZERO,
            reads: ReadMode::All,
        }
    }
}

impl Behavior {
    /// An attacker that sends a block in each pass, if the socket accepts it.
    fn flood(block: Vec<u8>, frames: usize) -> Behavior {
        Behavior { block, frames, every: Duration::ZERO, ..Behavior::default() }
    }

    /// An attacker that sends `opening`, and then reads and sends nothing.
    fn half_open(joins: bool) -> Behavior {
        let opening = if joins { hello() } else { Vec::new() };
        Behavior { reads: ReadMode::Nothing, opening, ..Behavior::default() }
    }

    /// An attacker that disconnects before its request, before the response, or after its `hello`.
    fn churn(index: usize) -> Behavior {
        let behavior = Behavior::default();
        match index % 3 {
            0 => Behavior { upgrades: false, ..behavior },
            1 => Behavior { closes_after_request: true, ..behavior },
            _ => Behavior { opening: hello(), ..behavior },
        }
    }

    /// Whether the attacker sends nothing after `opening`.
    pub(super) fn is_silent(&self) -> bool {
        self.frames == 0 && self.block.is_empty() && !self.sends_datagrams
    }

    /// Appends the next block, and updates `number`, the index of the last command.
    pub(super) fn write_block(&self, number: &mut u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.block);
        for _ in 0..self.commands {
            *number = number.wrapping_add(1);
            let (sequence, tick) = self.sequences.numbers(*number);
            let direction = Some(number.wrapping_mul(97) as u16);
            out.extend(packet(&ClientPacket::Move { sequence: Some(sequence), tick, direction }));
        }
    }

    /// The size of the kernel receive buffer that the attacker sets, in bytes.
    pub(super) fn recv_buffer_bytes(&self) -> Option<usize> {
        (self.reads != ReadMode::All).then_some(SMALL_ROOM_BYTES)
    }
}

fn pings(count: usize) -> Vec<u8> {
    let mut block = Vec::new();
    (0..count).for_each(|_| write_frame(&mut block, Opcode::Ping, &[b'x'; 125]));
    block
}

fn flood_messages() -> Vec<u8> {
    (0..FLOOD_FRAMES as u32).flat_map(|nonce| packet(&ClientPacket::Ping { nonce: Some(nonce) })).collect()
}

/// A frame with a `ping` packet and 4,000 extra bytes. The server drops such a packet.
fn long_packet() -> Vec<u8> {
    let (mut message, mut bytes) = (vec![0x92, 6, 0x92, 1, 0xda, 0x0f, 0xa0], Vec::new());
    message.resize(message.len() + 4_000, b'x');
    write_frame(&mut bytes, Opcode::Binary, &message);
    bytes
}

fn fragment(opcode: Opcode, length: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    Header { fin: false, compressed: false, opcode, mask: Some(KEY), length }.encode(&mut bytes);
    bytes
}

fn tiny_fragments() -> Vec<u8> {
    let mut one = fragment(Opcode::Continuation, 1);
    one.push(0);
    one.repeat(TINY_FRAMES)
}

/// A chat message as the first command of a client.
fn chat() -> Vec<u8> {
    packet(&ClientPacket::Chat { sequence: Some(1), tick: None, text: CHAT_LINE.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::AttackReport;
    use super::*;
    use crate::limits;
    use crate::packet::{Direction, PacketTables};
    use crate::ws::connection::{Connection, Event, Role};

    /// Processes an attacker's bytes like a server. Returns the number of messages, and the
    /// violation if there is one.
    fn taken(attack: HostileKind, index: usize, blocks: usize) -> (usize, Option<&'static str>) {
        let (behavior, mut conn) =
            (Behavior::new(attack, index), Connection::new(Role::Server, limits::CLIENT_MESSAGE_LIMITS));
        conn.receive(&behavior.opening);
        let (mut sequence, mut bytes) = (0, Vec::new());
        (0..blocks).for_each(|_| behavior.write_block(&mut sequence, &mut bytes));
        conn.receive(&bytes);
        let mut messages = 0;
        loop {
            match conn.next_event() {
                Ok(Some(Event::Close { .. } | Event::Eof { .. })) | Ok(None) => return (messages, None),
                Ok(Some(_)) => messages += 1,
                Err(violation) => return (messages, Some(violation.name())),
            }
        }
    }

    #[test]
    fn attackers_send_the_frames_that_they_count() {
        for (attack, index, blocks, expected) in [
            (HostileKind::PingFlood, 0, 2, (1 + 128, None)),
            (HostileKind::MessageFlood, 0, 1, (1 + 1024, None)),
            (HostileKind::ByteFlood, 0, 1, (1 + 32, None)),
            (HostileKind::Idle, 0, 1, (0, None)),
            (HostileKind::StalledReaders, 0, 1, (1 + 100, None)),
            (HostileKind::CommandFlood, 1, 1, (1 + 64, None)),
            (HostileKind::CommandFlood, 0, 3, (1 + 3, None)),
            (HostileKind::TinyFragments, 0, 1, (0, Some("too_many_fragments"))),
            (HostileKind::Reconnect, 0, 1, (2, None)),
            (HostileKind::Contradictions, 2, 3, (1 + 3, None)),
            (HostileKind::SeatHolders, 0, 1, (1, None)),
            (HostileKind::SyncFlood, 0, 3, (1 + 3, None)),
            (HostileKind::FalseChecksums, 0, 1, (1 + 80, None)),
            (HostileKind::DatagramFlood, 0, 1, (2, None)),
            (HostileKind::HalfOpen, 1, 1, (1, None)),
            (HostileKind::HalfOpen, 0, 1, (0, None)),
        ] {
            assert_eq!(taken(attack, index, blocks), expected, "{} {index}", attack.name());
        }
    }

    #[test]
    fn sequences_and_ticks_contradict_one_another() {
        let of = |pattern: SequencePattern, numbers: [u32; 5]| numbers.map(|number| pattern.numbers(number));
        let sequences = of(SequencePattern::Back, [3, 4, 5, REVERSED_COMMANDS, REVERSED_COMMANDS + 1])
            .map(|(sequence, _)| sequence);
        assert_eq!(sequences, [3, 3, 4, 150, u32::MAX]);
        let ticks = of(SequencePattern::ToAndFro, [1, 2, 3, 4, 5]).map(|(_, tick)| tick);
        assert_eq!(ticks, [Some(0), Some(u32::MAX), Some(0), Some(u32::MAX), Some(0)]);
        assert!(
            of(SequencePattern::FarAhead, [1, 2, 3, 4, 5]).iter().all(|(_, tick)| *tick > Some(u32::MAX / 2))
        );
    }

    #[test]
    fn every_command_of_a_flood_is_a_new_one() {
        let (behavior, mut sequence, mut bytes) =
            (Behavior::new(HostileKind::CommandFlood, 1), 0, Vec::new());
        let mut conn = Connection::new(Role::Server, limits::CLIENT_MESSAGE_LIMITS);
        (0..3).for_each(|_| behavior.write_block(&mut sequence, &mut bytes));
        conn.receive(&bytes);
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let mut sequences = Vec::new();
        while let Ok(Some(Event::Binary(message))) = conn.next_event() {
            let decoded = dialect.decode(Direction::ToServer, message).expect("a packet");
            match ClientPacket::from_decoded(&decoded) {
                ClientPacket::Move { sequence: Some(sequence), .. } => sequences.push(sequence),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(sequences, (1..=3 * COMMANDS as u32).collect::<Vec<_>>());
    }

    #[test]
    fn a_report_names_what_was_achieved() {
        let endings = BTreeMap::from([("status 503".to_owned(), 7)]);
        let time = Duration::from_secs(2);
        let lines_received = Some(3);
        let report = AttackReport {
            connections: 10,
            at_once: 4,
            bytes: 200,
            frames: 6,
            datagrams: 0,
            answers: 0,
            stolen_bytes: 0,
            endings,
            chat_lines_received: lines_received,
            time,
            unreachable: 1,
        };
        let text = report.text(HostileKind::Churn);
        assert!(
            text.starts_with("churn, 2.0 s\n  connections  10 (5 a second), 4 at once, 1 unreachable\n"),
            "{text}"
        );
        assert!(
            text.contains("6 frames (3 a second), 100 bytes a second\n  chat         3 lines, received by a client on the same map\n  \"status 503\" 7 times\n"),
            "{text}"
        );
        let json: serde_json::Value = serde_json::from_str(&report.json(HostileKind::Churn)).expect("JSON");
        assert_eq!(["connections", "lines_heard"].map(|name| json[name].as_u64()), [Some(10), Some(3)]);
        assert_eq!(json["endings"]["status 503"].as_u64(), Some(7));
    }
}
