//! MessagePack as rows: what is refused, with rule and offset, and what is accepted, with its value. Each row is
//! also tried with every shorter prefix, which must be refused without looking behind its end.

use tickwire::limits;
use tickwire::packet::msgpack::{self, Bounds, Rule};
use tickwire::packet::{Codes, Direction, PacketError, Value, json};

fn unhex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    let pair = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal");
    (0..digits.len()).step_by(2).map(pair).collect()
}

fn bounds() -> Bounds {
    Bounds::of(Direction::ToServer)
}

/// what, bytes, rule, offset of the value that breaks it
const REFUSED: [(&str, &str, Rule, usize); 58] = [
    ("nothing at all", "", Rule::Truncated, 0),
    ("an array without its values", "92", Rule::DeclaredSize, 0),
    ("an array with one of two values", "92 01", Rule::DeclaredSize, 0),
    ("the second value is missing", "92 91 01", Rule::Truncated, 3),
    ("a u8 without its byte", "cc", Rule::Truncated, 0),
    ("a u16 with one of two bytes", "91 cd 01", Rule::Truncated, 1),
    ("a u32 with three bytes", "91 ce 010203", Rule::Truncated, 1),
    ("a u64 with seven bytes", "91 cf 01020304050607", Rule::Truncated, 1),
    ("an i8 without its byte", "d0", Rule::Truncated, 0),
    ("an i64 with one byte", "d3 00", Rule::Truncated, 0),
    ("a 32-bit float with three bytes", "ca 3f8000", Rule::Truncated, 0),
    ("a 64-bit float with seven bytes", "91 cb 3ff91eb851eb85", Rule::Truncated, 1),
    ("a length field without its byte", "d9", Rule::Truncated, 0),
    ("half a 16-bit length of text", "da 00", Rule::Truncated, 0),
    ("half a 32-bit length of text", "91 db 0000", Rule::Truncated, 1),
    ("an array length of one byte", "dc 00", Rule::Truncated, 0),
    ("an array length of three bytes", "dd 000000", Rule::Truncated, 0),
    ("a map length of one byte", "de 00", Rule::Truncated, 0),
    ("a bytes length without its byte", "c4", Rule::Truncated, 0),
    ("the reserved byte alone", "c1", Rule::ReservedByte, 0),
    ("the reserved byte as code", "92 c1 90", Rule::ReservedByte, 1),
    ("the reserved byte as argument", "92 a133 91 c1", Rule::ReservedByte, 4),
    ("the reserved byte as a map's value", "81 a161 c1", Rule::ReservedByte, 3),
    ("the reserved byte as a map's key", "81 c1 01", Rule::ReservedByte, 1),
    ("short text longer than the rest", "a5 6162", Rule::DeclaredSize, 0),
    ("text of 255 with one", "91 d9ff 61", Rule::DeclaredSize, 1),
    ("text of 65,535 with one", "da ffff 61", Rule::DeclaredSize, 0),
    ("text of 4 GiB", "db ffffffff 61", Rule::DeclaredSize, 0),
    ("bytes of 4 GiB", "c6 ffffffff 00", Rule::DeclaredSize, 0),
    ("bytes of 3 with 2", "91 c403 0000", Rule::DeclaredSize, 1),
    ("an array of 65,535", "dc ffff 00", Rule::DeclaredSize, 0),
    ("an array of 4,294,967,295", "dd ffffffff 00", Rule::DeclaredSize, 0),
    ("a map of 2,147,483,648 pairs", "df 80000000 00", Rule::DeclaredSize, 0),
    ("a map of 4,294,967,295 pairs", "91 df ffffffff 00", Rule::DeclaredSize, 1),
    ("a map of one pair with a key only", "81 a161", Rule::Truncated, 3),
    ("a map of two pairs with three bytes", "82 a0 01 a0", Rule::DeclaredSize, 0),
    ("a byte after the value", "00 00", Rule::TrailingBytes, 1),
    ("a second packet after the first", "92 a133 90 92 a133 90", Rule::TrailingBytes, 4),
    ("nil after a packet", "92 a133 90 c0", Rule::TrailingBytes, 4),
    ("a newline after a packet", "92 a133 90 0a", Rule::TrailingBytes, 4),
    ("a lone continuation byte in text", "a1 80", Rule::InvalidUtf8, 0),
    ("text cut within a character", "91 a2 e282", Rule::InvalidUtf8, 1),
    ("an overlong slash", "a2 c0af", Rule::InvalidUtf8, 0),
    ("a surrogate", "a3 eda080", Rule::InvalidUtf8, 0),
    ("beyond the last code point", "a4 f4908080", Rule::InvalidUtf8, 0),
    ("ff in text with a length byte", "d902 61ff", Rule::InvalidUtf8, 0),
    ("a key that is not UTF-8", "81 a1ff 01", Rule::InvalidUtf8, 1),
    ("the same key twice", "82 a161 01 a161 02", Rule::DuplicateKey, 4),
    ("the same key in another length form", "82 a161 01 d90161 02", Rule::DuplicateKey, 4),
    ("the same key, another between", "83 a161 01 a162 02 a161 03", Rule::DuplicateKey, 7),
    ("the same key twice in a map within a map", "81 a161 82 a162 01 a162 02", Rule::DuplicateKey, 7),
    ("a number as key", "81 01 02", Rule::KeyNotText, 1),
    ("nil as key", "91 81 c0 02", Rule::KeyNotText, 2),
    ("an array as key", "81 90 02", Rule::KeyNotText, 1),
    ("a fixed extension", "d4 00 00", Rule::ExtType, 0),
    ("a timestamp", "91 d6 ff 00000000", Rule::ExtType, 1),
    ("an extension with a length", "c7 01 05 00", Rule::ExtType, 0),
    ("eight containers within one another", "9191919191919190", Rule::TooDeep, 7),
];

