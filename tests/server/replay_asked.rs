//! `tickwire replay --bisect`, `--to-tick` and `--diff` of the lesson's capture and of changed copies of it; and what `tickwire synctest` refuses.

use std::fs;

use serde_json::Value;
use tickwire::capture::{self, WorldRecord};

use crate::replay::{BEFORE_PACKET, File, number, offset, one_step, replay};

/// The ticks of the capture are 0 to 54: at its end, 55 are completed.
const END: u64 = 55;
/// A tick whose recorded checksum is changed.
const CHANGED: usize = 20;

/// The capture with another checksum before [`CHANGED`].
fn with_another_checksum() -> Vec<u8> {
    let bytes = one_step();
    let capture = capture::read(&bytes).expect("a capture");
    let is_tick = |record: &Result<_, _>| matches!(record, Ok((_, WorldRecord::Tick { .. })));
    let mut ticks = capture.records().filter(|(_, record)| is_tick(record));
    let (packet, _) = ticks.nth(CHANGED).expect("it has more ticks");
    let at = offset(&bytes, packet.bytes);
    let mut changed = bytes.clone();
    // Version, kind and the length of the room's name, which is empty; then the checksum.
    changed[at + 3] ^= 1;
    changed
}

/// The capture with a second room, which has the same world.
fn with_another_room() -> Vec<u8> {
    let bytes = one_step();
    let capture = capture::read(&bytes).expect("a capture");
    let mut more = bytes.clone();
    for (packet, record) in capture.records() {
        if matches!(record, Ok((_, WorldRecord::Table { .. }))) {
            continue;
        }
        let own = [&packet.bytes[..2], b"\x05other", &packet.bytes[3..]].concat();
        let begin = offset(&bytes, packet.bytes) - BEFORE_PACKET;
        let length = u32::try_from(own.len()).expect("short");
        let block = (length.next_multiple_of(4) + 32).to_le_bytes();
        let padding = vec![0; own.len().next_multiple_of(4) - own.len()];
        let head = [&bytes[begin..begin + 4], &block, &bytes[begin + 8..begin + 20]].concat();
        more.extend(
            [&head, &length.to_le_bytes()[..], &length.to_le_bytes(), &own, &padding, &block].concat(),
        );
    }
    more
}

/// What `--bisect` says of two files, as text and as JSON, and its exit status.
fn bisect(name: &str, ours: &[u8], theirs: &[u8]) -> (String, Value, i32) {
    let other = File::new(&format!("{name}-other"));
    fs::write(&other.0, theirs).expect("written");
    let path = other.0.to_str().expect("text");
    let (text, status) = replay(ours, name, &["--bisect", path]);
    let (json, again) = replay(ours, name, &["--bisect", path, "--json"]);
    assert_eq!(status, again);
    (text, serde_json::from_str(&json).expect("JSON"), status)
}

#[test]
fn bisect_says_what_differs_besides_commands_and_worlds() {
    let (whole, changed, more) = (one_step(), with_another_checksum(), with_another_room());
    let cut = &whole[..whole.len() - 3_000];
    let after = format!(" differ from the computed ones after tick {}: recorded ", CHANGED - 1);
    let (whole_file, changed_file, more_file) = (&whole[..], &changed[..], &more[..]);
    for (name, ours, theirs, expected, words) in [
        ("sum-first", changed_file, whole_file, 1, &*format!("recorded checksums of the first{after}")),
        ("sum-second", whole_file, changed_file, 1, &format!("recorded checksums of the second{after}")),
        ("room-first", more_file, whole_file, 1, "\nsame\nonly in the first: room other\n"),
        ("room-second", whole_file, more_file, 1, "\nsame\nonly in the second: room other\n"),
        ("cut-second", whole_file, cut, 0, "the second file ends in the middle of the block at byte "),
        ("cut-ends", cut, whole_file, 0, &format!(", the second goes on to tick {END}\nsame\n")),
    ] {
        let (text, json, status) = bisect(name, ours, theirs);
        assert_eq!(status, expected, "{name}: {text}");
        assert!(text.contains(words), "{name}: {text}");
        assert_eq!(json["verdict"], if status == 0 { "same" } else { "differs" });
    }
    let (_, json, _) = bisect("sum-json", &whole, &changed);
    assert_eq!(json["rooms"][0]["recorded"][0], Value::Null);
    assert_eq!(number(&json["rooms"][0]["recorded"][1], "tick"), CHANGED as u64 - 1, "{json}");
    let (_, json, _) = bisect("room-json", &whole, &more);
    assert_eq!(
        (&json["rooms_only_second"][0], &json["rooms_only_first"]),
        (&"other".into(), &Value::from([0; 0]))
    );
    let (_, json, _) = bisect("cut-json", cut, &whole);
    assert!(json["cut_at_byte"][0].is_u64() && json["cut_at_byte"][1].is_null(), "{json}");
    assert_eq!(json["rooms"][0]["ends"][1], END);
}

