//! Checks that every `Violation` is in a table of rows that is replayed, and that the rules
//! themselves are consistent.

#![allow(clippy::print_stdout, reason = "each table says how many rows it ran")]

use crate::rows::frames::{FROM_CLIENT, FROM_SERVER, UNFINISHED, both_sides};
use crate::rows::frames_limits::LONG;
use crate::rows::{answers, frames_deflate, heads, heads_unfinished};
use std::collections::HashSet;

use tickwire::internal::limits::CONTROL_PAYLOAD_BYTES;
use tickwire::ws::close::{CloseCode, MAX_REASON_BYTES};
use tickwire::ws::frame::Opcode;
use tickwire::ws::violation::ViolationResponse;
use tickwire::ws::{Violation, close};

fn covered() -> HashSet<Violation> {
    let of_frames = both_sides().chain(FROM_CLIENT).chain(FROM_SERVER).chain(frames_deflate::ROWS);
    let of_heads = heads::all().filter_map(|row| row.2.err()).map(|(_, violation)| violation);
    let of_answers = answers::ROWS.iter().chain(answers::TO_AN_OFFER).filter_map(|row| row.2.err());
    of_frames.filter_map(|row| row.3).chain(of_heads).chain(of_answers).collect()
}

#[test]
fn no_violation_without_a_row() {
    let covered = covered();
    let missing: Vec<&str> =
        Violation::ALL.iter().filter(|v| !covered.contains(v)).map(|v| v.name()).collect();
    assert!(missing.is_empty(), "without a row: {missing:?}");
    println!("{} rules, all with rows", Violation::ALL.len());
}

#[test]
fn no_two_rows_of_the_same_name() {
    let mut names = HashSet::new();
    let of_frames = both_sides().chain(LONG).chain(FROM_CLIENT).chain(FROM_SERVER);
    let of_frames = of_frames.chain(frames_deflate::ROWS).map(|row| row.0);
    let of_heads = heads::all().chain(heads_unfinished::PIPELINED).map(|row| row.0);
    let unfinished = UNFINISHED.iter().map(|row| row.0).chain(heads_unfinished::ROWS.iter().map(|row| row.0));
    for name in of_frames.chain(of_heads).chain(unfinished) {
        assert!(names.insert(name), "{name}");
    }
}

#[test]
fn names_are_unique_snake_case_that_fits_a_close_reason() {
    let mut names = HashSet::new();
    for violation in Violation::ALL {
        let name = violation.name();
        assert!(names.insert(name), "{name} twice");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{name}");
        assert!(name.len() <= MAX_REASON_BYTES, "{name}");
        let variant: String = format!("{violation:?}").to_lowercase();
        assert_eq!(variant, name.replace('_', ""), "the variant and its name");
    }
}

#[test]
fn every_rule_has_an_address_an_answer_and_one_sentence() {
    for violation in Violation::ALL {
        assert!([6455, 6585, 7692, 9110, 9112].contains(&violation.rfc()), "{violation:?}");
        assert!(violation.section().split('.').all(|part| part.parse::<u8>().is_ok()), "{violation:?}");
        let sentence = violation.to_string();
        assert!(sentence.ends_with('.') && !sentence.contains(". "), "{sentence}");
        match violation.response() {
            ViolationResponse::Close(code) => {
                assert!(violation.close_code() == Some(code) && violation.status().is_none())
            }
            ViolationResponse::Status(status) => {
                assert!(matches!(status, 400 | 403 | 405 | 426 | 431 | 505), "{status}")
            }
            ViolationResponse::Drop => {
                assert!(violation.status().is_none() && violation.close_code().is_none())
            }
        }
    }
}

#[test]
fn section_7_4_every_number() {
    for number in 0..=u16::MAX {
        let allowed = matches!(number, 1000..=1003 | 1007..=1014 | 3000..=4999);
        assert_eq!(CloseCode::new(number).is_some(), allowed, "{number}");
        assert_eq!(close::decode(&number.to_be_bytes()).is_ok(), allowed, "{number}");
    }
    for code in
        [CloseCode::NORMAL, CloseCode::GOING_AWAY, CloseCode::PROTOCOL_ERROR, CloseCode::UNSUPPORTED_DATA]
    {
        assert_eq!(CloseCode::new(code.get()), Some(code));
    }
    for code in [
        CloseCode::INVALID_PAYLOAD,
        CloseCode::POLICY_VIOLATION,
        CloseCode::MESSAGE_TOO_BIG,
        CloseCode::INTERNAL_ERROR,
    ] {
        assert_eq!(CloseCode::new(code.get()), Some(code));
    }
}

#[test]
fn section_5_5_1_a_long_reason_is_cut_before_a_character() {
    let encoded = |reason: &str| {
        let mut body = Vec::new();
        close::encode(Some(CloseCode::POLICY_VIOLATION), reason, &mut body);
        body
    };
    assert_eq!(encoded("no"), b"\x03\xf0no");
    assert_eq!(encoded(&"a".repeat(200)).len(), CONTROL_PAYLOAD_BYTES);
    // 41 characters of three bytes fill the 123 bytes; one byte before them leaves room for 40.
    assert_eq!(encoded(&"€".repeat(50)).len(), 2 + 123);
    assert_eq!(encoded(&format!("a{}", "€".repeat(50))).len(), 2 + 1 + 120);
    assert!(close::decode(&encoded(&"€".repeat(50))).is_ok());
    let mut without_code = Vec::new();
    close::encode(None, "reason", &mut without_code);
    assert!(without_code.is_empty());
    assert_eq!(CloseCode::GOING_AWAY.to_string(), "1001 going away");
}

/// The words of section 7.4.1 and of the IANA registry.
#[test]
fn section_7_4_1_each_code_has_its_meaning() {
    for (number, meaning) in [
        (1000, "normal"),
        (1001, "going away"),
        (1002, "protocol error"),
        (1003, "unsupported data"),
        (1007, "inconsistent data"),
        (1008, "policy violation"),
        (1009, "message too big"),
        (1010, "extension missing"),
        (1011, "internal error"),
        (1012, "service restart"),
        (1013, "try again later"),
        (1014, "bad gateway"),
        (3000, "registered"),
        (3999, "registered"),
        (4000, "private use"),
        (4999, "private use"),
    ] {
        let code = CloseCode::new(number).expect("a code that may travel");
        assert_eq!(code.to_string(), format!("{number} {meaning}"));
    }
}

#[test]
fn section_11_8_each_opcode_has_its_name_and_no_other_bits_have_one() {
    let names =
        ["continuation", "text", "binary", "", "", "", "", "", "close", "ping", "pong", "", "", "", "", ""];
    for (bits, name) in (0u8..).zip(names) {
        assert_eq!(Opcode::new(bits).map_or("", Opcode::name), name);
        assert_eq!(Opcode::new(bits).is_some_and(Opcode::is_control), bits >= 8 && !name.is_empty());
    }
    assert!((16..=u8::MAX).all(|bits| Opcode::new(bits).is_none()));
}
