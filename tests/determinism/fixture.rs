//! What the world came to when the fixture was written. One line each:
//!
//! ```text
//! code CODE_HASH                    the rules by which it was written
//! final SEED CHECKSUM               the end of a random run of this test
//! case SEED MAP_SIZE_PX TICK_HZ     a world for the browser's build, which follow
//! frame HEX                           the command frame of its next tick
//! checksum CHECKSUM                   its state after that tick
//! ```

use std::fmt::Write;
use std::path::{Path, PathBuf};

use tickwire_moo_world::command::{decode_frame, encode_frame};
use tickwire_moo_world::{rules_hash, Identity, TickHz, World};

use crate::script::Script;

/// Random runs whose end is committed.
const FINALS: usize = 8;
/// Ticks of a case, and how many lie between two checksums.
const CASE_TICKS: u32 = 120;
const CHECKSUM_EVERY: u32 = 20;

/// In the top folder, whichever package the test is built for.
fn path() -> PathBuf {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut places = folders.map(|directory| directory.join("tests/fixtures/world.txt"));
    places.find(|place| place.is_file()).expect("the fixture is in the top folder")
}

fn blessing() -> bool {
    std::env::var_os("TICKWIRE_BLESS").is_some()
}

/// The fixture's text; written anew first when asked for. Finals and cases are written by different tests, so each keeps
/// the other's lines.
fn text(own: &str, keep: &[&str]) -> String {
    static WRITING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _guard = WRITING.lock().expect("no test panics while it writes");
    let old = std::fs::read_to_string(path()).unwrap_or_default();
    if !blessing() {
        return old;
    }
    let kept = |line: &&str| keep.iter().any(|word| line.starts_with(word));
    let mut lines: Vec<&str> = old.lines().filter(kept).chain(own.lines()).collect();
    // Finals first; the order within a case is kept.
    lines.sort_by_key(|line| !line.starts_with("final"));
    let new = format!("code {:016x}\n{}\n", rules_hash(), lines.join("\n"));
    std::fs::write(path(), &new).expect("the fixture can be written");
    new
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes any text");
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(&text[at..at + 2], 16).expect("hex");
    (0..text.len() / 2).map(|index| pair(index * 2)).collect()
}

fn check_code(text: &str) {
    let expected = format!("code {:016x}", rules_hash());
    assert_eq!(
        text.lines().next(),
        Some(&*expected),
        "the rules changed: see the head of tests/determinism/main.rs"
    );
}

/// Holds the ends of the random runs against the fixture.
pub fn check_finals(finals: &[u64]) {
    let own: String = finals[..FINALS]
        .iter()
        .enumerate()
        .map(|(seed, checksum)| format!("final {seed} {checksum:016x}\n"))
        .collect();
    let text = text(&own, &["case", "frame", "checksum"]);
    check_code(&text);
    let committed: String =
        text.lines().filter(|line| line.starts_with("final")).map(|line| format!("{line}\n")).collect();
    assert_eq!(
        own, committed,
        "a change of the world's behaviour: see the head of tests/determinism/main.rs"
    );
}

/// Runs the committed cases.
pub fn check_cases() {
    let own = if blessing() { (0..4).map(write_case).collect() } else { String::new() };
    let text = text(&own, &["final"]);
    check_code(&text);
    let mut world: Option<World> = None;
    let mut checked = 0;
    for (number, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        match (words[0], &mut world) {
            ("case", _) => world = Some(World::new(case_identity(&words))),
            ("frame", Some(world)) => {
                let mut frame = decode_frame(&unhex(words[1])).expect("it was written by us");
                assert_eq!(frame.tick, world.tick(), "line {}", number + 1);
                world.step(&mut frame.commands);
            }
            ("checksum", Some(world)) => {
                assert_eq!(format!("{:016x}", world.checksum()), words[1], "line {}", number + 1);
                checked += 1;
            }
            _ => {}
        }
    }
    assert_eq!(checked, 4 * CASE_TICKS / CHECKSUM_EVERY);
}

fn case_identity(words: &[&str]) -> Identity {
    let number = |index: usize| words[index].parse::<u32>().expect("a number");
    let tick_hz = TickHz::try_from(number(3)).expect("a tick rate");
    Identity { seed: number(1), map_size_px: number(2), tick_hz }
}

fn write_case(index: u32) -> String {
    let identity = Identity {
        seed: 1_000 + index,
        map_size_px: [14_400, 1_440, 5_000, 1_440][index as usize],
        tick_hz: TickHz::ALL[index as usize],
    };
    let Identity { seed, map_size_px, tick_hz } = identity;
    let mut out = format!("case {seed} {map_size_px} {}\n", tick_hz.get());
    let mut world = World::new(identity);
    let mut script = Script::new(seed);
    for tick in 1..=CASE_TICKS {
        let mut commands = script.commands();
        let mut frame = Vec::new();
        encode_frame(world.tick(), &commands, &mut frame).expect("they fit");
        out += &format!("frame {}\n", hex(&frame));
        world.step(&mut commands);
        if tick % CHECKSUM_EVERY == 0 {
            out += &format!("checksum {:016x}\n", world.checksum());
        }
    }
    out
}
