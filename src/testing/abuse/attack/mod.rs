//! Many clients that misbehave at once: the behaviour of each kind of attack, and a summary of the
//! results.
//!
//! An [`Attack`] runs against a server on this machine, or against a [`sink`](super::sink) for
//! comparison; addresses of other machines are refused. The result is the achieved [`AttackReport`] and
//! how the connections ended. One thread runs all attackers, each at its own pace, so that the
//! pressure does not depend on the target. [`super::misbehavior`] instead runs one client after the
//! other, each as fast as the server lets it.

mod lockstep;
pub mod msgpack_bombs;
mod swarm;
mod victim;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

pub use swarm::{AttackPlan, run};

use super::misbehavior::{KEY, hello, packet};
use crate::games::moo::client_packet::ClientPacket;
use crate::util::plural;
use crate::ws::frame::{self, Header, Opcode};

/// Receive buffer of an attacker that reads little or nothing, small so that it fills soon.
const SMALL_ROOM_BYTES: usize = 4 * 1024;
/// Frames of one byte in a block of them, seven bytes each.
const TINY_FRAMES: usize = 4096;
/// The beginning of a request head that never ends.
const SLOW_HEAD: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ";
/// A request for the largest page.
const PAGE: &[u8] = b"GET /wasm/tickwire.wasm HTTP/1.1\r\nHost: a\r\n\r\n";
/// Longer than a server waits for a client that does not read its page.
const PAGE_STAY: Duration = Duration::from_secs(13);
/// Commands of an attacker that sends far too many, a hundred times a second.
const COMMANDS: usize = 64;
/// Commands that go to and fro before the largest sequence, after which no other is larger.
const REVERSED_COMMANDS: u32 = 200;

/// The chat line of each reconnecting attacker.
const CHAT_LINE: &str = "reconnect";
/// Time for which an attacker stays that comes again and again, after its line or its join: a tick of any rate, because a
/// server drops a client's queued commands when it leaves.
const LINGER: Duration = Duration::from_millis(80);

/// The kind of attack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attack {
    /// Each sends a request head, one byte a second, without end.
    Slowloris,
    /// Each joins, pings a hundred times a second, and never reads.
    StalledReaders,
    /// Each joins, and reads 64 bytes ten times a second, which is less than it is sent.
    DripReaders,
    /// Each joins, and sends 64 pings of 125 bytes a hundred times a second.
    PingFlood,
    /// Each sends one message in fragments of one byte, 4,096 of them a hundred times a second.
    TinyFragments,
    /// Each joins and sends commands: every second attacker far too many, the others as many as
    /// the budget allows.
    CommandFlood,
    /// Each joins and sends as many commands as the budget allows: a third claim ticks far ahead,
    /// a third jump between the past and the far future, a third have sequences that repeat, go back
    /// and end with the largest one.
    Contradictions,
    /// Each joins with a key of its own, drops its connection so that its player waits for it, and
    /// comes again with another key.
    SeatHolders,
    /// Each follows in lockstep, and asks for a snapshot a hundred times a second.
    SyncFlood,
    /// Each follows in lockstep, and claims another checksum than that of the world at every tick.
    FalseChecksums,
    /// A given number of connections a second, each closed at once: before a request, after it,
    /// or after joining.
    Churn,
    /// A given number of connections a second, each of which joins, sends a chat line, and leaves:
    /// each has the budgets of a new client.
    Reconnect,
    /// Each sends MessagePack whose headers announce huge or deep values.
    Bombs,
    /// Each requests a page and reads none of it until the server must have given up; then it
    /// reconnects.
    HalfOpenPages,
    /// Each requests an upgrade, every second one joins, and then they are silent; they do not even
    /// close.
    HalfOpen,
}

