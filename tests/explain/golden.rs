//! Compares the output of `tickwire explain` with `tests/golden/explain_*.txt`, and checks
//! properties of the explanation of any bytes.
//!
//! After an intended change, `TICKWIRE_BLESS=1 cargo test --test explain golden` regenerates the
//! files: review the diff.

use crate::rows::hex;

use std::fs;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;
use tickwire::explain::tree::Node;
use tickwire::explain::{self, Problem};
use tickwire::packet::{Direction, PacketTables, Value};
use tickwire::ws::frame::{self, Opcode};
use tickwire::ws::{Side, Violation};

/// File, dialect, who sent it, the bytes.
const GOLDEN: &[(&str, &str, Option<Side>, &str)] = &[
    ("eleven_bytes", "legacy", None, "81 85 37fa213d 7f9f4d5158"),
    ("length_in_16_bits", "legacy", None, "81 7e 0100 61*256"),
    ("length_in_64_bits", "legacy", Some(Side::Client), "82 ff 0000000000010000 37fa213d 00*30"),
    ("reserved_bit", "legacy", Some(Side::Client), "a1 85 37fa213d 7f9f4d5158"),
    ("mask_missing", "legacy", Some(Side::Client), "81 05 48656c6c6f"),
    ("length_not_minimal", "legacy", None, "82 7e 0005 0102030405"),
    ("legacy_move", "legacy", None, "82 8e 37fa213d a558120e a631 1ec4 294270d6 b2e5"),
    (
        "legacy_enter_game",
        "legacy",
        Some(Side::Client),
        "82 95 00000000 92 a27370 91 82 a46e616d65 a3416461 a4736b696e 02",
    ),
    (
        "legacy_update",
        "legacy",
        None,
        "82 1f 92 a23333 91 9d 01 cd0708 cd0bfd cb3fcae147ae147ae1 ff 00 00 c0 00 00 00 00 01",
    ),
    (
        "native_update",
        "native",
        None,
        "82 29 92 02 96 cd04b0 98 11 02 ce00400000 ce00480000 cdffff d1ff00 cd4000 c0 92 03 09 90 90 96 07 fd 0c 08 10 00",
    ),
    ("native_move", "native", None, "82 8a 37fa213d a5f9b22c fafe91f0 77fa"),
    ("close", "native", None, "88 0d 03f0 736c6f775f636c69656e74"),
    ("close_one_byte", "native", None, "88 01 03"),
    ("text_not_utf8", "native", None, "81 05 6869 c328 21"),
    ("broken_packet", "native", None, "82 04 92 03 91 c1"),
    ("wrong_arguments", "native", None, "82 05 92 06 92 07 c3"),
    ("unknown_code", "legacy", None, "82 05 92 a2 7a7a 90"),
    ("json", "native", Some(Side::Client), "81 91 00000000 5b352c5b 312c6e75 6c6c2c22 6869225d 5d"),
    ("two_frames", "legacy", None, "89 01 21 82 05 92 a2 7070 90"),
    ("header_only", "legacy", None, "82 7e 01"),
];

fn golden_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/explain_{name}.txt"))
}

fn spaced(bytes: &[u8]) -> String {
    explain::hex::print(bytes)
}

#[test]
fn the_reports_are_as_committed() {
    for (name, dialect, from, bytes) in GOLDEN {
        let dialect = PacketTables::builtin().dialect(dialect).expect(dialect);
        let report = explain::run(&spaced(&hex::bytes(bytes)), &dialect, *from).expect(name);
        let file = golden_file(name);
        if std::env::var_os("TICKWIRE_BLESS").is_some() {
            fs::write(&file, &report).expect("written");
        }
        let committed = fs::read_to_string(&file).unwrap_or_default();
        assert!(report == committed, "{name}: see the head of this file; got\n{report}");
    }
}

/// What a tree must be, whatever the bytes.
fn check_tree(bytes: &[u8], tree: &Node) {
    let mut at = 0;
    for leaf in tree.leaves() {
        assert_eq!(leaf.bits.start, at, "a gap or an overlap before {leaf:?} in {bytes:02x?}");
        at = leaf.bits.end;
    }
    assert_eq!(at, bytes.len() * 8, "the leaves end before the bytes: {bytes:02x?}");
    check_nesting(tree);
}

fn check_nesting(node: &Node) {
    for child in &node.children {
        assert!(
            node.bits.start <= child.bits.start && child.bits.end <= node.bits.end,
            "{child:?} in {node:?}"
        );
        check_nesting(child);
    }
}

/// Explains in all dialects and directions, and checks what holds for any bytes.
fn check_any(bytes: &[u8]) {
    for dialect in PacketTables::builtin().dialects() {
        for from in [None, Some(Side::Client), Some(Side::Server)] {
            let explanation = explain::explain(bytes, dialect, from);
            check_tree(bytes, &explanation.tree());
            if let Some(Problem::Violation { bits, .. }) = explanation.problem() {
                // Empty where something is missing.
                assert!(bits.start <= bits.end && bits.end <= bytes.len() * 8, "{bits:?} in {bytes:02x?}");
            }
            assert!(explanation.report().lines().count() > 5);
            assert_eq!(explanation.to_string().lines().count(), explanation.frames.len());
        }
    }
}

