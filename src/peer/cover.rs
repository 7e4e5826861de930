//! Overwrites the token in a client's `hello` before anybody observes the bytes.
//!
//! Every byte keeps its place, and the frames stay valid: a replay decodes the same packet with
//! another token of the same length. In a well-formed `hello` that is the argument `token`, and what
//! follows the arguments. A client that has not been greeted may also get its hello wrong: then every
//! text that is long enough for a token is overwritten.

use core::ops::Range;

use crate::limits;
use crate::packet::msgpack::{self, Kind, Token};
use crate::packet::{Decoded, Dialect, Direction, PacketError};
use crate::ws::Side;
use crate::ws::frame::{self, Header};
use crate::ws::message::Message;

/// Stands for one character of a token, by the length of the character in bytes.
const COVERS: [&str; 4] = ["*", "×", "…", "🔑"];
const COVER: u8 = b'*';
/// The packet with a token, and its argument.
const HELLO: &str = "hello";
const TOKEN: &str = "token";
/// The longest message that holds an array, a code and no token.
const SHORT: usize = limits::TOKEN_CHARS_LEAST + 3;

/// The payload of a message with its token overwritten; `None` if it can be shown as it is. `tells` says
/// that the client has not been greeted.
pub fn message(message: &Message<'_>, dialect: &Dialect, tells: bool) -> Option<Vec<u8>> {
    let has_hello = dialect.row(Direction::ToServer, HELLO).is_some();
    let may_have = |length: usize| tells || has_hello && length > SHORT;
    match message {
        Message::Binary(bytes) if may_have(bytes.len()) => {
            match place(dialect.decode(Direction::ToServer, bytes), tells) {
                Place::Nowhere => None,
                Place::From(argument) => Some(packed_from(bytes, argument)),
                Place::Anywhere => Some(packed(bytes)),
            }
        }
        Message::Text(text) if may_have(text.len()) => {
            match place(dialect.decode_json(Direction::ToServer, text), tells) {
                Place::Nowhere => None,
                Place::From(argument) => Some(json_from(text, argument)),
                Place::Anywhere => Some(json(text)),
            }
        }
        _ => None,
    }
}

/// Where a message has a token.
enum Place {
    Nowhere,
    /// In this argument, or behind it.
    From(usize),
    Anywhere,
}

fn place(decoded: Result<Decoded<'_>, PacketError>, tells: bool) -> Place {
    match decoded {
        Ok(packet) if packet.row.name == HELLO => {
            let arguments = &packet.row.arguments;
            let token = arguments.iter().position(|argument| argument.name == TOKEN);
            Place::From(token.unwrap_or(arguments.len()))
        }
        Err(PacketError::Arguments { packet, .. }) if packet == HELLO => Place::Anywhere,
        _ if tells => Place::Anywhere,
        _ => Place::Nowhere,
    }
}

/// Overwrites the texts of a well-formed packet from an argument on.
fn packed_from(bytes: &[u8], argument: usize) -> Vec<u8> {
    let mut out = bytes.to_vec();
    if let Some(mut at) = packed_place(bytes, argument) {
        while let Ok(Token { kind, head, length }) = msgpack::token(bytes, at) {
            let content = content(kind, at + head, length);
            if kind == Kind::Str {
                cover_text(&mut out, content.clone());
            }
            at = content.end;
        }
    }
    out
}

/// Where an argument begins.
fn packed_place(bytes: &[u8], argument: usize) -> Option<usize> {
    let envelope = msgpack::token(bytes, 0).ok()?;
    let code = msgpack::token(bytes, envelope.head).ok()?;
    let mut at = content(code.kind, envelope.head + code.head, code.length).end;
    let arguments = msgpack::token(bytes, at).ok()?;
    at += arguments.head;
    // Values that have not begun, those inside of containers included.
    let mut left = argument.min(arguments.length);
    while left > 0 {
        let Token { kind, head, length } = msgpack::token(bytes, at).ok()?;
        let inside = match kind {
            Kind::Array => length,
            Kind::Map => length.saturating_mul(2),
            _ => 0,
        };
        at = content(kind, at + head, length).end;
        left = (left - 1).saturating_add(inside);
    }
    Some(at)
}

/// The bytes of a value's content; empty for a container, whose values follow as values.
fn content(kind: Kind, start: usize, length: usize) -> Range<usize> {
    let length = if matches!(kind, Kind::Array | Kind::Map) { 0 } else { length };
    start..start.saturating_add(length)
}

/// Overwrites every text of MessagePack, broken or not, that is long enough for a token. The first
/// broken rule stays the same.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let (mut out, mut at) = (bytes.to_vec(), 0);
    while at < bytes.len() {
        let Ok(Token { kind, head, length }) = msgpack::token(bytes, at) else {
            cover_ascii(out.get_mut(at + 1..).unwrap_or_default());
            break;
        };
        let content = content(kind, at + head, length);
        if content.end > bytes.len() {
            cover_ascii(&mut out[at + head..]);
        } else if matches!(kind, Kind::Str | Kind::Bin) && length >= limits::TOKEN_CHARS_LEAST {
            cover_text(&mut out, content.clone());
        }
        at = content.end;
    }
    cover_runs(&mut out, COVER);
    out
}

