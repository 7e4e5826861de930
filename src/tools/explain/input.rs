//! The input to explain: a capture, hexadecimal text, or raw bytes.
//!
//! The contents of a file or of standard input are split into pieces, each with its sender if the
//! input marks it. A capture starts with a magic number. Hexadecimal text consists of digits, white
//! space, colons, commas and `0x`. A line may start with `>` for bytes of a client or `<` for bytes
//! of a server, and `#` starts a comment. A byte order mark is skipped, and text with a UTF-16 mark
//! is converted. Other ASCII text is rejected, unless it starts like an HTTP head. Everything else
//! is raw bytes.
//!
//! No valid frame or HTTP head is misread as hexadecimal text: the first byte of a valid frame
//! never occurs in such text, and neither `GET` nor `HTTP` is hexadecimal.

use std::borrow::Cow;

use super::hex;
use super::parse::head_search;
use crate::ws::Side;

/// Consecutive bytes of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputPiece {
    /// The sender; `None` if the input does not mark it.
    pub from: Option<Side>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

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

/// The byte order mark of UTF-8. No frame or HTTP head begins with a byte order mark.
const UTF_8_MARK: &[u8] = b"\xef\xbb\xbf";
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

/// Splits hexadecimal text or raw bytes into pieces.
///
/// # Errors
/// One line that describes the invalid text, safe for a terminal.
pub fn read(contents: &[u8]) -> Result<Vec<InputPiece>, String> {
    if contents.is_empty() {
        return Err("no bytes to explain".to_owned());
    }
    let contents = &*unmarked(contents)?;
    match std::str::from_utf8(contents) {
        Ok(text) if text.lines().all(is_hexadecimal) => read_text(text),
        Ok(text) if looks_typed(text) && !head_search::may_become_head(contents, Side::Client) => {
            Err(first_bad_line(text))
        }
        _ => Ok(vec![InputPiece { from: None, bytes: contents.to_vec() }]),
    }
}

fn is_hexadecimal(line: &str) -> bool {
    parse_sender_mark(line).1.chars().all(is_hex_char)
}

fn is_hex_char(sign: char) -> bool {
    sign.is_ascii_hexdigit() || sign.is_ascii_whitespace() || ":,xX".contains(sign)
}

/// Whether the text is printable ASCII; a valid frame never is.
fn looks_typed(text: &str) -> bool {
    text.chars().all(|sign| matches!(sign, ' '..='~' | '\t' | '\r' | '\n'))
}

/// Describes the first character that is not hexadecimal.
fn first_bad_line(text: &str) -> String {
    let mut lines = text.lines().enumerate();
    let wrong = lines.find_map(|(index, line)| {
        let sign = parse_sender_mark(line).1.chars().find(|sign| !is_hex_char(*sign))?;
        Some(format!("line {}: {sign:?} is not a hexadecimal digit", index + 1))
    });
    wrong.unwrap_or_default()
}

/// Splits off the sender of a line, and removes its comment.
fn parse_sender_mark(line: &str) -> (Option<Side>, &str) {
    let line = line.split('#').next().unwrap_or_default().trim();
    match (line.strip_prefix('>'), line.strip_prefix('<')) {
        (Some(rest), _) => (Some(Side::Client), rest),
        (_, Some(rest)) => (Some(Side::Server), rest),
        _ => (None, line),
    }
}

/// Parses the text. A line without a sender mark continues the previous piece.
fn read_text(text: &str) -> Result<Vec<InputPiece>, String> {
    let mut pieces: Vec<(Option<Side>, String)> = Vec::new();
    for line in text.lines() {
        let (from, digits) = parse_sender_mark(line);
        match pieces.last_mut() {
            Some((_, before)) if from.is_none() => before.extend([" ", digits]),
            _ if from.is_none() && digits.trim().is_empty() => {}
            _ => pieces.push((from, digits.to_owned())),
        }
    }
    // A sender mark without digits is not a piece.
    pieces.retain(|(_, digits)| !digits.trim().is_empty());
    if pieces.is_empty() {
        return Err("no bytes to explain".to_owned());
    }
    let pieces = pieces.into_iter();
    pieces
        .map(|(from, digits)| {
            Ok(InputPiece { from, bytes: hex::parse(&digits).map_err(|error| error.to_string())? })
        })
        .collect()
}
