//! Overwrites the token in a client's `hello` before anybody observes the bytes.
//!
//! Every byte keeps its place, and the frames stay valid: a replay decodes the same packet with
//! another token of the same length. In a well-formed `hello` that is the argument `token`, and what
//! follows the arguments. A client that has not been greeted may also get its hello wrong: then every
//! text that is long enough for a token is overwritten.

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
/// The longest message that holds an array, a code and no token.
const SHORT: usize = limits::MIN_TOKEN_CHARS + 3;

/// Which messages may have a token, and where.
#[derive(Debug, Clone, Copy)]
pub struct RedactionRules {
    /// The client has not been greeted: it may have got its hello wrong.
    pub may_contain_token: bool,
    /// The server has tokens: the client may say one in a wrong place at any time.
    pub redacts_everywhere: bool,
}

/// The payload of a message with its token overwritten; `None` if it can be shown as it is.
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
                // A number stays one.
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

/// The token that a message says in its place; `None` if it is no `hello`, or has none.
pub fn find_token(message: &Message<'_>, dialect: &Dialect) -> Option<String> {
    let packet = match message {
        Message::Binary(bytes) => dialect.decode(Direction::ToServer, bytes),
        Message::Text(text) => dialect.decode_json(Direction::ToServer, text),
        _ => return None,
    };
    packet.ok().filter(|packet| packet.row.name == HELLO)?.text(TOKEN)
}

/// Where a message has a token.
enum TokenLocation {
    Nowhere,
    /// In this argument, or behind it.
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

/// The argument in which a packet says its token.
fn said(packet: &DecodedPacket<'_>) -> Option<usize> {
    packet.row.argument(TOKEN).filter(|_| packet.row.name == HELLO)
}

/// Overwrites all runs that may be tokens in a message whose texts are overwritten, unless that breaks
/// another rule: a run may be more than text, such as a number.
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

/// Overwrites the texts and long numbers of a well-formed packet from an argument on.
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

/// Where an argument begins.
fn argument_offset(bytes: &[u8], argument: usize) -> Option<usize> {
    let envelope = msgpack::read_head(bytes, 0).ok()?;
    let code = msgpack::read_head(bytes, envelope.head).ok()?;
    let mut at = texts::content(code.kind, envelope.head + code.head, code.length).end;
    let arguments = msgpack::read_head(bytes, at).ok()?;
    at += arguments.head;
    // Values that have not begun, those inside of containers included.
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

/// Overwrites every text and number of MessagePack, broken or not, that is long enough for a token. The first
/// broken rule stays the same.
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

/// Overwrites the strings and long numbers of a well-formed packet in JSON from an argument on.
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

/// Overwrites every string and number of JSON, broken or not, that is long enough for a token.
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

/// Writes a payload into the frames of its message.
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

/// Overwrites the payload of frames that end no message, as far as it has come.
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

/// The length of a header that breaks a rule, or of one that is cut.
fn broken_header(bytes: &[u8]) -> usize {
    let Some(second) = bytes.get(1) else { return bytes.len() };
    let key = if second & 0x80 == 0 { 0 } else { 4 };
    2 + key + [0, 2, 8][usize::from(second & 0x7f).saturating_sub(125).min(2)]
}

/// Whether a message among frames that end none is long enough for a `hello` with a token. The declared
/// length of a cut frame counts, so that no part of a token is shown either.
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

/// Overwrites bytes of which nobody knows where a frame begins.
pub fn all(wire: &mut [u8]) {
    wire.fill(MASK_BYTE);
}

/// The payload of a data frame, with its key.
type DataFrame = (Range<usize>, Option<[u8; 4]>);

/// The payloads of data frames, the last one as far as it has come, and where the frames end.
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
