//! Command frames: a table of encoded frames, and arbitrary bytes.

use proptest::prelude::*;

use crate::command::{
    decode_frame, encode_frame, Action, Command, Malformed, MooCommandFrame, Selection, Spawned, MAX_COMMANDS,
};
use crate::entity::PlayerId;
use crate::fixed::Angle;
use crate::rules::{AnimalKind, Resource};
use crate::tests::command;
use crate::tests::players::commands::any_command;

fn unhex(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hex");
    digits.chunks(2).map(pair).collect()
}

fn encoded(tick: u32, commands: &[Command]) -> Vec<u8> {
    let mut out = Vec::new();
    encode_frame(tick, commands, &mut out).expect("they fit");
    out
}

#[test]
fn rows_both_ways() {
    let join = Action::Join { player: PlayerId(513), name: "Zoë".to_string(), skin: 7 };
    let rows = [
        ("00000000 0000", 0, vec![]),
        ("04030201 0100  0000 0500000000000000 00 0102 07 04 5a6fc3ab", 0x0102_0304, vec![command(0, 5, join)]),
        (
            "01000000 0100  0000 0600000000000000 01 0102",
            1,
            vec![command(0, 6, Action::Leave { player: PlayerId(513) })],
        ),
        (
            "01000000 0100  0200 ffffffffffffffff 02 00",
            1,
            vec![command(2, u64::MAX, Action::Move { direction: None })],
        ),
        (
            "01000000 0200  0200 0100000000000000 02 01 0040  0300 0200000000000000 03 ff7f",
            1,
            vec![
                command(2, 1, Action::Move { direction: Some(Angle(0x4000)) }),
                command(3, 2, Action::Aim { heading: Angle(0x7fff) }),
            ],
        ),
        (
            "01000000 0100  0200 0100000000000000 04 02 6869",
            1,
            vec![command(2, 1, Action::Chat { text: "hi".to_string() })],
        ),
        (
            "01000000 0300  0100 0100000000000000 08 13  0100 0200000000000000 09 00 05  0100 0300000000000000 09 01 06",
            1,
            vec![
                command(1, 1, Action::Upgrade { choice: 19 }),
                command(1, 2, Action::Select { what: Selection::Weapon(5) }),
                command(1, 3, Action::Select { what: Selection::Item(6) }),
            ],
        ),
        (
            "01000000 0300  0000 0100000000000000 07 0102 03 04030201  0200 0200000000000000 05 01  0200 0300000000000000 06 09 02 6869",
            1,
            vec![
                command(0, 1, Action::Grant { player: PlayerId(513), resource: Resource::Gold, amount: 0x0102_0304 }),
                command(2, 2, Action::Attack { on: true }),
                command(2, 3, Action::Respawn { name: "hi".to_string(), skin: 9 }),
            ],
        ),
    ];
    both_ways(rows);
}

fn both_ways<const N: usize>(rows: [(&str, u32, Vec<Command>); N]) {
    for (hex, tick, commands) in rows {
        assert_eq!(encoded(tick, &commands), unhex(hex), "{hex}");
        assert_eq!(decode_frame(&unhex(hex)), Ok(MooCommandFrame { tick, commands }), "{hex}");
    }
}

fn spawn(what: Spawned, x_px: u16, y_px: u16) -> Action {
    Action::Spawn { what, x_px, y_px }
}

#[test]
fn rows_of_clans_and_the_operator_both_ways() {
    let text = |text: &str| text.to_string();
    both_ways([
        (
            "01000000 0300  0100 0100000000000000 0a 02 c3ab  0100 0200000000000000 0b  0100 0300000000000000 0c 02 6869",
            1,
            vec![
                command(1, 1, Action::ClanCreate { name: text("ë") }),
                command(1, 2, Action::ClanLeave),
                command(1, 3, Action::ClanRequest { name: text("hi") }),
            ],
        ),
        (
            "01000000 0300  0100 0100000000000000 0d 0102 01  0100 0200000000000000 0d 0000 00  0100 0300000000000000 0e 0102",
            1,
            vec![
                command(1, 1, Action::ClanAnswer { player: PlayerId(513), accept: true }),
                command(1, 2, Action::ClanAnswer { player: PlayerId(0), accept: false }),
                command(1, 3, Action::ClanKick { player: PlayerId(513) }),
            ],
        ),
        (
            "01000000 0200  0100 0100000000000000 0f  0000 0200000000000000 11 02 6869",
            1,
            vec![command(1, 1, Action::Ping), command(0, 2, Action::Announce { text: text("hi") })],
        ),
        (
            "01000000 0200  0000 0100000000000000 10 00 04 0102 0304  0000 0200000000000000 10 01 11 ffff 0000",
            1,
            vec![
                command(0, 1, spawn(Spawned::Animal(AnimalKind::Wolf), 513, 1_027)),
                command(0, 2, spawn(Spawned::Item(17), 65_535, 0)),
            ],
        ),
    ]);
}

