//! Truncates long values in one-line output.

/// Maximum number of characters of one value in a line.
const CHARS_SHOWN: usize = 60;

/// Truncates a text to [`CHARS_SHOWN`] characters, and appends `…`.
pub(super) fn truncate(text: &str) -> String {
    match text.char_indices().nth(CHARS_SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} …", &text[..end]),
    }
}
