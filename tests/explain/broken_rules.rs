//! Compares tests/fixtures/broken_rules.tsv with the code: for each row, `explain` has the same
//! verdict as the layers of the server and of our client, and the close frame carries the rule's
//! name and code. A rule without a row fails.
//!
//! `tests/wireshark/checks_rules.py` compares the same rows with the dissector and with a live
//! server.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use tickwire::explain::{Conversation, Explanation, Problem};
use tickwire::game::CloseReason;
use tickwire::internal::limits;
use tickwire::internal::packet::routes::{self, WRONG_FRAME_TYPE};
use tickwire::packet::msgpack::Rule;
use tickwire::packet::{Dialect, Direction, PacketTables};
use tickwire::ws::connection::{Connection, Event, Role};
use tickwire::ws::extension::{DeflateOffer, DeflateParameters, SenderParameters};
use tickwire::ws::http::{HeadReader, ResponseReader};
use tickwire::ws::{Side, Violation, close, handshake};

/// The key of the request before a row, and the origins that the server of the rows allows.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ALLOWED: &str = "https://game.example";
/// Breaches that no byte shows: they are about time, about room, and about what the operator does. `hello_first` and `hello_version` are about
/// the order of good packets, which `explain` does not judge.
const NOT_IN_A_MESSAGE: [CloseReason; 21] = [
    CloseReason::MessageRate,
    CloseReason::ByteRate,
    CloseReason::HelloLate,
    CloseReason::HelloFirst,
    CloseReason::HelloVersion,
    CloseReason::SlowClient,
    CloseReason::Overloaded,
    CloseReason::TakenOver,
    CloseReason::TokenMissing,
    CloseReason::TokenWrong,
    CloseReason::TooManyTokenAttempts,
    CloseReason::RoomTokenMissing,
    CloseReason::NoRoomFits,
    CloseReason::LockstepOff,
    CloseReason::LockstepTooLarge,
    CloseReason::IdleTimeout,
    CloseReason::WorldFull,
    CloseReason::Kicked,
    CloseReason::Banned,
    CloseReason::GoingAway,
    CloseReason::InternalError,
];

struct Row {
    rule: String,
    from: Side,
    target: Option<String>,
    bytes: Vec<u8>,
    /// Where it is written, and what the other end does.
    verdict: (String, String),
    has_ack_packets: bool,
    /// Whether both ends have agreed on compression.
    has_deflate: bool,
}

fn rows() -> Vec<Row> {
    let all = rows_of(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/broken_rules.tsv"), false);
    let deflate = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/broken_rules_deflate.tsv");
    all.into_iter().chain(rows_of(deflate, true)).collect()
}

fn rows_of(path: &str, has_deflate: bool) -> Vec<Row> {
    let text = fs::read_to_string(path).expect("the table is there");
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let [rule, from, target, bytes, written, answer, told] = cells[..] else { panic!("{line}") };
            Row {
                rule: rule.to_owned(),
                from: if from == "client" { Side::Client } else { Side::Server },
                target: (target != "-").then(|| target.to_owned()),
                bytes: bytes_of(bytes),
                verdict: (written.to_owned(), answer.to_owned()),
                has_ack_packets: told == "yes",
                has_deflate,
            }
        })
        .collect()
}

/// The bytes of a cell: hexadecimal and quoted texts, `*N` behind one repeats it.
fn bytes_of(cell: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = cell.trim();
    while !rest.is_empty() {
        let end = match rest.strip_prefix('"') {
            Some(text) => text.find('"').expect("the end of a text") + 2,
            None => rest.find(['*', ' ']).unwrap_or(rest.len()),
        };
        let part = if rest.starts_with('"') {
            text_of(&rest[1..end - 1])
        } else {
            crate::rows::hex::bytes(&rest[..end])
        };
        rest = &rest[end..];
        let mut times = 1;
        if let Some(number) = rest.strip_prefix('*') {
            let end = number.find(' ').unwrap_or(number.len());
            times = number[..end].parse().expect("a number");
            rest = &number[end..];
        }
        bytes.extend(part.repeat(times));
        rest = rest.trim_start();
    }
    bytes
}

/// A text with `\r`, `\n` and `\xNN`.
fn text_of(text: &str) -> Vec<u8> {
    let mut parts = text.split('\\');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let (byte, rest) = match part.as_bytes()[0] {
            b'r' => (b'\r', &part[1..]),
            b'n' => (b'\n', &part[1..]),
            b'x' => (u8::from_str_radix(&part[1..3], 16).expect("two digits"), &part[3..]),
            other => panic!("\\{}", char::from(other)),
        };
        bytes.push(byte);
        bytes.extend(rest.as_bytes());
    }
    bytes
}

