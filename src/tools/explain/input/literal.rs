//! Literals of programming languages: numbers in brackets, and text with escapes.
//!
//! ```text
//!   numbers   { 0x81, 0x05 };   bytes([129, 5])   Uint8Array(2) [129, 5]   <Buffer 81 05>
//!   text      "\x81\x05Hello"   b'\x81\x05Hello'  bytes.fromhex("8105")    \x81\x05Hello
//! ```
//!
//! Comments in lists of numbers are skipped. In Wireshark's C arrays of a TCP stream, `peer0_`
//! marks bytes of the client and `peer1_` bytes of the server.

use super::types::{EMPTY, Input, InputPiece, InvalidText, Notation};
use super::{base64_text, hex_lines};
use crate::ws::Side;

/// The beginning of a buffer as Node.js prints it. Its bytes are hexadecimal.
const NODE_BUFFER: &str = "<Buffer ";
/// The names of C arrays in Wireshark's "Follow TCP Stream".
const PEERS: [(&str, Side); 2] = [("peer0_", Side::Client), ("peer1_", Side::Server)];
/// Arguments after a text that name its encoding.
const ENCODINGS: [&str; 7] = ["hex", "base64", "base64url", "latin1", "binary", "ascii", "utf8"];

/// Reads numbers in brackets; `None` if the text has none.
pub fn numbers(text: &str) -> Option<Result<Vec<InputPiece>, InvalidText>> {
    let is_json_buffer = text.trim_start().starts_with('{') && text.contains("\"data\"");
    if text.contains(['"', '\'', '\\']) && !is_json_buffer {
        return None;
    }
    let text = &without_comments(text);
    let (open, close, radix) = if text.contains(NODE_BUFFER) {
        (NODE_BUFFER, '>', 16)
    } else if text.contains('{') && !is_json_buffer {
        ("{", '}', 10)
    } else {
        ("[", ']', 10)
    };
    text.contains(open).then(|| lists(text, open, close, radix))
}

fn lists(text: &str, open: &str, close: char, radix: u32) -> Result<Vec<InputPiece>, InvalidText> {
    let (mut pieces, mut at) = (Vec::new(), 0);
    while let Some(found) = text[at..].find(open) {
        let name = &text[at..at + found];
        let from = PEERS.iter().find(|(peer, _)| name.contains(peer)).map(|(_, side)| *side);
        let start = at + found + open.len();
        let Some(length) = text[start..].find(close) else {
            return Err(InvalidText::new(start - 1, format!("the list has no {close:?}: copy all of it")));
        };
        let bytes = list(text, start..start + length, radix)?;
        pieces.push(InputPiece { from, bytes });
        at = start + length;
    }
    pieces.retain(|piece| !piece.bytes.is_empty());
    if pieces.is_empty() { Err(InvalidText::new(0, EMPTY)) } else { Ok(pieces) }
}

fn list(text: &str, range: std::ops::Range<usize>, radix: u32) -> Result<Vec<u8>, InvalidText> {
    let (mut bytes, mut at) = (Vec::new(), range.start);
    for part in text[range].split(|ch: char| ch == ',' || ch.is_ascii_whitespace()) {
        if !part.is_empty() {
            bytes.push(number(part, radix).map_err(|message| InvalidText::new(at, message))?);
        }
        at += part.len() + 1;
    }
    Ok(bytes)
}

/// Parses a number of a list. A negative number is a signed byte.
fn number(part: &str, radix: u32) -> Result<u8, String> {
    if part.starts_with("..") {
        return Err("the list was shortened by the program that printed it: print all of it".to_owned());
    }
    let digits = part.strip_prefix("(byte)").unwrap_or(part);
    let digits = digits.strip_suffix("u8").unwrap_or(digits).trim_end_matches(['u', 'U']);
    let hex = digits.strip_prefix("0x").or(digits.strip_prefix("0X"));
    let value = match hex {
        Some(digits) => i32::from_str_radix(digits, 16),
        None if radix == 10 && digits.len() > 1 && digits.starts_with('0') => {
            return Err(format!(
                "{part:?} may be octal or hexadecimal: write 0x{0}, or {0}",
                digits.trim_start_matches('0')
            ));
        }
        None => i32::from_str_radix(digits, radix),
    };
    let byte = value
        .ok()
        .and_then(|value| u8::try_from(value).or(i8::try_from(value).map(|value| value as u8)).ok());
    byte.ok_or_else(|| {
        format!("{part:?} is no byte: in brackets, a byte is 0 to 255 or 0x00 to 0xff; hexadecimal without 0x needs no brackets")
    })
}

/// Replaces comments by spaces, so that offsets do not change.
fn without_comments(text: &str) -> String {
    let mut out = text.to_owned();
    for (open, close) in [("/*", "*/"), ("//", "\n"), ("#", "\n")] {
        let mut at = 0;
        while let Some(found) = out[at..].find(open) {
            let start = at + found;
            let end = out[start..].find(close).map_or(out.len(), |length| start + length + close.len());
            let blank: String =
                out[start..end].chars().map(|ch| if ch == '\n' { '\n' } else { ' ' }).collect();
            out.replace_range(start..end, &blank);
            at = end;
        }
    }
    out
}

/// Reads text with escapes, or text in quotes; `None` if the text is neither.
pub fn text(text: &str) -> Option<Result<Input, InvalidText>> {
    let Some(quote) = text.find(['"', '\'']) else {
        let has_escape = text.contains("\\x") || text.contains("\\u") || text.contains("\\0");
        return has_escape.then(|| {
            let (bytes, ..) = unescape(text, 0, None)?;
            Ok(Input::bytes(Notation::Escapes, bytes))
        });
    };
    let before = text[..quote].trim_end();
    let is_literal = before.trim().is_empty() || before.ends_with(['(', 'b', 'B']) || text.contains("\\x");
    is_literal.then(|| quoted(text, quote))
}

