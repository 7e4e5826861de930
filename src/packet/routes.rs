//! Maps a request path to the dialect spoken there.
//!
//! In the MooMoo dialects the server speaks first, so the path of the upgrade request selects the
//! dialect. Two fields of the query can select another dialect and JSON.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Dialect, PacketTables};
use crate::limits;

/// The paths of a game with the MooMoo dialects, where nothing says which game is played.
pub const DEFAULT_PATHS: [(&str, &str); 4] =
    [("/play", "native"), ("/", "legacy"), ("/moomoo", "legacy"), ("/server", "letters")];

/// The prefix of a room's paths, which go on as those of the default room: `/r/NAME/play`.
pub const ROOM_PREFIX: &str = "/r/";

/// Whether a room may have this name: a few of a-z, 0-9 and -.
pub fn is_room_name(name: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=limits::ROOM_NAME_CHARS).contains(&name.len()) && name.bytes().all(is_good)
}

/// The prefix of the names of private rooms.
const PRIVATE_PREFIX: &str = "p-";

/// Whether a room of this name is private: no list shows it, and its name is a secret.
pub fn is_private(name: &str) -> bool {
    name.starts_with(PRIVATE_PREFIX) && name.len() >= limits::PRIVATE_NAME_CHARS
}

/// What logs, metrics and captures call a private room, the `number`th: a name of equal length.
pub fn public_alias(name: &str, number: u64) -> String {
    let shown = &name[..PRIVATE_PREFIX.len() + limits::PRIVATE_NAME_VISIBLE_CHARS];
    // As many digits as the shortest private name has place for.
    let number = format!("-{}", number % 10_u64.pow(19));
    format!("{shown}{number:x>width$}", width = name.len() - shown.len())
}

/// Whether a name has the form of an [`public_alias`]. No path makes a room of such a name: a log line, and an
/// operator command that repeats it, would mean either of two rooms.
pub fn is_alias(name: &str) -> bool {
    let rest = name.get(PRIVATE_PREFIX.len() + limits::PRIVATE_NAME_VISIBLE_CHARS..).unwrap_or_default();
    let digits = rest.trim_start_matches('x').strip_prefix('-').unwrap_or_default();
    is_private(name) && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// A path for the log, in which each segment that may be the name of a private room is cut short, wherever
/// it stands and however it is escaped.
pub fn redact_room_name(path: &str) -> Cow<'_, str> {
    if !path.contains(['p', 'P', '%']) {
        return path.into();
    }
    let (mut out, mut is_changed) = (String::new(), false);
    for (at, segment) in path.split('/').enumerate() {
        let cut = cut_short(segment);
        is_changed |= cut.is_some();
        out.push_str(if at == 0 { "" } else { "/" });
        out.push_str(cut.as_deref().unwrap_or(segment));
    }
    if is_changed { out.into() } else { path.into() }
}

/// A segment without what may be a private room's name: a few characters after `p-`. An escaped segment is
/// removed from its first escape on, because a private name needs none.
fn cut_short(segment: &str) -> Option<String> {
    let escape = segment.find('%');
    let plain = &segment[..escape.unwrap_or(segment.len())];
    let starts = |(at, _): &(usize, char)| {
        plain.as_bytes()[*at..]
            .get(..PRIVATE_PREFIX.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(PRIVATE_PREFIX.as_bytes()))
            && !plain[..*at].ends_with(|before: char| before.is_ascii_alphanumeric())
    };
    let start = plain.char_indices().find(starts).map(|(at, _)| at);
    let shown = match (start, escape) {
        (Some(start), _) => {
            let name = plain[start..].chars();
            let kept: usize = name
                .take(PRIVATE_PREFIX.len() + limits::PRIVATE_NAME_VISIBLE_CHARS)
                .map(char::len_utf8)
                .sum();
            &plain[..start + kept]
        }
        (None, Some(_)) => plain,
        (None, None) => return None,
    };
    (shown.len() < segment.len()).then(|| format!("{shown}…"))
}

/// The room of a path, empty for the default room, and the path below the room.
pub fn split_room_path(path: &str) -> (&str, &str) {
    let below = path.strip_prefix(ROOM_PREFIX).and_then(|rest| rest.find('/').map(|end| rest.split_at(end)));
    below.filter(|(name, _)| is_room_name(name)).unwrap_or(("", path))
}

/// The rule broken by a message of the wrong frame type, text where packets are binary, or binary
/// where they are JSON: its name, its sentence and the close code.
pub const WRONG_FRAME_TYPE: (&str, &str, u16) = (
    "frame_kind",
    "the frame type does not match the endpoint: send text frames with ?format=json, otherwise binary frames",
    1003,
);

/// Why no endpoint matches the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteError {
    /// There is no game at this path: 404.
    Path,
    /// There is no room of this name: 404.
    Room,
    /// `?dialect=` names no dialect of the tables, or a dialect that the path cannot carry: 400.
    Dialect,
    /// `?format=` is neither `json` nor `msgpack`: 400.
    Format,
}

