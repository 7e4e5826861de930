//! `tickwire replay` over captures of real servers: the same again, a changed byte found, a hole refused.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tickwire::capture::{self, Capture, StreamPiece, TcpSide};
use tickwire::game::Game as _;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::server::net::console::Source;
use tickwire::internal::server::net::recorder::{CaptureTarget, Rotation};
use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tickwire::internal::testing::load::crowd::{self, BotBehavior, CrowdPlan};
use tickwire::internal::tools::replay::{self, ReplayInput, ReplayOptions, WorldResults, WorldRunner};
use tickwire::packet::{Direction, PacketTables};
use tickwire::ws::Side;
use tickwire::ws::frame::{Header, Opcode, mask};

/// A file of the test's own; removed when dropped.
pub struct File(pub PathBuf);

impl File {
    pub fn new(name: &str) -> File {
        let name = format!("replay-{name}-{}.pcapng", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = fs::remove_file(&path);
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The output of the program for a capture, and its exit status: the same for a file and for standard input.
pub fn replay(bytes: &[u8], name: &str, more: &[&str]) -> (String, i32) {
    let file = File::new(name);
    fs::write(&file.0, bytes).expect("written");
    let path = file.0.to_str().expect("text");
    let said = |path: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .args([&["replay", path], more].concat())
            .stdin(fs::File::open(&file.0).expect("the file"))
            .output()
            .expect("the program runs");
        let text = String::from_utf8([output.stdout, output.stderr].concat()).expect("text");
        (text, output.status.code().expect("it ends by itself"))
    };
    let (of_input, status) = said("-");
    let of_file = said(path);
    assert_eq!(of_file, (of_input.replace("standard input: ", &format!("{path}: ")), status));
    of_file
}

pub fn number(report: &Value, name: &str) -> u64 {
    report[name].as_u64().unwrap_or_else(|| panic!("{name} of {report}"))
}

/// Eight bots, two of each dialect, for some seconds. The capture begins before they come, or while they play.
fn recorded(file: &Path, is_late: bool, rotation: Rotation) -> Vec<u8> {
    let config = ServerConfig { rotation, ..ServerConfig::new("127.0.0.1:0".parse().expect("an address")) };
    let server = ServerHandle::start(config).expect("a free port");
    let codes = PacketTables::builtin();
    let names = ["native", "legacy", "letters", "letters-2023"];
    let plan = CrowdPlan {
        lane: false,
        late_acks: false,
        game: Moo::INFO,
        url: format!("ws://{}", server.address()).parse().expect("a URL"),
        dialects: names.map(|name| codes.dialect(name).expect("built in")).into(),
        count: 8,
        time: Duration::from_secs(if is_late { 4 } else { 3 }),
        source: None,
        behavior: BotBehavior::Play,
        seed: 5,
        lockstep: false,
        reconnects: None,
    };
    let capture = || server.capture(CaptureTarget::File(file.to_owned())).expect("a new file");
    thread::scope(|scope| {
        if !is_late {
            capture();
        }
        let playing = scope.spawn(|| crowd::run(&plan).expect("they play"));
        if is_late {
            thread::sleep(Duration::from_millis(2_500));
            capture();
        }
        let told = server.console().run("announce hello", Source::Terminal).expect("a line");
        assert!(told.is_ok);
        let reports = playing.join().expect("no panic");
        assert!(reports.iter().all(|report| report.passed()), "{reports:?}");
    });
    assert_eq!(server.stop(), 0);
    fs::read(file).expect("the file")
}

#[test]
fn a_session_of_all_dialects_comes_out_the_same_and_a_changed_angle_does_not() {
    let file = File::new("all");
    let bytes = recorded(&file.0, false, Rotation::default());
    assert!(is_same(&bytes, 4096));
    let (text, status) = replay(&bytes, "same", &["--json"]);
    assert_eq!(status, 0, "{text}");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["verdict"], "same");
    assert_eq!((number(&report, "clients"), number(&report, "sent_before")), (8, 0), "{report}");
    assert_eq!(
        (number(&report, "not_captured"), number(&report, "dropped_while_connected")),
        (0, 0),
        "{report}"
    );
    assert!(
        number(&report, "matched") > 60 && number(&report, "server") >= 8,
        "the joins at least: {report}"
    );
    assert_eq!(number(&report, "operator"), 1, "only `announce` is the operator's: {report}");
    let (text, _) = replay(&bytes, "text", &[]);
    assert!(text.ends_with("same\n"), "{text}");

    let (changed, tick_at_least) = with_another_angle(&bytes);
    assert!(!is_same(&changed, 4096));
    let (text, status) = replay(&changed, "angle", &["--json"]);
    assert_eq!(status, 1, "{text}");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let difference = &report["difference"];
    let command = &difference["command"];
    assert_eq!(report["verdict"], "differs");
    assert!(
        number(command, "tick") >= tick_at_least && number(command, "tick") <= number(difference, "tick"),
        "{report}"
    );
    let words = |name: &str| command[name].as_str().expect("words").to_owned();
    let is_move = |words: String| words.starts_with("move direction=") && words.ends_with("°)");
    assert!(is_move(words("recorded")) && is_move(words("decoded")), "{report}");
    assert_ne!(words("recorded"), words("decoded"));
    assert_ne!(difference["recorded_checksum"], difference["replayed_checksum"]);
    let (text, _) = replay(&changed, "angle-text", &[]);
    assert!(text.contains(&format!("\ndiffers at tick {}: checksum ", difference["tick"])), "{text}");
    assert!(text.contains(&format!("\n  recorded  {}\n", words("recorded"))), "{text}");

    names_the_fields(&bytes, &changed, difference);

    let (text, status) = replay(&without_a_packet(&bytes), "hole", &[]);
    assert_eq!(status, 2, "{text}");
    assert!(
        text.starts_with("not replayable: ") && text.contains(" bytes from the client, client 127.0.0.1:"),
        "{text}"
    );
    assert!(text.contains(", packet ") && text.ends_with(" s after the first\n"), "{text}");
}

/// The fields of the replay with another angle, whose first difference is known, and of two recordings.
fn names_the_fields(bytes: &[u8], changed: &[u8], difference: &Value) {
    let (text, status) = replay(changed, "fields", &["--json", "--diff"]);
    assert_eq!(status, 1, "{text}");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let fields = &report["fields"];
    assert_eq!(
        (&fields["tick"], &fields["foreign_from_tick"]),
        (&difference["tick"], &Value::Null),
        "{fields}"
    );
    let entity = format!("players[{}]", number(&difference["command"], "player"));
    let places = fields["recorded_and_replayed"].as_array().expect("a list");
    let is_named = |place: &&Value| place[0] == entity.as_str() && place[1] == "controller.direction";
    let place = places.iter().find(is_named).unwrap_or_else(|| panic!("{entity} is not in {fields}"));
    assert_ne!(place[2], place[3]);
    let words = |name: &str| difference["command"][name].as_str().expect("words").to_owned();
    for (value, name) in [(&place[2], "recorded"), (&place[3], "decoded")] {
        let angle = format!("move direction={} (", value.as_str().expect("words"));
        assert!(words(name).starts_with(&angle), "{place}: {}", words(name));
    }

    let before = number(difference, "tick").to_string();
    let (text, status) = replay(changed, "before", &["--json", "--to-tick", &before]);
    let report: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["ticks"].to_string(), before, "{text}");
    assert_eq!(report["state"]["tick"][""], before.as_str());
    let is_before = number(&difference["command"], "tick") < number(difference, "tick");
    assert_eq!(status, i32::from(is_before), "the world does not differ yet");

