//! The input to explain: a capture, hexadecimal text, or raw bytes.
//!
//! The contents of a file or of standard input become pieces, each with its sender if the input
//! names it. A capture begins with its magic number. Text is hexadecimal if it contains only
//! digits, white space, colons, commas and `0x`; a line may begin with `>` for bytes of a client
//! and `<` for bytes of a server, and `#` begins a comment, up to the line's end. Other text is
//! rejected, unless it is an HTTP head. Text may begin with a byte order mark, and may be UTF-16 with one. Everything else is raw bytes. No valid frame and no HTTP
//! head can be mistaken for such text: the first byte of a valid frame never occurs in it, and
//! neither `GET` nor `HTTP` is hexadecimal.

use std::borrow::Cow;

use super::hex;
use super::parse::head_search;
use crate::ws::Side;

/// Bytes of one side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputPiece {
    /// The sender, if the input names it.
    pub from: Option<Side>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// First bytes of a capture: pcapng, and pcap in either byte order, with micro- or nanoseconds.
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

/// The byte order mark of UTF-8. No frame and no HTTP head begins with a mark.
const UTF_8_MARK: &[u8] = b"\xef\xbb\xbf";
/// The byte order marks of UTF-16, and how a unit is read.
type Unit = fn([u8; 2]) -> u16;
const UTF_16_MARKS: [(&[u8], Unit); 2] =
    [(b"\xff\xfe", u16::from_le_bytes), (b"\xfe\xff", u16::from_be_bytes)];

/// The contents without their byte order mark, as UTF-8.
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
/// One line that says what is wrong with the text, safe for a terminal.
pub fn read(contents: &[u8]) -> Result<Vec<InputPiece>, String> {
    if contents.is_empty() {
        return Err("no bytes to explain".to_owned());
    }
    let contents = &*unmarked(contents)?;
    match std::str::from_utf8(contents) {
        Ok(text) if text.lines().all(is_hexadecimal) => read_text(text),
        Ok(text) if is_typed(text) && !head_search::may_begin(contents, Side::Client) => Err(complaint(text)),
        _ => Ok(vec![InputPiece { from: None, bytes: contents.to_vec() }]),
    }
}

fn is_hexadecimal(line: &str) -> bool {
    marked(line).1.chars().all(is_sign)
}

fn is_sign(sign: char) -> bool {
    sign.is_ascii_hexdigit() || sign.is_ascii_whitespace() || ":,xX".contains(sign)
}

/// Whether a person typed the input: no frame looks like that.
fn is_typed(text: &str) -> bool {
    text.chars().all(|sign| matches!(sign, ' '..='~' | '\t' | '\r' | '\n'))
}

/// Describes the first line that is not hexadecimal.
fn complaint(text: &str) -> String {
    let mut lines = text.lines().enumerate();
    let wrong = lines.find_map(|(index, line)| {
        let sign = marked(line).1.chars().find(|sign| !is_sign(*sign))?;
        Some(format!("line {}: {sign:?} is not a hexadecimal digit", index + 1))
    });
    wrong.unwrap_or_default()
}

/// The sender of a line, and the rest of the line without its comment.
fn marked(line: &str) -> (Option<Side>, &str) {
    let line = line.split('#').next().unwrap_or_default().trim();
    match (line.strip_prefix('>'), line.strip_prefix('<')) {
        (Some(rest), _) => (Some(Side::Client), rest),
        (_, Some(rest)) => (Some(Side::Server), rest),
        _ => (None, line),
    }
}

/// Parses the text; a line without a mark continues the piece of the line before.
fn read_text(text: &str) -> Result<Vec<InputPiece>, String> {
    let mut pieces: Vec<(Option<Side>, String)> = Vec::new();
    for line in text.lines() {
        let (from, digits) = marked(line);
        match pieces.last_mut() {
            Some((_, before)) if from.is_none() => before.extend([" ", digits]),
            _ if from.is_none() && digits.trim().is_empty() => {}
            _ => pieces.push((from, digits.to_owned())),
        }
    }
    // A mark with nothing after it makes no piece.
    pieces.retain(|(_, digits)| !digits.trim().is_empty());
    if pieces.is_empty() {
        return Err("no bytes to explain".to_owned());
    }
    let pieces = pieces.into_iter();
    pieces.map(|(from, digits)| Ok(InputPiece { from, bytes: hex::parse(&digits)? })).collect()
}
