//! Tokens in wrong places, and what a client does that is turned away, without a socket.

use tickwire::internal::connection::{DisconnectReason, ServerConnection};
use tickwire::limits;
use tickwire::packet::{Direction, PacketTables, Value};
use tickwire::ws::frame::{self, Opcode};

use crate::tokens::{
    ANN, AT, BOB, Doors, bad_first_messages, connection, contains, framed, hello, hello_with, in_frames,
    unmasked,
};

fn text(json: &str) -> Vec<u8> {
    framed(Opcode::Text, json.as_bytes())
}

fn packed(parts: &[&[u8]]) -> Vec<u8> {
    framed(Opcode::Binary, &parts.concat())
}

/// A token of digits, as text and as a number.
const DIGITS: &str = "1234567890123456";
const NUMBER: u64 = 1_234_567_890_123_456;
/// A token that begins as a checksum does.
const HEX: &str = "0123456789abcdef0f1e2d3c4b5a6978";

/// Whether bytes have eight characters of a token in a row, or its number, masked or not.
fn shows_token(bytes: &[u8]) -> bool {
    let holds = |token: &str, part: usize| {
        let mut parts = token.as_bytes().windows(part).map(|part| str::from_utf8(part).expect("ASCII"));
        parts.any(|part| contains(bytes, part) || contains(&unmasked(bytes), part))
    };
    let escaped = [r"\u0061\u006e\u006e", "anns%2D"].into_iter().any(|part| contains(&unmasked(bytes), part));
    let is = |number: [u8; 8]| unmasked(bytes).windows(8).any(|eight| eight == number);
    holds(ANN, 8)
        || holds(DIGITS, 8)
        || holds(&HEX[..16], 8)
        || holds(&HEX[16..], 8)
        || escaped
        || is(NUMBER.to_be_bytes())
        || is((NUMBER as f64).to_be_bytes())
}

/// Every character of a text as an escape of JSON.
fn all_escaped(text: &str) -> String {
    text.chars().map(|char| format!("\\u{:04x}", u32::from(char))).collect()
}