#[test]
fn leaves_tile_the_bytes_of_each_row_cut_anywhere() {
    for (_, _, _, bytes) in GOLDEN {
        let bytes = hex::bytes(bytes);
        for end in 1..=bytes.len().min(60) {
            check_any(&bytes[..end]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn leaves_tile_any_bytes(bytes in vec(any::<u8>(), 1..80)) {
        check_any(&bytes);
    }

    #[test]
    fn leaves_tile_any_payload(payload in vec(any::<u8>(), 0..80), opcode in 0..6usize, key: [u8; 4], masked: bool) {
        let opcode = (0..16).filter_map(Opcode::new).nth(opcode).expect("six of them");
        let mut bytes = Vec::new();
        frame::write(&mut bytes, opcode, masked.then_some(key), &payload);
        check_any(&bytes);
    }

    #[test]
    fn leaves_tile_envelopes_of_any_values(code in 0..12u8, values in vec(value(), 0..9), cut in 0..9usize) {
        let mut payload = vec![0x92, code];
        tickwire::packet::msgpack::write_value(&mut payload, &Value::Array(values));
        payload.truncate(payload.len().saturating_sub(cut).max(1));
        let mut bytes = Vec::new();
        frame::write_binary(&mut bytes, &payload);
        check_any(&bytes);
    }

    #[test]
    fn the_verdict_on_a_header_is_that_of_the_decoder(bytes in vec(any::<u8>(), 1..16), client: bool) {
        // A letter begins a request or its answer; it would be a frame with a reserved bit.
        prop_assume!(!bytes[0].is_ascii_uppercase());
        let from = if client { Side::Client } else { Side::Server };
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let explanation = explain::explain(&bytes, &dialect, Some(from));
        let said = match &explanation.frames[0].problem {
            Some(Problem::Violation { rule, .. }) if explanation.frames[0].header.is_none() => Some(*rule),
            _ => None,
        };
        prop_assert_eq!(said, frame::Header::decode(&bytes, from).err().map(Violation::name));
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0..300i64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::Array),
            vec(("[a-z]{1,4}".prop_map(Value::from), inner), 0..4).prop_map(Value::Map),
        ]
    })
}

/// A packet of each row that takes no arguments but scalars is named down to its last argument.
#[test]
fn arguments_have_the_names_of_their_row() {
    let dialect = PacketTables::builtin().dialect("native").expect("built in");
    let values = [Value::from(17), Value::from(1200), Value::from(16384)];
    let payload = dialect.encode(Direction::ToServer, "move", &values).expect("fits");
    let mut bytes = Vec::new();
    frame::write(&mut bytes, Opcode::Binary, Some([1, 2, 3, 4]), &payload);
    let explanation = explain::explain(&bytes, &dialect, None);
    assert_eq!(explanation.from, Side::Client);
    assert_eq!(explanation.problem(), None);
    let tree = explanation.tree();
    let text =
        |name: &str| tree.find(name).map(|node| (node.bytes(), node.value.as_str(), node.encoding.as_str()));
    assert_eq!(text("sequence"), Some((9..10, "17", "positive fixint")));
    assert_eq!(text("tick"), Some((10..13, "1200 ticks", "uint 16")));
    assert_eq!(text("direction"), Some((13..16, "16384 turn16 = 90°", "uint 16")));
    assert_eq!(
        explanation.to_string(),
        "binary, masked, 10 bytes: move sequence=17 tick=1200 direction=16384"
    );
}

#[test]
fn hexadecimal_as_people_paste_it() {
    let eleven = hex::bytes("81 85 37fa213d 7f9f4d5158");
    for text in [
        "818537fa213d7f9f4d5158",
        "81 85 37 fa 21 3d 7f 9f 4d 51 58",
        "0x818537fa213d7f9f4d5158",
        "0x81, 0x85, 0x37, 0xfa, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58",
        "81:85:37:fa:21:3d:7f:9f:4d:51:58\n",
        "  8185\n\t37FA213D\r\n7f9f4d5158",
    ] {
        assert_eq!(explain::hex::parse(text), Ok(eleven.clone()), "{text}");
    }
    for (text, complaint) in [
        ("", "no bytes"),
        (" \n", "no bytes"),
        ("0x", "no bytes"),
        ("8", "\"8\" has an odd number of digits"),
        ("81 8", "each byte needs two"),
        ("81 8g", "'g' is not"),
        ("81 €€", "'€' is not"),
        ("0x0x81", "'x' is not"),
    ] {
        let error = explain::hex::parse(text).expect_err(text).to_string();
        assert!(error.contains(complaint) && error.lines().count() == 1, "{text}: {error}");
    }
}
