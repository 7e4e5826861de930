//! Who may play, without a socket: the token file, the guard, the session of a client that is turned away, and what an
//! observer sees of a token.

use std::net::IpAddr;
use std::time::Duration;

use tickwire::game::{CloseReason, Game as _};
use tickwire::internal::connection::deadlines::DueAction;
use tickwire::internal::connection::{
    Deadlines, DisconnectReason, ReadTime, RoomInfo, ServerConnection, WireFormat,
};
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Identity, TickHz};
use tickwire::internal::server::admission::tokens::{
    Authenticator, Permission, PlayAccess, TokenHolder, Tokens,
};
use tickwire::limits;
use tickwire::packet::{Direction, PacketTables, Value};
use tickwire::ws::Side;
use tickwire::ws::frame::{self, Opcode};
use tickwire::ws::message::{Message, MessageReader};

pub use crate::driven::Doors;

pub const ANN: &str = "anns-token-0123456789";
pub const BOB: &str = "Bobs.Token~+/=_987654321";
pub const AT: ReadTime = ReadTime { now: Duration::from_secs(9), tick: 33, slack: Duration::ZERO };

fn guard(text: &str, spectators: bool) -> Authenticator {
    Authenticator::new(PlayAccess { tokens: Some(Tokens::read(text).expect("a token file")), spectators })
}

fn address(last: u8) -> IpAddr {
    [203, 0, 113, last].into()
}

#[test]
fn a_token_file_has_a_name_and_a_token_in_each_line() {
    let text = format!("# players\n\nann\t{ANN}\r\n  bob   {BOB}  \n# cy {ANN}\n");
    let guard = guard(&text, false);
    for (token, name) in [(ANN, "ann"), (BOB, "bob")] {
        let pass = guard.authenticate(address(1), Some(token), AT.now).expect("a right token");
        let Permission::Holder(TokenHolder { name: found, .. }) = pass else { panic!("{pass:?}") };
        assert_eq!(*found, *name);
    }
}

#[test]
fn an_unusable_line_is_named_without_its_token() {
    let (long, name) = ("x".repeat(limits::MAX_TOKEN_CHARS + 1), "n".repeat(limits::TOKEN_NAME_CHARS + 1));
    for (text, line, rule) in [
        (format!("ann {ANN}\nbob"), 2, "must be a name and a token"),
        (format!("ann {ANN} {BOB}"), 1, "must be a name and a token"),
        ("#\nann tooshort-0123".to_owned(), 2, "must have 16 to 256 characters"),
        (format!("ann {long}"), 1, "must have 16 to 256 characters"),
        ("ann anns-token-é123456789".to_owned(), 1, "may contain only"),
        (format!("{name} {ANN}"), 1, "the name must be 1 to 32"),
        (format!("a:b {ANN}"), 1, "the name must be 1 to 32"),
        (format!("ann {ANN}\nann {BOB}"), 2, "another token has this name"),
        (format!("ann {ANN}\n\nbob {ANN}"), 3, "another name has this token"),
        // In the wrong order.
        (format!("{ANN} ann"), 1, "must have 16"),
    ] {
        let bad = Tokens::read(&text).expect_err(&text);
        assert_eq!(bad.line, line, "{text}");
        assert!(bad.rule.contains(rule), "{text}: {}", bad.rule);
        for secret in [ANN, BOB, "tooshort", "xxx", "é"] {
            assert!(!bad.to_string().contains(secret), "{bad}");
        }
    }
    let tokens = Tokens::read(&format!("ann {ANN}")).expect("good");
    assert_eq!(format!("{tokens:?}"), "Tokens(1)");
}

#[test]
fn without_a_file_everyone_plays_and_with_an_empty_one_everyone_watches() {
    for said in [None, Some(""), Some(ANN)] {
        assert_eq!(
            Authenticator::default().authenticate(address(1), said, AT.now),
            Ok(Permission::Anyone),
            "{said:?}"
        );
        for spectators in [false, true] {
            let empty = guard("# nobody\n", spectators);
            assert_eq!(empty.authenticate(address(1), said, AT.now), Ok(Permission::Spectator), "{said:?}");
        }
    }
}

