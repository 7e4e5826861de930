//! Escapes characters of untrusted text that would control a terminal or be invisible.
//!
//! These are control characters, including the ones above ASCII (`U+009B` starts terminal
//! commands), format characters such as the ones that reverse the direction of the text (`U+202E`),
//! blanks other than the space, line separators, and unassigned code points. All output of the
//! program passes through this module. The escapes have the syntax of JSON, so escaped JSON stays
//! valid and keeps its meaning.

use std::borrow::{Borrow, Cow};
use std::fmt::{self, Write as _};

/// Text of a file or of a peer. `Display` and `Debug` print it as one line without hidden
/// characters, so that it can neither control a terminal nor imitate a line of the program.
///
/// ```
/// use tickwire::capture::Untrusted;
///
/// let name = Untrusted::new("arena\nsame\u{1b}[2J");
/// assert_eq!(name.to_string(), r"arena\u000asame\u001b[2J");
/// assert_eq!(format!("{name:?}"), r#""arena\nsame\u{1b}[2J""#);
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Untrusted<T = String>(T);

impl<T: AsRef<str>> Untrusted<T> {
    /// Marks text as untrusted.
    pub const fn new(text: T) -> Untrusted<T> {
        Untrusted(text)
    }

    /// The original text, for lookup, comparison or encoding. Never print it.
    pub fn raw(&self) -> &str {
        self.0.as_ref()
    }

    /// Returns an owned copy.
    pub fn to_owned(&self) -> Untrusted {
        Untrusted(self.raw().to_owned())
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.raw().is_empty()
    }
}

impl<T: AsRef<str>> fmt::Display for Untrusted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&escape_line(self.raw()))
    }
}

impl<T: AsRef<str>> fmt::Debug for Untrusted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.raw(), f)
    }
}

impl<T: AsRef<str>> PartialEq<str> for Untrusted<T> {
    fn eq(&self, other: &str) -> bool {
        self.raw() == other
    }
}

impl<T: AsRef<str>> PartialEq<&str> for Untrusted<T> {
    fn eq(&self, other: &&str) -> bool {
        self.raw() == *other
    }
}

impl<T: AsRef<str>> PartialEq<String> for Untrusted<T> {
    fn eq(&self, other: &String) -> bool {
        self.raw() == other
    }
}

/// Order and equality are the same as for the plain text, so that a map finds a key by its text.
impl<T: AsRef<str>> Borrow<str> for Untrusted<T> {
    fn borrow(&self) -> &str {
        self.raw()
    }
}

impl From<String> for Untrusted {
    fn from(text: String) -> Untrusted {
        Untrusted(text)
    }
}

impl<'a> From<&'a str> for Untrusted<&'a str> {
    fn from(text: &'a str) -> Untrusted<&'a str> {
        Untrusted(text)
    }
}

impl From<&str> for Untrusted {
    fn from(text: &str) -> Untrusted {
        Untrusted(text.to_owned())
    }
}

/// Whether a character is invisible or controls the display. These are the characters that Rust's
/// [`Debug`](std::fmt::Debug) escapes in the middle of a text.
pub fn is_hidden(ch: char) -> bool {
    if ch.is_ascii() {
        return ch.is_ascii_control();
    }
    // A letter precedes the character, because `escape_debug` escapes a combining mark at the start
    // of a text.
    let mut behind = [b'a'; 1 + 4];
    let end = 1 + ch.encode_utf8(&mut behind[1..]).len();
    let text = std::str::from_utf8(&behind[..end]).unwrap_or_default();
    text.escape_debug().nth(1) == Some('\\')
}

/// Escapes all hidden characters, including line ends, as in `\u009b`.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape(text, |_| false)
}

/// Escapes hidden characters in the program's own output, except line ends, tabs and the escape
/// sequences for colours.
pub fn escape_output(text: &str) -> Cow<'_, str> {
    escape(text, |rest| rest.starts_with(['\n', '\t']) || is_colour(rest))
}

/// Whether a text begins with an escape sequence for a colour: `ESC [`, numbers, `m`.
fn is_colour(text: &str) -> bool {
    let numbers = text.strip_prefix("\x1b[").unwrap_or_default();
    numbers.trim_start_matches(|ch: char| ch.is_ascii_digit() || ch == ';').starts_with('m')
}

fn escape(text: &str, is_plain: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let is_escaped = |at: usize, ch: char| is_hidden(ch) && !is_plain(&text[at..]);
    if !text.char_indices().any(|(at, ch)| is_escaped(at, ch)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 6);
    for (at, ch) in text.char_indices() {
        if is_escaped(at, ch) {
            for unit in ch.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(ch);
        }
    }
    Cow::Owned(out)
}
