//! Well-formed packets: deviations that are accepted because real clients differ, and errors that
//! drop a packet, with the wrong argument and the expected type. Rows are JSON, which is equivalent
//! to MessagePack except for NaN and infinities; those follow below as bytes.

#![allow(clippy::approx_constant, reason = "1.57 is what clients send")]

use tickwire::internal::games::moo::client_packet::ClientPacket;
use tickwire::packet::Direction::{self, ToClient, ToServer};
use tickwire::packet::{PacketError, PacketTables, Value, json};

/// The message that JSON text describes, in MessagePack with floats as they are written.
fn message(text: &str) -> Vec<u8> {
    let value = json::read(text, ToClient).expect("JSON");
    let mut out = Vec::new();
    rmpv::encode::write_value(&mut out, &value).expect("a Vec");
    out
}

/// dialect, direction, message, the arguments that are understood
const TOLERATED: [(&str, Direction, &str, &str); 63] = [
    ("legacy", ToServer, r#"["33"]"#, "[null]"),
    ("legacy", ToServer, r#"["33",null]"#, "[null]"),
    ("legacy", ToServer, r#"["33",[]]"#, "[null]"),
    ("legacy", ToServer, r#"["33",[1.57,1,"more"]]"#, "[1.57]"),
    ("legacy", ToServer, r#"["33",[1.57],7]"#, "[1.57]"),
    ("legacy", ToServer, r#"["33",[2.0]]"#, "[2]"),
    ("legacy", ToServer, r#"["c",[1]]"#, "[1,null]"),
    ("legacy", ToServer, r#"["c",[true,0]]"#, "[1,0]"),
    ("legacy", ToServer, r#"["c",[false,null]]"#, "[0,null]"),
    ("legacy", ToServer, r#"["c",[1.0,null]]"#, "[1,null]"),
    ("legacy", ToServer, r#"["5",[3,1]]"#, "[3,true]"),
    ("legacy", ToServer, r#"["5",[3]]"#, "[3,null]"),
    ("legacy", ToServer, r#"["11",[1]]"#, "[1,null]"),
    ("legacy", ToServer, r#"["pp",[1,2,3]]"#, "[]"),
    ("legacy", ToServer, r#"["pp"]"#, "[]"),
    ("legacy", ToServer, r#"["sp",[{}]]"#, r#"[{"moofoll":null,"name":null,"skin":null}]"#),
    ("legacy", ToServer, r#"["sp",[{"moofoll":1,"x":[]}]]"#, r#"[{"moofoll":true,"name":null,"skin":null}]"#),
    (
        "letters",
        ToServer,
        r#"["M",[{"name":"sixteen letters!","skin":2.0}]]"#,
        r#"[{"moofoll":null,"name":"sixteen letters","skin":2}]"#,
    ),
    (
        "letters",
        ToServer,
        r#"["6",["0123456789012345678901234567890"]]"#,
        r#"["012345678901234567890123456789"]"#,
    ),
    (
        "letters",
        ToServer,
        r#"["6",["ééééééééééééééééééééééééééééééé"]]"#,
        r#"["éééééééééééééééééééééééééééééé"]"#,
    ),
    ("legacy", ToServer, r#"["c",[]]"#, "[0,null]"),
    ("legacy", ToServer, r#"["c",[2]]"#, "[1,null]"),
    ("legacy", ToServer, r#"["c",["1"]]"#, "[1,null]"),
    ("legacy", ToServer, r#"["c",["",false]]"#, "[0,null]"),
    ("legacy", ToServer, r#"["c",[1,"x"]]"#, "[1,null]"),
    ("legacy", ToServer, r#"["c",[[],"1.5"]]"#, "[1,null]"),
    ("legacy", ToServer, r#"["5",["3","0"]]"#, "[3,true]"),
    ("legacy", ToServer, r#"["5",[1,2]]"#, "[1,true]"),
    ("legacy", ToServer, r#"["5",[true,{}]]"#, "[1,true]"),
    ("legacy", ToServer, r#"["6",["20"]]"#, "[20]"),
    ("legacy", ToServer, r#"["7",[]]"#, "[0]"),
    ("legacy", ToServer, r#"["7",["on"]]"#, "[1]"),
    ("legacy", ToServer, r#"["13c",["1","7",""]]"#, "[1,7,0]"),
    ("legacy", ToServer, r#"["13c",[0,0]]"#, "[0,0,0]"),
    ("legacy", ToServer, r#"["14",[]]"#, "[null]"),
    ("legacy", ToServer, r#"["14",[1e300]]"#, "[null]"),
    ("legacy", ToServer, r#"["14",[true]]"#, "[1]"),
    ("legacy", ToServer, r#"["10",[77]]"#, r#"["77"]"#),
    ("legacy", ToServer, r#"["11",["4","yes"]]"#, "[4,1]"),
    ("legacy", ToServer, r#"["11",[true]]"#, "[1,null]"),
    ("legacy", ToServer, r#"["12",["4"]]"#, "[4]"),
    ("legacy", ToServer, r#"["sp",[]]"#, "[null]"),
    ("legacy", ToServer, r#"["sp",["ann"]]"#, "[null]"),
    ("legacy", ToServer, r#"["sp",[{"name":7}]]"#, r#"[{"moofoll":null,"name":"7","skin":null}]"#),
    ("legacy", ToServer, r#"["sp",[{"name":true}]]"#, r#"[{"moofoll":null,"name":"true","skin":null}]"#),
    ("legacy", ToServer, r#"["sp",[{"name":[]}]]"#, r#"[{"moofoll":null,"name":null,"skin":null}]"#),
    ("legacy", ToServer, r#"["sp",[{"skin":256}]]"#, r#"[{"moofoll":null,"name":null,"skin":null}]"#),
    ("legacy", ToServer, r#"["sp",[{"skin":"3"}]]"#, r#"[{"moofoll":null,"name":null,"skin":3}]"#),
    ("legacy", ToServer, r#"["sp",[{"skin":"03"}]]"#, r#"[{"moofoll":null,"name":null,"skin":null}]"#),
    ("legacy", ToServer, r#"["sp",[{"skin":"toString"}]]"#, r#"[{"moofoll":null,"name":null,"skin":null}]"#),
    ("letters", ToServer, r#"["M",[{"moofoll":"1"}]]"#, r#"[{"moofoll":true,"name":null,"skin":null}]"#),
    ("letters", ToServer, r#"["M",[{"moofoll":""}]]"#, r#"[{"moofoll":false,"name":null,"skin":null}]"#),
    ("letters", ToServer, r#"["p",[1]]"#, "[1,null]"),
    ("letters", ToServer, r#"["p",["fast",7]]"#, "[null,7]"),
    ("letters", ToClient, r#"["7",[0]]"#, "[0]"),
    ("letters", ToClient, r#"["7",[]]"#, "[null]"),
    ("letters", ToClient, r#"["I",[null]]"#, "[null]"),
    ("letters", ToClient, r#"["H",[[]]]"#, "[[]]"),
    ("letters", ToClient, r#"["T",[12]]"#, "[12,null,null]"),
    ("native", ToServer, "[1.0,[1,1.0]]", "[1,1,null,null,null]"),
    ("native", ToServer, "[3,[1]]", "[1,null,null]"),
    ("native", ToClient, "[2,[5]]", "[5,null,null,null,null,null,null,null,null]"),
    ("native", ToClient, "[2,[5,[],[7]]]", "[5,[],[7],null,null,null,null,null,null]"),
];

#[test]
fn what_real_clients_do_is_tolerated() {
    let codes = PacketTables::builtin();
    for (dialect, direction, text, expected) in TOLERATED {
        let dialect = codes.dialect(dialect).expect("built in");
        let bytes = message(text);
        let decoded = dialect.decode(direction, &bytes).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(json::to_text(&Value::Array(decoded.values.clone())), expected, "{text}");
        assert_eq!(dialect.decode_json(direction, text), Ok(decoded), "{text}");
    }
}

/// dialect, direction, message, argument, expected type
const WRONG: [(&str, Direction, &str, &str, &str); 35] = [
    ("legacy", ToServer, r#"["33",["1.57"]]"#, "direction", "num.rad|nil"),
    ("legacy", ToServer, r#"["33",[true]]"#, "direction", "num.rad|nil"),
    ("legacy", ToServer, r#"["33",[[]]]"#, "direction", "num.rad|nil"),
    ("legacy", ToServer, r#"["33",[{}]]"#, "direction", "num.rad|nil"),
    ("legacy", ToServer, r#"["2",[]]"#, "heading", "num.rad"),
    ("legacy", ToServer, r#"["2",[null]]"#, "heading", "num.rad"),
    ("legacy", ToServer, r#"["5",[-1]]"#, "id", "u16|loose"),
    ("legacy", ToServer, r#"["5",[65536]]"#, "id", "u16|loose"),
    ("legacy", ToServer, r#"["5",[1.5]]"#, "id", "u16|loose"),
    ("legacy", ToServer, r#"["6",[18446744073709551615]]"#, "choice", "u16|loose"),
    ("legacy", ToServer, r#"["ch",[]]"#, "text", "str<=30"),
    ("legacy", ToServer, r#"["ch",[5]]"#, "text", "str<=30"),
    ("letters", ToServer, r#"["P",[-1,1]]"#, "sid", "u32|loose"),
    ("legacy", ToServer, r#"["5",["x"]]"#, "id", "u16|loose"),
    ("legacy", ToServer, r#"["5",["-1"]]"#, "id", "u16|loose"),
    ("legacy", ToServer, r#"["5",[[3]]]"#, "id", "u16|loose"),
    ("legacy", ToServer, r#"["8",[7]]"#, "name", "str<=7"),
    ("legacy", ToServer, r#"["10",[[]]]"#, "name", "str<=7|loose"),
    ("native", ToServer, "[1,[1]]", "mode", "u8<=3"),
    ("native", ToServer, "[1,[1,4]]", "mode", "u8<=3"),
    ("native", ToServer, "[1,[65536,1]]", "version", "u16"),
    ("native", ToServer, "[3,[null,1,0]]", "sequence", "u32"),
    ("native", ToServer, "[3,[1,-1,0]]", "tick", "u32.tick|nil"),
    ("native", ToServer, "[3,[1,null,65536]]", "direction", "u16.turn16|nil"),
    ("native", ToServer, "[4,[1,null,0.5]]", "heading", "u16.turn16"),
    ("native", ToServer, "[6,[4294967296]]", "nonce", "u32"),
    ("native", ToServer, "[7,[\"ann\"]]", "player", "u16|nil"),
    ("letters", ToClient, r#"["a",[[1,2,3]]]"#, "players", "groups of 13"),
    ("letters", ToClient, r#"["G",[[1,"ann",2,3]]]"#, "rows", "groups of 3"),
    ("letters", ToClient, r#"["G",[[1,"ann",2,2,7,0]]]"#, "rows.1.name", "str"),
    ("letters", ToClient, r#"["D",[["1",1,"ann",0,0,0,100,100,35],true]]"#, "player.skin", "u8"),
    ("letters", ToClient, r#"["D",[["1",1,"ann",0,0,0,100,100,35,0]]]"#, "is_you", "bool"),
    ("letters", ToClient, r#"["A",[{"teams":[{"sid":"a"}]}]]"#, "data.teams.0.owner", "u32"),
    ("native", ToClient, "[2,[1,[],[1,\"x\"]]]", "leaves.1", "u16"),
    ("native", ToClient, "[2,[1,[1,0,0,0,0,0,0,null,1,0,0,0,0,0,0,null]]]", "own", "at most 1 group"),
];

#[test]
fn wrong_arguments_drop_the_packet_and_say_which() {
    let codes = PacketTables::builtin();
    for (dialect, direction, text, argument, expected) in WRONG {
        let dialect = codes.dialect(dialect).expect("built in");
        let error = dialect.decode(direction, &message(text)).expect_err(text);
        assert!(!error.closes_connection(), "{text}");
        let PacketError::WrongArguments { packet, wrong } = &error else { panic!("{text}: {error}") };
        assert_eq!((wrong.argument.as_str(), wrong.expected.as_str()), (argument, expected), "{text}");
        assert!(dialect.row(direction, packet).is_some(), "{text}");
        assert_eq!(dialect.decode_json(direction, text).expect_err(text), error, "{text}");
    }
}

#[test]
fn a_wrong_argument_names_the_type_that_came_and_the_one_that_is_needed() {
    let native = PacketTables::builtin().dialect("native").expect("built in");
    for (text, said, in_logs) in [
        (r#"[5,[1,null,5]]"#, "text should be str<=30, found the integer 5", "found the integer 5"),
        (r#"[5,[1,null,[]]]"#, "text should be str<=30, found an array of 0", "found an array of 0"),
        (r#"[5,["secret",null,""]]"#, "sequence should be u32, found text \"secret\"", "found text"),
        (r#"[6,[1.5]]"#, "nonce should be u32, found the float 1.500", "found the float 1.500"),
        (r#"[6,[true]]"#, "nonce should be u32, found the bool true", "found the bool true"),
        (r#"[6,[]]"#, "nonce should be u32, found nil", "found nil"),
        (
            r#"[6,[1234567890123456]]"#,
            "found the integer 1234567890123456",
            "an integer of more than 32 bits",
        ),
        (r#"[6,[{"base64":"AAAA"}]]"#, "found bin of 3 bytes", "found bin of 3 bytes"),
    ] {
        let error = native.decode(ToServer, &message(text)).expect_err(text);
        assert!(error.to_string().ends_with(said), "{text}: {error}");
        let shown = error.without_text().to_string();
        assert!(shown.ends_with(in_logs), "{text}: {shown}");
    }
}

#[test]
fn what_is_no_number_does_not_reach_the_world() {
    let legacy = PacketTables::builtin().dialect("legacy").expect("built in");
    for (what, float) in [
        ("NaN", "cb7ff8000000000000"),
        ("infinity", "cb7ff0000000000000"),
        ("minus infinity", "cbfff0000000000000"),
        ("NaN in 32 bits", "ca7fc00000"),
        ("infinity in 32 bits", "ca7f800000"),
    ] {
        let float: Vec<u8> = (0..float.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&float[at..at + 2], 16).expect("hex"))
            .collect();
        for head in
            [&[0x92, 0xa2, b'3', b'3', 0x91][..], &[0x92, 0xa1, b'2', 0x91], &[0x92, 0xa1, b'6', 0x91]]
        {
            let error = legacy.decode(ToServer, &[head, &float].concat()).expect_err(what);
            assert_eq!((error.name(), error.closes_connection()), ("wrong_arguments", false), "{what}");
        }
    }
}

#[test]
fn text_of_the_client_is_cut_and_escaped_in_errors() {
    let legacy = PacketTables::builtin().dialect("legacy").expect("built in");
    let long = "\\u001b[31m".to_owned() + &"x".repeat(500);
    let error = legacy.decode(ToServer, &message(&format!(r#"["33",["{long}"]]"#))).expect_err("text");
    let said = error.to_string();
    assert!(said.len() < 150 && !said.contains('\u{1b}'), "{said}");
    let error = legacy.decode(ToServer, &message(&format!(r#"["{long}",[]]"#))).expect_err("unknown");
    let said = error.to_string();
    assert!(error.name() == "unknown_code" && said.len() < 150 && !said.contains('\u{1b}'), "{said}");
}

#[test]
fn encoding_refuses_what_it_would_not_accept() {
    let native = PacketTables::builtin().dialect("native").expect("built in");
    let mut out = vec![7];
    for (name, values) in [
        ("spawned", vec![Value::from(-1)]),
        ("spawned", vec![Value::Nil]),
        ("spawned", Vec::new()),
        ("setup", vec![Value::from(1)]),
        ("chat", vec![Value::from(1), Value::from(2)]),
    ] {
        assert!(native.encode_into(&mut out, ToClient, name, &values).is_err(), "{name} {values:?}");
        assert_eq!(out, [7]);
    }
}

#[test]
fn radians_of_clients_become_binary_angles() {
    let letters = PacketTables::builtin().dialect("letters").expect("built in");
    for (radians, direction) in
        [("0", 0u16), ("1.57", 16_384), ("3.14", 32_768), ("-1.57", 49_152), ("7.85", 16_342)]
    {
        let text = format!(r#"["9",[{radians}]]"#);
        let decoded = letters.decode_json(ToServer, &text).expect(&text);
        let expected = ClientPacket::Move { sequence: None, tick: None, direction: Some(direction) };
        assert_eq!(ClientPacket::from_decoded(&decoded), expected, "{text}");
    }
}

#[test]
fn the_unit_of_an_angle_is_a_matter_of_the_table() {
    let said = ClientPacket::Move { sequence: None, tick: None, direction: Some(0x4000) };
    for (kind, value) in [("u8.turn8", "64"), ("u16.turn16", "16384"), ("num.rad", "1.57")] {
        let heading = "direction\tname\tlane\tmine:str\targuments\tmeaning";
        let text = format!("{heading}\nto_server\tmove\treliable\tm\tdirection:{kind}|nil\twalk\n");
        let codes = PacketTables::from_texts(&[("mine.tsv", text)]).expect(kind);
        let mine = codes.dialect("mine").expect("its column");
        let typed = format!(r#"["m",[{value}]]"#);
        let decoded = mine.decode_json(ToServer, &typed).expect(&typed);
        assert_eq!(ClientPacket::from_decoded(&decoded), said, "{kind}");
        assert_eq!(mine.json_from_msgpack(ToServer, &said.encode(&mine)), Ok(typed));
    }
}
