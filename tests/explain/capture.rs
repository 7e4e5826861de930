//! `tickwire explain` of a capture: the upgrade, frames that span or share segments, holes,
//! captures that begin in the middle, and the printed output.

use crate::rows::hex;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tickwire::capture;
use tickwire::explain::capture_walk::{self, CaptureItemKind};
use tickwire::internal::tools::capture::packet::{self, ACK, FIN, LINK_RAW, SYN, SegmentHeader};
use tickwire::internal::tools::capture::pcapng::{self, PacketMeta};
use tickwire::internal::tools::capture::writer;
use tickwire::internal::util::os::thread_cpu_time;
use tickwire::packet::{Direction, PacketTables, Value};
use tickwire::ws::frame::{self, Opcode};
use tickwire::ws::{Side, handshake};

const SERVER: &str = "127.0.0.1:3000";

/// A capture that is being written.
pub(super) struct Writer {
    pub(super) file: Vec<u8>,
    packets: u64,
}

/// A connection of it: how far both ends are.
pub(super) struct Talk {
    client: SocketAddr,
    sent: [u32; 2],
}

impl Writer {
    pub(super) fn new() -> Writer {
        let mut file = Vec::new();
        pcapng::write_section(&mut file, "a test");
        pcapng::write_interface(&mut file, LINK_RAW as u16, "clients");
        Writer { file, packets: 0 }
    }

    /// Begins a connection with its three packets.
    fn connect(&mut self, client: &str) -> Talk {
        let mut talk = self.midway(client);
        talk.sent = [99, 499];
        self.segment(&talk, Side::Client, SYN, b"", true);
        self.segment(&talk, Side::Server, SYN | ACK, b"", true);
        talk.sent = [100, 500];
        self.segment(&talk, Side::Client, ACK, b"", true);
        talk
    }

    /// A connection that was there before the capture.
    pub(super) fn midway(&self, client: &str) -> Talk {
        Talk { client: client.parse().expect("an address"), sent: [7000, 9000] }
    }

    /// What a side says in one segment; what is lost has its numbers all the same.
    pub(super) fn say(&mut self, talk: &mut Talk, from: Side, bytes: &[u8], is_captured: bool) {
        self.segment(talk, from, ACK, bytes, is_captured);
        talk.sent[usize::from(from == Side::Server)] += bytes.len() as u32;
    }

    fn segment(&mut self, talk: &Talk, from: Side, flags: u8, bytes: &[u8], is_captured: bool) {
        let (mine, server) = (usize::from(from == Side::Server), SERVER.parse().expect("an address"));
        let (from, to) = if mine == 0 { (talk.client, server) } else { (server, talk.client) };
        let head =
            SegmentHeader { from, to, sequence: talk.sent[mine], acknowledged: talk.sent[1 - mine], flags };
        let mut raw = Vec::new();
        assert_eq!(packet::encode(&mut raw, &head, bytes), bytes.len());
        if is_captured {
            let at_ns = 1_700_000_000_000_000_000 + self.packets * 250_000_000;
            let meta = PacketMeta { interface: 0, at_ns, inbound: Some(mine == 0), comment: "" };
            pcapng::write_packet(&mut self.file, &meta, &raw);
            self.packets += 1;
        }
    }

    /// Ends it from both sides. A FIN counts as a byte: the last segment is the answer to the server's.
    fn end(&mut self, talk: &mut Talk) {
        for from in [Side::Client, Side::Server] {
            self.segment(talk, from, FIN | ACK, b"", true);
            talk.sent[usize::from(from == Side::Server)] += 1;
        }
        self.segment(talk, Side::Client, ACK, b"", true);
    }
}

fn said(dialect: &str, from: Side, name: &str, values: &[Value]) -> Vec<u8> {
    let dialect = PacketTables::builtin().dialect(dialect).expect("built in");
    let direction = if from == Side::Client { Direction::ToServer } else { Direction::ToClient };
    let payload = dialect.encode(direction, name, values).expect("values of its types");
    let mut bytes = Vec::new();
    frame::write(&mut bytes, Opcode::Binary, (from == Side::Client).then_some([1, 2, 3, 4]), &payload);
    bytes
}

