//! Generated sessions over real sockets, under capture: a peer without sockets, given the capture's
//! pieces and times, requests the same commands and sends the same answers and close frames. So does
//! the WebAssembly of the page, run by node if `TICKWIRE_TOOLS` is set.
//!
//! A seed determines a session: an endpoint, and steps that are valid, wrong, malformed, hostile or
//! a pause, split anywhere.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{fs, thread};

use tickwire::capture::{self, Capture, TcpSide};
use tickwire::internal::games;
use tickwire::internal::games::moo::client_packet::{ClanAction, ClientPacket, Mode};
use tickwire::internal::server::net::recorder::CaptureTarget;
use tickwire::internal::tools::replay::{self, ReplayInput, ReplayOptions, WorldResults};
use tickwire::packet::{Dialect, Direction, PacketTables};
use tickwire::ws::frame::{self, Opcode};

use crate::raw::Raw;
use crate::support::server_with;

const SESSIONS: u64 = 500;
const TOOLS: &str = "TICKWIRE_TOOLS";
const AT_ONCE: usize = 25;
const ENDPOINTS: [(&str, &str, bool); 7] = [
    ("/play?a=", "native", false),
    ("/play?format=json&a=", "native", true),
    ("/?a=", "legacy", false),
    ("/server?a=", "letters", false),
    ("/?dialect=letters-2023&a=", "letters-2023", false),
    ("/?dialect=letters-2024&a=", "letters-2024", false),
    ("/?format=json&a=", "legacy", true),
];

/// A generator of numbers (splitmix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    fn bytes(&mut self, max: u64) -> Vec<u8> {
        (0..self.roll(max)).map(|_| self.roll(256) as u8).collect()
    }
}

/// One session: what it is spoken in, and its numbers.
struct Script {
    rng: Dice,
    dialect: std::sync::Arc<Dialect>,
    is_json: bool,
    sequence: u32,
}