/// What the layers say of a row: the rule, and what is done about it.
fn judged(row: &Row) -> Option<(String, String)> {
    match (&row.target, row.from) {
        (None, _) => judged_request(&row.bytes),
        (Some(_), Side::Server) if row.bytes.starts_with(b"HTTP/") => judged_answer(row),
        (Some(target), _) => judged_frames(row, target),
    }
}

fn judged_request(bytes: &[u8]) -> Option<(String, String)> {
    let refused = match HeadReader::new(limits::HEAD_LIMITS).receive(bytes) {
        Err(refusal) => Some(refusal),
        Ok(None) => None,
        Ok(Some(head)) => {
            let allowed = [ALLOWED.to_owned()];
            let accepted = handshake::accept(&head, &["tickwire.v1"]);
            accepted.and_then(|_| handshake::check_origin(&head, &allowed)).err()
        }
    };
    refused.map(|refusal| (refusal.violation.name().to_owned(), format!("status {}", refusal.status)))
}

fn judged_answer(row: &Row) -> Option<(String, String)> {
    let offer = row.has_deflate.then(DeflateOffer::default);
    let check = |head| handshake::check_response_with(&head, KEY, &[], offer.as_ref()).err();
    let violation = match ResponseReader::new(limits::HEAD_LIMITS).receive(&row.bytes) {
        Err(violation) => Some(violation),
        Ok(head) => head.and_then(check),
    };
    violation.map(|violation| (violation.name().to_owned(), "drop the connection".to_owned()))
}

/// The dialect of a target, and whether its packets are JSON.
fn endpoint_of(target: &str) -> (Arc<Dialect>, bool) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let format = query.strip_prefix("format=");
    let codes = PacketTables::builtin();
    let (dialect, json) =
        routes::find_dialect(&codes, &routes::DEFAULT_PATHS, path, None, format).expect("one of ours");
    (dialect.clone(), json)
}

/// A connection reads the frames, and a dialect the messages, up to the first that is refused; the close frame that a connection sends
/// of itself has the name of the rule.
fn judged_frames(row: &Row, target: &str) -> Option<(String, String)> {
    let (dialect, json) = endpoint_of(target);
    let (role, direction) = match row.from {
        Side::Client => (Role::Server, Direction::ToServer),
        Side::Server => (Role::Client { mask_key: || [0; 4] }, Direction::ToClient),
    };
    let mut conn = Connection::new(
        role,
        if row.from == Side::Client { limits::CLIENT_MESSAGE_LIMITS } else { limits::SERVER_MESSAGE_LIMITS },
    );
    if row.has_deflate {
        let sender = SenderParameters { context_takeover: true, window_bits: 15 };
        conn.enable_compression(DeflateParameters { server: sender, client: sender }, 0);
    }
    conn.receive(&row.bytes);
    let violation = loop {
        let decoded = match conn.next_event() {
            Ok(None) => return None,
            Err(violation) => break violation,
            Ok(Some(Event::Text(text))) if json => dialect.decode_json(direction, text).err(),
            Ok(Some(Event::Binary(bytes))) if !json => dialect.decode(direction, bytes).err(),
            Ok(Some(Event::Text(_) | Event::Binary(_))) => {
                let (rule, _, code) = WRONG_FRAME_TYPE;
                return Some((rule.to_owned(), format!("close {code}")));
            }
            Ok(Some(_)) => None,
        };
        if let Some(error) = decoded {
            let answer = match error.name() {
                "wrong_arguments" => "the packet is dropped".to_owned(),
                "unknown_code" => "the packet is dropped".to_owned(),
                _ if error.closes_connection() => "close 1007 inconsistent data".to_owned(),
                other => panic!("{other}"),
            };
            return Some((error.name().to_owned(), answer));
        }
    };
    let mut sent = Vec::new();
    conn.drain_output(&mut sent);
    let body = if row.from == Side::Client { 2 } else { 6 };
    let last = sent.windows(2).rposition(|head| head[0] == 0x88).expect("a close frame");
    let said = close::decode(&sent[last + body..]).expect("a close body");
    assert_eq!(said.reason, violation.name());
    let code = said.code.expect("a code");
    Some((said.reason.to_owned(), format!("close {code}")))
}