fn pong(nonce: u32) -> Vec<u8> {
    said("native", Side::Server, "pong", &[Value::from(nonce), Value::from(7)])
}

fn upgrade(writer: &mut Writer, talk: &mut Talk, target: &str) {
    let request = handshake::request("localhost:3000", target, "dGhlIHNhbXBsZSBub25jZQ==", &[]);
    writer.say(talk, Side::Client, &request, true);
    let response = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
        handshake::accept_key("dGhlIHNhbXBsZSBub25jZQ==")
    );
    writer.say(talk, Side::Server, response.as_bytes(), true);
}

/// What is found, a line each: client, packet, what.
pub(super) fn found(file: &[u8], dialect: Option<&str>) -> Vec<String> {
    let codes = PacketTables::builtin();
    let named =
        |name: &str| codes.dialects().find(|dialect| dialect.name() == name).expect("built in").as_ref();
    let capture = capture::read(file).expect("a capture");
    let mut lines = Vec::new();
    capture_walk::walk(
        (&capture.connections(), &[]),
        &codes,
        (dialect.map(named), named("native")),
        None,
        |found| {
            let what = match found.what {
                CaptureItemKind::Begin { is_whole, .. } => {
                    format!("begins, {}", if is_whole { "whole" } else { "midway" })
                }
                CaptureItemKind::Item(item) => {
                    assert_eq!(item.encode().as_ref(), Some(&item.bytes));
                    let mark = if item.from == Side::Client { ">" } else { "<" };
                    format!("{mark} {item}")
                }
                CaptureItemKind::Gap(side, bytes) => format!("{bytes} bytes of {side:?} missing"),
            };
            lines.push(format!("{} {}: {what}", found.client, found.packet));
        },
    );
    lines
}

#[test]
fn frames_have_the_packet_that_completed_them() {
    let mut writer = Writer::new();
    let mut ann = writer.connect("127.0.0.2:50001");
    upgrade(&mut writer, &mut ann, "/play");
    let mut bob = writer.connect("127.0.0.3:50002");
    upgrade(&mut writer, &mut bob, "/?dialect=legacy");
    let hello = said("native", Side::Client, "hello", &[Value::from(1), Value::from(1)]);
    writer.say(&mut ann, Side::Client, &hello[..3], true);
    writer.say(&mut ann, Side::Client, &hello[3..], true);
    writer.say(&mut bob, Side::Server, &said("legacy", Side::Server, "pong", &[]), true);
    writer.say(&mut ann, Side::Server, &[pong(1), pong(2), pong(3)[..4].to_vec()].concat(), true);
    writer.say(&mut ann, Side::Server, &pong(3)[4..], true);
    writer.end(&mut ann);
    assert_eq!(
        found(&writer.file, None),
        [
            "1 4: begins, whole",
            "1 4: > GET /play HTTP/1.1, asks for the upgrade",
            "1 5: < HTTP/1.1 101 Switching Protocols, grants the upgrade",
            "2 9: begins, whole",
            "2 9: > GET /?dialect=legacy HTTP/1.1, asks for the upgrade",
            "2 10: < HTTP/1.1 101 Switching Protocols, grants the upgrade",
            "1 12: > binary, masked, 5 bytes: hello version=1 mode=1 name=null skin=null resume_tick=null",
            "2 13: < binary, 5 bytes: pong",
            "1 14: < binary, 5 bytes: pong nonce=1 tick=7",
            "1 14: < binary, 5 bytes: pong nonce=2 tick=7",
            "1 15: < binary, 5 bytes: pong nonce=3 tick=7",
        ]
    );
}

