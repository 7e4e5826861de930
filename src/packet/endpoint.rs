//! Maps a request path to the dialect spoken there.
//!
//! The path of the upgrade request selects the dialect, because in the MooMoo dialects the server
//! speaks first. Two fields of the query can select another dialect and JSON. This module does not
//! parse requests: the caller, a server or a capture reader, extracts the path and the two fields.

use std::sync::Arc;

use super::{Codes, Dialect};

/// Paths and the dialects they speak, in the order in which the banner lists them.
pub const PATHS: [(&str, &str); 4] =
    [("/play", "native"), ("/", "legacy"), ("/moomoo", "legacy"), ("/server", "letters")];

/// The rule broken by a message of the wrong frame type, text where packets are binary, or binary
/// where they are JSON: its name, its sentence and the close code.
pub const FRAME_KIND: (&str, &str, u16) =
    ("frame_kind", "this endpoint takes the other kind of frame, binary or text", 1003);

/// Why no endpoint matches the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEndpoint {
    /// There is no game at this path: 404.
    Path,
    /// `?dialect=` names no dialect of the tables, or a dialect that the path cannot carry: 400.
    Dialect,
    /// `?format=` is neither `json` nor `msgpack`: 400.
    Format,
}

impl NoEndpoint {
    /// The HTTP status and the rule's name.
    pub fn status(self) -> (u16, &'static str) {
        match self {
            NoEndpoint::Path => (404, "unknown_path"),
            NoEndpoint::Dialect => (400, "unknown_dialect"),
            NoEndpoint::Format => (400, "unknown_format"),
        }
    }
}

/// Returns the dialect of a path, or the dialect that the query selects instead, and whether it is
/// spoken as JSON.
///
/// # Errors
/// [`NoEndpoint`] names the part of the request that is wrong.
pub fn find<'c>(
    codes: &'c Codes,
    path: &str,
    dialect: Option<&str>,
    format: Option<&str>,
) -> Result<(&'c Arc<Dialect>, bool), NoEndpoint> {
    let (_, of_path) = PATHS.iter().find(|(known, _)| *known == path).ok_or(NoEndpoint::Path)?;
    let name = dialect.unwrap_or(of_path);
    let dialect = codes.dialects().find(|dialect| dialect.name() == name).ok_or(NoEndpoint::Dialect)?;
    match format {
        Some("json") => Ok((dialect, true)),
        Some("msgpack") | None => Ok((dialect, false)),
        Some(_) => Err(NoEndpoint::Format),
    }
}
