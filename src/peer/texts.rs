//! Texts inside of payloads: where they are, and how they are overwritten in the same length, valid or
//! not as before.

use core::ops::Range;

use crate::limits;
use crate::packet::msgpack::Kind;

/// Stands for one character of a token, by the length of the character in bytes.
const COVERS: [&str; 4] = ["*", "×", "…", "🔑"];
/// The shortest of them.
pub const COVER: u8 = b'*';

/// The bytes of a value's content; empty for a container, whose values follow as values.
pub fn content(kind: Kind, start: usize, length: usize) -> Range<usize> {
    let length = if matches!(kind, Kind::Array | Kind::Map) { 0 } else { length };
    start..start.saturating_add(length)
}

/// Whether a token may contain this byte.
pub fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)
}

/// Overwrites runs of characters that are long enough for a token, wherever they stand.
pub fn runs(bytes: &mut [u8], digit: u8) {
    for run in bytes.split_mut(|byte| !is_token_byte(*byte)) {
        if run.len() >= limits::TOKEN_CHARS_LEAST {
            run.iter_mut().for_each(|byte| *byte = if byte.is_ascii_digit() { digit } else { COVER });
        }
    }
}

/// Overwrites a text with as many characters; what is not UTF-8 stays so.
pub fn packed(bytes: &mut [u8], place: Range<usize>) {
    let Some(bytes) = bytes.get_mut(place) else { return };
    let Ok(text) = str::from_utf8(bytes) else { return ascii(bytes) };
    let covered: String = text.chars().map(|char| COVERS[char.len_utf8() - 1]).collect();
    bytes.copy_from_slice(covered.as_bytes());
}

/// Overwrites the ASCII of bytes that may be no text.
pub fn ascii(bytes: &mut [u8]) {
    bytes.iter_mut().filter(|byte| byte.is_ascii()).for_each(|byte| *byte = COVER);
}

/// Calls a function for each byte outside of strings, and for the place of each string's content.
pub fn each_json(text: &str, mut each: impl FnMut(u8, Option<Range<usize>>)) {
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
            // What is broken stays so.
            (b'\\' | 0..0x20, _) => 1,
            (first, _) => {
                let length = match first.leading_ones() {
                    0 => 1,
                    ones => ones as usize,
                };
                packed(bytes, at..bytes.len().min(at + length));
                length
            }
        };
        at += length;
    }
}