#[test]
fn bytes_that_are_not_a_frame_are_refused() {
    let rows = [
        ("", Malformed::Truncated),
        ("00000000 00", Malformed::Truncated),
        ("00000000 ffff 0200 0100000000000000 02 00", Malformed::Truncated),
        ("00000000 0000 00", Malformed::Trailing),
        ("00000000 0100 0200 0100000000000000 ff 0000", Malformed::Kind(255)),
        ("00000000 0100 0200 0100000000000000 05 02", Malformed::Value("flag")),
        ("00000000 0100 0200 0100000000000000 07 0100 04 01000000", Malformed::Value("resource")),
        ("00000000 0100 0200 0100000000000000 0d 0100 02", Malformed::Value("flag")),
        ("00000000 0100 0000 0100000000000000 10 02 00 0000 0000", Malformed::Value("flag")),
        ("00000000 0100 0000 0100000000000000 10 00 03 0000 0000", Malformed::Value("animal")),
        ("00000000 0100 0000 0100000000000000 13", Malformed::Kind(19)),
        ("00000000 0100 0200 0100000000000000 02 02 0000", Malformed::Value("direction flag")),
        ("00000000 0100 0200 0100000000000000 04 02 ff61", Malformed::Text),
        ("00000000 0100 0200 0100000000000000 04 03 6869", Malformed::Truncated),
    ];
    for (hex, error) in rows {
        assert_eq!(decode_frame(&unhex(hex)), Err(error), "{hex}");
        assert!(error.to_string().len() > 10);
    }
}

#[test]
fn commands_that_do_not_fit_a_frame_are_refused_and_not_left_out() {
    let mut commands = vec![command(1, 1, Action::Ping); MAX_COMMANDS];
    let mut out = Vec::new();
    assert_eq!(encode_frame(7, &commands, &mut out), Ok(()));
    assert_eq!(decode_frame(&out).map(|frame| frame.commands.len()), Ok(MAX_COMMANDS));
    commands.push(command(1, 2, Action::Ping));
    out.clear();
    assert_eq!(encode_frame(7, &commands, &mut out), Err(Malformed::TooMany(65_536)));
    assert_eq!(out, []);
}

#[test]
fn every_cut_of_a_frame_is_too_short() {
    let whole = unhex("01000000 0200  0200 0100000000000000 02 01 0040  0300 0200000000000000 04 02 6869");
    assert!(decode_frame(&whole).is_ok());
    for length in 0..whole.len() {
        assert_eq!(decode_frame(&whole[..length]), Err(Malformed::Truncated), "{length} bytes");
    }
}

#[test]
fn a_text_too_long_for_its_length_byte_is_truncated_at_a_character() {
    let text = format!("a{}", "🦊".repeat(1_000));
    let bytes = encoded(1, &[command(1, 1, Action::Chat { text })]);
    let frame = decode_frame(&bytes).expect("it is a frame");
    assert_eq!(frame.commands[0].action, Action::Chat { text: format!("a{}", "🦊".repeat(63)) });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn encoded_frames_are_decoded(tick in any::<u32>(), commands in prop::collection::vec(any_command(), 0..10)) {
        let once = decode_frame(&encoded(tick, &commands)).expect("it is a frame");
        // Long texts may have been truncated; a second round must not change them.
        prop_assert_eq!(decode_frame(&encoded(tick, &once.commands)), Ok(once.clone()));
        prop_assert_eq!(once.commands.len(), commands.len());
        for (read, written) in once.commands.iter().zip(&commands) {
            prop_assert_eq!((read.player, read.sequence), (written.player, written.sequence));
            prop_assert_eq!(read.action.kind(), written.action.kind());
        }
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(frame) = decode_frame(&bytes) {
            prop_assert_eq!(encoded(frame.tick, &frame.commands), bytes);
        }
    }
}