#[test]
fn a_hole_is_reported_and_the_next_frame_found() {
    let mut writer = Writer::new();
    let mut ann = writer.connect("127.0.0.2:50001");
    upgrade(&mut writer, &mut ann, "/play");
    writer.say(&mut ann, Side::Server, &[pong(1), pong(2)[..5].to_vec()].concat(), true);
    writer.say(&mut ann, Side::Server, &[&pong(2)[5..], &pong(3)[..2]].concat(), false);
    writer.say(&mut ann, Side::Server, &[&pong(3)[2..], &pong(4)[..], &pong(5)[..]].concat(), true);
    let lines = found(&writer.file, None);
    assert_eq!(
        lines[3..],
        [
            "1 6: < binary, 5 bytes: pong nonce=1 tick=7",
            "1 7: < binary, 5 bytes: incomplete",
            "1 7: 4 bytes of Server missing",
            "1 7: < 5 bytes not decoded",
            "1 7: < binary, 5 bytes: pong nonce=4 tick=7",
            "1 7: < binary, 5 bytes: pong nonce=5 tick=7",
        ]
    );
}

#[test]
fn behind_a_head_that_is_cut_off_frames_are_found() {
    let mut writer = Writer::new();
    let mut ann = writer.connect("127.0.0.2:50001");
    let head = b"GET /play HTTP/1.1\r\nHost: localhost:3000\r\nUpgrade: websocket\r\n";
    writer.say(&mut ann, Side::Client, head, true);
    writer.say(&mut ann, Side::Client, b"Sec-WebSocket-Version: 13\r\n\r\n", false);
    writer.say(&mut ann, Side::Server, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n", true);
    writer.say(&mut ann, Side::Server, b"\r\n", false);
    let ping = said("native", Side::Client, "ping", &[Value::from(9)]);
    writer.say(&mut ann, Side::Client, &ping, true);
    writer.say(&mut ann, Side::Server, &pong(1), true);
    let lines = found(&writer.file, None);
    assert!(lines.iter().any(|line| line.ends_with("> binary, masked, 4 bytes: ping nonce=9")), "{lines:?}");
    assert!(lines.iter().any(|line| line.ends_with("< binary, 5 bytes: pong nonce=1 tick=7")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("not read")), "{lines:?}");
}

#[test]
fn a_capture_that_begins_in_the_middle_is_read_from_the_first_frame_that_makes_sense() {
    for (dialect, name, values) in [
        ("native", "pong", vec![Value::from(9), Value::from(9)]),
        ("legacy", "health", vec![Value::from(3), Value::from(90)]),
    ] {
        let bytes = said(dialect, Side::Server, name, &values);
        let mut writer = Writer::new();
        let mut ann = writer.midway("127.0.0.2:50001");
        writer.say(&mut ann, Side::Server, &bytes[3..], true);
        writer.say(&mut ann, Side::Server, &[&bytes[..], &bytes[..]].concat(), true);
        let lines = found(&writer.file, None);
        assert_eq!(lines[0], "1 1: begins, midway");
        assert_eq!(lines[1], format!("1 2: < {} bytes not decoded", bytes.len() - 3));
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines[2..].iter().all(|line| line.contains(&format!(": {name} "))), "{lines:?}");
    }
    // Nothing that makes sense is nothing that was read.
    let mut writer = Writer::new();
    let mut ann = writer.midway("127.0.0.2:50001");
    writer.say(&mut ann, Side::Server, &[0x82; 40], true);
    assert_eq!(found(&writer.file, None), ["1 1: begins, midway", "1 1: < 40 bytes not decoded"]);
}

/// Far more time of the processor than the tests below take, and far less than what grows with the square takes.
const QUICK: Duration = Duration::from_secs(10);

/// The time that this thread has had a processor: a busy machine does not lengthen it.
fn cpu() -> Duration {
    thread_cpu_time().unwrap_or_default()
}

#[test]
fn a_fruitless_search_does_not_restart_with_each_segment() {
    let mut writer = Writer::new();
    let mut ann = writer.midway("127.0.0.2:50001");
    writer.say(&mut ann, Side::Server, &[0x82, 0x7e, 0x7f, 0xfc].repeat(15_000), true);
    for _ in 0..2_000 {
        writer.say(&mut ann, Side::Server, &[0x82], true);
    }
    let begin = cpu();
    let lines = found(&writer.file, None);
    let took = cpu() - begin;
    assert!(took < QUICK, "{took:?}");
    assert_eq!(lines, ["1 1: begins, midway", "1 2001: < 62000 bytes not decoded"]);
}