impl Attack {
    /// All attacks.
    pub const ALL: [Attack; 15] = [
        Attack::Slowloris,
        Attack::StalledReaders,
        Attack::DripReaders,
        Attack::PingFlood,
        Attack::TinyFragments,
        Attack::CommandFlood,
        Attack::Contradictions,
        Attack::SeatHolders,
        Attack::SyncFlood,
        Attack::FalseChecksums,
        Attack::Churn,
        Attack::Reconnect,
        Attack::Bombs,
        Attack::HalfOpenPages,
        Attack::HalfOpen,
    ];

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Attack::Slowloris => "slowloris",
            Attack::StalledReaders => "stalled-readers",
            Attack::DripReaders => "drip-readers",
            Attack::PingFlood => "ping-flood",
            Attack::TinyFragments => "tiny-fragments",
            Attack::CommandFlood => "command-flood",
            Attack::Contradictions => "contradictions",
            Attack::SeatHolders => "seat-holders",
            Attack::SyncFlood => "sync-flood",
            Attack::FalseChecksums => "false-checksums",
            Attack::Churn => "churn",
            Attack::Reconnect => "reconnect",
            Attack::Bombs => "bombs",
            Attack::HalfOpenPages => "half-open-pages",
            Attack::HalfOpen => "half-open",
        }
    }

    /// Whether the count is connections a second, each a new client, rather than clients at once.
    fn is_per_second(self) -> bool {
        matches!(self, Attack::Churn | Attack::Reconnect)
    }

    /// The behaviour of the attacker with this index.
    fn behavior(self, index: usize) -> Behavior {
        let is_odd = index % 2 == 1;
        let manner = Behavior::default();
        match self {
            Attack::Slowloris => {
                Behavior { upgrades: false, block: vec![b'a'], every: Duration::from_secs(1), ..manner }
            }
            Attack::StalledReaders => {
                let (block, frames) = (pings(100), 100);
                Behavior {
                    reads: ReadMode::Nothing,
                    opening: hello(),
                    block,
                    frames,
                    every: Duration::from_secs(1),
                    ..manner
                }
            }
            Attack::DripReaders => Behavior { reads: ReadMode::Drip, opening: hello(), ..manner },
            Attack::PingFlood => Behavior { opening: hello(), block: pings(64), frames: 64, ..manner },
            Attack::TinyFragments => {
                let (opening, block) = (fragment(Opcode::Binary, 0), tiny_fragments());
                Behavior { opening, block, frames: TINY_FRAMES, ..manner }
            }
            Attack::CommandFlood => {
                let commands = if is_odd { COMMANDS } else { 1 };
                Behavior { opening: hello(), commands, frames: commands, ..manner }
            }
            Attack::Contradictions => {
                let says =
                    [SequencePattern::FarAhead, SequencePattern::ToAndFro, SequencePattern::Back][index % 3];
                Behavior { opening: hello(), commands: 1, frames: 1, says, ..manner }
            }
            Attack::SeatHolders => {
                Behavior { opening: hello(), has_key: true, leaves: true, lingers: LINGER, ..manner }
            }
            Attack::SyncFlood => {
                Behavior { opening: lockstep::hello(), block: lockstep::request(), frames: 1, ..manner }
            }
            Attack::FalseChecksums => {
                let (block, frames) = (lockstep::false_checksums(index), lockstep::CHECKSUMS as usize);
                Behavior {
                    opening: lockstep::hello(),
                    block,
                    frames,
                    every: Duration::from_secs(1),
                    ..manner
                }
            }
            Attack::Churn if index.is_multiple_of(3) => Behavior { upgrades: false, leaves: true, ..manner },
            Attack::Churn if index % 3 == 1 => {
                Behavior { closes_after_request: true, leaves: true, ..manner }
            }
            Attack::Churn => Behavior { opening: hello(), leaves: true, ..manner },
            Attack::Reconnect => {
                let opening = [hello(), chat()].concat();
                Behavior { opening, leaves: true, lingers: LINGER, ..manner }
            }
            Attack::Bombs => {
                let block = msgpack_bombs::frame(index);
                Behavior { opening: hello(), block, frames: 1, every: Duration::from_millis(20), ..manner }
            }
            Attack::HalfOpenPages => {
                let (reads, stays) = (ReadMode::Nothing, Some(PAGE_STAY));
                Behavior { upgrades: false, request: PAGE, reads, stays, ..manner }
            }
            Attack::HalfOpen if is_odd => Behavior { reads: ReadMode::Nothing, opening: hello(), ..manner },
            Attack::HalfOpen => Behavior { reads: ReadMode::Nothing, ..manner },
        }
    }
}

/// What an attacker reads after its upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadMode {
    All,
    Drip,
    Nothing,
}

/// The sequences and ticks of an attacker's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SequencePattern {
    /// New sequences, and no tick.
    New,
    /// New sequences, and ticks far ahead.
    FarAhead,
    /// New sequences, and ticks of the past and far ahead by turns.
    ToAndFro,
    /// Sequences that repeat, go back, and in the end the largest one again and again.
    Back,
}