#[test]
fn each_refused_row_names_rule_and_offset() {
    for (what, hex, rule, offset) in REFUSED {
        let broken = msgpack::check(&unhex(hex), bounds()).expect_err(what);
        assert_eq!((broken.rule, broken.offset), (rule, offset), "{what}");
        assert_eq!(msgpack::read(&unhex(hex), bounds()), Err(broken), "{what}");
        assert!(broken.to_string().contains(rule.name()), "{what}");
    }
}

/// what, bytes, value as JSON
const ACCEPTED: [(&str, &str, &str); 31] = [
    ("0 in one byte", "00", "0"),
    ("0 as u8", "cc00", "0"),
    ("0 as u16", "cd0000", "0"),
    ("0 as u32", "ce00000000", "0"),
    ("0 as u64", "cf0000000000000000", "0"),
    ("0 as i8", "d000", "0"),
    ("0 as i16", "d10000", "0"),
    ("0 as i32", "d200000000", "0"),
    ("0 as i64", "d30000000000000000", "0"),
    ("-1 in one byte", "ff", "-1"),
    ("-1 as i8", "d0ff", "-1"),
    ("-1 as i64", "d3ffffffffffffffff", "-1"),
    ("the largest u64", "cfffffffffffffffff", "18446744073709551615"),
    ("the smallest i64", "d38000000000000000", "-9223372036854775808"),
    ("a float without a fraction", "cb3ff0000000000000", "1.0"),
    ("a 32-bit float", "ca3fc00000", "1.5"),
    ("a 64-bit float", "cb3ff91eb851eb851f", "1.57"),
    ("nil", "c0", "null"),
    ("true", "c3", "true"),
    ("false", "c2", "false"),
    ("empty text", "a0", "\"\""),
    ("short text with an 8-bit length", "d90161", "\"a\""),
    ("short text with a 16-bit length", "da000161", "\"a\""),
    ("short text with a 32-bit length", "db0000000161", "\"a\""),
    ("four bytes of one character", "a4f09f9880", "\"\u{1f600}\""),
    ("NUL in text", "a100", "\"\\u0000\""),
    ("an empty array with a 32-bit length", "dd00000000", "[]"),
    ("an empty map with a 16-bit length", "de0000", "{}"),
    ("the same key in two maps", "9281a1610181a16102", "[{\"a\":1},{\"a\":2}]"),
    ("a key of an inner map in the outer one", "82a16181a16201a16202", "{\"a\":{\"b\":1},\"b\":2}"),
    ("seven containers within one another", "91919191919190", "[[[[[[[]]]]]]]"),
];

#[test]
fn each_accepted_row_has_its_value() {
    for (what, hex, expected) in ACCEPTED {
        let value = msgpack::read(&unhex(hex), bounds()).unwrap_or_else(|broken| panic!("{what}: {broken}"));
        assert_eq!(json::print(&value), expected, "{what}");
    }
}

#[test]
fn no_prefix_of_a_row_is_a_value() {
    let rows = ACCEPTED.iter().map(|(what, hex, _)| (what, hex));
    for (what, hex) in rows {
        let bytes = unhex(hex);
        for cut in 0..bytes.len() {
            let broken = msgpack::check(&bytes[..cut], bounds()).expect_err(what);
            assert!(
                matches!(broken.rule, Rule::Truncated | Rule::DeclaredSize),
                "{what} cut at {cut}: {broken}"
            );
        }
    }
}