    let other = File::new("other");
    fs::write(&other.0, bytes).expect("written");
    let path = other.0.to_str().expect("text");
    let (text, status) = replay(bytes, "same-twice", &["--bisect", path]);
    assert!(status == 0 && text.ends_with("same\n"), "{text}");
}

#[test]
fn a_capture_that_begins_while_they_play_comes_out_the_same() {
    let file = File::new("late");
    let bytes = recorded(&file.0, true, Rotation::default());
    assert!(is_same(&bytes, 4096));
    let (text, status) = replay(&bytes, "late-same", &["--json"]);
    assert_eq!(status, 0, "{text}");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    assert!(number(&report, "matched") > 20 && number(&report, "clients") == 8, "{report}");
    assert_eq!(
        (number(&report, "not_captured"), number(&report, "dropped_while_connected")),
        (0, 0),
        "{report}"
    );
}

#[test]
fn each_file_of_several_comes_out_the_same_and_goes_on_where_the_one_before_ended() {
    let file = File::new("several");
    let first = recorded(&file.0, false, Rotation { bytes: u64::MAX, time: Some(Duration::from_secs(1)) });
    let others = (1..).map(|number| File(file.0.with_extension(format!("{number}.pcapng"))));
    let others: Vec<File> = others.take_while(|file| file.0.exists()).collect();
    assert!(others.len() > 1, "{} files", others.len() + 1);
    let (mut next_tick, mut matched, mut sent_before) = (None, 0, 0);
    for bytes in std::iter::once(first).chain(others.iter().map(|file| fs::read(&file.0).expect("the file")))
    {
        assert!(is_same(&bytes, 4096));
        let (text, status) = replay(&bytes, "several-one", &["--json"]);
        assert_eq!(status, 0, "{text}");
        let report: Value = serde_json::from_str(&text).expect("JSON");
        let first_tick = number(&report, "first_tick");
        assert_eq!(first_tick, next_tick.unwrap_or(first_tick), "{report}");
        assert_eq!(number(&report, "dropped_while_connected"), 0, "{report}");
        // Who said its last in the file before, and left while it still waited for its tick, is not in this one.
        let of_the_gone = number(&report, "not_captured");
        assert!(next_tick.is_some() || of_the_gone == 0, "{report}");
        next_tick = Some(first_tick + number(&report, "ticks"));
        matched += number(&report, "matched");
        sent_before += number(&report, "sent_before") + of_the_gone;
    }
    assert!(
        matched > 60 && sent_before * 4 < matched,
        "{matched} matched, {sent_before} from the file before"
    );
}