#[test]
fn without_a_token_one_watches_if_spectators_may() {
    for said in [None, Some("")] {
        let file = format!("ann {ANN}");
        assert_eq!(
            guard(&file, false).authenticate(address(1), said, AT.now),
            Err(CloseReason::TokenMissing)
        );
        assert_eq!(guard(&file, true).authenticate(address(1), said, AT.now), Ok(Permission::Spectator));
    }
}

#[test]
fn a_token_has_its_own_seat_and_only_the_whole_token_is_right() {
    let guard = guard(&format!("ann {ANN}\nbob {BOB}"), true);
    let seat = |token: &str, last: u8| match guard.authenticate(address(last), Some(token), AT.now) {
        Ok(Permission::Holder(holder)) => Ok(holder.seat),
        Err(breach) => Err(breach),
        other => panic!("{other:?}"),
    };
    let ann = seat(ANN, 1).expect("right");
    assert_eq!(seat(ANN, 2), Ok(ann), "from everywhere");
    assert_ne!(seat(BOB, 1), Ok(ann));
    let wrong = [&ANN[1..], &ANN[..20], &format!("{ANN}x"), &ANN.to_uppercase(), &ANN.repeat(20), "x"];
    for (last, wrong) in (10..).zip(wrong) {
        assert_eq!(seat(wrong, last), Err(CloseReason::TokenWrong), "{wrong}");
    }
}

#[test]
fn an_address_with_too_many_wrong_tokens_lets_in_a_right_one_and_guesses_no_faster_than_the_bucket() {
    let guard = guard(&format!("ann {ANN}"), true);
    let admit = |last: u8, said: &str, now| guard.authenticate(address(last), Some(said), now);
    for _ in 0..limits::MAX_WRONG_TOKENS {
        assert!(admit(1, ANN, AT.now).is_ok(), "a right one is not counted");
        assert_eq!(admit(1, BOB, AT.now), Err(CloseReason::TokenWrong));
    }
    let later = AT.now + limits::WRONG_TOKEN_WINDOW;
    assert!(admit(1, ANN, AT.now).is_ok(), "others behind the address have guessed");
    for _ in 1..limits::TOKENS_TRIED_BURST {
        assert_eq!(admit(1, BOB, AT.now), Err(CloseReason::TooManyTokenAttempts));
    }
    assert_eq!(admit(1, ANN, AT.now), Err(CloseReason::TooManyTokenAttempts), "not compared");
    assert!(admit(2, ANN, AT.now).is_ok(), "another address");
    assert_eq!(
        guard.authenticate(address(1), None, AT.now),
        Ok(Permission::Spectator),
        "no token is no guess"
    );
    // In each second so many tokens are compared, however many are sent.
    let mut compared = 0;
    for ms in 1..=1_000 {
        compared += u32::from(admit(1, ANN, AT.now + Duration::from_millis(ms)).is_ok());
    }
    assert_eq!(compared, limits::TOKENS_TRIED_PER_SECOND);
    assert_eq!(admit(1, BOB, later - Duration::from_millis(1)), Err(CloseReason::TooManyTokenAttempts));
    assert_eq!(admit(1, BOB, later), Err(CloseReason::TokenWrong), "after a minute");
}

#[test]
fn whoever_is_turned_away_is_closed_after_a_constant_delay_whenever_the_token_came() {
    for breach in [CloseReason::TokenWrong, CloseReason::TooManyTokenAttempts] {
        for hello_after in [Duration::ZERO, limits::HELLO_TIMEOUT - Duration::from_millis(1)] {
            let life = Deadlines::new(true, AT.now);
            let said = AT.now + hello_after;
            life.close_after_delay(breach, said);
            let due = said + limits::WRONG_TOKEN_DELAY;
            let poll = |now| life.poll(now, limits::IDLE_TIMEOUT);
            assert_eq!(poll(due - Duration::from_millis(1)), DueAction::Nothing(due));
            assert_eq!(poll(due), DueAction::Close(breach));
        }
    }
}

