//! Truncates long values in one-line output.

/// Maximum number of characters of one value in a line.
const MAX_CHARS: usize = 60;

/// Truncates a text to [`MAX_CHARS`] characters, and appends `…`.
pub(super) fn truncate(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} …", &text[..end]),
    }
}