#[test]
fn a_capture_that_cannot_be_replayed_is_refused_with_the_reason() {
    let (text, status) = replay(b"no capture", "none", &[]);
    assert_eq!(status, 2);
    assert!(text.contains(": at byte 0: this is neither pcapng nor pcap"), "{text}");
    let mut empty = Vec::new();
    tickwire::internal::tools::capture::pcapng::write_section(&mut empty, "somebody");
    let (text, status) = replay(&empty, "empty", &["--json"]);
    assert_eq!(status, 2);
    let refused: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(refused["verdict"], "not replayable");
    assert!(
        refused["reason"].as_str().expect("words").starts_with("this capture has no record of the world"),
        "{text}"
    );
    let missing = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["replay", "no-such-file"])
        .output()
        .expect("it runs");
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn a_file_that_was_cut_off_is_run_as_far_as_it_goes_and_says_so() {
    let whole = fs::read("docs/lessons/one-step.pcapng").expect("it is committed");
    let (report, status) = replay(&whole[..whole.len() - 3000], "cut", &["--json"]);
    let cut: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!((status, cut["verdict"].as_str()), (0, Some("same")));
    assert!(cut["cut_at_byte"].as_u64().is_some_and(|byte| byte < whole.len() as u64 - 3000), "{cut}");
    let (report, status) = replay(&whole, "whole", &["--json"]);
    let all: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!((status, &all["cut_at_byte"]), (0, &Value::Null));
    assert!(number(&cut, "ticks") < number(&all, "ticks"));
    let (text, _) = replay(&whole[..whole.len() - 3000], "cut-text", &[]);
    assert!(text.contains("the file ends in the middle of the block at byte "), "{text}");
}

#[test]
fn standard_input_and_pipes_are_run_again_and_what_is_packed_is_named() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["replay", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    child.stdin.take().expect("piped").write_all(&one_step()).expect("written");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success() && output.stdout.ends_with(b"same\n"), "{output:?}");
    let (text, status) = replay(b"\x1f\x8b\x08\x00", "gzip", &[]);
    assert!(status == 2 && text.contains("decompress it first"), "{text}");
}

/// The lesson's capture, whose world is one record.
pub fn one_step() -> Vec<u8> {
    fs::read("docs/lessons/one-step.pcapng").expect("it is committed")
}

/// Where the packet with the first record of the world begins in a file, and its captured bytes.
fn world_record(bytes: &[u8]) -> (usize, usize) {
    let capture = capture::read(bytes).expect("a capture");
    let is_world =
        |record: &_| matches!(record, Ok((_, capture::WorldRecord::World { part: 0, parts: 1, .. })));
    let (packet, _) = capture.records().find(|(_, record)| is_world(record)).expect("a world in one part");
    (offset(bytes, packet.bytes), packet.bytes.len())
}