pub fn connection(dialect: &str, is_json: bool) -> ServerConnection {
    let endpoint = WireFormat::new(PacketTables::builtin().dialect(dialect).expect("built in"), is_json);
    let identity = Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 }.into();
    let room = RoomInfo { about: Moo::INFO, epoch: "e".into(), identity, update_hz: 30 };
    ServerConnection::new(endpoint, room, AT.now)
}

pub fn framed(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, opcode, Some([1, 2, 3, 4]), payload);
    bytes
}

/// A message in so many frames.
pub fn in_frames(opcode: Opcode, payload: &[u8], most: usize, between: &[u8]) -> Vec<u8> {
    let pieces: Vec<&[u8]> = payload.chunks(most).collect();
    let mut bytes = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        let mut one = framed(if at == 0 { opcode } else { Opcode::Continuation }, piece);
        if at + 1 < pieces.len() {
            one[0] &= 0x7f;
        }
        bytes.extend(one);
        bytes.extend_from_slice(if at + 1 < pieces.len() { between } else { b"" });
    }
    bytes
}

pub fn hello(values: &[Value]) -> Vec<u8> {
    let dialect = PacketTables::builtin().dialect("native").expect("built in");
    dialect.encode(Direction::ToServer, "hello", values).expect("fits the table")
}

pub fn hello_with(token: &str) -> Vec<u8> {
    hello(&[1.into(), 1.into(), "Ada".into(), 4.into(), token.into()])
}

/// Everything in these frames, unmasked.
pub fn unmasked(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (Vec::new(), 0);
    while let Ok(Some((header, size))) = frame::Header::decode(&bytes[at..], Side::Client) {
        let start = at + size;
        at = (start + header.length as usize).min(bytes.len());
        let mut payload = bytes[start..at].to_vec();
        if let Some(key) = header.mask {
            frame::mask(&mut payload, key, 0);
        }
        out.extend(payload);
    }
    out.extend_from_slice(&bytes[at..]);
    out
}

pub fn contains(bytes: &[u8], part: &str) -> bool {
    bytes.windows(part.len()).any(|window| window == part.as_bytes())
}

#[test]
fn the_token_of_a_hello_is_overwritten_for_an_observer_however_it_is_cut() {
    let payload = hello_with(ANN);
    let ping = framed(Opcode::Ping, b"anybody there");
    for most in [1, 3, 7, 1_000] {
        for between in [&b""[..], &ping] {
            let bytes = in_frames(Opcode::Binary, &payload, most, between);
            for cut in [1, 5, 1_000] {
                let (mut connection, mut doors) = (connection("native", false), Doors::default());
                for piece in bytes.chunks(cut) {
                    doors.receive(&mut connection, piece).expect("a good hello");
                }
                assert_eq!(doors.said, [Some(ANN.to_owned())]);
                let pings = if between.is_empty() { 0 } else { payload.len().div_ceil(most) - 1 };
                assert_eq!((doors.joins, *doors.pieces.borrow()), (1, 1 + pings));
                let seen = doors.observed.into_inner();
                assert_eq!(seen.len(), bytes.len());
                assert!(!contains(&unmasked(&seen), &ANN[..8]), "{most} {cut}");
                // The same packet, with another token.
                let mut reader = MessageReader::new(Side::Client, limits::CLIENT_MESSAGE_LIMITS);
                reader.receive(&seen);
                let mut last = Vec::new();
                while let Some(message) = reader.next_message().expect("good frames") {
                    if let Message::Binary(payload) = message {
                        last = payload.to_vec();
                    }
                }
                assert_eq!(last, hello_with(&"*".repeat(ANN.len())));
            }
        }
    }
}

