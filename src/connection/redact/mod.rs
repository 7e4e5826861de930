//! Redacts the token in a client's `hello` before the bytes reach an observer.
//!
//! No byte moves, and the frames stay valid: a replay decodes the same packet with another token of
//! the same length. In a well-formed `hello`, the argument `find_token` and all bytes after the
//! arguments are overwritten. A client that is not yet accepted may also send a malformed `hello`.
//! Then every text that is long enough for a token is overwritten.

pub mod http_head;
pub(super) mod numbers;
pub(super) mod texts;
pub(super) mod unused_texts;

use core::ops::Range;

use self::texts::MASK_BYTE;

use crate::limits;
use crate::packet::msgpack::{self, ValueHead, ValueKind};
use crate::packet::{DecodedPacket, Dialect, Direction, PacketError};
use crate::ws::Side;
use crate::ws::frame::{self, Header, Opcode};
use crate::ws::message::Message;

/// The packet with a token, and its argument.
const HELLO: &str = "hello";
const TOKEN: &str = "token";
/// Longest message that cannot contain a token: an array, a code and a text that is too short.
const SHORT: usize = limits::MIN_TOKEN_CHARS + 3;

/// Selects the messages that may contain a token.
#[derive(Debug, Clone, Copy)]
pub struct RedactionRules {
    /// The client is not yet accepted, so any message may be a malformed `hello`.
    pub may_contain_token: bool,
    /// The server has tokens, so any message may contain one in a wrong place.
    pub redacts_everywhere: bool,
}

/// The payload of a message with its token overwritten; `None` if it cannot contain one.
pub fn message(message: &Message<'_>, dialect: &Dialect, rules: RedactionRules) -> Option<Vec<u8>> {
    let RedactionRules { may_contain_token: tells, redacts_everywhere: hides } = rules;
    let has_hello = dialect.row(Direction::ToServer, HELLO).is_some();
    let may_have = |payload: &[u8]| {
        tells || has_hello && payload.len() > SHORT || hides && unused_texts::may_have_token(payload)
    };
    match message {
        Message::Binary(bytes) if may_have(bytes) => {
            let decode = |bytes: &[u8]| dialect.decode(Direction::ToServer, bytes);
            let packet = decode(bytes);
            let mut out = match place(&packet, rules) {
                TokenLocation::Nowhere => bytes.to_vec(),
                TokenLocation::From(argument) => redact_msgpack_from(bytes, argument),
                TokenLocation::Anywhere => {
                    redact_runs_of(redact_msgpack(bytes), MASK_BYTE, &packet, |out| decode(out).err())
                }
            };
            if let (true, Ok(packet)) = (hides, &packet) {
                unused_texts::redact_untaken_msgpack(&mut out, bytes, packet, said(packet));
            }
            Some(out)
        }
        Message::Text(text) if may_have(text.as_bytes()) => {
            let decode = |text: &str| dialect.decode_json(Direction::ToServer, text);
            let packet = decode(text);
            let again = |out: &[u8]| decode(str::from_utf8(out).unwrap_or_default()).err();
            let mut out = match place(&packet, rules) {
                TokenLocation::Nowhere => text.as_bytes().to_vec(),
                TokenLocation::From(argument) => redact_json_from(text, argument),
                // Digits stay digits.
                TokenLocation::Anywhere => redact_runs_of(json(text), b'1', &packet, again),
            };
            if let (true, Ok(packet)) = (hides, &packet) {
                unused_texts::redact_untaken_json(&mut out, text, packet, said(packet));
            }
            Some(out)
        }
        _ => None,
    }
}

/// The token in a `hello`; `None` for other messages, or if it has none.
pub fn find_token(message: &Message<'_>, dialect: &Dialect) -> Option<String> {
    let packet = match message {
        Message::Binary(bytes) => dialect.decode(Direction::ToServer, bytes),
        Message::Text(text) => dialect.decode_json(Direction::ToServer, text),
        _ => return None,
    };
    packet.ok().filter(|packet| packet.row.name == HELLO)?.text(TOKEN)
}

/// The position of the token in a message.
enum TokenLocation {
    Nowhere,
    /// In this argument or after it.
    From(usize),
    Anywhere,
}

