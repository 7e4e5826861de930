//! Truncates long values in one-line output.

use crate::limits;

/// Maximum number of characters of one value in a line.
const MAX_CHARS: usize = 60;

/// Truncates a text to [`MAX_CHARS`] characters, and appends `…`.
pub(super) fn truncate(text: &str) -> String {
    truncate_to(text, MAX_CHARS)
}

/// Truncates the content of a message without a packet table to
/// [`limits::FOREIGN_LINE_CHARS`] characters.
pub(super) fn truncate_foreign(text: &str) -> String {
    truncate_to(text, limits::FOREIGN_LINE_CHARS)
}

fn truncate_to(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} …", &text[..end]),
    }
}