/// What a greeted client may send that has a token in a wrong place: dialect, whether JSON, bytes.
fn wrong_places() -> Vec<(&'static str, bool, Vec<u8>)> {
    let (token, length) = (ANN.as_bytes(), &[ANN.len() as u8][..]);
    let escaped = ANN.replace("anns", r"\u0061nns").replace('-', r"\u002d");
    let entering = |pairs: &str| text(&format!(r#"["enter_game",[{{{pairs},"moofoll":true,"skin":1}}]]"#));
    vec![
        ("native", false, packed(&[b"\x92\x02\x93\xa3Ann\x00\xb5", token])),
        ("native", false, packed(&[b"\x92\x02\x93\xa3Ann\x00\xc4", length, token])),
        ("native", false, packed(&[b"\x92\x02\x92\xb5", token, b"\x00"])),
        ("native", false, packed(&[b"\x92\x03\x93\x01\xc0\xb5", token])),
        ("native", false, packed(&[b"\x92\xb5", token, b"\x90"])),
        ("native", false, packed(&[b"\x93\x06\x91\x05\xb5", token])),
        ("native", false, packed(&[b"\x92\x01\x96\x01\x01\xa3Ada\x00\xa1x\xc4", length, token])),
        ("native", false, packed(&[b"\x92\x01\x95\x01\x01\xb5", token, b"\x00\xc0"])),
        ("native", true, text(&format!(r#"["join",["Ann",0,"{ANN}"]]"#))),
        ("native", true, text(&format!(r#"["join",["{ANN}",0]]"#))),
        ("native", true, text(&format!(r#"["join",["Ann",0,{{"token":"{escaped}"}}]]"#))),
        ("native", true, text(&format!(r#"["spectate",["{ANN}",1.0000000000000001]]"#))),
        ("letters", false, framed(Opcode::Binary, &hello_with(ANN))),
        ("letters", true, entering(&format!(r#""name":"Ann","token":"{ANN}""#))),
        ("letters", true, entering(&format!(r#""name":"{ANN}","{ANN}":1"#))),
        ("native", true, text(&format!(r#"["join",["{}",0]]"#, ANN.replace('-', "%2D")))),
        ("native", false, packed(&[b"\x92\x02\x92\xb9", ANN.replace('-', "%2D").as_bytes(), b"\x00"])),
        ("native", false, packed(&[b"\x92\x02\x92\xd9\x7e", all_escaped(ANN).as_bytes(), b"\x00"])),
        // A token of digits, as a number.
        ("native", true, text(&format!(r#"["join",["Ann",0,{DIGITS}]]"#))),
        ("native", true, text(&format!(r#"["join",["Ann",0],{DIGITS}.0]"#))),
        ("native", true, text(&format!(r#"["join",[{DIGITS},0]]"#))),
        ("native", true, text(&format!(r#"["join",["Ann",0,{{"token":-{DIGITS}e1}}]]"#))),
        ("letters", true, entering(&format!(r#""name":"Ann","token":{DIGITS}"#))),
        ("native", false, packed(&[b"\x92\x02\x93\xa3Ann\x00\xcf", &NUMBER.to_be_bytes()])),
        ("native", false, packed(&[b"\x92\x02\x93\xa3Ann\x00\xcb", &(NUMBER as f64).to_be_bytes()])),
        ("native", false, packed(&[b"\x92\x02\x92\xcf", &NUMBER.to_be_bytes(), b"\x00"])),
        ("native", false, packed(&[b"\x93\x06\x91\x05\x81\xa5token\xd3", &NUMBER.to_be_bytes()])),
        ("native", false, packed(&[b"\x92\x01\x97\x01\x01\xa3Ada\x00\xc0\xc0\xcf", &NUMBER.to_be_bytes()])),
        // A checksum has 16 hexadecimal digits and no more.
        ("native", true, text(&format!(r#"["checksum",[7,"{ANN}"]]"#))),
        ("native", true, text(&format!(r#"["checksum",[7,"{HEX}"]]"#))),
        ("native", false, packed(&[b"\x92\x12\x92\x07\xb5", token])),
        ("native", false, packed(&[b"\x92\x12\x92\x07\xd9\x20", HEX.as_bytes()])),
        // The part of a chat that the packet cuts off.
        ("native", true, text(&format!(r#"["chat",[1,null,"A long text for everyone. \u00e9 {ANN}"]]"#))),
    ]
}

/// A client that is greeted, on a server with tokens or, as a replay is, without.
fn greeted(dialect: &str, is_json: bool, has_tokens: bool) -> (ServerConnection, Doors) {
    let (mut connection, mut doors) =
        (connection(dialect, is_json), Doors { has_tokens, ..Doors::default() });
    doors.begin(&mut connection, 3).expect("no ending");
    if dialect == "native" {
        let packed = framed(Opcode::Binary, &hello(&[1.into(), 0.into()]));
        let hello = if is_json { text(r#"["hello",[1,0]]"#) } else { packed };
        doors.receive(&mut connection, &hello).expect("a good hello");
    }
    doors.observed.take();
    (connection, doors)
}

#[test]
fn a_token_in_a_wrong_place_is_overwritten_before_it_is_handled() {
    for (dialect, is_json, bytes) in wrong_places() {
        let shown = format!("{dialect} {}", String::from_utf8_lossy(&unmasked(&bytes)));
        let end = |bytes: &[u8], has_tokens| {
            let (mut connection, mut doors) = greeted(dialect, is_json, has_tokens);
            let ending = doors.receive(&mut connection, bytes).err();
            let seen = doors.observed.take();
            (seen, (ending, connection.save(AT.now), doors.answers, doors.names, doors.commands))
        };
        let (seen, handled) = end(&bytes, true);
        assert_eq!(seen.len(), bytes.len(), "{shown}");
        assert!(!shows_token(&seen), "{shown}");
        let (ending, _, answers, names, _) = &handled;
        assert!(!shows_token(answers), "{shown}");
        assert!(!names.iter().any(|name| shows_token(name.as_bytes())), "{shown}");
        assert_eq!(*ending, None, "{shown}");
        // A replay handles what was observed, and comes to the same.
        assert_eq!(end(&seen, false), (seen, handled), "{shown}");
    }
}

/// A frame with a broken header ends the conversation before its payload is read. On a server without
/// tokens, a payload too short for a token is observed as it came, so that the inspector explains the
/// bytes that were sent.
#[test]
fn a_broken_frame_too_short_for_a_token_is_observed_as_it_came() {
    // The packet `move`, and one with a text that is long enough for a token.
    let short: &[u8] = b"\x92\x03\x93\x11\xcd\x04\xb0\xcd\x40\x00";
    let long = [&b"\x92\x06\x91\xb8"[..], &ANN.as_bytes()[..20]].concat();
    let alter = |payload: &[u8], byte: usize, bits: u8| {
        let mut bytes = packed(&[payload]);
        bytes[byte] ^= bits;
        bytes
    };
    let begun = alter(short, 0, 0x80);
    for (payload, has_tokens, is_shown) in [(short, false, true), (short, true, false), (&long, false, false)]
    {
        for (name, bytes) in [
            ("mask_missing", alter(payload, 1, 0x80)),
            ("reserved_bit", alter(payload, 0, 0x40)),
            ("reserved_opcode", alter(payload, 0, 0x01)),
            ("message_interrupted", [&begun[..], &packed(&[payload])].concat()),
            ("cut", packed(&[payload])[..payload.len()].to_vec()),
        ] {
            let (mut connection, mut doors) = greeted("native", false, has_tokens);
            let ended = doors.receive(&mut connection, &bytes);
            doors.ignore(&mut connection, &[]);
            assert_eq!(ended.err().map_or("cut", |ending| ending.name()), name);
            let seen = doors.observed.take();
            let shown = format!("{name}, tokens {has_tokens}: {seen:02x?} of {bytes:02x?}");
            assert_eq!(seen == bytes, is_shown, "{shown}");
            assert!(is_shown || !shows_token(&seen), "{shown}");
        }
    }
}

#[test]
fn a_token_in_its_place_is_compared_though_the_name_before_it_is_overwritten() {
    let mut connection = connection("native", false);
    let mut doors = Doors { has_tokens: true, ..Doors::default() };
    let (name, token) = (BOB.as_bytes(), ANN.as_bytes());
    let said = packed(&[b"\x92\x01\x95\x01\x01\xb8", name, b"\x04\xb5", token]);
    doors.receive(&mut connection, &said).expect("a good hello");
    assert_eq!(doors.said, [Some(ANN.to_owned())]);
    assert_eq!(doors.names, ["*".repeat(15)]);
    let seen = unmasked(&doors.observed.borrow());
    assert!(!shows_token(&seen) && !contains(&seen, &BOB[..8]));
}

#[test]
fn texts_that_a_packet_takes_and_numbers_stay_on_a_server_with_tokens() {
    let chat = |text: &str| {
        let values = [1.into(), Value::Nil, text.into()];
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        framed(Opcode::Binary, &dialect.encode(Direction::ToServer, "chat", &values).expect("fits"))
    };
    for (dialect, is_json, bytes) in [
        ("native", false, chat("0123456789abcdefghij is long")),
        ("native", true, text(r#"["chat",[1,null,"0123456789abcdefghijklmnopqrst"]]"#)),
        ("native", true, text(r#"["checksum",[7,"0123456789abcdef"]]"#)),
        ("native", true, text(r#"["state_sync_request",[]]"#)),
        ("native", true, text(r#"["join",["Sir Ada of the long name",0]]"#)),
        ("native", true, text(r#"["spectate",[0.12345678901234567]]"#)),
        ("letters", true, text(r#"["aim",[0.12345678901234567]]"#)),
        ("native", false, framed(Opcode::Ping, ANN.as_bytes())),
    ] {
        let (mut connection, mut doors) = greeted(dialect, is_json, true);
        doors.receive(&mut connection, &bytes).expect("no ending");
        assert_eq!(unmasked(&doors.observed.borrow()), unmasked(&bytes));
    }
}

#[test]
fn an_escape_of_json_that_is_broken_stays_broken() {
    for broken in [r"\é", r"\q", r"\u00é1", r"\u000é", r"\", "\n"] {
        let (mut connection, mut doors) = greeted("native", true, true);
        let json = format!(r#"["join",["{ANN}{broken}"]]"#);
        let ending = doors.receive(&mut connection, &text(&json)).expect_err("broken");
        assert_eq!(ending.name(), "packet_bad_json", "{json}");
        let seen = unmasked(&doors.observed.borrow());
        assert!(str::from_utf8(&seen).is_ok() && !shows_token(&seen), "{json}");
    }
}

/// What was answered to a client that is turned away, or closed it before its time.
fn attempts() -> Vec<Vec<u8>> {
    let of_first = bad_first_messages();
    let mut attempts: Vec<Vec<u8>> = of_first.iter().map(|(opcode, it)| framed(*opcode, it)).collect();
    let mut unmasked = Vec::new();
    frame::write(&mut unmasked, Opcode::Binary, None, hello_with(ANN).as_slice());
    let mut fragment = framed(Opcode::Text, b"abc");
    fragment[0] &= 0x7f;
    let ping = framed(Opcode::Ping, b"a");
    attempts.extend([
        framed(Opcode::Binary, b"\xc1"),
        framed(Opcode::Text, b"[]"),
        framed(Opcode::Text, b"\xff\xfe"),
        framed(Opcode::Close, b"\x01"),
        [&fragment[..], &ping, &framed(Opcode::Text, b"x")].concat(),
        in_frames(Opcode::Binary, &hello_with(ANN), 3, &ping),
        vec![0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4],
        vec![0xff; 100],
        [&unmasked[..], &framed(Opcode::Close, &1000_u16.to_be_bytes())].concat(),
        ping.repeat(limits::CLIENT_MESSAGES_BURST as usize + 1),
    ]);
    attempts
}

/// A client that is turned away and sends these bytes, the first of them in the same segment as its token.
fn turned_away(
    dialect: &str,
    bytes: &[u8],
    cut: usize,
) -> (Option<DisconnectReason>, ServerConnection, Doors) {
    let mut connection = connection(dialect, false);
    let mut doors = Doors { turns_away: true, has_tokens: true, ..Doors::default() };
    doors.begin(&mut connection, 3).expect("no ending");
    let hello = if dialect == "native" { framed(Opcode::Binary, &hello_with(BOB)) } else { Vec::new() };
    let first = [&hello[..], &bytes[..cut]].concat();
    let heard = [&first[..], &bytes[cut..]].map(|bytes| doors.receive(&mut connection, bytes));
    doors.observed.borrow_mut().drain(..hello.len());
    (heard.into_iter().find_map(Result::err), connection, doors)
}

#[test]
fn nothing_that_a_client_sends_that_is_turned_away_is_answered_before_its_time() {
    for dialect in ["native", "letters"] {
        let untouched = turned_away(dialect, &[], 0).1.save(AT.now);
        for bytes in attempts() {
            for cut in [0, 1, bytes.len() / 2, bytes.len()] {
                let (ending, connection, doors) = turned_away(dialect, &bytes, cut);
                assert_eq!((ending, &doors.answers[..]), (None, &b""[..]), "{bytes:02x?}");
                assert_eq!(connection.save(AT.now), untouched, "no budget is spent");
                let seen = doors.observed.take();
                assert_eq!(seen.len(), bytes.len());
                assert!(!shows_token(&seen), "{bytes:02x?}");
                // In a replay, too.
                let (ending, again, doors) = turned_away(dialect, &seen, 0);
                assert_eq!((ending, again.save(AT.now)), (None, untouched.clone()), "{bytes:02x?}");
                assert!(doors.answers.is_empty());
            }
        }
    }
}

#[test]
fn the_own_close_of_a_client_that_is_turned_away_counts_unless_it_broke_a_rule_before() {
    let close = framed(Opcode::Close, &1000_u16.to_be_bytes());
    let (ending, ..) = turned_away("native", &close, 3);
    assert!(matches!(ending, Some(DisconnectReason::PeerClosed(Some(_)))), "{ending:?}");
    let (ending, connection, _) = turned_away("native", &[&[0xff, 0xff], &close[..]].concat(), 2);
    assert_eq!(ending, None);
    assert!(!connection.is_between_messages(), "a watcher cannot send for it");
}