#[test]
fn the_number_of_values_is_bounded_by_direction() {
    for (direction, most) in
        [(Direction::ToServer, limits::PACKET_VALUES), (Direction::ToClient, limits::CLIENT_PACKET_VALUES)]
    {
        let array_of = |values: usize| {
            let mut bytes = Vec::new();
            msgpack::write_array_len(&mut bytes, values);
            bytes.resize(bytes.len() + values, 0xc0);
            bytes
        };
        assert_eq!(msgpack::check(&array_of(most - 1), Bounds::of(direction)), Ok(()));
        let broken = msgpack::check(&array_of(most), Bounds::of(direction)).expect_err("one more");
        assert_eq!(broken.rule, Rule::TooManyValues);
        assert_eq!(broken.offset, array_of(most).len() - 1);
    }
}

#[test]
fn depth_is_counted_in_maps_as_in_arrays() {
    let nested = |containers: usize| {
        let mut bytes = [0x81, 0xa0].repeat(containers - 1);
        bytes.push(0x80);
        bytes
    };
    assert_eq!(msgpack::check(&nested(limits::PACKET_DEPTH), bounds()), Ok(()));
    assert!(
        msgpack::read(&nested(limits::PACKET_DEPTH), bounds()).is_ok(),
        "rmpv reads what the check lets through"
    );
    let deep = nested(limits::PACKET_DEPTH + 1);
    assert_eq!(msgpack::check(&deep, bounds()).expect_err("too deep").rule, Rule::TooDeep);
    // A message as long as the largest allowed one, nothing but open arrays: no recursion, so no stack to overflow.
    let bomb = vec![0x91; limits::MESSAGE_BYTES];
    assert_eq!(msgpack::check(&bomb, bounds()).expect_err("too deep").rule, Rule::TooDeep);
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
    assert_eq!(msgpack::check(&bytes, bounds()), Ok(()));
}

/// What is well-formed and yet no envelope closes as well; what is an envelope of an unknown code is only ignored.
const ENVELOPES: [(&str, &str, &str); 11] = [
    ("a number", "05", "packet_envelope"),
    ("nil", "c0", "packet_envelope"),
    ("text", "a3 616263", "packet_envelope"),
    ("a map", "81 a161 01", "packet_envelope"),
    ("an empty array", "90", "packet_envelope"),
    ("nil as code", "92 c0 90", "packet_envelope"),
    ("an array as code", "92 90 90", "packet_envelope"),
    ("a fraction as code", "92 cb3ff8000000000000 90", "packet_envelope"),
    ("an unknown code", "92 a27a7a 90", "unknown_code"),
    ("a code of the other direction", "92 a27374 90", "unknown_code"),
    ("arguments that are no array", "92 a23333 05", "wrong_arguments"),
];

#[test]
fn envelopes_as_rows() {
    let legacy = Codes::builtin().dialect("legacy").expect("built in");
    for (what, hex, name) in ENVELOPES {
        let error = legacy.decode(Direction::ToServer, &unhex(hex)).expect_err(what);
        assert_eq!(error.name(), name, "{what}: {error}");
        assert_eq!(error.closes(), name == "packet_envelope", "{what}");
    }
}

#[test]
fn every_rule_has_a_row_and_a_name_of_its_own() {
    let names: std::collections::BTreeSet<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    assert_eq!(names.len(), Rule::ALL.len());
    for rule in Rule::ALL {
        let elsewhere = matches!(rule, Rule::TooManyValues | Rule::BadJson | Rule::Envelope);
        assert!(elsewhere || REFUSED.iter().any(|row| row.2 == rule), "{rule:?} has no row");
        assert!(PacketError::Broken(msgpack::Broken::new(rule, 0)).closes());
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
        assert_eq!(out, unhex(hex), "{number}");
    }
    let mut out = Vec::new();
    msgpack::write_f64_2dec(&mut out, 1.569_9);
    msgpack::write_f64_2dec(&mut out, -0.001);
    assert_eq!(out, unhex("cb3ff91eb851eb851f 00"));
}

#[test]
fn any_value_is_written_so_that_it_reads_the_same() {
    for (what, hex, expected) in ACCEPTED {
        let value = msgpack::read(&unhex(hex), bounds()).expect(what);
        let mut out = Vec::new();
        msgpack::write_value(&mut out, &value);
        // A 32-bit float is written with 64 bits, everything else in at most the bytes it came in.
        assert!(out.len() <= unhex(hex).len() || what == "a 32-bit float", "{what}");
        let again = msgpack::read(&out, bounds()).expect(what);
        let whole = expected.strip_suffix(".0").unwrap_or(expected);
        assert_eq!(json::print(&again), whole, "{what}");
    }
    let mut out = Vec::new();
    msgpack::write_value(&mut out, &Value::Binary(vec![1, 2]));
    assert_eq!(out, unhex("c402 0102"));
}
