//! Who may play, without a socket: the token file, the guard, the session of a client that is turned away, and what an
//! observer sees.

use std::net::IpAddr;
use std::time::Duration;

use tickwire::client::connection::{ClientConnection, ConnectionKeys};
use tickwire::client::url::Url;
use tickwire::game::{CloseReason, Game as _};
use tickwire::internal::connection::deadlines::DueAction;
use tickwire::internal::connection::resume_key::ResumeKey;
use tickwire::internal::connection::{
    ClientRequest, Deadlines, DisconnectReason, ReadTime, RoomInfo, ServerConnection, WireFormat,
};
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::world::{Identity, PlayerId, TickHz};
use tickwire::internal::limits;
use tickwire::internal::packet::credentials;
use tickwire::internal::server::admission::tokens::{
    Authenticator, OfferedToken, Permission, PlayAccess, TokenHolder, Tokens,
};
use tickwire::internal::server::room::{JoinAttempt, KeyedSeat, SeatKey};
use tickwire::internal::util::address_prefix::AddressPrefix;
use tickwire::packet::{Direction, PacketTables};
use tickwire::ws::frame::{self, Opcode};
use tickwire::ws::handshake;
use tickwire::ws::http::HeadReader;

use crate::driven::Doors;

const ANN: &str = "anns-token-0123456789";
const BOB: &str = "Bobs.Token~+/=_987654321";
pub const AT: ReadTime = ReadTime { now: Duration::from_secs(9), tick: 33, slack: Duration::ZERO };

fn authenticator(text: &str, spectators: bool) -> Authenticator {
    Authenticator::new(PlayAccess { tokens: Some(Tokens::read(text).expect("a token file")), spectators })
}

fn address(last: u8) -> IpAddr {
    [203, 0, 113, last].into()
}

#[test]
fn a_token_file_has_a_name_and_a_token_in_each_line() {
    let text = format!("# players\n\nann\t{ANN}\r\n  bob   {BOB}  \n# cy {ANN}\n");
    let authenticator = authenticator(&text, false);
    for (token, name) in [(ANN, "ann"), (BOB, "bob")] {
        let pass = authenticator.authenticate(address(1), Some(token), AT.now).expect("a right token");
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
            let empty = authenticator("# nobody\n", spectators);
            assert_eq!(empty.authenticate(address(1), said, AT.now), Ok(Permission::Spectator), "{said:?}");
        }
    }
}

#[test]
fn without_a_token_one_watches_if_spectators_may() {
    for said in [None, Some("")] {
        let file = format!("ann {ANN}");
        assert_eq!(
            authenticator(&file, false).authenticate(address(1), said, AT.now),
            Err(CloseReason::TokenMissing)
        );
        assert_eq!(
            authenticator(&file, true).authenticate(address(1), said, AT.now),
            Ok(Permission::Spectator)
        );
    }
}

