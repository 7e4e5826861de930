//! What a live server must answer to each row, in bytes.
//!
//! A head is answered with its status, or with the upgrade, after which the connection is closed in order. Frames are sent on an upgraded
//! connection of the `legacy` dialect, in which a client may speak at once: messages of a row are no packets of it, so the first text
//! or broken MessagePack ends the connection with the rule that this breaks.

use tickwire::internal::limits;
use tickwire::packet::{Direction, PacketTables};
use tickwire::ws::Violation;
use tickwire::ws::handshake;
use tickwire::ws::http::{HeadReader, Refusal};

use crate::rows::frames::{self, FROM_CLIENT, UNFINISHED};
use crate::rows::messages::{ACCEPTED, ENVELOPES, REFUSED};
use crate::rows::packets::{self, Outcome};
use crate::rows::wrong::{self, Case};
use crate::rows::{heads, heads_unfinished, hex};
use crate::rows_wire::Answer;

/// A row as it is sent, and what must come back.
pub struct Ask {
    pub name: String,
    /// Sent in one piece, so that the row begins where it has to.
    pub before: Vec<u8>,
    pub bytes: Vec<u8>,
    /// Sent in one piece at the end.
    pub after: Vec<u8>,
    pub answer: Answer,
}

/// The frame that ends a connection in order.
const GOODBYE: &str = "88 02 03e8";

/// Messages of one connection, below what a client may say at once.
const MESSAGES_AT_ONCE: usize = limits::CLIENT_MESSAGES_BURST as usize / 2;

/// All rows, by table.
pub fn asks() -> Vec<(&'static str, Vec<Ask>)> {
    let packet = |(what, dialect, bytes, outcome): &packets::Row| {
        of_packet(what, dialect, &hex::bytes(bytes), *outcome)
    };
    let unfinished = heads_unfinished::ROWS.iter().map(|(name, bytes)| unanswered(name, bytes));
    let pipelined = heads_unfinished::PIPELINED.iter().map(of_pipelined);
    let half_frames = UNFINISHED.iter().map(|(name, text)| frames_unfinished(name, text));
    vec![
        ("request heads", heads::all().map(of_head).chain(unfinished).chain(pipelined).collect()),
        (
            "sequences of frames",
            frames::both_sides().chain(FROM_CLIENT).map(of_frames).chain(half_frames).collect(),
        ),
        ("MessagePack values", messages().collect()),
        ("packets", packets::ROWS.iter().map(packet).collect()),
        ("lists of wrong types and counts", wrong_lists()),
    ]
}

/// The upgrade as RFC 6455 1.3 has it.
fn upgraded(subprotocol: Option<&str>) -> Vec<u8> {
    let subprotocol =
        subprotocol.map(|name| format!("Sec-WebSocket-Protocol: {name}\r\n")).unwrap_or_default();
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n{subprotocol}\r\n"
    )
    .into_bytes()
}

fn request(target: &str) -> Vec<u8> {
    let mut lines = heads::RIGHT.to_vec();
    let first = format!("GET {target} HTTP/1.1");
    lines[0] = &first;
    format!("{}\r\n\r\n", lines.join("\r\n")).into_bytes()
}

/// A close frame of the server's.
fn close(code: u16, reason: &str) -> Vec<u8> {
    let mut frame = vec![0x88, 2 + reason.len() as u8];
    frame.extend(code.to_be_bytes());
    frame.extend(reason.as_bytes());
    frame
}

/// The refusal of a head that breaks a rule.
fn refusal(head: &[u8]) -> Refusal {
    let head = match HeadReader::new(limits::HEAD_LIMITS).receive(head) {
        Ok(head) => head.expect("a whole head"),
        Err(refusal) => return refusal,
    };
    handshake::check_origin(&head, &[heads::ALLOWED.to_owned()])
        .and_then(|()| handshake::accept(&head, heads::KNOWN))
        .expect_err("a broken rule")
}