impl SequencePattern {
    /// The sequence and the tick of the command of this number, from 1.
    fn numbers(self, number: u32) -> (u32, Option<u32>) {
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
struct Behavior {
    /// Whether it requests an upgrade and waits for it; if not, it sends at once.
    upgrades: bool,
    /// The request that it sends without an upgrade.
    request: &'static [u8],
    /// Whether it does not wait for the answer.
    closes_after_request: bool,
    /// The bytes that it sends first.
    opening: Vec<u8>,
    /// The bytes that it sends then, repeatedly.
    block: Vec<u8>,
    /// Commands that it sends after the block.
    commands: usize,
    says: SequencePattern,
    /// Whether it connects with a key, by which it could come back to its player.
    has_key: bool,
    /// Frames in the block, commands among them.
    frames: usize,
    /// Time between two blocks.
    every: Duration,
    /// Whether it disconnects once the opening is sent.
    leaves: bool,
    /// The time after which it disconnects and reconnects, unless the server ends it earlier.
    stays: Option<Duration>,
    /// Time for which it stays before disconnecting.
    lingers: Duration,
    reads: ReadMode,
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
            says: SequencePattern::New,
            has_key: false,
            frames: 0,
            every: Duration::from_millis(10),
            leaves: false,
            stays: None,
            lingers: Duration::ZERO,
            reads: ReadMode::All,
        }
    }
}

impl Behavior {
    /// Whether it sends nothing after its opening.
    fn is_silent(&self) -> bool {
        self.frames == 0 && self.block.is_empty()
    }

    /// Appends the next block; `number` is that of its last command.
    fn write_block(&self, number: &mut u32, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.block);
        for _ in 0..self.commands {
            *number = number.wrapping_add(1);
            let (sequence, tick) = self.says.numbers(*number);
            let direction = Some(number.wrapping_mul(97) as u16);
            out.extend(packet(&ClientPacket::Move { sequence: Some(sequence), tick, direction }));
        }
    }

    /// The kernel receive buffer that it requests.
    fn recv_buffer_bytes(&self) -> Option<usize> {
        (self.reads != ReadMode::All).then_some(SMALL_ROOM_BYTES)
    }
}

fn pings(count: usize) -> Vec<u8> {
    let mut block = Vec::new();
    (0..count).for_each(|_| frame::write(&mut block, Opcode::Ping, Some(KEY), &[b'x'; 125]));
    block
}

fn fragment(opcode: Opcode, length: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    Header { fin: false, opcode, mask: Some(KEY), length }.encode(&mut bytes);
    bytes
}

fn tiny_fragments() -> Vec<u8> {
    let mut one = fragment(Opcode::Continuation, 1);
    one.push(0);
    one.repeat(TINY_FRAMES)
}

/// A line of chat, as the first command of a client.
fn chat() -> Vec<u8> {
    packet(&ClientPacket::Chat { sequence: Some(1), tick: None, text: CHAT_LINE.to_owned() })
}

/// The pressure that was achieved, and how the connections ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AttackReport {
    /// Connections made.
    pub connections: u64,
    /// Connections that failed.
    pub unreachable: u64,
    /// Most connections at once.
    pub at_once: usize,
    /// Bytes that the kernel accepted.
    pub bytes: u64,
    /// Frames in these bytes, without those of the openings.
    pub frames: u64,
    /// How connections ended, with the count of each.
    pub endings: BTreeMap<String, u64>,
    /// The attackers' chat lines that a client near them received, for [`Attack::Reconnect`].
    pub chat_lines_received: Option<u64>,
    /// Duration of the attack.
    pub time: Duration,
}

impl AttackReport {
    fn per_second(&self, count: u64) -> f64 {
        (count as f64 / self.time.as_secs_f64().max(0.001)).round()
    }

    /// A few lines for people to read.
    pub fn text(&self, attack: Attack) -> String {
        let mut text = format!(
            "{}, {:.1} s\n  connections  {} ({} a second), {} at once, {} unreachable\n  sent         {} frames ({} a second), {} bytes a second\n",
            attack.name(),
            self.time.as_secs_f64(),
            self.connections,
            self.per_second(self.connections),
            self.at_once,
            self.unreachable,
            self.frames,
            self.per_second(self.frames),
            self.per_second(self.bytes),
        );
        if let Some(lines) = self.chat_lines_received {
            let _ = writeln!(
                text,
                "  chat         {}, received by a client on the same map",
                plural::count_noun(lines, "line")
            );
        }
        for (ending, count) in &self.endings {
            let _ = writeln!(text, "  {ending:?} {}", plural::count_noun(*count, "time"));
        }
        text
    }