#[test]
fn a_token_has_its_own_seat_and_only_the_whole_token_is_right() {
    let authenticator = authenticator(&format!("ann {ANN}\nbob {BOB}"), true);
    let seat = |token: &str, last: u8| match authenticator.authenticate(address(last), Some(token), AT.now) {
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
    let authenticator = authenticator(&format!("ann {ANN}"), true);
    let admit = |last: u8, said: &str, now| authenticator.authenticate(address(last), Some(said), now);
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
        authenticator.authenticate(address(1), None, AT.now),
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
fn whoever_is_turned_away_is_closed_after_a_constant_delay() {
    for breach in [CloseReason::TokenWrong, CloseReason::TooManyTokenAttempts] {
        for has_hello in [false, true] {
            let deadlines = Deadlines::new(has_hello, AT.now);
            deadlines.close_after_delay(breach, AT.now);
            let due = AT.now + limits::WRONG_TOKEN_DELAY;
            let poll = |now| deadlines.poll(now, limits::IDLE_TIMEOUT, Duration::ZERO);
            assert_eq!(poll(due - Duration::from_millis(1)), DueAction::Nothing(due));
            assert_eq!(poll(due), DueAction::Close(breach));
        }
    }
}

fn connection(dialect: &str) -> ServerConnection {
    let format = WireFormat::new(PacketTables::builtin().dialect(dialect).expect("built in"), false);
    ServerConnection::new(format, room(), AT.now)
}

fn room() -> RoomInfo {
    let identity = Identity { seed: 1, map_size_px: 1_440, tick_hz: TickHz::Hz30 }.into();
    RoomInfo { game: Moo::INFO, epoch: "e".into(), identity, update_hz: 30 }
}

fn framed(opcode: Opcode, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::write(&mut bytes, opcode, Some([1, 2, 3, 4]), payload);
    bytes
}

/// A message in so many frames.
fn in_frames(opcode: Opcode, payload: &[u8], max: usize, between: &[u8]) -> Vec<u8> {
    let pieces: Vec<&[u8]> = payload.chunks(max).collect();
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

/// A `hello` that plays, with a name that is longer than a token must be.
fn hello() -> Vec<u8> {
    let dialect = PacketTables::builtin().dialect("native").expect("built in");
    let values = [1.into(), 1.into(), "0123456789abcdefghij".into(), 4.into()];
    dialect.encode(Direction::ToServer, "hello", &values).expect("fits the table")
}

#[test]
fn an_observer_sees_a_message_as_it_was_sent_however_it_is_cut() {
    for max in [1, 3, 7, 1_000] {
        let bytes = in_frames(Opcode::Binary, &hello(), max, b"");
        for cut in [1, 5, 1_000] {
            let (mut connection, mut doors) = (connection("native"), Doors::default());
            doors.begin(&mut connection, 3).expect("no ending");
            for piece in bytes.chunks(cut) {
                doors.receive(&mut connection, piece).expect("a good hello");
            }
            assert_eq!((doors.checks, doors.joins, *doors.pieces.borrow()), (1, 1, 1));
            assert_eq!(doors.observed.into_inner(), bytes, "{max} {cut}");
        }
    }
}

#[test]
fn an_observer_sees_what_is_broken_or_unfinished_as_it_was_sent() {
    let whole = framed(Opcode::Binary, &hello());
    let alter = |byte: usize, bits: u8| {
        let mut bytes = whole.clone();
        bytes[byte] ^= bits;
        bytes
    };
    for (name, bytes) in [
        ("mask_missing", alter(1, 0x80)),
        ("reserved_bit", alter(0, 0x40)),
        ("reserved_opcode", alter(0, 0x01)),
        ("message_interrupted", [&alter(0, 0x80)[..], &whole].concat()),
        ("wrong_arguments", framed(Opcode::Binary, b"\x92\x01\x91\xb00123456789abcdef")),
        ("cut", whole[..whole.len() - 2].to_vec()),
    ] {
        let (mut connection, mut doors) = (connection("native"), Doors::default());
        doors.begin(&mut connection, 3).expect("no ending");
        let ended = doors.receive(&mut connection, &bytes);
        doors.ignore(&mut connection, &[]);
        // What comes after the end is ignored, and observed too.
        doors.ignore(&mut connection, &whole);
        assert_eq!(ended.err().map_or("cut", |reason| reason.name()), name);
        assert_eq!(doors.observed.take(), [&bytes[..], &whole].concat(), "{name}");
    }
}

#[test]
fn a_control_frame_between_fragments_is_shown_before_them_and_judged_by_its_own_bytes() {
    let (ping, payload) = (framed(Opcode::Ping, b"anybody there"), hello());
    let bytes = in_frames(Opcode::Binary, &payload, payload.len() / 2 + 1, &ping);
    let end = |bytes: &[u8]| {
        let (mut connection, mut doors) = (connection("native"), Doors::default());
        doors.begin(&mut connection, 3).expect("no ending");
        doors.receive(&mut connection, bytes).expect("a good hello");
        let seen = doors.observed.take();
        (connection.save(AT.now), doors.answers, seen)
    };
    let (saved, answers, seen) = end(&bytes);
    assert!(seen.starts_with(&ping));
    // What is observed leads to the same state and the same answers.
    assert_eq!(end(&seen), (saved, answers, seen));
}

/// What is answered to a client, or closes it, unless it is turned away.
fn attempts() -> Vec<Vec<u8>> {
    let mut unmasked = Vec::new();
    frame::write(&mut unmasked, Opcode::Binary, None, &hello());
    let mut fragment = framed(Opcode::Text, b"abc");
    fragment[0] &= 0x7f;
    let ping = framed(Opcode::Ping, b"a");
    vec![
        framed(Opcode::Binary, &hello()),
        framed(Opcode::Binary, b"\x92\x02\x90"),
        framed(Opcode::Binary, b"\x92\x06\x91\x05"),
        framed(Opcode::Binary, b"\x92\xa1M\x91\x80"),
        framed(Opcode::Binary, b"\xc1"),
        framed(Opcode::Text, b"[]"),
        framed(Opcode::Text, b"\xff\xfe"),
        framed(Opcode::Close, b"\x01"),
        [&fragment[..], &ping, &framed(Opcode::Text, b"x")].concat(),
        in_frames(Opcode::Binary, &hello(), 3, &ping),
        vec![0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4],
        vec![0xff; 100],
        [&unmasked[..], &framed(Opcode::Close, &1000_u16.to_be_bytes())].concat(),
        ping.repeat(limits::CLIENT_MESSAGES_BURST as usize + 1),
    ]
}

/// A client that is turned away at its upgrade, and sends these bytes in two reads.
fn turned_away(
    dialect: &str,
    bytes: &[u8],
    cut: usize,
) -> (Option<DisconnectReason>, ServerConnection, Doors) {
    let (mut connection, mut doors) = (connection(dialect), Doors { turns_away: true, ..Doors::default() });
    doors.begin(&mut connection, 3).expect("no ending");
    let heard = [&bytes[..cut], &bytes[cut..]].map(|bytes| doors.receive(&mut connection, bytes));
    (heard.into_iter().find_map(Result::err), connection, doors)
}

#[test]
fn nothing_that_a_client_sends_that_is_turned_away_is_answered_before_its_time() {
    for dialect in ["native", "letters"] {
        let untouched = turned_away(dialect, &[], 0).1.save(AT.now);
        for bytes in attempts() {
            for cut in [0, 1, bytes.len() / 2, bytes.len()] {
                let (reason, connection, doors) = turned_away(dialect, &bytes, cut);
                assert_eq!((reason, &doors.answers[..]), (None, &b""[..]), "{bytes:02x?}");
                assert_eq!((doors.joins, doors.checks), (0, 1), "{dialect}: it has one try");
                assert_eq!(connection.save(AT.now), untouched, "no budget is spent");
                assert_eq!(doors.observed.take().len(), bytes.len());
            }
        }
        // A capture that begins now knows.
        let format = WireFormat::new(PacketTables::builtin().dialect(dialect).expect("built in"), false);
        let restored = ServerConnection::restore(format, room(), &untouched, AT.now).expect("what was saved");
        assert_eq!(restored.save(AT.now), untouched);
    }
}

#[test]
fn the_own_close_of_a_client_that_is_turned_away_counts_unless_it_broke_a_rule_before() {
    let close = framed(Opcode::Close, &1000_u16.to_be_bytes());
    let (reason, ..) = turned_away("native", &close, 3);
    assert!(matches!(reason, Some(DisconnectReason::PeerClosed(Some(_)))), "{reason:?}");
    let (reason, connection, _) = turned_away("native", &[&[0xff, 0xff], &close[..]].concat(), 2);
    assert_eq!(reason, None);
    assert!(!connection.is_between_messages(), "a watcher cannot send for it");
}

#[test]
fn debug_output_never_contains_a_token_or_a_key() {
    const KEY: &str = "00112233445566778899aabbccddeeff";
    let offered = format!("{}, {}", credentials::keyed(KEY), credentials::bearer(ANN));
    let request = format!(
        "GET /play?token={ANN}&inspect_key={KEY} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\
         Sec-WebSocket-Protocol: {offered}\r\nAuthorization: Bearer {ANN}\r\n\r\n"
    );
    let mut reader = HeadReader::new(limits::HEAD_LIMITS);
    let half = request.len() - 10;
    assert_eq!(reader.receive(&request.as_bytes()[..half]), Ok(None));
    let unfinished = format!("{reader:?}");
    let head = reader.receive(&request.as_bytes()[half..]).expect("HTTP").expect("whole");
    let accepted = handshake::accept(&head, &["tickwire.v1"]).expect("an upgrade");
    assert_eq!(accepted.declined.len(), 2);
    let authenticator = authenticator(&format!("ann {ANN}"), true);
    let permission = authenticator.authenticate(address(1), Some(ANN), AT.now).expect("right");
    let Permission::Holder(TokenHolder { seat, .. }) = &permission else { panic!("{permission:?}") };
    let (key, token) = (ResumeKey::of(&head).expect("a key"), OfferedToken::of(&head).expect("a token"));
    let from = AddressPrefix::from_ip(address(1));
    let attempt = JoinAttempt { key: Some(SeatKey(key.bytes())), connection: 3, from };
    let url: Url = format!("ws://localhost/play?token={ANN}&inspect_key={KEY}").parse().expect("a URL");
    let keys = ConnectionKeys { upgrade: [7; 16], mask: || [1, 2, 3, 4] };
    let client = ClientConnection::new("localhost", &url.target, true, keys);
    let bytes = |secret: &[u8]| format!("{secret:?}").replace(['[', ']'], "");
    let coded = credentials::bearer(ANN);
    let secrets = [
        ANN.to_owned(),
        coded["bearer.".len()..].to_owned(),
        KEY.to_owned(),
        bytes(ANN.as_bytes()),
        bytes(coded.as_bytes()),
        bytes(&key.bytes()),
        bytes(&seat.0),
    ];
    for shown in [
        unfinished,
        format!("{reader:?}"),
        format!("{head:?}"),
        format!("{accepted:?}"),
        format!("{authenticator:?}"),
        format!("{permission:?}"),
        format!("{key:?}"),
        format!("{token:?}"),
        format!("{attempt:?}"),
        format!("{:?}", KeyedSeat { key: *seat, player: PlayerId(7), from }),
        format!("{url:?}"),
        format!("{client:?}"),
    ] {
        for secret in &secrets {
            assert!(!shown.contains(secret), "{secret} in {shown}");
        }
    }
    // A request of a connection has no field for a secret; the driver has the token.
    assert_eq!(format!("{:?}", ClientRequest::Authenticate), "Authenticate");
}