fn place(
    decoded: &Result<DecodedPacket<'_>, PacketError>,
    RedactionRules { may_contain_token: tells, redacts_everywhere: hides }: RedactionRules,
) -> TokenLocation {
    match decoded {
        Ok(packet) if packet.row.name == HELLO => {
            TokenLocation::From(said(packet).unwrap_or(packet.row.arguments.len()))
        }
        Err(PacketError::WrongArguments { packet, .. }) if packet == HELLO => TokenLocation::Anywhere,
        Err(_) if hides => TokenLocation::Anywhere,
        _ if tells => TokenLocation::Anywhere,
        _ => TokenLocation::Nowhere,
    }
}

/// Index of the argument `find_token`, if the packet is a `hello`.
fn said(packet: &DecodedPacket<'_>) -> Option<usize> {
    packet.row.argument(TOKEN).filter(|_| packet.row.name == HELLO)
}

/// Overwrites all runs that may be tokens, unless that changes the error of the packet: a run may
/// also be part of a number. The input already has its texts overwritten.
fn redact_runs_of(
    texts: Vec<u8>,
    digit: u8,
    packet: &Result<DecodedPacket<'_>, PacketError>,
    again: impl Fn(&[u8]) -> Option<PacketError>,
) -> Vec<u8> {
    let mut out = texts.clone();
    texts::redact_runs(&mut out, digit);
    let error = packet.as_ref().err();
    let is_same = || again(&out).as_ref().map(PacketError::name) == error.map(PacketError::name);
    if error.is_some_and(PacketError::closes_connection) || is_same() { out } else { texts }
}

/// Overwrites the texts and long numbers of a well-formed packet, starting at an argument.
fn redact_msgpack_from(bytes: &[u8], argument: usize) -> Vec<u8> {
    let mut out = bytes.to_vec();
    if let Some(mut at) = argument_offset(bytes, argument) {
        while let Ok(ValueHead { kind, head, length }) = msgpack::read_head(bytes, at) {
            let content = texts::content(kind, at + head, length);
            if matches!(kind, ValueKind::Str | ValueKind::Bin) {
                texts::redact_text(&mut out, content.clone());
            }
            at = content.end;
        }
        let numbers = numbers::packed(bytes).into_iter().filter(|long| long.is_from(argument));
        numbers.for_each(|long| numbers::cover_packed(&mut out, &long));
    }
    out
}

/// The offset of an argument.
fn argument_offset(bytes: &[u8], argument: usize) -> Option<usize> {
    let envelope = msgpack::read_head(bytes, 0).ok()?;
    let code = msgpack::read_head(bytes, envelope.head).ok()?;
    let mut at = texts::content(code.kind, envelope.head + code.head, code.length).end;
    let arguments = msgpack::read_head(bytes, at).ok()?;
    at += arguments.head;
    // Values still to skip, including values inside of containers.
    let mut left = argument.min(arguments.length);
    while left > 0 {
        let ValueHead { kind, head, length } = msgpack::read_head(bytes, at).ok()?;
        let inside = match kind {
            ValueKind::Array => length,
            ValueKind::Map => length.saturating_mul(2),
            _ => 0,
        };
        at = texts::content(kind, at + head, length).end;
        left = (left - 1).saturating_add(inside);
    }
    Some(at)
}

/// Overwrites every text and number in MessagePack, valid or not, that is long enough for a token.
/// The first broken rule stays the same.
fn redact_msgpack(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (bytes.to_vec(), 0);
    while at < bytes.len() {
        let Ok(ValueHead { kind, head, length }) = msgpack::read_head(bytes, at) else {
            texts::redact_ascii(out.get_mut(at + 1..).unwrap_or_default());
            break;
        };
        let content = texts::content(kind, at + head, length);
        if content.end > bytes.len() {
            texts::redact_ascii(&mut out[at + head..]);
        } else if matches!(kind, ValueKind::Str | ValueKind::Bin) && length >= limits::MIN_TOKEN_CHARS {
            texts::redact_text(&mut out, content.clone());
        }
        at = content.end;
    }
    numbers::packed(bytes).iter().for_each(|long| numbers::cover_packed(&mut out, long));
    out
}