impl Script {
    /// A packet that the session may take, or reject for what it says.
    fn packet(&mut self) -> ClientPacket<'static> {
        self.sequence += self.rng.roll(3) as u32;
        let (sequence, tick) = (Some(self.sequence), None);
        let number = self.rng.roll(40) as u16;
        let angle = self.rng.roll(65_536) as u16;
        match self.rng.roll(14) {
            0 | 1 => ClientPacket::Move { sequence, tick, direction: (number > 5).then_some(angle) },
            2 => ClientPacket::Aim { sequence, tick, heading: angle },
            3 => {
                ClientPacket::Attack { sequence, tick, state: number.is_multiple_of(2), heading: Some(angle) }
            }
            4 => ClientPacket::Select { sequence, tick, id: number * 9, is_weapon: number.is_multiple_of(2) },
            5 => ClientPacket::Upgrade { sequence, tick, choice: number * 9 },
            6 => ClientPacket::Chat { sequence, tick, text: "hello ".repeat(usize::from(number % 4)) },
            7 => ClientPacket::Clan {
                sequence,
                tick,
                action: ClanAction::Create { name: format!("c{number}") },
            },
            8 => ClientPacket::MapPing { sequence, tick },
            9 => ClientPacket::ToggleAttack,
            10 | 11 => ClientPacket::Ping { nonce: Some(number.into()) },
            12 => ClientPacket::Spectate { player: Some(number) },
            _ => self.enter(),
        }
    }

    fn enter(&mut self) -> ClientPacket<'static> {
        ClientPacket::EnterGame {
            name: Some("Ada".into()),
            skin: Some(self.rng.roll(12) as u8),
            moofoll: true,
        }
    }

    fn begin(&mut self) -> Vec<u8> {
        let hello = ClientPacket::Hello {
            version: 1 + u16::from(self.rng.roll(20) == 0),
            mode: if self.rng.roll(4) == 0 { Mode::Spectate } else { Mode::Play },
            name: Some("Bob".into()),
            skin: None,
        };
        let first = if self.dialect.name() == "native" { hello } else { self.enter() };
        self.message(&first)
    }

    fn message(&mut self, packet: &ClientPacket<'_>) -> Vec<u8> {
        let message = packet.encode(&self.dialect);
        if message.is_empty() {
            return Vec::new();
        }
        if !self.is_json {
            return self.frame(Opcode::Binary, &message);
        }
        let text = self.dialect.json_from_msgpack(Direction::ToServer, &message).expect("our own");
        self.frame(Opcode::Text, text.as_bytes())
    }

    fn frame(&mut self, opcode: Opcode, payload: &[u8]) -> Vec<u8> {
        let (mut bytes, key) = (Vec::new(), [0; 4].map(|_: u8| self.rng.roll(256) as u8));
        frame::write(&mut bytes, opcode, Some(key), payload);
        bytes
    }

    /// A message in two fragments, with a ping between them.
    fn fragments(&mut self, packet: &ClientPacket<'_>) -> Vec<u8> {
        let whole = packet.encode(&self.dialect);
        let (one, two) = whole.split_at(whole.len() / 2);
        let opcode = if self.is_json { Opcode::Text } else { Opcode::Binary };
        let mut bytes = self.frame(opcode, one);
        bytes[0] &= 0x7f;
        bytes.extend(self.frame(Opcode::Ping, b"between"));
        bytes.extend(self.frame(Opcode::Continuation, two));
        bytes
    }

    /// The bytes of one step.
    fn step(&mut self) -> Vec<u8> {
        let kind = if self.is_json { Opcode::Text } else { Opcode::Binary };
        match self.rng.roll(60) {
            0 => self.rng.bytes(40),
            1 => {
                let mut bytes = self.message(&ClientPacket::MapPing { sequence: None, tick: None });
                if let Some(place) = bytes.len().checked_sub(1).map(|last| self.rng.roll(last as u64 + 1)) {
                    bytes[place as usize] ^= 1 << self.rng.roll(8);
                }
                bytes
            }
            2 => self.frame(Opcode::Close, &[&1000_u16.to_be_bytes()[..], b"bye"].concat()),
            3 => self.frame(Opcode::Close, b"\x03"),
            4 => self.frame(if self.is_json { Opcode::Binary } else { Opcode::Text }, b"[]"),
            5 => (0..300).flat_map(|_| self.frame(Opcode::Ping, b"")).collect(),
            6 => {
                let long = vec![b'x'; 20_000];
                self.frame(kind, &long)
            }
            7..10 => {
                let payload = self.rng.bytes(30);
                self.frame(kind, &payload)
            }
            10..14 => {
                let payload = self.rng.bytes(30);
                self.frame(Opcode::Ping, &payload)
            }
            14..18 => {
                let packet = self.packet();
                self.fragments(&packet)
            }
            18 => {
                // Enough at once for the warnings of both budgets.
                let ping = ClientPacket::Ping { nonce: Some(1) };
                (0..130).flat_map(|_| self.message(&ping)).collect()
            }
            _ => {
                let packet = self.packet();
                self.message(&packet)
            }
        }
    }
}

/// Runs one session to its end.
fn run(seed: u64, address: SocketAddr) {
    let mut rng = Dice(seed);
    let (target, dialect, is_json) = ENDPOINTS[rng.roll(ENDPOINTS.len() as u64) as usize];
    let dialect = PacketTables::builtin().dialect(dialect).expect("built in");
    let mut script = Script { rng, dialect, is_json, sequence: 0 };
    let mut raw = Raw::connect(address, target);
    let mut bytes = if script.rng.roll(20) == 0 { Vec::new() } else { script.begin() };
    for _ in 0..script.rng.roll(40) {
        bytes.extend(script.step());
        let sent = script.rng.roll(bytes.len() as u64 + 1) as usize;
        // What the server has closed takes no more: the rest is not part of the session.
        if raw.stream.write_all(&bytes[..sent]).is_err() {
            break;
        }
        bytes.drain(..sent);
        thread::sleep(Duration::from_millis(script.rng.roll(25)));
    }
    let _ = raw.stream.write_all(&bytes);
    if script.rng.roll(3) > 0 {
        let _ = raw.stream.shutdown(Shutdown::Write);
        let _ = raw.stream.read_to_end(&mut Vec::new());
    }
}