/// Overwrites runs of characters that are long enough for a token, wherever they stand.
fn cover_runs(bytes: &mut [u8], digit: u8) {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    for run in bytes.split_mut(|byte| !is_token(*byte)) {
        if run.len() >= limits::TOKEN_CHARS_LEAST {
            run.iter_mut().for_each(|byte| *byte = if byte.is_ascii_digit() { digit } else { COVER });
        }
    }
}

/// Overwrites a text with as many characters; what is not UTF-8 stays so.
fn cover_text(bytes: &mut [u8], place: Range<usize>) {
    let Some(bytes) = bytes.get_mut(place) else { return };
    let Ok(text) = str::from_utf8(bytes) else { return cover_ascii(bytes) };
    let covered: String = text.chars().map(|char| COVERS[char.len_utf8() - 1]).collect();
    bytes.copy_from_slice(covered.as_bytes());
}

fn cover_ascii(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| byte.is_ascii()).for_each(|byte| *byte = COVER);
}

/// Overwrites the strings of a well-formed packet in JSON from an argument on.
fn json_from(text: &str, argument: usize) -> Vec<u8> {
    let mut out = text.as_bytes().to_vec();
    // The envelope is an array: its second value is the array of arguments.
    let (mut depth, mut values, mut arguments) = (0, 0, 0);
    each_json(text, |byte, string| match (byte, string) {
        (_, Some(string)) if values > 1 || values == 1 && depth > 1 && arguments >= argument => {
            cover_json(&mut out, string);
        }
        (b'[' | b'{', None) => depth += 1,
        (b']' | b'}', None) => depth -= 1,
        (b',', None) if depth == 1 => values += 1,
        (b',', None) if depth == 2 && values == 1 => arguments += 1,
        _ => {}
    });
    out
}

/// Overwrites every string of JSON, broken or not, that is long enough for a token, and other runs of
/// such characters.
fn json(text: &str) -> Vec<u8> {
    let mut out = text.as_bytes().to_vec();
    each_json(text, |_, string| {
        if let Some(string) = string.filter(|string| string.len() >= limits::TOKEN_CHARS_LEAST) {
            cover_json(&mut out, string);
        }
    });
    // A number stays one.
    cover_runs(&mut out, b'1');
    out
}

/// Calls a function for each byte outside of strings, and for the place of each string's content.
fn each_json(text: &str, mut each: impl FnMut(u8, Option<Range<usize>>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if byte != b'"' {
            each(byte, None);
            continue;
        }
        let start = at;
        while let Some(&inside) = bytes.get(at).filter(|inside| **inside != b'"') {
            at += if inside == b'\\' { 2 } else { 1 };
        }
        at = at.min(bytes.len());
        each(byte, Some(start..at));
        at += 1;
    }
}

/// Overwrites the content of a JSON string. An escape stays an escape.
fn cover_json(bytes: &mut [u8], place: Range<usize>) {
    let Some(bytes) = bytes.get_mut(place) else { return };
    let mut at = 0;
    while at < bytes.len() {
        let length = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', Some(b'u')) => {
                let digits = at + 2..bytes.len().min(at + 6);
                let cover = &b"002a"[..digits.len()];
                bytes[digits].copy_from_slice(cover);
                6
            }
            (b'\\', Some(_)) => {
                bytes[at + 1] = b'/';
                2
            }
            (first, _) => {
                let length = match first.leading_ones() {
                    0 => 1,
                    ones => ones as usize,
                };
                cover_text(bytes, at..bytes.len().min(at + length));
                length
            }
        };
        at += length;
    }
}

/// Writes a payload into the frames of its message.
pub fn rewrite(wire: &mut [u8], payload: &[u8]) {
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
pub fn unfinished(wire: &mut [u8]) {
    let (frames, end) = data_frames(wire);
    for (place, key) in frames {
        if let Some(key) = key {
            frame::mask(&mut wire[place.clone()], key, 0);
        }
        cover_ascii(&mut wire[place.clone()]);
        if let Some(key) = key {
            frame::mask(&mut wire[place], key, 0);
        }
    }
    // A broken header says where its payload would be.
    let rest = &mut wire[end..];
    let Some(second) = rest.get(1) else { return };
    let key = if second & 0x80 == 0 { 0 } else { 4 };
    let header = 2 + key + [0, 2, 8][usize::from(second & 0x7f).saturating_sub(125).min(2)];
    rest.iter_mut().skip(header).for_each(|byte| *byte = COVER);
}

/// Overwrites bytes of which nobody knows where a frame begins.
pub fn all(wire: &mut [u8]) {
    wire.fill(COVER);
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