/// Overwrites the strings and long numbers of a well-formed JSON packet, starting at an argument.
fn redact_json_from(text: &str, argument: usize) -> Vec<u8> {
    let mut out = text.as_bytes().to_vec();
    // The envelope is an array: its second value is the array of arguments.
    let (mut depth, mut values, mut arguments) = (0, 0, 0);
    texts::visit_json(text, |byte, string| match (byte, string) {
        (_, Some(string)) if values > 1 || values == 1 && depth > 1 && arguments >= argument => {
            texts::json(&mut out, string);
        }
        (b'[' | b'{', None) => depth += 1,
        (b']' | b'}', None) => depth -= 1,
        (b',', None) if depth == 1 => values += 1,
        (b',', None) if depth == 2 && values == 1 => arguments += 1,
        _ => {}
    });
    let numbers = numbers::json(text).into_iter().filter(|long| long.is_from(argument));
    numbers.for_each(|long| numbers::cover_json(&mut out, &long));
    out
}

/// Overwrites every string and number in JSON, valid or not, that is long enough for a token.
fn json(text: &str) -> Vec<u8> {
    let mut out = text.as_bytes().to_vec();
    texts::visit_json(text, |_, string| {
        if let Some(string) = string.filter(|string| string.len() >= limits::MIN_TOKEN_CHARS) {
            texts::json(&mut out, string);
        }
    });
    numbers::json(text).iter().for_each(|long| numbers::cover_json(&mut out, long));
    out
}

/// Writes a payload into the frames of its message, masked with their keys.
pub fn write_payload(wire: &mut [u8], payload: &[u8]) {
    let mut at = 0;
    for (place, key) in data_frames(wire).0 {
        let end = payload.len().min(at + place.len());
        let place = place.start..place.start + (end - at);
        wire[place.clone()].copy_from_slice(&payload[at..end]);
        if let Some(key) = key {
            frame::mask(&mut wire[place], key, 0);
        }
        at = end;
    }
}

/// Overwrites the received payload of an unfinished message.
pub fn redact_incomplete(wire: &mut [u8]) {
    let (frames, end) = data_frames(wire);
    for (place, key) in frames {
        if let Some(key) = key {
            frame::mask(&mut wire[place.clone()], key, 0);
        }
        texts::redact_ascii(&mut wire[place.clone()]);
        if let Some(key) = key {
            frame::mask(&mut wire[place], key, 0);
        }
    }
    let rest = &mut wire[end..];
    let header = broken_header(rest);
    rest.iter_mut().skip(header).for_each(|byte| *byte = MASK_BYTE);
}

/// Length of a header that is invalid or truncated.
fn broken_header(bytes: &[u8]) -> usize {
    let Some(second) = bytes.get(1) else { return bytes.len() };
    let key = if second & 0x80 == 0 { 0 } else { 4 };
    2 + key + [0, 2, 8][usize::from(second & 0x7f).saturating_sub(125).min(2)]
}

/// Whether an unfinished message is long enough for a `hello` with a token. The declared length of
/// a truncated frame counts, so that no part of a token becomes visible.
pub fn may_hold_token(wire: &[u8]) -> bool {
    let (mut message_bytes, mut at) = (0_u64, 0);
    while let Ok(Some((header, size))) = Header::decode(&wire[at..], Side::Client) {
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        at = at.saturating_add(size).saturating_add(length).min(wire.len());
        message_bytes = match header.opcode {
            opcode if opcode.is_control() => message_bytes,
            Opcode::Continuation => message_bytes.saturating_add(header.length),
            _ => header.length,
        };
        if message_bytes > SHORT as u64 {
            return true;
        }
    }
    let rest = &wire[at..];
    message_bytes + rest.len().saturating_sub(broken_header(rest)) as u64 > SHORT as u64
}

/// Overwrites all bytes, for a position where no frame boundary is known.
pub fn all(wire: &mut [u8]) {
    wire.fill(MASK_BYTE);
}

/// The payload range of a data frame, with its mask key.
type DataFrame = (Range<usize>, Option<[u8; 4]>);

/// The payloads of the data frames, and the end of the last frame. The last payload may be
/// incomplete.
fn data_frames(wire: &[u8]) -> (Vec<DataFrame>, usize) {
    let (mut frames, mut at) = (Vec::new(), 0);
    while let Ok(Some((header, size))) = Header::decode(&wire[at..], Side::Client) {
        let start = at + size;
        let length = usize::try_from(header.length).unwrap_or(usize::MAX);
        at = start.saturating_add(length).min(wire.len());
        if !header.opcode.is_control() {
            frames.push((start..at, header.mask));
        }
    }
    (frames, at)
}