#[test]
fn a_frame_after_a_fruitless_search_is_found_at_the_end() {
    let mut writer = Writer::new();
    let mut ann = writer.midway("127.0.0.2:50001");
    writer.say(&mut ann, Side::Server, &[0; 1_000], true);
    writer.say(&mut ann, Side::Server, &[pong(4), pong(5)].concat(), true);
    let lines = found(&writer.file, None);
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(lines[1].ends_with("1000 bytes not decoded") && lines[3].contains("pong nonce=5"), "{lines:?}");
}

#[test]
fn many_holes_take_no_longer_each_than_one() {
    const HOLES: usize = 30_000;
    let mut writer = Writer::new();
    let mut ann = writer.midway("127.0.0.2:50001");
    for _ in 0..HOLES {
        writer.say(&mut ann, Side::Server, &pong(4), true);
        writer.say(&mut ann, Side::Server, &[0; 3], false);
    }
    writer.say(&mut ann, Side::Server, &pong(5), true);
    let begin = cpu();
    let lines = found(&writer.file, None);
    let took = cpu() - begin;
    assert!(took < QUICK, "{took:?}");
    let holes = lines.iter().filter(|line| line.ends_with("3 bytes of Server missing")).count();
    let frames = lines.iter().filter(|line| line.contains("pong nonce=")).count();
    assert_eq!((holes, frames), (HOLES, HOLES + 1));
}

