//! Maps a request path to its dialect.
//!
//! In the MooMoo dialects the server sends the first packet, so the path of the upgrade request
//! selects the dialect. Two fields of the query can select another dialect and JSON.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Dialect, PacketTables};
use crate::limits;

/// The paths of a game with the MooMoo dialects. Used where the game of a room is unknown.
pub const DEFAULT_PATHS: [(&str, &str); 4] =
    [("/play", "native"), ("/", "legacy"), ("/moomoo", "legacy"), ("/server", "letters")];

/// The prefix of a room's paths, as in `/r/NAME/play`. The paths below it are the same as in the
/// default room.
pub const ROOM_PREFIX: &str = "/r/";

/// Header of the response to an upgrade with `?room=any`: the path of the room that the server has
/// chosen, such as `/r/arena/`.
pub const ROOM_HEADER: &str = "Tickwire-Room";

/// Returns the path of a room's page.
pub fn room_path(name: &str) -> String {
    if name.is_empty() { "/".to_owned() } else { format!("{ROOM_PREFIX}{name}/") }
}

/// Returns the name of the room of a page's path; `None` for any other path.
pub fn room_of_page(path: &str) -> Option<&str> {
    let name = || path.strip_prefix(ROOM_PREFIX)?.strip_suffix('/');
    if path == "/" { Some("") } else { name().filter(|name| is_room_name(name)) }
}

/// Whether a room may have this name: up to [`limits::ROOM_NAME_CHARS`] characters of a-z, 0-9 and
/// -.
pub fn is_room_name(name: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=limits::ROOM_NAME_CHARS).contains(&name.len()) && name.bytes().all(is_good)
}

/// The prefix of the names of private rooms.
const PRIVATE_PREFIX: &str = "p-";

/// Whether a room of this name is private: the name is a secret, and no list contains it.
pub fn is_private(name: &str) -> bool {
    name.starts_with(PRIVATE_PREFIX) && name.len() >= limits::PRIVATE_NAME_CHARS
}

/// The name of a private room in logs, metrics and captures, with `number` in place of the secret
/// part. It has the same length as `name`.
pub fn public_alias(name: &str, number: u64) -> String {
    let visible = &name[..PRIVATE_PREFIX.len() + limits::PRIVATE_NAME_VISIBLE_CHARS];
    // The shortest private name has space for a dash and 19 digits.
    let number = format!("-{}", number % 10_u64.pow(19));
    format!("{visible}{number:x>width$}", width = name.len() - visible.len())
}

/// Whether a name has the form of a [`public_alias`]. A room must not have such a name, because log
/// lines and operator commands could not distinguish it from the private room.
pub fn is_alias(name: &str) -> bool {
    let rest = name.get(PRIVATE_PREFIX.len() + limits::PRIVATE_NAME_VISIBLE_CHARS..).unwrap_or_default();
    let digits = rest.trim_start_matches('x').strip_prefix('-').unwrap_or_default();
    is_private(name) && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Redacts a path for the log: truncates each segment that may contain the name of a private room,
/// at any position and with any escapes.
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

/// Truncates a segment a few characters after `p-`, and an escaped segment at its first escape,
/// because a private name needs no escapes. Returns `None` if nothing is removed.
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
    let visible = match (start, escape) {
        (Some(start), _) => {
            let name = plain[start..].chars();
            let kept_bytes: usize = name
                .take(PRIVATE_PREFIX.len() + limits::PRIVATE_NAME_VISIBLE_CHARS)
                .map(char::len_utf8)
                .sum();
            &plain[..start + kept_bytes]
        }
        (None, Some(_)) => plain,
        (None, None) => return None,
    };
    (visible.len() < segment.len()).then(|| format!("{visible}…"))
}

/// Splits a path into its room, empty for the default room, and the path below the room.
pub fn split_room_path(path: &str) -> (&str, &str) {
    let below = path.strip_prefix(ROOM_PREFIX).and_then(|rest| rest.find('/').map(|end| rest.split_at(end)));
    below.filter(|(name, _)| is_room_name(name)).unwrap_or(("", path))
}

/// The rule for a message of the wrong frame type: text on a binary endpoint, or binary on a JSON
/// endpoint. Contains its name, description and close code.
pub const WRONG_FRAME_TYPE: (&str, &str, u16) = (
    "wrong_frame_type",
    "the frame type does not match the endpoint: send text frames with ?format=json, otherwise binary frames",
    1003,
);

/// The reason why no endpoint matches a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteError {
    /// No game at this path: 404.
    Path,
    /// No room with this name: 404.
    Room,
    /// `?dialect=` names a dialect that the tables lack: 400.
    Dialect,
    /// `?format=` is neither `json` nor `msgpack`: 400.
    Format,
}

impl RouteError {
    /// The HTTP status, and the name of the rule.
    pub fn status(self) -> (u16, &'static str) {
        match self {
            RouteError::Path => (404, "unknown_path"),
            RouteError::Room => (404, "unknown_room"),
            RouteError::Dialect => (400, "unknown_dialect"),
            RouteError::Format => (400, "unknown_format"),
        }
    }
}

/// Finds the dialect for a path in any room, and whether its packets are JSON. `dialect` and
/// `format` are the fields of the query; `dialect` overrides the path. If the tables lack the
/// dialect of the path, because they belong to another game, their default dialect is used.
///
/// # Errors
/// The invalid part of the request.
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

/// Like [`find_dialect`], with the paths of the room if the tables contain them, otherwise with
/// [`DEFAULT_PATHS`].
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
            // A private name is redacted even in a path that matches no room.
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
