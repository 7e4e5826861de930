//! Words that several outputs share.

/// The maximum number of characters of one value in a line.
const CHARS_SHOWN: usize = 60;

/// Cuts a text to the length that fits in a line.
pub(super) fn truncate(text: &str) -> String {
    match text.char_indices().nth(CHARS_SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{} …", &text[..end]),
    }
}
