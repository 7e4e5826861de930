//! Makes untrusted text safe for a terminal: escapes characters that would control the terminal or
//! be invisible.
//!
//! The hidden characters are control characters, including those of Unicode (`U+009B` starts
//! terminal commands), format characters such as those that reverse the direction of the text
//! (`U+202E`), blanks other than the usual one, line separators, and unassigned code points. All
//! output of the program passes through here; the escapes are those of JSON, so that escaped JSON
//! stays valid and keeps its meaning.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character is invisible or controls the display instead of being shown. These are the
/// characters that Rust's own [`Debug`](std::fmt::Debug) escapes in the middle of a text.
pub fn is_hidden(sign: char) -> bool {
    if sign.is_ascii() {
        return sign.is_ascii_control();
    }
    // The character follows another one, so that a combining mark is not escaped merely for
    // standing first.
    let mut behind = [b'a'; 1 + 4];
    let end = 1 + sign.encode_utf8(&mut behind[1..]).len();
    let text = std::str::from_utf8(&behind[..end]).unwrap_or_default();
    text.escape_debug().nth(1) == Some('\\')
}

/// Escapes hidden characters in a single line: `\u009b` instead.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, &[])
}

/// Escapes hidden characters in the program's own output: line ends, tabs and its own colours stay.
pub fn printed(text: &str) -> Cow<'_, str> {
    escaped(text, &['\n', '\r', '\t', '\x1b'])
}

fn escaped<'t>(text: &'t str, kept: &[char]) -> Cow<'t, str> {
    let is_shown = |sign: char| !is_hidden(sign) || kept.contains(&sign);
    if text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 6);
    for sign in text.chars() {
        if is_shown(sign) {
            out.push(sign);
        } else {
            for unit in sign.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(out)
}