/// The reasons of the server's close frames, counted.
fn closes(capture: &Capture<'_>) -> std::collections::BTreeMap<String, usize> {
    let mut reasons = std::collections::BTreeMap::new();
    for connection in capture.connections() {
        let server = connection.pieces.iter().rfind(|piece| piece.from == TcpSide::Server);
        let bytes = server.map_or(&b""[..], |piece| piece.bytes);
        let is_close = |at: &usize| {
            bytes[*at] == 0x88
                && bytes.get(at + 1).is_some_and(|length| at + 2 + usize::from(*length) == bytes.len())
        };
        let reason =
            (0..bytes.len()).find(is_close).and_then(|at| bytes.get(at + 4..)).map(String::from_utf8_lossy);
        *reasons.entry(reason.unwrap_or_default().into_owned()).or_default() += 1;
    }
    reasons
}

/// The report of the page's WebAssembly on a capture file.
fn in_wasm(path: &Path) -> serde_json::Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wasm/replay.mjs");
    let done = Command::new("node").arg(script).arg(path).output().expect("node is there");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).expect("a report")
}

/// Replays the file with the page's WebAssembly as well; the report is the native one.
fn wasm_finds_the_same(path: &Path, file: &[u8]) -> String {
    fs::write(path, file).expect("the file can be written");
    let native = replay::json::of_file(file, games::INFO, None).expect("a capture");
    let found = in_wasm(path);
    let _ = fs::remove_file(path);
    assert_eq!(found, native, "src/web/wasm/tickwire.wasm is stale? scripts/build-wasm.sh");
    let figures = ["clients", "ticks", "matched", "replies"].map(|name| format!("{name} {}", found[name]));
    format!("WebAssembly replays {} MB: {}, {}", file.len() / 1_000_000, found["verdict"], figures.join(", "))
}

#[test]
fn a_peer_without_sockets_replays_a_capture_like_the_server() {
    let server = server_with(|config| config.address_rate_limits = false);
    let path = std::env::temp_dir().join(format!("tickwire-sessions-{}.pcapng", std::process::id()));
    let _ = fs::remove_file(&path);
    server.capture(CaptureTarget::File(path.clone())).expect("a new file");
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= SESSIONS {
                        return;
                    }
                    run(seed, server.address());
                }
            });
        }
    });
    assert_eq!(server.stop(), 0);
    let file = fs::read(&path).expect("the file");
    let _ = fs::remove_file(&path);
    let has_tools = std::env::var_os(TOOLS).is_some();
    if has_tools {
        println!("{}", wasm_finds_the_same(&path, &file));
    } else {
        eprintln!("{TOOLS} is not set: src/web/wasm/tickwire.wasm was not run");
    }
    let capture = capture::read(&file).expect("a capture");
    let run_again = |file: &[u8]| {
        let input = ReplayInput::read(file, None).expect("a capture");
        replay::replay(&input, games::INFO, ReplayOptions::default(), WorldResults::default)
            .expect("replayable")
    };
    let mut rooms = run_again(&file);
    let (_, report) = rooms.pop().expect("the default room");
    assert!(report.is_same(), "{:?} {:?}", report.answer, report.difference);
    assert_eq!(
        (report.clients, report.dropped_while_connected, report.not_captured),
        (SESSIONS as usize, 0, 0)
    );
    assert!(report.matched > 500 && report.answers > 3_000, "{report:?}");
    let reasons = closes(&capture);
    let of_frames = ["wrong_frame_type", "message_too_long", "text_not_utf8", "reserved_bit"];
    let of_packets = ["message_rate", "hello_first", "hello_version", "packet_truncated", "packet_bad_json"];
    for expected in [&of_frames[..], &of_packets, &[""]].concat() {
        assert!(reasons.contains_key(expected), "{expected}: {reasons:?}");
    }

    // One bit of one answer.
    let pong = file.windows(9).rposition(|window| window == b"\x8a\x07between").expect("a pong");
    let mut changed = file;
    changed[pong + 3] ^= 1;
    if has_tools {
        println!("{}", wasm_finds_the_same(&path, &changed));
    }
    let (_, report) = run_again(&changed).pop().expect("the default room");
    let (_, differing) = report.answer.expect("an answer that differs");
    let frame = |frame: Option<replay::ReplyFrame>| frame.expect("a frame").bytes;
    assert_eq!(frame(differing.recorded), b"\x8a\x07bdtween");
    assert_eq!(frame(differing.replayed), b"\x8a\x07between");
    assert_eq!(report.difference, None);
}
