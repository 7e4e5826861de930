//! The input to explain: a capture, raw bytes, or text in one of the [notations](Notation) in which
//! programs print bytes.
//!
//! [`read`] recognises the notation and returns the bytes, in pieces if the text marks their
//! senders. A capture starts with a magic number. A byte order mark is skipped, and text with a
//! UTF-16 mark is converted. The notations are tried in this order, and the first that fits the
//! whole text is used:
//!
//! 1. a [dump](hex_dump): each line has an offset, bytes in hexadecimal, and perhaps characters;
//! 2. hexadecimal digits, so `deadbeef` is never Base64; a line may start with `>` for bytes of a
//!    client or `<` for bytes of a server, and `#` starts a comment;
//! 3. an HTTP head, which is raw bytes;
//! 4. a [HAR file](har), or JSON that is no list of bytes: a text message;
//! 5. [numbers in brackets](literal);
//! 6. [text with escapes](literal), or in quotes;
//! 7. [Base64](base64_text).
//!
//! Other ASCII text is rejected. Everything else is raw bytes. No valid frame or HTTP head is
//! misread as text: the first byte of a valid frame never occurs in a notation, and neither `GET`
//! nor `HTTP` is hexadecimal.

mod base64_text;
#[cfg(not(target_family = "wasm"))]
pub mod har;
mod hex_dump;
mod hex_lines;
mod json_message;
mod literal;
pub mod network_packet;
mod types;

use std::borrow::Cow;

use super::parse::head_search;
use crate::ws::Side;
use types::{EMPTY, InvalidText, UTF_8_MARK};
pub use types::{Input, InputContent, InputMessage, InputPiece, Notation};

/// The magic numbers of captures: pcapng, and pcap in either byte order, in microseconds or
/// nanoseconds.
const MAGICS: [[u8; 4]; 5] = [
    [0x0a, 0x0d, 0x0d, 0x0a],
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
];

/// Whether the input is a packet capture.
pub fn is_capture(contents: &[u8]) -> bool {
    MAGICS.iter().any(|magic| contents.starts_with(magic))
}

/// Decodes a UTF-16 code unit.
type Unit = fn([u8; 2]) -> u16;
const UTF_16_MARKS: [(&[u8], Unit); 2] =
    [(b"\xff\xfe", u16::from_le_bytes), (b"\xfe\xff", u16::from_be_bytes)];

/// Returns the contents without their byte order mark, as UTF-8.
fn unmarked(contents: &[u8]) -> Result<Cow<'_, [u8]>, String> {
    if let Some(rest) = contents.strip_prefix(UTF_8_MARK) {
        return Ok(rest.into());
    }
    for (mark, unit) in UTF_16_MARKS {
        if let Some(rest) = contents.strip_prefix(mark) {
            let units = rest.as_chunks().0.iter().map(|bytes| unit(*bytes));
            let text: Result<String, _> = char::decode_utf16(units).collect();
            let invalid = "the byte order mark says UTF-16, but the text is not valid: save it as UTF-8";
            return text.map(|text| text.into_bytes().into()).map_err(|_| invalid.to_owned());
        }
    }
    Ok(contents.into())
}

/// Reads text in any notation, or raw bytes. Captures and HAR files are not read here.
///
/// # Errors
/// One line with the position of the invalid text, the rule and the remedy, safe for a terminal.
pub fn read(contents: &[u8]) -> Result<Input, String> {
    if contents.is_empty() {
        return Err(EMPTY.to_owned());
    }
    let contents = &*unmarked(contents)?;
    let raw = || Ok(Input::bytes(Notation::Bytes, contents.to_vec()));
    let Ok(text) = std::str::from_utf8(contents) else { return raw() };
    let result = read_text(text).unwrap_or_else(|| {
        let is_typed = looks_typed(text) && !head_search::may_become_head(contents, Side::Client);
        if is_typed {
            Err(InvalidText::new(0, ""))
        } else {
            Ok(Input::bytes(Notation::Bytes, contents.to_vec()))
        }
    });
    result.map_err(|error| match error {
        InvalidText { message, .. } if message.is_empty() => hex_lines::invalid(text).locate(text),
        InvalidText { message, .. } if message == EMPTY => message,
        error => error.locate(text),
    })
}

/// Reads text in the first notation that fits; `None` if none does.
fn read_text(text: &str) -> Option<Result<Input, InvalidText>> {
    if let Some(dump) = hex_dump::read(text) {
        return Some(dump.map(|pieces| Input::pieces(Notation::HexDump, pieces)));
    }
    if hex_lines::is_hex(text) {
        return Some(hex_lines::read(text).map(|pieces| Input::pieces(Notation::Hex, pieces)));
    }
    if head_search::may_become_head(text.as_bytes(), Side::Client) {
        return None;
    }
    if let Some(message) = json_message::read(text) {
        let content = InputContent::Message(message);
        return Some(Ok(Input { notation: Notation::Json, content }));
    }
    if !looks_typed(text) {
        return None;
    }
    literal::numbers(text)
        .map(|read| read.map(|pieces| Input::pieces(Notation::Numbers, pieces)))
        .or_else(|| literal::text(text))
        .or_else(|| base64_text::read(text).map(|(notation, bytes)| Ok(Input::bytes(notation, bytes))))
}

/// Whether the text is printable ASCII; a valid frame never is.
fn looks_typed(text: &str) -> bool {
    text.chars().all(|ch| matches!(ch, ' '..='~' | '\t' | '\r' | '\n'))
}