#[test]
fn a_capture_without_its_beginning_says_so() {
    let bytes = one_step();
    let begin = world_record(&bytes).0 - BEFORE_PACKET;
    let length = u32::from_le_bytes(*bytes[begin + 4..].first_chunk().expect("a length")) as usize;
    let without = [&bytes[..begin], &bytes[begin + length..]].concat();
    let (text, status) = replay(&without, "no-world", &[]);
    let expected = "not replayable: the beginning of this capture is missing: it has ticks from 0 on, ";
    assert!(status == 2 && text.starts_with(expected), "{text}");
}

#[test]
fn a_snapshot_that_the_capture_cut_short_is_refused_as_such() {
    let bytes = one_step();
    let (begin, whole) = world_record(&bytes);
    // Kept are 100 bytes, which need no padding: the block is so much shorter, and says so at both ends.
    const KEPT: usize = 100;
    let block = begin - BEFORE_PACKET;
    let length = u32::from_le_bytes(*bytes[block + 4..].first_chunk().expect("a length")) as usize;
    let padded = whole.next_multiple_of(4);
    let shorter = ((length - padded + KEPT) as u32).to_le_bytes();
    let cut = [
        &bytes[..block + 4],
        &shorter,
        &bytes[block + 8..begin - 8],
        &(KEPT as u32).to_le_bytes(),
        &bytes[begin - 4..begin + KEPT],
        &bytes[begin + padded..block + length - 4],
        &shorter,
        &bytes[block + length..],
    ]
    .concat();
    let (text, status) = replay(&cut, "snaplen", &[]);
    assert_eq!(status, 2, "{text}");
    assert!(text.starts_with("not replayable: the capture truncated packet "), "{text}");
    // `explain` reads what is there, and says what is not.
    let file = File::new("snaplen-explained");
    fs::write(&file.0, &cut).expect("written");
    let output = Command::new(env!("CARGO_BIN_EXE_tickwire")).arg("explain").arg(&file.0).output();
    let output = output.expect("the program runs");
    let text = String::from_utf8(output.stdout).expect("text");
    let missing = whole - KEPT;
    let words = format!("truncated by the capture (snapshot length): {missing} bytes missing");
    assert!(output.status.success() && text.contains(&words), "{text}");
}

#[test]
fn a_record_that_says_another_world_than_its_snapshot_is_refused_by_the_field() {
    let bytes = one_step();
    let (begin, _) = world_record(&bytes);
    // Version, kind and room, then the fields as PROTOCOL.md has them; the option is behind its name.
    for (at, field) in [(3, "seed"), (7, "tick_hz"), (24, "map_size_px"), (28, "rules_hash"), (36, "tick")] {
        let mut changed = bytes.clone();
        changed[begin + at] ^= 1;
        let (text, status) = replay(&changed, "header", &[]);
        let expected = format!("not replayable: the record of the world has {field} ");
        assert!(status == 2 && text.starts_with(&expected), "{text}");
    }
    let mut older = bytes;
    older[begin] = 2;
    let (text, status) = replay(&older, "older", &[]);
    let expected = "not replayable: the record has layout 2; this version reads the layouts 3 and 4";
    assert!(status == 2 && text.starts_with(expected), "{text}");
}

/// Whether the replay of a capture is the same as its recording. Checks that the result depends neither on the
/// lengths of the parts, nor on a world that runs the recorded commands meanwhile.
fn is_same(bytes: &[u8], parts: usize) -> bool {
    let whole = ReplayInput::read(bytes, None);
    let (mut input, mut rest) = (ReplayInput::new(None), Vec::new());
    let asked = |fields, to_tick| ReplayOptions { fields, to_tick, state: to_tick.is_some() };
    let options = [asked(false, None), asked(true, None), asked(true, Some(9))];
    let mut worlds = options.map(|options| WorldRunner::new(&[Moo::INFO], options));
    let mut received = Ok(());
    for part in bytes.chunks(parts) {
        rest.extend_from_slice(part);
        match input.receive(&rest) {
            Ok(used) => _ = rest.drain(..used),
            Err(error) => received = received.and(Err(error)),
        }
        let records = input.new_records();
        worlds.iter_mut().for_each(|worlds| worlds.run(&records));
    }
    let received = received.and_then(|()| input.finish(&rest));
    assert_eq!(received.err(), whole.as_ref().err().copied());
    let Ok(whole) = whole else { return false };
    let mut is_same = true;
    for (options, worlds) in options.into_iter().zip(worlds) {
        let alone = replay::replay(&whole, &[Moo::INFO], options, WorldResults::default);
        let meanwhile = replay::replay(&input, &[Moo::INFO], options, || worlds.results());
        assert_eq!(alone, meanwhile, "{options:?}");
        let reports = alone.as_deref().unwrap_or_default();
        let is_all = options == ReplayOptions::default();
        is_same &= !is_all || alone.is_ok() && reports.iter().all(|(_, report)| report.is_same());
    }
    is_same
}

