//! `?format=json`: the same packets as text, by code or by name, with the same bounds.

use tickwire::internal::limits;
use tickwire::packet::msgpack::Rule;
use tickwire::packet::{Direction, PacketTables, json};

/// what, text, rule; offsets are told apart in the one test below
const REFUSED: [(&str, &str, Rule); 21] = [
    ("nothing", "", Rule::BadJson),
    ("white space", "  \n", Rule::BadJson),
    ("a word", "hello", Rule::BadJson),
    ("an open array", "[1,[", Rule::BadJson),
    ("a closing bracket too many", "[1]]", Rule::BadJson),
    ("a trailing comma", "[1,]", Rule::BadJson),
    ("two values", "[1] [2]", Rule::BadJson),
    ("single quotes", "['33']", Rule::BadJson),
    ("a comment", "[1] // no", Rule::BadJson),
    ("NaN", "[NaN]", Rule::BadJson),
    ("a number beyond all floats", "[1e999]", Rule::BadJson),
    ("half a surrogate pair as the code", r#"["\ud800"]"#, Rule::InvalidUtf8),
    ("half a surrogate pair as a key", r#"["M",[{"\ud800":1}]]"#, Rule::InvalidUtf8),
    ("half a surrogate pair as the code of no JSON", r#"["\ud800""#, Rule::BadJson),
    ("half an escape", r#"["6",["\ud8"]]"#, Rule::BadJson),
    ("a control character in text", "[\"\u{1}\"]", Rule::BadJson),
    ("an open string", "[\"abc]", Rule::BadJson),
    ("the same key twice", r#"[{"a":1,"a":2}]"#, Rule::DuplicateKey),
    ("the same key twice, once escaped", r#"[{"a":1,"\u0061":2}]"#, Rule::DuplicateKey),
    ("eight containers", "[[[[[[[[]]]]]]]]", Rule::TooDeep),
    ("eight maps", r#"{"":{"":{"":{"":{"":{"":{"":{}}}}}}}}"#, Rule::TooDeep),
];

#[test]
fn each_refused_text_names_its_rule() {
    for (what, text, rule) in REFUSED {
        assert_eq!(json::read(text, Direction::ToServer).expect_err(what).rule, rule, "{what}");
    }
}

#[test]
fn offsets_are_bytes_of_the_text() {
    for (text, offset) in [("[1,]", 4), ("[1,\n2,\n x]", 9), ("[[[[[[[[]]]]]]]]", 7)] {
        assert_eq!(json::read(text, Direction::ToServer).expect_err(text).offset, offset, "{text:?}");
    }
}

#[test]
fn half_a_surrogate_pair_in_an_argument_becomes_the_replacement_character() {
    for (text, expected) in [
        (r#"["6",["hi \ud83d"]]"#, "hi \u{fffd}"),
        (r#"["6",["\udc26"]]"#, "\u{fffd}"),
        (r#"["6",["\ud83d\ud83d\uDC26\udc26"]]"#, "\u{fffd}🐦\u{fffd}"),
        (r#"["6",["\\ud83d"]]"#, "\\ud83d"),
        (r#"["6",["\ud83d\\udc26"]]"#, "\u{fffd}\\udc26"),
    ] {
        let value = json::read(text, Direction::ToServer).expect(text);
        assert_eq!(value[1][0].as_str(), Some(expected), "{text}");
        let is_whole = !expected.contains('\u{fffd}');
        assert_eq!(json::read(text, Direction::ToClient).is_ok(), is_whole, "the server never sends {text}");
    }
    let in_a_map = json::read(r#"["M",[{"name":"\ud83d" , "skin":1}]]"#, Direction::ToServer).expect("JSON");
    assert_eq!(in_a_map[1][0]["name"].as_str(), Some("\u{fffd}"));
}

#[test]
fn the_number_of_values_is_bounded() {
    let array = |values: usize| format!("[{}]", vec!["0"; values].join(","));
    assert!(json::read(&array(limits::PACKET_VALUES - 1), Direction::ToServer).is_ok());
    for values in [limits::PACKET_VALUES, limits::PACKET_VALUES + 2] {
        let broken = json::read(&array(values), Direction::ToServer).expect_err("too many");
        assert_eq!(broken.rule, Rule::TooManyValues);
    }
}

#[test]
fn signs_within_strings_are_no_structure() {
    let text = r#"["[[[[[[[[[[:,:,{{{\"]:\\",{"a:b":":"}]"#;
    let value = json::read(text, Direction::ToServer).expect("well-formed");
    assert_eq!(json::to_text(&value), text);
}

/// dialect, as typed, as the protocol has it
const BY_HAND: [(&str, &str, &str); 8] = [
    ("legacy", r#"["move",[1.57]]"#, r#"["33",[1.57]]"#),
    ("legacy", r#"["enter_game",[{"name":"ann"}]]"#, r#"["sp",[{"moofoll":null,"name":"ann","skin":null}]]"#),
    ("legacy", r#" [ "ping" ] "#, r#"["pp",[]]"#),
    ("letters", r#"["chat",["hi"]]"#, r#"["6",["hi"]]"#),
    ("letters", r#"["6",["hi"]]"#, r#"["6",["hi"]]"#),
    ("native", r#"["hello",[1,1,"ann",3]]"#, r#"[1,[1,1,"ann",3,null]]"#),
    ("native", r#"["hello",[1,0]]"#, r#"[1,[1,0,null,null,null]]"#),
    ("native", r#"[3,[1,null,16384]]"#, r#"[3,[1,null,16384]]"#),
];

#[test]
fn packets_typed_by_hand_become_messagepack() {
    let codes = PacketTables::builtin();
    for (dialect, typed, expected) in BY_HAND {
        let dialect = codes.dialect(dialect).expect("built in");
        let packet = dialect.decode_json(Direction::ToServer, typed).expect(typed);
        let bytes = dialect.encode(Direction::ToServer, &packet.row.name, &packet.values).expect(typed);
        let text = dialect.json_from_msgpack(Direction::ToServer, &bytes).expect(typed);
        assert_eq!(text, expected);
    }
}

#[test]
fn names_are_for_json_only() {
    let legacy = PacketTables::builtin().dialect("legacy").expect("built in");
    let bytes = [&[0x92, 0xa4][..], b"move", &[0x91, 0xc0]].concat();
    assert_eq!(legacy.decode(Direction::ToServer, &bytes).expect_err("no code").name(), "unknown_code");
    assert!(legacy.decode_json(Direction::ToServer, r#"["move",[null]]"#).is_ok());
}