impl RouteError {
    /// The HTTP status and the rule's name.
    pub fn status(self) -> (u16, &'static str) {
        match self {
            RouteError::Path => (404, "unknown_path"),
            RouteError::Room => (404, "unknown_room"),
            RouteError::Dialect => (400, "unknown_dialect"),
            RouteError::Format => (400, "unknown_format"),
        }
    }
}

/// The dialect of a path in any room, by the paths of the room's game, or the one that the query
/// selects instead, and whether it is spoken as JSON. The error names the part of the request that is
/// wrong. If the tables lack the dialect of the path, as those of another game do, it is their first.
pub fn find_dialect<'c, T: AsRef<str>>(
    codes: &'c PacketTables,
    paths: &[(T, T)],
    path: &str,
    dialect: Option<&str>,
    format: Option<&str>,
) -> Result<(&'c Arc<Dialect>, bool), RouteError> {
    let (_, path) = split_room_path(path);
    let (_, of_path) = paths.iter().find(|(known, _)| known.as_ref() == path).ok_or(RouteError::Path)?;
    let name = dialect.unwrap_or(of_path.as_ref());
    let named = codes.dialects().find(|dialect| dialect.name() == name);
    let otherwise = || codes.default_dialect().filter(|_| dialect.is_none());
    let dialect = named.or_else(otherwise).ok_or(RouteError::Dialect)?;
    match format {
        Some("json") => Ok((dialect, true)),
        Some("msgpack") | None => Ok((dialect, false)),
        Some(_) => Err(RouteError::Format),
    }
}

/// As [`find_dialect`], by the paths of the room if the tables know them, otherwise by [`DEFAULT_PATHS`].
///
/// # Errors
/// As [`find_dialect`].
pub fn find_by_room_tables<'c>(
    codes: &'c PacketTables,
    path: &str,
    dialect: Option<&str>,
    format: Option<&str>,
) -> Result<(&'c Arc<Dialect>, bool), RouteError> {
    match codes.paths(split_room_path(path).0) {
        Some(paths) => find_dialect(codes, paths, path, dialect, format),
        None => find_dialect(codes, &DEFAULT_PATHS, path, dialect, format),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alias_of_a_private_name_is_a_room_name_of_its_length_and_hides_all_but_four_characters() {
        let name = "p-k7f2mqa3xw6n5zr4tb2cd7hj";
        for (name, number, expected) in [
            (name, 7, "p-k7f2xxxxxxxxxxxxxxxxxx-7"),
            (name, 1_234, "p-k7f2xxxxxxxxxxxxxxx-1234"),
            (name, u64::MAX, "p-k7f2-8446744073709551615"),
        ] {
            let alias = public_alias(name, number);
            assert_eq!((&*alias, alias.len()), (expected, name.len()));
            assert!(is_private(name) && is_room_name(&alias));
            assert!(is_alias(&alias) && !is_alias(name));
        }
        for name in ["", "arena", "p-", "p-k7f2mqa3xw6n5zr4tb2cd7h", "q-k7f2mqa3xw6n5zr4tb2cd7hj"] {
            assert!(!is_private(name) && !is_alias(name), "{name}");
        }
    }

    #[test]
    fn the_path_of_a_private_room_is_cut_short_for_the_log() {
        for (path, expected) in [
            ("/", "/"),
            ("/r/arena/main.js", "/r/arena/main.js"),
            ("/r/p-k7f2mqa3xw6n5zr4tb2cd7hj/main.js", "/r/p-k7f2…/main.js"),
            ("/r/p-k7f2mqa3xw6n5zr4tb2cd7hj", "/r/p-k7f2…"),
            ("/x/p-k7", "/x/p-k7"),
            // A path that is no room's may have a name all the same.
            ("//r/p-k7f2mqa3xw6n5zr4tb2cd7hj/play", "//r/p-k7f2…/play"),
            ("/r//p-k7f2mqa3xw6n5zr4tb2cd7hj", "/r//p-k7f2…"),
            ("/R/P-k7f2mqa3xw6n5zr4tb2cd7hj/", "/R/P-k7f2…/"),
            ("/game/r/p-k7f2mqa3xw6n5zr4tb2cd7hj/play", "/game/r/p-k7f2…/play"),
            ("/r/p-k7f2mqa3xw6n5zr4tb2cd7hj;v=1", "/r/p-k7f2…"),
            ("/r;p-k7f2mqa3xw6n5zr4tb2cd7hj", "/r;p-k7f2…"),
            ("/r%2fp-k7f2mqa3xw6n5zr4tb2cd7hj/play", "/r…/play"),
            ("/r/%70-k7f2mqa3xw6n5zr4tb2cd7hj/play", "/r/…/play"),
            ("/r/p%2Dk7f2mqa3xw6n5zr4tb2cd7hj", "/r/p…"),
            ("http://host/r/p-k7f2mqa3xw6n5zr4tb2cd7hj/", "http://host/r/p-k7f2…/"),
            ("/stamp-collection-of-the-world.js", "/stamp-collection-of-the-world.js"),
            ("/p-k7é2mqa3xw", "/p-k7é2…"),
        ] {
            assert_eq!(redact_room_name(path), expected);
        }
    }
}