#[test]
fn the_rest_of_a_message_is_shown_as_it_is() {
    let long = "a name that is far too long 0123456789abcdef";
    for payload in [hello(&[1.into(), 1.into(), "Ada".into(), 4.into()]), hello(&[1.into(), 0.into()])] {
        let bytes = framed(Opcode::Binary, &payload);
        let (mut connection, mut doors) = (connection("native", false), Doors::default());
        doors.receive(&mut connection, &bytes).expect("a good hello");
        assert_eq!(*doors.observed.borrow(), bytes);
        let chat = framed(Opcode::Binary, b"\x92\x05\x93\x01\xc0\xb20123456789abcdefgh");
        doors.receive(&mut connection, &chat).expect("chat");
        assert!(doors.observed.borrow().ends_with(&chat));
    }
    let (mut connection, mut doors) = (connection("native", true), Doors::default());
    let text = format!(r#"["hello",[1,1,"{long}",0,"{ANN}"]]"#);
    doors.receive(&mut connection, &framed(Opcode::Text, text.as_bytes())).expect("a good hello");
    let expected = text.replace(ANN, &"*".repeat(ANN.len()));
    assert_eq!(unmasked(&doors.observed.borrow()), expected.as_bytes());
}

#[test]
fn a_second_hello_is_covered_too() {
    let (mut connection, mut doors) = (connection("native", false), Doors::default());
    for _ in 0..2 {
        doors.receive(&mut connection, &framed(Opcode::Binary, &hello_with(BOB))).expect("a packet");
    }
    let wrong = [b"\x92\x01\x92\xb5".as_slice(), ANN.as_bytes(), b"\x01"].concat();
    doors.receive(&mut connection, &framed(Opcode::Binary, &wrong)).expect("dropped");
    let seen = unmasked(&doors.observed.borrow());
    assert!(!contains(&seen, &BOB[..8]) && !contains(&seen, &ANN[..8]));
    assert_eq!(doors.said.len(), 1);
    assert!(!contains(&doors.answers, &ANN[..8]), "no answer quotes it");
}

/// What the first message of a client may get wrong while it has a token.
pub fn bad_first_messages() -> Vec<(Opcode, Vec<u8>)> {
    let text = |json: String| (Opcode::Text, json.into_bytes());
    let packed = |parts: &[&[u8]]| (Opcode::Binary, parts.concat());
    let (token, length) = (ANN.as_bytes(), ANN.len() as u8);
    let escaped: String = ANN.chars().map(|char| format!("\\u{:04x}", u32::from(char))).collect();
    vec![
        text(format!(r#"["hello",[1,1,"Ada",0,"{ANN}"]]"#)),
        text(format!(r#"["hello",["{ANN}"]]"#)),
        text(format!(r#"["hello",[1,1,"Ada",0,"{ANN}"#)),
        text(format!(r#"["hello",[1,1,"Ada",0,{ANN}]]"#)),
        text(format!(r#"{{"token":"{ANN}"}}"#)),
        text(ANN.to_owned()),
        packed(&[b"\x92\x01\x95\x63\x01\xa3Ada\x00\xb5", token]),
        packed(&[b"\x92\x01\x95\x01\x01\xa3Ada\x00\xd9", &[length], token]),
        packed(&[b"\x92\x01\x95\x01\x01\xa3Ada\x00\xc4", &[length], token]),
        packed(&[b"\x92\x01\x96\x01\x01\xa3Ada\x00\xc0\xb5", token]),
        packed(&[b"\x92\x01\x91\xb5", token]),
        packed(&[b"\x92\x02\x91\xb5", token]),
        packed(&[b"\x92\x01\x95\x01\x01\xa3Ada\x00\xd9\x40", token]),
        packed(&[b"\x92\x01\x95\x01\x01\xa3Ada\x00\xa5", token]),
        packed(&[b"\x92\x01\x95\x01\x01\xa3Ada\x00\xc1", token]),
        packed(&[b"\x92\x01\x95\x01\x01\xa3Ada\x00\xb6", token, b"\xff"]),
        packed(&[token]),
        // JSON in a binary frame, with the token escaped.
        packed(&[format!(r#"["hello",[1,1,"Ada",0,"{escaped}"]]"#).as_bytes()]),
        packed(&[format!(r#"["hello",[1,1,"Ada",0,"{}"]]"#, ANN.replace('-', "%2d")).as_bytes()]),
        // A token of digits, as a number.
        text(r#"["hello",[1,1,"Ada",0,1234567890123456]]"#.to_owned()),
        text(r#"["hello",[1,1,"Ada",0,null,null,1.234567890123456e15]]"#.to_owned()),
        packed(&[br#"["hello",[1,1,"Ada",0,1234567890123456]]"#]),
        packed(&[b"\x92\x01\x95\x01\x01\xa3Ada\x00\xcf", &1_234_567_890_123_456_u64.to_be_bytes()]),
        packed(&[b"\x92\x01\x97\x01\x01\xa3Ada\x00\xc0\xc0\xcf", &1_234_567_890_123_456_u64.to_be_bytes()]),
        (Opcode::Continuation, hello_with(ANN)),
    ]
}

#[test]
fn a_token_in_a_wrong_first_message_is_covered_and_the_broken_rule_stays_the_same() {
    for is_json in [false, true] {
        for (opcode, payload) in bad_first_messages() {
            let shown = String::from_utf8_lossy(&payload).into_owned();
            let bytes = framed(opcode, &payload);
            let end = |bytes: &[u8]| {
                let (mut connection, mut doors) = (connection("native", is_json), Doors::default());
                let ending = doors.receive(&mut connection, bytes).err();
                (ending.as_ref().map(DisconnectReason::name), doors.observed.into_inner())
            };
            let (rule, seen) = end(&bytes);
            assert_eq!(seen.len(), bytes.len(), "{shown}");
            assert!(!contains(&unmasked(&seen), &ANN[..8]), "{shown}");
            assert!(!contains(&seen, &ANN[..8]), "{shown}");
            for part in [r"\u0061\u006e", "anns%2d", "1234567", "1.23456"] {
                assert!(!contains(&unmasked(&seen), part), "{shown}");
            }
            let number = 1_234_567_890_123_456_u64.to_be_bytes();
            assert!(!unmasked(&seen).windows(8).any(|eight| eight == number), "{shown}");
            assert_eq!(end(&seen).0, rule, "{shown}");
        }
    }
}

#[test]
fn an_unfinished_or_unmasked_hello_is_covered() {
    let hello = hello_with(ANN);
    let mut unmasked_hello = Vec::new();
    frame::write(&mut unmasked_hello, Opcode::Binary, None, &hello);
    let mut compressed = framed(Opcode::Binary, &hello);
    compressed[0] |= 0x40;
    let mut fragment = framed(Opcode::Binary, &hello);
    fragment[0] &= 0x7f;
    let close = framed(Opcode::Close, &1000_u16.to_be_bytes());
    let whole = framed(Opcode::Binary, &hello);
    for bytes in [
        unmasked_hello,
        compressed,
        [&fragment[..], &close].concat(),
        whole[..whole.len() - 2].to_vec(),
        [&fragment[..], &whole].concat(),
    ] {
        let (mut connection, mut doors) = (connection("native", false), Doors::default());
        let ended = doors.receive(&mut connection, &bytes);
        doors.ignore(&mut connection, &[]);
        // What comes after the end is ignored, and covered too.
        doors.ignore(&mut connection, &whole);
        let seen = doors.observed.into_inner();
        assert_eq!(seen.len(), bytes.len() + whole.len(), "{ended:?}");
        assert!(!contains(&seen, &ANN[..8]) && !contains(&unmasked(&seen), &ANN[..8]), "{ended:?}");
    }
}

#[test]
fn a_second_hello_in_fragments_or_cut_off_is_covered() {
    let (hello, ping) = (hello_with(ANN), framed(Opcode::Ping, b"a"));
    let whole = in_frames(Opcode::Binary, &hello, hello.len() - 3, &ping);
    for end in 1..whole.len() {
        let (mut connection, mut doors) = (connection("native", false), Doors::default());
        doors.receive(&mut connection, &framed(Opcode::Binary, &hello_with(BOB))).expect("a good hello");
        let before = doors.observed.borrow().len();
        for piece in [&whole[..end / 2], &whole[end / 2..end]] {
            doors.receive(&mut connection, piece).expect("a packet");
        }
        doors.ignore(&mut connection, &[]);
        let seen = doors.observed.borrow().clone();
        assert_eq!(seen.len() - before, end);
        let shows = |seen: &[u8], what: &str| contains(seen, what) || contains(&unmasked(seen), what);
        assert!(!shows(&seen, &ANN[..8]) && !shows(&seen[before..], &ANN[..8]), "{end}");
    }
}

#[test]
fn a_control_frame_between_fragments_is_shown_before_them_and_judged_by_its_own_bytes() {
    let (ping, payload) = (framed(Opcode::Ping, b"anybody there"), hello_with(ANN));
    let bytes = in_frames(Opcode::Binary, &payload, payload.len() / 2 + 1, &ping);
    let end = |pieces: &[&[u8]]| {
        let (mut connection, mut doors) = (connection("native", false), Doors::default());
        for piece in pieces {
            doors.receive(&mut connection, piece).expect("a good hello");
        }
        let seen = doors.observed.take();
        (connection.save(AT.now), doors.answers, seen)
    };
    let (saved, answers, seen) = end(&[&bytes]);
    assert!(seen.starts_with(&ping));
    // What is observed leads to the same state and the same answers.
    assert_eq!(end(&[&seen]), (saved, answers, seen));
}

#[test]
fn escapes_and_long_characters_of_a_token_keep_their_length() {
    let said = r#"\u0061\n\"é…🔑\ud83d\ude00abcdefghijklmnop"#;
    let text = format!(r#"["hello",[1,1,"Ada",0,"{said}",null,"{ANN}"],"{BOB}"]"#);
    let decoded = |bytes: &[u8]| {
        let (mut connection, mut doors) = (connection("native", true), Doors::default());
        doors.receive(&mut connection, bytes).expect("a good hello");
        (doors.said.remove(0).expect("a token"), doors.observed.into_inner())
    };
    let (token, seen) = decoded(&framed(Opcode::Text, text.as_bytes()));
    assert!(token.starts_with("a\n\"é…🔑😀abc"), "{token}");
    let shown = String::from_utf8(unmasked(&seen)).expect("UTF-8");
    assert_eq!(shown.len(), text.len());
    assert!(!["é", "ud83d", "abcd", ANN, BOB].iter().any(|secret| shown.contains(secret)), "{shown}");
    assert!(shown.starts_with(r#"["hello",[1,1,"Ada",0,"\u002a\/\/"#), "{shown}");
    decoded(&seen);
}

#[test]
fn a_client_that_is_turned_away_is_told_nothing_and_can_do_nothing() {
    for (dialect, is_native) in [("native", true), ("letters", false)] {
        let (mut connection, mut doors) =
            (connection(dialect, false), Doors { turns_away: true, ..Doors::default() });
        doors.begin(&mut connection, 3).expect("no ending");
        if is_native {
            doors.receive(&mut connection, &framed(Opcode::Binary, &hello_with(BOB))).expect("no ending");
        }
        let saved = connection.save(AT.now);
        for payload in [&hello_with(ANN)[..], b"\x92\x06\x91\x05", b"\x92\x02\x90", b"\x92\xa1M\x91\x80"] {
            doors.receive(&mut connection, &framed(Opcode::Binary, payload)).expect("ignored");
        }
        doors.receive(&mut connection, &framed(Opcode::Ping, b"a")).expect("ignored");
        assert_eq!(doors.answers, b"", "{dialect}");
        assert_eq!((doors.joins, doors.said.len()), (0, 1), "{dialect}: it has one try");
        assert!(!contains(&unmasked(&doors.observed.borrow()), &ANN[..8]));
        // A capture that begins now knows.
        let endpoint = WireFormat::new(PacketTables::builtin().dialect(dialect).expect("built in"), false);
        let identity = Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 }.into();
        let room = RoomInfo { about: Moo::INFO, epoch: "e".into(), identity, update_hz: 30 };
        let restored = ServerConnection::restore(endpoint, room, &saved, AT.now).expect("what was saved");
        assert_eq!(restored.save(AT.now), saved);
    }
}