/// The upgrade before a row: the request, and the answer unless the row is one.
fn upgraded<'c>(conversation: &mut Conversation<'c>, target: &str, is_answered: bool, has_deflate: bool) {
    let offer = has_deflate.then(DeflateOffer::default);
    let request = handshake::request_with("localhost:3000", target, KEY, &[], offer.as_ref());
    let agreed = if has_deflate { "Sec-WebSocket-Extensions: permessage-deflate\r\n" } else { "" };
    let accept = handshake::accept_key(KEY);
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n{agreed}\r\n"
    );
    let mut said = conversation.receive(Side::Client, &request);
    if is_answered {
        said.extend(conversation.receive(Side::Server, answer.as_bytes()));
    }
    assert!(said.iter().all(|item| item.problem().is_none()), "the upgrade is right");
}

/// What `explain` says of a row, from all of its bytes at once or from one after the other.
fn explained(row: &Row, piece: usize) -> Vec<(String, String, String)> {
    let codes = PacketTables::builtin();
    let legacy = codes.dialect("legacy").expect("built in");
    let mut conversation = Conversation::new(&codes, &legacy);
    if let Some(target) = &row.target {
        upgraded(&mut conversation, target, !row.bytes.starts_with(b"HTTP/"), row.has_deflate);
    }
    let mut items: Vec<Explanation<'_>> =
        row.bytes.chunks(piece).flat_map(|bytes| conversation.receive(row.from, bytes)).collect();
    items.extend(conversation.finish(row.from));
    let broken = items.iter().flat_map(|item| &item.frames).filter_map(|frame| match &frame.problem {
        Some(Problem::Violation { rule, address, answer, .. }) => {
            Some(((*rule).to_owned(), address.clone(), answer.clone()))
        }
        _ => None,
    });
    broken.collect()
}

#[test]
fn every_rule_has_a_row() {
    let rows = rows();
    let shown: BTreeSet<&str> = rows.iter().map(|row| row.rule.as_str()).collect();
    let of_packets = Rule::ALL.iter().map(|rule| rule.name()).chain(["wrong_arguments", "unknown_code"]);
    let ours = CloseReason::ALL
        .iter()
        .filter(|breach| !NOT_IN_A_MESSAGE.contains(breach))
        .map(|breach| breach.name());
    let known: BTreeSet<&str> =
        Violation::ALL.iter().map(|violation| violation.name()).chain(of_packets).chain(ours).collect();
    assert_eq!(shown, known, "the rules of tests/fixtures/broken_rules.tsv, and those of the code");
}

#[test]
fn rules_of_frames_have_rows_of_both_sides() {
    let rows = rows();
    let of_one_side =
        ["mask_missing", "mask_forbidden", "too_many_fragments", "message_too_long", "inflated_too_long"];
    for violation in Violation::ALL.iter().filter(|violation| violation.close_code().is_some()) {
        for side in [Side::Client, Side::Server] {
            let has_row = rows.iter().any(|row| row.rule == violation.name() && row.from == side);
            assert!(has_row || of_one_side.contains(&violation.name()), "{violation:?} of the {side:?}");
        }
    }
}

#[test]
fn each_row_has_its_verdict() {
    for row in rows() {
        let (rule, (_, answer)) = (row.rule.clone(), row.verdict.clone());
        assert_eq!(judged(&row), Some((rule, answer)), "{}", row.rule);
    }
}

#[test]
fn explain_gives_each_row_the_verdict_of_the_server() {
    for row in rows() {
        let (written, answer) = row.verdict.clone();
        let wanted = vec![(row.rule.clone(), written, answer)];
        for piece in [row.bytes.len(), 1] {
            let found = explained(&row, piece);
            if row.has_ack_packets {
                assert_eq!(found, wanted, "{} bytes at once", piece);
            } else {
                assert!(
                    found.iter().all(|(rule, ..)| *rule != row.rule),
                    "{} can be told after all",
                    row.rule
                );
            }
        }
    }
}

/// A path that every server has says nothing about the limits of the server; `/moomoo` is ours alone.
#[test]
fn limits_are_checked_only_if_the_path_identifies_the_server() {
    let header = [&[0x82, 0xfe][..], &(limits::MESSAGE_BYTES as u16 + 1).to_be_bytes(), &[0; 4]].concat();
    for (target, expected) in [("/", 0), ("/moomoo", 1), ("/nothing", 0)] {
        let row = Row {
            rule: "message_too_long".to_owned(),
            from: Side::Client,
            target: Some(target.to_owned()),
            bytes: header.clone(),
            verdict: Default::default(),
            has_ack_packets: true,
            has_deflate: false,
        };
        assert_eq!(explained(&row, header.len()).len(), expected, "{target}");
    }
}