fn of_head((name, head, expected): &heads::Row) -> Ask {
    let (after, answer) = match *expected {
        Ok(agreed) => {
            let (response, control) = (upgraded(agreed), close(1000, ""));
            (frames::masked(GOODBYE), Answer { response, control, ..Answer::default() })
        }
        Err((status, violation)) => {
            let refusal = refusal(&heads::bytes_of(head));
            assert_eq!((refusal.status, refusal.violation), (status, violation), "{name}");
            let mut response = refusal.response();
            if violation == Violation::MethodNotGet && heads::bytes_of(head).starts_with(b"HEAD ") {
                // RFC 9110 9.3.2: the same head, and no body.
                let body = response.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
                response.truncate(body + 4);
            }
            let counters = vec![("requests_refused", violation.name(), 1)];
            (Vec::new(), Answer { response, counters, ..Answer::default() })
        }
    };
    Ask { name: (*name).to_owned(), before: Vec::new(), bytes: heads::bytes_of(head), after, answer }
}

/// Behind the upgrade are frames, and what stands there is none.
fn of_pipelined(row: &heads::Row) -> Ask {
    let mut ask = of_head(row);
    ask.after = Vec::new();
    ask.answer.control = close(1002, Violation::ReservedBit.name());
    ask.answer.counters = vec![("clients_closed", Violation::ReservedBit.name(), 1)];
    ask
}

fn unanswered(name: &str, bytes: &[u8]) -> Ask {
    let (before, after) = (Vec::new(), Vec::new());
    Ask { name: name.to_owned(), before, bytes: bytes.to_vec(), after, answer: Answer::default() }
}

fn of_frames(row: &frames::Row) -> Ask {
    let (name, text, events, violation) = *row;
    let is_from_client = FROM_CLIENT.iter().any(|(other, ..)| *other == name);
    let bytes = if is_from_client { hex::bytes(text) } else { frames::masked(text) };
    let mut answer = Answer { response: upgraded(None), ..Answer::default() };
    answer_events(events, violation, &mut answer);
    Ask { name: name.to_owned(), before: request("/"), bytes, after: frames::masked(GOODBYE), answer }
}

/// The frames with which a server answers the events of a row, and what it counts.
fn answer_events(events: &[&str], violation: Option<Violation>, answer: &mut Answer) {
    let legacy = PacketTables::builtin().dialect("legacy").expect("built in");
    let mut closed = violation.and_then(|rule| Some((rule.close_code()?.get(), rule.name())));
    for event in events {
        let (kind, payload) = event.split_once(':').unwrap_or((event, ""));
        match kind {
            "ping" => {
                let payload = hex::bytes(payload);
                answer.control.extend([0x8a, payload.len() as u8]);
                answer.control.extend(payload);
            }
            "pong" => {}
            "text" => {
                closed = Some((1003, "wrong_frame_type"));
                break;
            }
            "binary" => match legacy.decode(Direction::ToServer, &hex::bytes(payload)) {
                Err(error) if error.closes_connection() => {
                    closed = Some((1007, error.name()));
                    break;
                }
                dropped => {
                    answer.counters.push(("packets_dropped", dropped.expect_err("no packet").name(), 1))
                }
            },
            _ => {
                let code = payload.split(':').next().and_then(|code| code.parse().ok());
                return answer.control.extend(code.map_or(vec![0x88, 0], |code| close(code, "")));
            }
        }
    }
    match closed {
        Some((code, rule)) => {
            answer.control.extend(close(code, rule));
            answer.counters.push(("clients_closed", rule, 1));
        }
        None => answer.control.extend(close(1000, "")),
    }
}

/// The end of the bytes is the end of the connection: there is nobody to say anything to.
fn frames_unfinished(name: &str, text: &str) -> Ask {
    let answer = Answer { response: upgraded(None), ..Answer::default() };
    let after = Vec::new();
    Ask { name: name.to_owned(), before: request("/"), bytes: frames::masked(text), after, answer }
}

