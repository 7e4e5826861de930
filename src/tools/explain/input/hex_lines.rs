//! Hexadecimal text: digits, white space, colons, commas and `0x`, with marks for senders and
//! comments.

use super::types::{EMPTY, InputPiece, InvalidText};
use crate::tools::explain::hex::{self, HexError};
use crate::ws::Side;

/// Whether the text is hexadecimal, apart from its marks and comments.
pub fn is_hex(text: &str) -> bool {
    text.lines().all(|line| parse_sender_mark(line).1.chars().all(is_hex_char))
}

fn is_hex_char(ch: char) -> bool {
    ch.is_ascii_hexdigit() || ch.is_ascii_whitespace() || ":,xX".contains(ch)
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

/// The position of a part of `text` in it.
fn offset_in(text: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

/// Describes the first character that is not hexadecimal.
pub fn invalid(text: &str) -> InvalidText {
    let mut lines = text.lines().map(|line| parse_sender_mark(line).1);
    let found = lines.find_map(|line| {
        let (at, ch) = line.char_indices().find(|(_, ch)| !is_hex_char(*ch))?;
        let other = "and the text is no dump, list of bytes, escaped text or Base64";
        let message = format!("{}, {other}", HexError::Digit(ch));
        Some(InvalidText::new(offset_in(text, line) + at, message))
    });
    found.unwrap_or_else(|| InvalidText::new(0, EMPTY))
}

/// Reads the text. A line without a sender mark continues the previous piece.
pub fn read(text: &str) -> Result<Vec<InputPiece>, InvalidText> {
    let mut pieces: Vec<InputPiece> = Vec::new();
    for line in text.lines() {
        let (from, digits) = parse_sender_mark(line);
        if from.is_some() || pieces.is_empty() {
            pieces.push(InputPiece { from, bytes: Vec::new() });
        }
        let Some(piece) = pieces.last_mut() else { continue };
        let groups = digits.split(|ch: char| ch.is_whitespace() || ch == ':' || ch == ',');
        for group in groups.filter(|group| !group.is_empty()) {
            let bytes = hex::parse(group).map_err(|error| {
                let within = match &error {
                    HexError::Digit(ch) => group.rfind(*ch).unwrap_or_default(),
                    _ => 0,
                };
                InvalidText::new(offset_in(text, group) + within, error.to_string())
            })?;
            piece.bytes.extend(bytes);
        }
    }
    // A sender mark without digits is not a piece.
    pieces.retain(|piece| !piece.bytes.is_empty());
    if pieces.is_empty() { Err(InvalidText::new(0, EMPTY)) } else { Ok(pieces) }
}
