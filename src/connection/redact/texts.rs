//! Finds texts in payloads and overwrites them at equal length. Valid texts stay valid, and invalid
//! ones invalid.

use core::ops::Range;

use crate::limits;
use crate::packet::msgpack::ValueKind;

/// Replacements for one character, by its length in UTF-8: 1 to 4 bytes.
const MASK_CHARS: [&str; 4] = ["*", "×", "…", "🔑"];
/// The one-byte replacement.
pub const MASK_BYTE: u8 = b'*';

/// The range of a value's content. Empty for a container, because its values follow as values of
/// their own.
pub fn content(kind: ValueKind, start: usize, length: usize) -> Range<usize> {
    let length = if matches!(kind, ValueKind::Array | ValueKind::Map) { 0 } else { length };
    start..start.saturating_add(length)
}

/// Whether a token may contain this byte.
pub fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

/// Length in bytes of the token character at the start of `bytes`, plain or escaped: `a`, `\u0061`,
/// `\/`, `%61`. 0 if there is none.
fn token_char(bytes: &[u8]) -> usize {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    match bytes {
        [byte, ..] if is_token_byte(*byte) => 1,
        [b'\\', b'u', digits @ ..] if digits.get(..4).is_some_and(is_hex) => 6,
        [b'\\', b'/', ..] => 2,
        [b'%', digits @ ..] if digits.get(..2).is_some_and(is_hex) => 3,
        _ => 0,
    }
}

/// The first run of token characters, plain or escaped, that is long enough for a token, from
/// `start` on.
fn next_run(bytes: &[u8], start: usize) -> Option<Range<usize>> {
    let mut start = start;
    while start < bytes.len() {
        let (mut end, mut chars) = (start, 0);
        loop {
            match token_char(&bytes[end..]) {
                0 => break,
                length => (end, chars) = (end + length, chars + 1),
            }
        }
        if chars >= limits::MIN_TOKEN_CHARS {
            return Some(start..end);
        }
        start = end + 1;
    }
    None
}

/// Whether the bytes contain a run of characters that is long enough for a token.
pub fn has_run(bytes: &[u8]) -> bool {
    bytes.len() >= limits::MIN_TOKEN_CHARS && next_run(bytes, 0).is_some()
}

/// Overwrites all runs of characters that are long enough for a token. Escapes stay escapes.
pub fn redact_runs(bytes: &mut [u8], digit: u8) {
    let mut at = 0;
    while let Some(run) = next_run(bytes, at) {
        at = run.start;
        while at < run.end {
            let length = token_char(&bytes[at..]).max(1);
            match length {
                1 => bytes[at] = if bytes[at].is_ascii_digit() { digit } else { MASK_BYTE },
                3 => bytes[at + 1..at + 3].copy_from_slice(b"2A"),
                6 => bytes[at + 2..at + 6].copy_from_slice(b"002a"),
                _ => {}
            }
            at += length;
        }
    }
}

/// The end of a JSON string's content, which starts at `at`.
pub fn end_of_json(bytes: &[u8], at: usize) -> usize {
    let mut at = at;
    while let Some(&inside) = bytes.get(at).filter(|inside| **inside != b'"') {
        at += if inside == b'\\' { 2 } else { 1 };
    }
    at.min(bytes.len())
}

/// Overwrites each character of a text. In invalid UTF-8 only ASCII bytes are overwritten.
pub fn redact_text(bytes: &mut [u8], place: Range<usize>) {
    let Some(bytes) = bytes.get_mut(place) else { return };
    let Ok(text) = str::from_utf8(bytes) else { return redact_ascii(bytes) };
    let covered: String = text.chars().map(|char| MASK_CHARS[char.len_utf8() - 1]).collect();
    bytes.copy_from_slice(covered.as_bytes());
}

/// Overwrites the ASCII bytes.
pub fn redact_ascii(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| byte.is_ascii()).for_each(|byte| *byte = MASK_BYTE);
}

/// Calls `each` for each byte outside of strings, and for each string with the range of its
/// content.
pub fn visit_json(text: &str, mut each: impl FnMut(u8, Option<Range<usize>>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        if byte != b'"' {
            each(byte, None);
            continue;
        }
        let start = at;
        at = end_of_json(bytes, at);
        each(byte, Some(start..at));
        at += 1;
    }
}

/// The end of the first `chars` characters in the content of a JSON string.
pub fn json_prefix(bytes: &[u8], place: &Range<usize>, chars: usize) -> usize {
    let mut at = place.start;
    for _ in 0..chars {
        at += match bytes.get(at..place.end).unwrap_or_default() {
            [] => return place.end,
            [b'\\', b'u', rest @ ..] => {
                // A surrogate pair is one character.
                let is_pair = matches!(
                    rest.first_chunk(),
                    Some([b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', _, _])
                ) && rest.get(4..6) == Some(b"\\u");
                if is_pair { 12 } else { 6 }
            }
            [b'\\', ..] => 2,
            [first, ..] => (first.leading_ones() as usize).max(1),
        };
    }
    at.min(place.end)
}

/// Overwrites the content of a JSON string. Escapes stay escapes.
pub fn json(bytes: &mut [u8], place: Range<usize>) {
    let Some(bytes) = bytes.get_mut(place) else { return };
    let mut at = 0;
    while at < bytes.len() {
        let length = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', Some(b'u')) => {
                let digits =
                    bytes[at + 2..].iter().take(4).take_while(|byte| byte.is_ascii_hexdigit()).count();
                bytes[at + 2..][..digits].copy_from_slice(&b"002a"[..digits]);
                2 + digits
            }
            (b'\\', Some(next)) if br#""\/bfnrt"#.contains(next) => {
                bytes[at + 1] = b'/';
                2
            }
            // Invalid bytes stay invalid.
            (b'\\' | 0..0x20, _) => 1,
            (first, _) => {
                let length = match first.leading_ones() {
                    0 => 1,
                    ones => ones as usize,
                };
                redact_text(bytes, at..bytes.len().min(at + length));
                length
            }
        };
        at += length;
    }
}
