//! Validates names, clan names, chat messages and operator messages, and converts any text to a
//! valid text.
//!
//! The compiler's Unicode tables are not used, because they change with the compiler's version. One
//! machine could then reject a text that another machine accepts.

use tickwire_sim::similar_names::is_space;

use crate::command::Rejection;
use crate::rules::{CHAT_CHARS, CLAN_CHARS, MAX_ANNOUNCEMENT_CHARS, NAME_CHARS};

/// Checks a player's name: at most [`NAME_CHARS`] characters, without control characters, invisible
/// characters or combining marks.
///
/// # Errors
/// [`Rejection::NameTooLong`], [`Rejection::NameForbidden`].
pub fn check_name(name: &str) -> Result<(), Rejection> {
    if name.chars().nth(NAME_CHARS).is_some() {
        return Err(Rejection::NameTooLong);
    }
    if name.chars().any(is_forbidden_in_names) {
        return Err(Rejection::NameForbidden);
    }
    Ok(())
}

/// Checks a clan's name: 1 to [`CLAN_CHARS`] characters, not only spaces, without control
/// characters, invisible characters or combining marks.
///
/// # Errors
/// [`Rejection::ClanNameForbidden`].
pub fn check_clan_name(name: &str) -> Result<(), Rejection> {
    check_line(name, CLAN_CHARS, is_forbidden_in_names).map_err(|_| Rejection::ClanNameForbidden)
}

/// Checks a chat message: 1 to [`CHAT_CHARS`] characters, not only spaces, without control
/// characters or invisible characters.
///
/// # Errors
/// [`Rejection::ChatTooLong`], [`Rejection::ChatForbidden`], [`Rejection::ChatEmpty`].
pub fn check_chat(text: &str) -> Result<(), Rejection> {
    check_line(text, CHAT_CHARS, is_forbidden)
}

/// Checks an operator message: like [`check_chat`], with up to [`MAX_ANNOUNCEMENT_CHARS`]
/// characters.
///
/// # Errors
/// [`Rejection::ChatTooLong`], [`Rejection::ChatForbidden`], [`Rejection::ChatEmpty`].
pub fn check_announcement(text: &str) -> Result<(), Rejection> {
    check_line(text, MAX_ANNOUNCEMENT_CHARS, is_forbidden)
}

fn check_line(text: &str, max_chars: usize, is_forbidden: fn(char) -> bool) -> Result<(), Rejection> {
    if text.chars().nth(max_chars).is_some() {
        return Err(Rejection::ChatTooLong);
    }
    if text.chars().any(is_forbidden) {
        return Err(Rejection::ChatForbidden);
    }
    if text.chars().all(is_space) {
        return Err(Rejection::ChatEmpty);
    }
    Ok(())
}

/// Converts any text to a valid name: removes forbidden characters, trims, truncates. May be empty.
pub fn clean_name(text: &str) -> String {
    clean(text, NAME_CHARS, is_forbidden_in_names)
}

/// Converts any text to a valid clan name: removes forbidden characters, trims, truncates. `None`
/// if the result is empty.
pub fn clean_clan_name(text: &str) -> Option<String> {
    clean_line(text, CLAN_CHARS, is_forbidden_in_names)
}

/// Converts any text to a valid chat message: removes forbidden characters, trims, truncates.
/// `None` if the result is empty.
pub fn clean_chat(text: &str) -> Option<String> {
    clean_line(text, CHAT_CHARS, is_forbidden)
}

/// Converts any text to a valid operator message: like [`clean_chat`], with up to
/// [`MAX_ANNOUNCEMENT_CHARS`] characters.
pub fn clean_announcement(text: &str) -> Option<String> {
    clean_line(text, MAX_ANNOUNCEMENT_CHARS, is_forbidden)
}

fn clean_line(text: &str, max_chars: usize, is_forbidden: fn(char) -> bool) -> Option<String> {
    Some(clean(text, max_chars, is_forbidden)).filter(|line| !line.is_empty())
}

fn clean(text: &str, max_chars: usize, is_forbidden: fn(char) -> bool) -> String {
    let allowed = text.chars().filter(|char| !is_forbidden(*char)).skip_while(|char| is_space(*char));
    let cut: String = allowed.take(max_chars).collect();
    cut.trim_end_matches(is_space).to_string()
}

/// Forbidden in every text: control characters, line separators and direction marks, because they
/// have side effects on a terminal or on neighbouring text; and invisible characters, because they
/// make different names look the same.
fn is_forbidden(char: char) -> bool {
    matches!(char, '\0'..='\x1f' | '\x7f'..='\u{9f}' | '\u{2028}' | '\u{2029}') || is_invisible(char)
}

/// Forbidden in names: also combining marks (U+0300 to U+036F), because with them `é` has two
/// encodings that look the same. Keyboards produce the single character.
fn is_forbidden_in_names(char: char) -> bool {
    is_forbidden(char) || matches!(char, '\u{300}'..='\u{36f}')
}

/// Invisible characters without width: the property `Default_Ignorable_Code_Point` of Unicode 15,
/// the other format characters, the blank Braille pattern, and the interlinear annotation
/// characters. Listed here because the compiler's tables change with its version. An emoji that is
/// joined from several characters is split into its parts.
fn is_invisible(char: char) -> bool {
    matches!(char,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{115f}' | '\u{1160}'
        | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Name of a player that chose no name. Any number of players may have it.
pub const NO_NAME: &str = "unknown";

/// Appends a player ID to a name. Truncates the name to fit. `marks` is the number of `#` before
/// the ID. The caller increments it while another player already has the result as its name.
pub(crate) fn numbered(name: &str, number: u16, marks: usize) -> String {
    let end = format!("{}{number}", "#".repeat(marks));
    let prefix: String = name.chars().take(NAME_CHARS.saturating_sub(end.len())).collect();
    format!("{}{end}", prefix.trim_end_matches(is_space))
}
