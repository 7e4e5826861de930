//! A stream of frames: we decode the same messages as `tungstenite`, except for named differences.
//!
//! The input is all bytes of one direction after the upgrade; the mask bit of the first frame
//! selects the side. The messages and the end are those that `tungstenite` finds, or differ as
//! listed in [`difference`]; our result does not depend on how the bytes are split; our answers are
//! well-formed and contain a pong for each ping.

use std::io::{self, Read, Write};

use tickwire::ws::connection::{Connection, Event, Role};
use tickwire::ws::frame::{MASK, MASK_KEY_BYTES};
use tickwire::ws::message::{Limits, Message, MessageReader};
use tickwire::ws::{CloseCode, Side, Violation};
use tungstenite::protocol::{self, WebSocket, WebSocketConfig};

use crate::tally::allow;

/// Small, so that inputs that reach them are short.
const LIMITS: Limits = Limits { message_bytes: 300, fragments: 8, ..Limits::DEFAULT };
const KEY: [u8; MASK_KEY_BYTES] = [0x37, 0xfa, 0x21, 0x3d];

/// What was heard.
#[derive(Debug, PartialEq)]
enum Heard {
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>, String),
}

/// How it ended.
#[derive(Debug, PartialEq)]
enum End<Rule> {
    /// A rule was broken.
    Refused(Rule),
    /// The peer closed.
    Closed,
    /// The bytes are used up.
    Open,
}

/// See the [module](self).
pub fn run(bytes: &[u8]) {
    let from =
        if bytes.get(1).is_some_and(|second| second & MASK != 0) { Side::Client } else { Side::Server };
    let (heard, end, _) = ours(bytes, from, bytes.len());
    let (bytewise, bytewise_end, used) = ours(bytes, from, 1);
    assert_eq!((&bytewise, &bytewise_end), (&heard, &end), "whole and byte by byte");
    let (in_pieces, in_pieces_end, _) = ours(bytes, from, 5);
    assert_eq!((&in_pieces, &in_pieces_end), (&heard, &end), "whole and in pieces");
    let (theirs, their_end) = theirs(bytes, from);
    let is_same_end = matches!(
        (&end, &their_end),
        (End::Refused(_), End::Refused(_)) | (End::Closed, End::Closed) | (End::Open, End::Open)
    );
    if is_same_end && heard == theirs {
        return;
    }
    let End::Refused(rule) = end else {
        assert!(
            is_same_end && knows_another_code(&heard, &theirs),
            "{heard:?} {end:?}, but {theirs:?} {their_end:?}"
        );
        return allow("they do not know the close code", "1014");
    };
    let name = difference(rule, used <= whole_frames(bytes), (&heard, &theirs), &their_end);
    let Some(name) = name else {
        panic!("{rule:?} after {heard:?}, but {their_end:?} after {theirs:?}");
    };
    allow(name, rule.name());
}

/// Whether the only difference is 1014, which was registered after RFC 6455, and for which they hand out a close of their own.
fn knows_another_code(heard: &[Heard], theirs: &[Heard]) -> bool {
    let (Some((ours, before)), Some((other, their_before))) = (heard.split_last(), theirs.split_last())
    else {
        return false;
    };
    let is_1014 = matches!(ours, Heard::Close(Some(1014), _));
    before == their_before && is_1014 && matches!(other, Heard::Close(Some(1002), _))
}

/// The name of the allowed difference between our refusal and what `tungstenite` makes of the same bytes.
fn difference(
    rule: Violation,
    is_whole: bool,
    (heard, theirs): (&[Heard], &[Heard]),
    their_end: &End<tungstenite::Error>,
) -> Option<&'static str> {
    let (before, more) = theirs.split_at_checked(heard.len())?;
    if before != heard {
        return None;
    }
    match (rule, more, their_end) {
        // We judge as soon as a byte breaks a rule.
        (_, [], End::Open) if !is_whole => Some("they wait for the end of the frame"),
        // RFC 6455 5.2 wants the shortest form; they take any.
        (Violation::LengthNotMinimal, ..) => Some("they take a longer form of the length"),
        // So we know of a control frame that is too long from its seven bits; they look at the number.
        (Violation::ControlTooLong, [Heard::Ping(_) | Heard::Pong(_) | Heard::Close(..), ..], _) => {
            Some("they take a longer form of the length")
        }
        // RFC 6455 10.4 leaves bounds to the endpoint; they have none for fragments.
        (Violation::TooManyFragments, ..) => Some("they do not count fragments"),
        // RFC 6455 7.4: they hand out a close of their own in place of the code that must not be sent.
        (Violation::CloseCodeInvalid, [Heard::Close(Some(1002), _)], End::Closed) => {
            Some("they hand out a close for it")
        }
        _ => None,
    }
}