/// Values as whole messages: the ones that are refused, and the good ones, which are envelopes or not.
fn messages() -> impl Iterator<Item = Ask> {
    let refused = REFUSED.iter().map(|(what, bytes, rule, _)| (what, bytes, Outcome::Closes(rule.name())));
    let accepted = ACCEPTED.iter().map(|(what, bytes, value)| {
        // An array whose first value is a number or text has a code, if one that nobody knows.
        let has_code = value.starts_with("[1");
        let outcome =
            if has_code { Outcome::Drops("unknown_code") } else { Outcome::Closes("packet_envelope") };
        (what, bytes, outcome)
    });
    let envelopes = ENVELOPES.iter().map(|(what, bytes, rule)| {
        let outcome = if *rule == "packet_envelope" { Outcome::Closes(rule) } else { Outcome::Drops(rule) };
        (what, bytes, outcome)
    });
    let all = refused.chain(accepted).chain(envelopes);
    all.map(|(what, bytes, outcome)| of_packet(what, "legacy", &hex::bytes(bytes), outcome))
}

/// What comes before the messages of a dialect: the upgrade, and where it is due the hello of a watcher.
fn before(dialect: &str) -> Vec<u8> {
    let mut before = request(&format!("/?dialect={dialect}"));
    if dialect == "native" {
        before.extend(frames::masked("82 05 92 01 92 01 00"));
    }
    before
}

fn of_packet(what: &str, dialect: &'static str, message: &[u8], outcome: Outcome) -> Ask {
    let mut answer = Answer { response: upgraded(None), control: close(1000, ""), ..Answer::default() };
    match outcome {
        Outcome::Is(packet) => {
            let nonce = packet.strip_prefix("ping nonce=").map(|nonce| format!("pong nonce={nonce} "));
            answer.packets.extend(nonce.map(|pong| (dialect, pong)));
        }
        Outcome::Drops(rule) => {
            answer.counters.push(("packets_dropped", rule, 1));
            if dialect == "native" {
                answer.packets.push((dialect, format!("error rule=\"{rule}\"")));
            }
        }
        Outcome::Closes(rule) => {
            answer.control = close(1007, rule);
            answer.counters.push(("clients_closed", rule, 1));
        }
    }
    let (bytes, after) = (masked_message(message), frames::masked(GOODBYE));
    Ask { name: format!("{dialect}: {what}"), before: before(dialect), bytes, after, answer }
}

fn masked_message(message: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    tickwire::ws::frame::write(&mut frame, tickwire::ws::frame::Opcode::Binary, Some(frames::KEY), message);
    frame
}

/// Wrong types and counts, many to a connection: it stays open, and the server counts each.
fn wrong_lists() -> Vec<Ask> {
    let mut lists = Vec::new();
    for (dialect, name) in PacketTables::builtin().dialects().zip([
        "legacy",
        "letters-2023",
        "letters-2024",
        "letters",
        "native",
    ]) {
        assert_eq!(dialect.name(), name, "the dialects in the order of the tables");
        let cases = wrong::cases(dialect, Direction::ToServer);
        lists.extend(
            cases.chunks(MESSAGES_AT_ONCE).enumerate().map(|(at, cases)| wrong_list(name, at, cases)),
        );
    }
    lists
}

fn wrong_list(dialect: &'static str, at: usize, cases: &[Case]) -> Ask {
    let dropped = cases.iter().filter(|case| !case.fits).count();
    let error = (dialect, "error rule=\"wrong_arguments\"".to_owned());
    let answer = Answer {
        response: upgraded(None),
        control: close(1000, ""),
        packets: if dialect == "native" { vec![error; dropped] } else { Vec::new() },
        counters: vec![("packets_dropped", "wrong_arguments", dropped)],
    };
    let bytes = cases.iter().flat_map(|case| masked_message(&case.bytes)).collect();
    let name = format!("{dialect}: list {at} of wrong types and counts");
    Ask { name, before: before(dialect), bytes, after: frames::masked(GOODBYE), answer }
}
