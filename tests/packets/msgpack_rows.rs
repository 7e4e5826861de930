//! MessagePack as rows: rejected messages with rule and offset, and accepted messages with their
//! value. Each proper prefix of each row must also be rejected, without reading beyond its end.

#![allow(clippy::print_stdout, reason = "each table says how many rows it ran")]

use crate::rows::hex;
use crate::rows::messages::{ACCEPTED, ENVELOPES, REFUSED};
use tickwire::internal::limits;
use tickwire::packet::msgpack::{self, Rule};
use tickwire::packet::{Direction, PacketError, PacketTables, Value, json};

#[test]
fn each_refused_row_names_rule_and_offset() {
    for &(what, hex, rule, offset) in REFUSED {
        let broken = msgpack::check(&hex::bytes(hex), Direction::ToServer).expect_err(what);
        assert_eq!((broken.rule, broken.offset), (rule, offset), "{what}");
        assert_eq!(msgpack::read(&hex::bytes(hex), Direction::ToServer), Err(broken), "{what}");
        assert!(broken.to_string().contains(rule.name()), "{what}");
    }
    println!("{} MessagePack values that are refused", REFUSED.len());
    assert!(REFUSED.len() + ACCEPTED.len() >= 80);
}

#[test]
fn each_accepted_row_has_its_value() {
    for &(what, hex, expected) in ACCEPTED {
        let value = msgpack::read(&hex::bytes(hex), Direction::ToServer)
            .unwrap_or_else(|broken| panic!("{what}: {broken}"));
        assert_eq!(json::to_text(&value), expected, "{what}");
    }
    println!("{} MessagePack values that are accepted", ACCEPTED.len());
}

#[test]
fn no_prefix_of_a_row_is_a_value() {
    let rows = ACCEPTED.iter().map(|(what, hex, _)| (what, hex));
    for (what, hex) in rows {
        let bytes = hex::bytes(hex);
        for cut in 0..bytes.len() {
            let broken = msgpack::check(&bytes[..cut], Direction::ToServer).expect_err(what);
            assert!(
                matches!(broken.rule, Rule::Truncated | Rule::DeclaredSize),
                "{what} cut at {cut}: {broken}"
            );
        }
    }
}

#[test]
fn the_number_of_values_is_bounded_by_direction() {
    for (direction, max) in
        [(Direction::ToServer, limits::PACKET_VALUES), (Direction::ToClient, limits::CLIENT_PACKET_VALUES)]
    {
        let array_of = |values: usize| {
            let mut bytes = Vec::new();
            msgpack::write_array_len(&mut bytes, values);
            bytes.resize(bytes.len() + values, 0xc0);
            bytes
        };
        assert_eq!(msgpack::check(&array_of(max - 1), direction), Ok(()));
        let broken = msgpack::check(&array_of(max), direction).expect_err("one more");
        assert_eq!(broken.rule, Rule::TooManyValues);
        assert_eq!(broken.offset, array_of(max).len() - 1);
    }
}

#[test]
fn depth_is_counted_in_maps_as_in_arrays() {
    let nested = |containers: usize| {
        let mut bytes = [0x81, 0xa0].repeat(containers - 1);
        bytes.push(0x80);
        bytes
    };
    assert_eq!(msgpack::check(&nested(limits::PACKET_DEPTH), Direction::ToServer), Ok(()));
    assert!(
        msgpack::read(&nested(limits::PACKET_DEPTH), Direction::ToServer).is_ok(),
        "rmpv reads what the check lets through"
    );
    let deep = nested(limits::PACKET_DEPTH + 1);
    assert_eq!(msgpack::check(&deep, Direction::ToServer).expect_err("too deep").rule, Rule::TooDeep);
    // A message as long as the largest allowed one, nothing but open arrays: no recursion, so no stack to overflow.
    let bomb = vec![0x91; limits::MESSAGE_BYTES];
    assert_eq!(msgpack::check(&bomb, Direction::ToServer).expect_err("too deep").rule, Rule::TooDeep);
}

#[test]
fn a_map_may_have_as_many_keys_as_the_bounds_allow() {
    // The most keys that the bounds let through, in one map.
    let pairs = (limits::PACKET_VALUES - 1) / 2;
    let mut bytes = Vec::new();
    msgpack::write_map_len(&mut bytes, pairs);
    for key in 0..pairs {
        msgpack::write_str(&mut bytes, &format!("{key:03}"));
        msgpack::write_nil(&mut bytes);
    }
    assert!(bytes.len() < limits::MESSAGE_BYTES);
    assert_eq!(msgpack::check(&bytes, Direction::ToServer), Ok(()));
}

#[test]
fn envelopes_as_rows() {
    let legacy = PacketTables::builtin().dialect("legacy").expect("built in");
    for &(what, hex, name) in ENVELOPES {
        let error = legacy.decode(Direction::ToServer, &hex::bytes(hex)).expect_err(what);
        assert_eq!(error.name(), name, "{what}: {error}");
        assert_eq!(error.closes_connection(), name == "packet_envelope", "{what}");
    }
    println!("{} envelopes", ENVELOPES.len());
}

#[test]
fn every_rule_has_a_row_and_a_name_of_its_own() {
    let names: std::collections::BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    assert_eq!(names.len(), Rule::ALL.len());
    for rule in Rule::ALL {
        let elsewhere = matches!(rule, Rule::TooManyValues | Rule::BadJson | Rule::Envelope);
        assert!(elsewhere || REFUSED.iter().any(|row| row.2 == rule), "{rule:?} has no row");
        assert!(PacketError::Malformed(msgpack::DecodeError::new(rule, 0)).closes_connection());
    }
}

#[test]
fn numbers_are_written_in_their_shortest_form() {
    let rows: [(f64, &str); 12] = [
        (0.0, "00"),
        (-0.0, "00"),
        (127.0, "7f"),
        (128.0, "cc80"),
        (256.0, "cd0100"),
        (65_536.0, "ce00010000"),
        (-32.0, "e0"),
        (-33.0, "d0df"),
        (-129.0, "d1ff7f"),
        (1.57, "cb3ff91eb851eb851f"),
        (0.5, "cb3fe0000000000000"),
        (1e300, "cb7e37e43c8800759c"),
    ];
    for (number, hex) in rows {
        let mut out = Vec::new();
        msgpack::write_number(&mut out, number);
        assert_eq!(out, hex::bytes(hex), "{number}");
    }
    let mut out = Vec::new();
    msgpack::write_f64_2dec(&mut out, 1.569_9);
    msgpack::write_f64_2dec(&mut out, -0.001);
    assert_eq!(out, hex::bytes("cb3ff91eb851eb851f 00"));
}

#[test]
fn any_value_is_written_so_that_it_reads_the_same() {
    for &(what, hex, expected) in ACCEPTED {
        let value = msgpack::read(&hex::bytes(hex), Direction::ToServer).expect(what);
        let mut out = Vec::new();
        msgpack::write_value(&mut out, &value);
        // A 32-bit float is written with 64 bits, everything else in at most the bytes it came in.
        assert!(out.len() <= hex::bytes(hex).len() || what == "a 32-bit float", "{what}");
        let again = msgpack::read(&out, Direction::ToServer).expect(what);
        let whole = expected.strip_suffix(".0").unwrap_or(expected);
        assert_eq!(json::to_text(&again), whole, "{what}");
    }
    let mut out = Vec::new();
    msgpack::write_value(&mut out, &Value::Binary(vec![1, 2]));
    assert_eq!(out, hex::bytes("c402 0102"));
}