    /// One line of JSON.
    pub fn json(&self, attack: Attack) -> String {
        let AttackReport {
            connections,
            unreachable,
            at_once,
            bytes,
            frames,
            endings,
            chat_lines_received: lines_heard,
            time,
        } = self;
        let seconds = time.as_secs_f64();
        serde_json::json!({
            "attack": attack.name(), "seconds": seconds, "connections": connections, "unreachable": unreachable,
            "at_once": at_once, "bytes": bytes, "frames": frames, "endings": endings, "lines_heard": lines_heard,
        })
        .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;
    use crate::packet::{Direction, PacketTables};
    use crate::ws::connection::{Connection, Event, Role};

    /// How a server processes an attacker's bytes until it refuses them: messages, and the rule.
    fn taken(attack: Attack, index: usize, blocks: usize) -> (usize, Option<&'static str>) {
        let (manner, mut conn) =
            (attack.behavior(index), Connection::new(Role::Server, limits::CLIENT_MESSAGE_LIMITS));
        conn.receive(&manner.opening);
        let (mut sequence, mut bytes) = (0, Vec::new());
        (0..blocks).for_each(|_| manner.write_block(&mut sequence, &mut bytes));
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
            (Attack::PingFlood, 0, 2, (1 + 128, None)),
            (Attack::StalledReaders, 0, 1, (1 + 100, None)),
            (Attack::CommandFlood, 1, 1, (1 + 64, None)),
            (Attack::CommandFlood, 0, 3, (1 + 3, None)),
            (Attack::TinyFragments, 0, 1, (0, Some("too_many_fragments"))),
            (Attack::Reconnect, 0, 1, (2, None)),
            (Attack::Contradictions, 2, 3, (1 + 3, None)),
            (Attack::SeatHolders, 0, 1, (1, None)),
            (Attack::SyncFlood, 0, 3, (1 + 3, None)),
            (Attack::FalseChecksums, 0, 1, (1 + 80, None)),
            (Attack::HalfOpen, 1, 1, (1, None)),
            (Attack::HalfOpen, 0, 1, (0, None)),
        ] {
            assert_eq!(taken(attack, index, blocks), expected, "{} {index}", attack.name());
        }
    }

    #[test]
    fn sequences_and_ticks_contradict_one_another() {
        let of = |says: SequencePattern, numbers: [u32; 5]| numbers.map(|number| says.numbers(number));
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
        let (manner, mut sequence, mut bytes) = (Attack::CommandFlood.behavior(1), 0, Vec::new());
        let mut conn = Connection::new(Role::Server, limits::CLIENT_MESSAGE_LIMITS);
        (0..3).for_each(|_| manner.write_block(&mut sequence, &mut bytes));
        conn.receive(&bytes);
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let mut heard = Vec::new();
        while let Ok(Some(Event::Binary(message))) = conn.next_event() {
            let decoded = dialect.decode(Direction::ToServer, message).expect("a packet");
            match ClientPacket::from_decoded(&decoded) {
                ClientPacket::Move { sequence: Some(sequence), .. } => heard.push(sequence),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(heard, (1..=3 * COMMANDS as u32).collect::<Vec<_>>());
    }

    #[test]
    fn a_report_names_what_was_achieved() {
        let endings = BTreeMap::from([("status 503".to_owned(), 7)]);
        let time = Duration::from_secs(2);
        let lines_heard = Some(3);
        let pressure = AttackReport {
            connections: 10,
            at_once: 4,
            bytes: 200,
            frames: 6,
            endings,
            chat_lines_received: lines_heard,
            time,
            unreachable: 1,
        };
        let text = pressure.text(Attack::Churn);
        assert!(
            text.starts_with("churn, 2.0 s\n  connections  10 (5 a second), 4 at once, 1 unreachable\n"),
            "{text}"
        );
        assert!(
            text.contains("6 frames (3 a second), 100 bytes a second\n  chat         3 lines, received by a client on the same map\n  \"status 503\" 7 times\n"),
            "{text}"
        );
        let json: serde_json::Value = serde_json::from_str(&pressure.json(Attack::Churn)).expect("JSON");
        assert_eq!(["connections", "lines_heard"].map(|name| json[name].as_u64()), [Some(10), Some(3)]);
        assert_eq!(json["endings"]["status 503"].as_u64(), Some(7));
    }
}
