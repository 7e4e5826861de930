//! Tokens in wrong places, and what a client does that is turned away, without a socket.

use tickwire::internal::peer::{Ending, Receiver};
use tickwire::limits;
use tickwire::packet::{Codes, Direction, Value};
use tickwire::ws::frame::{self, Opcode};

use crate::tokens::{
    ANN, AT, BOB, Doors, bad_first_messages, contains, framed, hello, hello_with, in_frames, receiver,
    unmasked,
};

fn text(json: &str) -> Vec<u8> {
    framed(Opcode::Text, json.as_bytes())
}

fn packed(parts: &[&[u8]]) -> Vec<u8> {
    framed(Opcode::Binary, &parts.concat())
}

/// Whether bytes have eight characters of Ann's token in a row, masked or not.
fn shows_token(bytes: &[u8]) -> bool {
    let mut parts = ANN.as_bytes().windows(8).map(|part| str::from_utf8(part).expect("ASCII"));
    parts.any(|part| contains(bytes, part) || contains(&unmasked(bytes), part))
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
        ("native", true, text(&format!(r#"["enter",["Ann",0,"{ANN}"]]"#))),
        ("native", true, text(&format!(r#"["enter",["{ANN}",0]]"#))),
        ("native", true, text(&format!(r#"["enter",["Ann",0,{{"token":"{escaped}"}}]]"#))),
        ("native", true, text(&format!(r#"["follow",["{ANN}",1.0000000000000001]]"#))),
        ("letters", false, framed(Opcode::Binary, &hello_with(ANN))),
        ("letters", true, entering(&format!(r#""name":"Ann","token":"{ANN}""#))),
        ("letters", true, entering(&format!(r#""name":"{ANN}","{ANN}":1"#))),
    ]
}

/// A client that is greeted, on a server with tokens or, as a replay is, without.
fn greeted(dialect: &str, is_json: bool, has_tokens: bool) -> (Receiver, Doors) {
    let (mut receiver, mut doors) = (receiver(dialect, is_json), Doors { has_tokens, ..Doors::default() });
    receiver.begin(3, &mut doors).expect("no ending");
    if dialect == "native" {
        let packed = framed(Opcode::Binary, &hello(&[1.into(), 0.into()]));
        let hello = if is_json { text(r#"["hello",[1,0]]"#) } else { packed };
        receiver.receive(&hello, AT, &mut doors).expect("a good hello");
    }
    doors.observed.take();
    (receiver, doors)
}

#[test]
fn a_token_in_a_wrong_place_is_overwritten_before_it_is_handled() {
    for (dialect, is_json, bytes) in wrong_places() {
        let shown = format!("{dialect} {}", String::from_utf8_lossy(&unmasked(&bytes)));
        let end = |bytes: &[u8], has_tokens| {
            let (mut receiver, mut doors) = greeted(dialect, is_json, has_tokens);
            let ending = receiver.receive(bytes, AT, &mut doors).err();
            let seen = doors.observed.take();
            (seen, (ending, receiver.save(AT.now), doors.answers, doors.names, doors.commands))
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

#[test]
fn a_token_in_its_place_is_compared_though_the_name_before_it_is_overwritten() {
    let mut receiver = receiver("native", false);
    let mut doors = Doors { has_tokens: true, ..Doors::default() };
    let (name, token) = (BOB.as_bytes(), ANN.as_bytes());
    let said = packed(&[b"\x92\x01\x95\x01\x01\xb8", name, b"\x04\xb5", token]);
    receiver.receive(&said, AT, &mut doors).expect("a good hello");
    assert_eq!(doors.said, [Some(ANN.to_owned())]);
    assert_eq!(doors.names, ["*".repeat(15)]);
    let seen = unmasked(&doors.observed.borrow());
    assert!(!shows_token(&seen) && !contains(&seen, &BOB[..8]));
}

#[test]
fn texts_that_a_packet_takes_and_numbers_stay_on_a_server_with_tokens() {
    let chat = |text: &str| {
        let values = [1.into(), Value::Nil, text.into()];
        let dialect = Codes::builtin().dialect("native").expect("built in");
        framed(Opcode::Binary, &dialect.encode(Direction::ToServer, "chat", &values).expect("fits"))
    };
    for (dialect, is_json, bytes) in [
        ("native", false, chat("0123456789abcdefghij is long")),
        ("native", true, text(r#"["chat",[1,null,"0123456789abcdefghijklmnopqrstuvwxyz"]]"#)),
        ("native", true, text(r#"["state_sync_request",[]]"#)),
        ("native", true, text(r#"["enter",["Sir Ada of the long name",0]]"#)),
        ("native", true, text(r#"["follow",[0.12345678901234567]]"#)),
        ("letters", true, text(r#"["aim",[0.12345678901234567]]"#)),
        ("native", false, framed(Opcode::Ping, ANN.as_bytes())),
    ] {
        let (mut receiver, mut doors) = greeted(dialect, is_json, true);
        receiver.receive(&bytes, AT, &mut doors).expect("no ending");
        assert_eq!(unmasked(&doors.observed.borrow()), unmasked(&bytes));
    }
}

#[test]
fn an_escape_of_json_that_is_broken_stays_broken() {
    for broken in [r"\é", r"\q", r"\u00é1", r"\u000é", r"\", "\n"] {
        let (mut receiver, mut doors) = greeted("native", true, true);
        let json = format!(r#"["enter",["{ANN}{broken}"]]"#);
        let ending = receiver.receive(&text(&json), AT, &mut doors).expect_err("broken");
        assert_eq!(ending.name(), "packet_bad_json", "{json}");
        let seen = unmasked(&doors.observed.borrow());
        assert!(str::from_utf8(&seen).is_ok() && !shows_token(&seen), "{json}");
    }
}