#[test]
fn a_replay_depends_neither_on_parts_nor_on_a_world_that_runs_meanwhile() {
    let bytes = one_step();
    for parts in [1, 7, 1000, bytes.len()] {
        assert!(is_same(&bytes, parts), "in parts of {parts} bytes");
    }
    // After the packet tables.
    let from = world_record(&bytes).0;
    let cuts = (from..bytes.len()).step_by(97).filter(|end| is_same(&bytes[..*end], 4096)).count();
    assert!(cuts > 10, "{cuts} of the cut ones");
    // A byte of the commands, of the replies, of the world, of the order in the file.
    let mut changed = bytes.clone();
    let same = (from..bytes.len()).step_by(23).filter(|at| {
        changed[*at] ^= 0x21;
        let is_same = is_same(&changed, 4096);
        changed[*at] ^= 0x21;
        is_same
    });
    let (same, all) = (same.count(), (bytes.len() - from) / 23);
    assert!(same > all / 50 && same < all * 9 / 10, "{same} of {all} changed ones");
}

/// Kind, length, interface, time, two lengths: what stands in a block before the packet's bytes.
pub const BEFORE_PACKET: usize = 28;

/// Where in a file some bytes of it lie.
pub fn offset(file: &[u8], part: &[u8]) -> usize {
    part.as_ptr() as usize - file.as_ptr() as usize
}

/// The direction of a native `move` that is one whole frame, turned a quarter; and a tick that is not after it.
fn with_another_angle(bytes: &[u8]) -> (Vec<u8>, u64) {
    let capture = capture::read(bytes).expect("a capture");
    let native = PacketTables::builtin().dialect("native").expect("built in");
    let connections = capture.connections();
    let pieces = connections.iter().flat_map(|connection| &connection.pieces);
    let found = pieces.filter(|piece| piece.from == TcpSide::Client).find(|piece| is_move(piece, &native));
    let piece = found.expect("a bot walks");
    let mut changed = bytes.to_vec();
    // The last three bytes of the message are `cd` and the angle; a mask does not move bits.
    changed[offset(bytes, piece.bytes) + piece.bytes.len() - 2] ^= 0x40;
    (changed, tick_of(&capture, piece.packet))
}

fn is_move(piece: &StreamPiece<'_>, native: &tickwire::packet::Dialect) -> bool {
    let Ok(Some((header, header_bytes))) = Header::decode(piece.bytes, Side::Client) else { return false };
    let mut message = piece.bytes[header_bytes..].to_vec();
    mask(&mut message, header.mask.expect("a client masks"), 0);
    let is_whole = message.len() as u64 == header.length && header.opcode == Opcode::Binary;
    let is_long_angle = message.len() > 3 && message[message.len() - 3] == 0xcd;
    let decoded = native.decode(Direction::ToServer, &message);
    let is_move =
        decoded.is_ok_and(|decoded| decoded.row.name == "move" && decoded.get("direction").is_some());
    is_whole && is_long_angle && is_move
}

fn tick_of(capture: &Capture<'_>, packet: usize) -> u64 {
    let comment = capture.packets[packet - 1].comments[0];
    let tick = comment.raw().strip_prefix("tick=").and_then(|rest| rest.split(' ').next());
    tick.and_then(|tick| tick.parse().ok()).unwrap_or_else(|| panic!("{comment}"))
}

/// The same file without one packet of a client in its middle.
fn without_a_packet(bytes: &[u8]) -> Vec<u8> {
    let capture = capture::read(bytes).expect("a capture");
    let connections = capture.connections();
    let own: Vec<&StreamPiece<'_>> =
        connections[0].pieces.iter().filter(|piece| piece.from == TcpSide::Client).collect();
    let packet = &capture.packets[own[own.len() / 2].packet - 1];
    let begin = offset(bytes, packet.bytes) - BEFORE_PACKET;
    let length = u32::from_le_bytes(*bytes[begin + 4..].first_chunk().expect("a length")) as usize;
    [&bytes[..begin], &bytes[begin + length..]].concat()
}
