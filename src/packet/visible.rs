//! Text of the other end on a terminal: what would steer it, or not be seen, is escaped.
//!
//! Hidden are control characters, of Unicode also (`U+009B` begins commands of a terminal), format characters such as those that turn the
//! direction of the text around (`U+202E`), blanks other than the usual one, line separators, and what is no character. All output of the
//! program passes here; the escapes are those of JSON, so that JSON stays JSON and says the same.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether a character cannot be told from the ones around it, or does something instead of being shown. This is what Rust's own
/// [`Debug`](std::fmt::Debug) escapes in the middle of a text.
pub fn is_hidden(sign: char) -> bool {
    if sign.is_ascii() {
        return sign.is_ascii_control();
    }
    // Behind another character, so that a mark that belongs to one is no reason.
    let mut behind = [b'a'; 1 + 4];
    let end = 1 + sign.encode_utf8(&mut behind[1..]).len();
    let text = std::str::from_utf8(&behind[..end]).unwrap_or_default();
    text.escape_debug().nth(1) == Some('\\')
}

/// A text without hidden characters: `\u009b` instead. For one line.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, &[])
}

/// The same for what the program prints: line ends, tabs and its own colours stay.
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