/// The program's output and errors.
fn tickwire(arguments: &[&str]) -> (bool, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickwire"));
    command.env_remove("TICKWIRE_CODES").env_remove("NO_COLOR").arg("explain").args(arguments);
    let output = command.output().expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

/// A file for the program, removed when dropped.
struct OnDisk(PathBuf);

impl OnDisk {
    fn new(name: &str, contents: &[u8]) -> OnDisk {
        let path = std::env::temp_dir().join(format!("tickwire-{name}-{}.pcapng", std::process::id()));
        std::fs::write(&path, contents).expect("written");
        OnDisk(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("text")
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn two_clients() -> Vec<u8> {
    let mut writer = Writer::new();
    pcapng::write_name(&mut writer.file, "127.0.0.2".parse().expect("an address"), "ann");
    let mut ann = writer.connect("127.0.0.2:50001");
    upgrade(&mut writer, &mut ann, "/play");
    let mut bob = writer.connect("127.0.0.3:50002");
    upgrade(&mut writer, &mut bob, "/");
    writer.say(&mut ann, Side::Server, &pong(1), true);
    writer.say(&mut bob, Side::Client, &hex::bytes("81 00"), true);
    writer.end(&mut ann);
    writer.file
}

#[test]
fn the_command_lists_connections_frames_and_violations() {
    let file = OnDisk::new("both", &two_clients());
    let (is_well, out, errors) = tickwire(&[file.path()]);
    assert!(is_well, "{errors}");
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], "15 packets, 2 TCP connections");
    for line in [
        "       4    0.750000  1         127.0.0.2:50001 \"ann\" at 127.0.0.1:3000",
        "       4    0.750000  1       > GET /play HTTP/1.1, asks for the upgrade",
        "      11    2.500000  1       < binary, 5 bytes: pong nonce=1 tick=7",
        "      12    2.750000  2       > mask_missing (RFC 6455 section 5.1), close 1002 protocol error",
    ] {
        assert!(lines.contains(&line), "no {line:?} in {out}");
    }
    let table: Vec<Vec<&str>> =
        lines.iter().rev().take(2).map(|line| line.split_whitespace().collect()).collect();
    assert_eq!((table[1][..2].to_vec(), table[0][..2].to_vec()), (vec!["1", "native"], vec!["2", "legacy"]));
    assert_eq!((table[1][6], table[0][6]), ("0", "1"), "the second broke a rule");
}

#[test]
fn the_command_chooses_and_prints_as_asked() {
    let file = OnDisk::new("chosen", &two_clients());
    let run = |arguments: &[&str]| {
        let (is_well, out, errors) = tickwire(&[&[file.path()], arguments].concat());
        assert!(is_well, "{errors}");
        out
    };
    let second = run(&["--client", "2"]);
    assert!(second.contains("mask_missing") && !second.contains("pong"), "{second}");
    assert_eq!(run(&["--packet", "pong"]).lines().count(), 1);
    assert_eq!(run(&["--packet", "mask_missing"]).lines().count(), 1);
    let (is_well, out, errors) = tickwire(&[file.path(), "--packet", "mvoe"]);
    assert!(
        !is_well && out.is_empty() && errors.contains("\"mvoe\"") && errors.lines().count() == 1,
        "{errors}"
    );
    assert_eq!(tickwire(&[file.path(), "--packet", "pong"]).2, "");
    let pong = run(&["--packet", "pong"]);
    for filter in ["nonce = 1 from server", "pong", "bytes = 7 connection = 1"] {
        assert_eq!(run(&["--filter", filter]), pong, "{filter}");
    }
    let (is_well, out, errors) = tickwire(&[file.path(), "--filter", "nonce > 1"]);
    assert!(!is_well && out.is_empty() && errors.contains("matches the filter"), "{errors}");
    let (is_well, _, errors) = tickwire(&[file.path(), "--filter", "nonce >"]);
    assert!(!is_well && errors.contains("--filter"), "{errors}");
    let drawn = run(&["--client", "1", "--full"]);
    assert!(drawn.contains("packet 11, 2.500000 s, client 1: 7 bytes from a server"), "{drawn}");
    assert!(drawn.contains("|F|R|R|R|opcode"), "{drawn}");
    let json: Vec<serde_json::Value> =
        run(&["--json"]).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(json.len(), 6);
    let last = json.iter().find(|item| item["frames"][0]["packet"] == "pong").expect("a pong");
    assert_eq!((&last["client"], &last["packet"], &last["from"]), (&1.into(), &11.into(), &"server".into()));
    assert_eq!(last["at_ns"], 1_700_000_002_500_000_000_u64);
}

#[test]
fn a_damaged_capture_is_read_up_to_the_damage() {
    let whole = two_clients();
    let cut = OnDisk::new("cut", &whole[..whole.len() - 10]);
    let (is_well, out, errors) = tickwire(&[cut.path()]);
    assert!(!is_well && out.contains("pong nonce=1"), "{out}");
    assert!(errors.contains("the file ends in the middle") && errors.lines().count() == 1, "{errors}");
    let none = OnDisk::new("none", &hex::bytes("0a0d0d0a ffffffff 00000000"));
    let (is_well, _, errors) = tickwire(&[none.path()]);
    assert!(!is_well && errors.lines().count() == 1, "{errors}");
    let (is_well, _, errors) = tickwire(&["8100", "--packet", "pong"]);
    assert!(!is_well && errors.contains("capture"), "{errors}");
    let file = OnDisk::new("third", &whole);
    let (is_well, _, errors) = tickwire(&[file.path(), "--client", "3"]);
    assert!(!is_well && errors.contains("there is no connection 3"), "{errors}");
}

#[test]
fn unread_bytes_are_named_instead_of_explained() {
    let packed = OnDisk::new("packed", &hex::bytes("28 b5 2f fd 00 00 00 00"));
    let (is_well, out, errors) = tickwire(&[packed.path()]);
    assert!(!is_well && out.is_empty() && errors.contains("decompress it first"), "{out}{errors}");

    let mut wireless = Vec::new();
    pcapng::write_section(&mut wireless, "a test");
    pcapng::write_interface(&mut wireless, 105, "wlan0");
    let meta = PacketMeta { interface: 0, at_ns: 0, inbound: None, comment: "" };
    pcapng::write_packet(&mut wireless, &meta, &[0; 40]);
    let file = OnDisk::new("wireless", &wireless);
    let (is_well, out, errors) = tickwire(&[file.path()]);
    let expected = format!(
        "{}: 1 packet without readable TCP: 1 of link type 105 (of the link types, only",
        file.path()
    );
    assert!(!is_well && out.is_empty() && errors.contains(&expected), "{out}{errors}");
    let both = OnDisk::new("both-links", &[two_clients(), wireless].concat());
    let (is_well, out, errors) = tickwire(&[both.path()]);
    assert!(
        is_well
            && out.contains("\n1 packet without readable TCP: 1 of link type 105 (of the link types, only")
            && out.contains("pong nonce=1"),
        "{out}{errors}"
    );

    let (is_well, out, errors) = tickwire(&[file.path(), both.path()]);
    assert!(!is_well && out.is_empty() && errors.contains("cannot combine "), "{out}{errors}");
    let (_, _, errors) = tickwire(&["-", "8900"]);
    assert!(errors.contains("cannot combine - with other input"), "{errors}");

    let damaged = OnDisk::new("damaged", &hex::bytes("0a0d0d0a ffffffff 00000000"));
    let (_, _, errors) = tickwire(&[damaged.path()]);
    assert!(errors.contains(&format!("tickwire: {}: at byte ", damaged.path())), "{errors}");
}

#[test]
fn a_name_shared_by_several_clients_is_not_shown() {
    let mut writer = Writer::new();
    pcapng::write_name(&mut writer.file, "127.0.0.2".parse().expect("an address"), "ann");
    for client in ["127.0.0.2:50001", "127.0.0.2:50002"] {
        let mut talk = writer.connect(client);
        upgrade(&mut writer, &mut talk, "/play");
    }
    let file = OnDisk::new("shared", &writer.file);
    let (is_well, out, _) = tickwire(&[file.path()]);
    assert!(is_well && out.contains("127.0.0.2:50002 at") && !out.contains("ann"), "{out}");
}

#[test]
fn the_room_of_a_path_says_its_dialect() {
    let (at, server) = (Duration::ZERO, SERVER.parse().expect("an address"));
    let codes = tickwire::internal::games::built_in_tables();
    let mut writer = writer::CaptureWriter::new(at);
    writer.begin(true);
    writer.tables(at, &codes.texts());
    let rooms = [("", "tanks", "tanks", "/play"), ("arena", "moo", "native", "/r/arena/play")];
    for (room, game, dialect, path) in rooms {
        writer.record(
            room,
            at,
            &capture::WorldRecord::Room { game: game.into(), paths: vec![("/play".into(), dialect.into())] },
        );
        let client = format!("127.0.0.{}:50000", 2 + room.len()).parse().expect("an address");
        let mut flow = writer::TcpFlow::open(&mut writer, [client, server], [1, 1], (at, ""));
        let key = handshake::encode_key([7; 16]);
        let request = handshake::request("a", path, &key, &[]);
        flow.bytes(&mut writer, capture::TcpSide::Client, &request, (at, ""));
        let answer = handshake::accept(&head_of(&request), &[]).expect("a good request").response;
        flow.bytes(&mut writer, capture::TcpSide::Server, &answer, (at, ""));
    }
    let capture = capture::read(&writer.blocks).expect("a capture");
    let codes = capture_walk::capture_tables(&capture, None).expect("good tables");
    let otherwise = codes.default_dialect().expect("there are dialects");
    let tallies = capture_walk::walk((&capture.connections(), &[]), &codes, (None, otherwise), None, |_| {});
    let dialects: Vec<(&str, bool)> =
        tallies.iter().map(|(_, tally)| (tally.dialect.as_str(), tally.is_guess)).collect();
    assert_eq!(dialects, [("tanks", false), ("native", false)]);
}

fn head_of(request: &[u8]) -> tickwire::ws::http::RequestHead {
    tickwire::ws::http::HeadReader::new(tickwire::internal::limits::HEAD_LIMITS)
        .receive(request)
        .expect("a good head")
        .expect("a whole head")
}