#[test]
fn a_tick_at_which_to_stop_is_compared_itself_and_must_be_in_the_capture() {
    let (whole, changed) = (one_step(), with_another_checksum());
    let to = |bytes: &[u8], name: &str, tick: u64| replay(bytes, name, &["--to-tick", &tick.to_string()]);
    let changed_at = CHANGED as u64;
    for (name, bytes, tick, status, words) in [
        ("to-first", &whole, 0, 0, "ticks                         0\n"),
        ("to-last", &whole, END, 0, "same\n"),
        ("to-before", &changed, changed_at - 1, 0, "same\n"),
        ("to-itself", &changed, changed_at, 1, &format!("differs at tick {}: ", changed_at - 1)),
        ("to-behind", &changed, changed_at + 1, 1, &format!("differs at tick {}: ", changed_at - 1)),
        ("to-far", &whole, END + 1, 2, "tick 56 is not in this capture, which has the ticks 0 to 55\n"),
    ] {
        let (text, found) = to(bytes, name, tick);
        assert!(found == status && text.contains(words), "{name}: {found}, {text}");
    }
}

#[test]
fn a_recording_of_a_program_that_computes_otherwise_is_said_by_its_tick() {
    let (text, status) = replay(&with_another_checksum(), "foreign", &["--diff", "--json"]);
    let report: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((status, &report["fields"]["tick"]), (1, &Value::Null), "{report}");
    assert_eq!(number(&report["fields"], "foreign_from_tick"), CHANGED as u64 - 1);
    let (text, _) = replay(&with_another_checksum(), "foreign-text", &["--diff"]);
    assert!(text.contains("\nfrom tick 19 on, the recorded commands lead to another checksum"), "{text}");
}

/// What `tickwire synctest` says, and whether it succeeds.
fn synctest(arguments: &str) -> (String, bool) {
    let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_tickwire"));
    let output = program.arg("synctest").args(arguments.split(' ')).output().expect("the program runs");
    (String::from_utf8([output.stdout, output.stderr].concat()).expect("text"), output.status.success())
}

#[test]
fn synctest_refuses_what_would_compare_nothing_and_runs_the_last_seed() {
    for (arguments, expected) in [
        ("--ticks 8", "--ticks 8: must be more than --check-distance 8"),
        ("--ticks 20 --check-distance 1000", "--ticks 20: must be more than --check-distance 1000"),
        (
            "--ticks 20 --seed 4294967295 --seeds 2",
            "--seed 4294967295 --seeds 2: the last seed would exceed 4294967295",
        ),
    ] {
        let (text, is_done) = synctest(arguments);
        assert!(!is_done && text.contains(expected), "{arguments}: {text}");
    }
    let (text, is_done) = synctest("--ticks 20 --seed 4294967295");
    assert!(
        is_done
            && text.contains("seed 4294967295, 8 players, 20 ticks: no difference")
            && text.contains("          13  times, with a copy"),
        "{text}"
    );
}
