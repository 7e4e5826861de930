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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_format_and_invisible_characters_are_hidden_and_letters_are_not() {
        for hidden in [
            '\0',
            '\n',
            '\x1b',
            '\x7f',
            '\u{80}',
            '\u{9b}',
            '\u{a0}',
            '\u{ad}',
            '\u{61c}',
            '\u{200b}',
            '\u{200e}',
            '\u{2028}',
            '\u{202e}',
            '\u{2066}',
            '\u{2069}',
            '\u{feff}',
            '\u{fff9}',
            '\u{e0001}',
            '\u{e000}',
            '\u{10ffff}',
        ] {
            assert!(is_hidden(hidden), "U+{:04X}", u32::from(hidden));
        }
        for shown in ['a', ' ', '"', '\\', '\'', 'é', '°', '…', 'ж', '字', '😀', '\u{301}', '\u{93f}']
        {
            assert!(!is_hidden(shown), "U+{:04X}", u32::from(shown));
        }
    }

    #[test]
    fn hidden_characters_become_escapes_of_json_that_mean_the_same() {
        for (text, expected) in [
            ("plain \"text\"", "plain \"text\""),
            ("a\u{9b}2J\u{202e}b", "a\\u009b2J\\u202eb"),
            ("\u{e0001}\x7f", "\\udb40\\udc01\\u007f"),
            ("two\nlines\x1b[1m", "two\\u000alines\\u001b[1m"),
        ] {
            assert_eq!(line(text), expected);
            let json = format!("\"{}\"", line(&text.replace('"', "")));
            assert_eq!(serde_json::from_str::<String>(&json).expect("JSON"), text.replace('"', ""));
        }
        assert_eq!(printed("\x1b[1mtwo\x1b[0m\tlines\n\u{85}"), "\x1b[1mtwo\x1b[0m\tlines\n\\u0085");
        assert!(matches!(printed("°\n"), Cow::Borrowed(_)));
    }
}