/// Reads the text in quotes at `quote`, and texts that are joined to it.
fn quoted(text: &str, quote: usize) -> Result<Input, InvalidText> {
    let before = text[..quote].trim();
    let (mut bytes, mut has_escape, mut at) = (Vec::new(), false, quote);
    let (first, end) = loop {
        let ch = char::from(text.as_bytes()[at]);
        let (more, is_escaped, end) = unescape(text, at + 1, Some(ch))?;
        let first = at + 1..end;
        bytes.extend(more);
        has_escape |= is_escaped;
        let rest = text[end + 1..].trim_start_matches([' ', '\t', '\r', '\n', '\\', '+']);
        let joined = rest.strip_prefix(['b', 'B']).unwrap_or(rest);
        if !joined.starts_with(ch) {
            break (first, end + 1);
        }
        at = text.len() - joined.len();
    };
    let after = &text[end..];
    let encoding = after.split(['"', '\'']).nth(1);
    if let Some(other) = encoding.filter(|name| !ENCODINGS.contains(name)) {
        let offset = end + after.find(other).unwrap_or_default();
        return Err(InvalidText::new(offset, "a second text in quotes: explain one text at a time"));
    }
    if bytes.is_empty() {
        return Err(InvalidText::new(0, EMPTY));
    }
    if has_escape || before.ends_with(['b', 'B']) {
        return Ok(Input::bytes(Notation::Escapes, bytes));
    }
    // Text without escapes may be hexadecimal or Base64, also as the argument of a function.
    let inner = std::str::from_utf8(&bytes).unwrap_or_default();
    let is_base64 = encoding.unwrap_or(before).contains("64") || before.ends_with("atob(");
    if !is_base64 && hex_lines::is_hex(inner) {
        let read = hex_lines::read(inner).map(|pieces| Input::pieces(Notation::Hex, pieces));
        return read.map_err(|error| InvalidText { offset: first.start + error.offset, ..error });
    }
    let decoded = if is_base64 { base64_text::decode(inner) } else { base64_text::read(inner) };
    if let Some((notation, bytes)) = decoded {
        return Ok(Input::bytes(notation, bytes));
    }
    let message = "the text in quotes has no escape such as \\x81, and is neither hexadecimal nor Base64; \
                   b\"…\" is read as its letters";
    Err(InvalidText::new(quote, message))
}

/// Replaces the escapes from `start` to the closing quote, or to the end without one. Returns the
/// bytes, whether there was an escape, and the offset of the end.
fn unescape(text: &str, start: usize, quote: Option<char>) -> Result<(Vec<u8>, bool, usize), InvalidText> {
    let (mut bytes, mut has_escape, mut at) = (Vec::new(), false, start);
    let source = text.as_bytes();
    while let Some(&byte) = source.get(at) {
        match byte {
            b'\\' => {
                let (value, length) =
                    escape(&text[at + 1..]).map_err(|message| InvalidText::new(at, message))?;
                bytes.extend(value);
                has_escape |= value.is_some();
                at += 1 + length;
                continue;
            }
            byte if quote == Some(char::from(byte)) => return Ok((bytes, has_escape, at)),
            // A line break outside of quotes separates parts.
            b'\r' | b'\n' if quote.is_none() => {}
            byte => bytes.push(byte),
        }
        at += 1;
    }
    match quote {
        None => Ok((bytes, has_escape, at)),
        Some(ch) => Err(InvalidText::new(start - 1, format!("the text has no closing {ch}: copy all of it"))),
    }
}

/// Parses an escape after its backslash. Returns the byte, or `None` for a line break that is no
/// part of the text, and the length.
fn escape(rest: &str) -> Result<(Option<u8>, usize), String> {
    let digits = |start: usize, max: usize, radix: u32| {
        let digits: &str = rest.get(start..).unwrap_or_default();
        let length = digits.chars().take(max).take_while(|ch| ch.is_digit(radix)).count();
        (
            u32::from_str_radix(&digits[..length], radix).ok().and_then(|value| u8::try_from(value).ok()),
            length,
        )
    };
    let Some(first) = rest.chars().next() else {
        return Err("a backslash at the end: copy all of the text".to_owned());
    };
    let simple = |byte: u8| Ok((Some(byte), 1));
    match first {
        'x' => match digits(1, 2, 16) {
            (Some(byte), 2) => Ok((Some(byte), 3)),
            _ => Err("\\x needs two hexadecimal digits, such as \\x05".to_owned()),
        },
        'u' => match digits(1, 4, 16) {
            (Some(byte), 4) => Ok((Some(byte), 5)),
            _ => Err("\\u needs four digits up to \\u00ff, which is the byte ff".to_owned()),
        },
        '0'..='7' => match digits(0, 3, 8) {
            (Some(byte), length) => Ok((Some(byte), length)),
            _ => Err("an octal escape is at most \\377".to_owned()),
        },
        'n' => simple(b'\n'),
        'r' => simple(b'\r'),
        't' => simple(b'\t'),
        'a' => simple(0x07),
        'b' => simple(0x08),
        'e' => simple(0x1b),
        'f' => simple(0x0c),
        'v' => simple(0x0b),
        '\\' | '"' | '\'' | '?' => simple(first as u8),
        '\n' => Ok((None, 1)),
        '\r' => Ok((None, if rest.starts_with("\r\n") { 2 } else { 1 })),
        other => Err(format!("\\{other} is no escape; a backslash is written \\\\")),
    }
}