/// Where the last frame ends that is there with all of its payload, read by nobody's rules but the drawing of RFC 6455 5.2.
fn whole_frames(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        let Some([_, second]) = bytes.get(at..at + 2) else { return at };
        let wide = match second & !MASK {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let Some(field) = bytes.get(at + 2..at + 2 + wide) else { return at };
        let length = match wide {
            0 => u64::from(second & !MASK),
            _ => field.iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
        };
        let header = 2 + wide + if second & MASK != 0 { MASK_KEY_BYTES } else { 0 };
        match usize::try_from(length).ok().and_then(|length| (at + header).checked_add(length)) {
            Some(end) if end <= bytes.len() => at = end,
            _ => return at,
        }
    }
}

/// What we hear, how it ends, and after how many bytes.
fn ours(bytes: &[u8], from: Side, piece: usize) -> (Vec<Heard>, End<Violation>, usize) {
    let role = match from {
        Side::Client => Role::Server,
        Side::Server => Role::Client { mask_key: || KEY },
    };
    let (mut conn, mut heard, mut used) = (Connection::new(role, LIMITS), Vec::new(), 0);
    for piece in bytes.chunks(piece.max(1)) {
        conn.receive(piece);
        used += piece.len();
        loop {
            let event = match conn.next_event() {
                Ok(Some(event)) => event,
                Ok(None) => break,
                Err(violation) => {
                    answers(&mut conn, from, &heard, violation.close_code());
                    return (heard, End::Refused(violation), used);
                }
            };
            heard.push(match event {
                Event::Text(text) => Heard::Text(text.into()),
                Event::Binary(payload) => Heard::Binary(payload.into()),
                Event::Ping(payload) => Heard::Ping(payload.into()),
                Event::Pong(payload) => Heard::Pong(payload.into()),
                Event::Close { code, reason } => {
                    heard.push(Heard::Close(code.map(CloseCode::get), reason.to_owned()));
                    answers(&mut conn, from, &heard, code);
                    return (heard, End::Closed, used);
                }
                Event::Eof { .. } => panic!("no end was given"),
            });
        }
    }
    assert!(!conn.is_finished() && conn.is_open());
    (heard, End::Open, used)
}

/// Our answers: a pong for each ping, in order, and at last the close.
fn answers(conn: &mut Connection, from: Side, heard: &[Heard], closes_with: Option<CloseCode>) {
    assert!(conn.is_finished() && !conn.is_open());
    let mut output = Vec::new();
    conn.drain_output(&mut output);
    let of_us = if from == Side::Client { Side::Server } else { Side::Client };
    let mut reader = MessageReader::new(of_us, LIMITS);
    reader.receive(&output);
    let mut next = || reader.next_message().expect("our own frames").map(|message| format!("{message:?}"));
    for ping in heard {
        if let Heard::Ping(payload) = ping {
            assert_eq!(next(), Some(format!("{:?}", Message::Pong(payload))));
        }
    }
    let close = next().expect("a close");
    assert!(close.starts_with("Close") && close.contains(&format!("{closes_with:?}")), "{close}");
    assert!(next().is_none() && reader.is_between_messages());
}

/// Bytes for `tungstenite`, and a place for its answers.
struct Wire<'a>(&'a [u8]);

impl Read for Wire<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Wire<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What `tungstenite` hears, and how it ends.
fn theirs(bytes: &[u8], from: Side) -> (Vec<Heard>, End<tungstenite::Error>) {
    let role = if from == Side::Client { protocol::Role::Server } else { protocol::Role::Client };
    let config = WebSocketConfig::default()
        .read_buffer_size(4096)
        .max_message_size(Some(LIMITS.message_bytes))
        .max_frame_size(Some(LIMITS.message_bytes));
    let mut peer = WebSocket::from_raw_socket(Wire(bytes), role, Some(config));
    let mut heard = Vec::new();
    loop {
        heard.push(match peer.read() {
            Ok(tungstenite::Message::Text(text)) => Heard::Text(text.as_bytes().to_vec()),
            Ok(tungstenite::Message::Binary(payload)) => Heard::Binary(payload.to_vec()),
            Ok(tungstenite::Message::Ping(payload)) => Heard::Ping(payload.to_vec()),
            Ok(tungstenite::Message::Pong(payload)) => Heard::Pong(payload.to_vec()),
            Ok(tungstenite::Message::Close(frame)) => {
                let code = frame.as_ref().map(|frame| u16::from(frame.code));
                let reason = frame.map_or_else(String::new, |frame| frame.reason.to_string());
                heard.push(Heard::Close(code, reason));
                return (heard, End::Closed);
            }
            Ok(tungstenite::Message::Frame(frame)) => panic!("nobody asked for {frame}"),
            Err(tungstenite::Error::Protocol(
                tungstenite::error::ProtocolError::ResetWithoutClosingHandshake,
            )) => return (heard, End::Open),
            Err(error) => return (heard, End::Refused(error)),
        });
    }
}
