//! Which dialect a path speaks.
//!
//! The dialect comes with the path of the upgrade request, since in the MooMoo dialects the server speaks first. A path and two fields of its
//! query come in; a dialect and whether it is spoken as JSON go out, or why not. Never: a look at a request; whoever has
//! one, be it the server or somebody who reads a capture, takes these three out of it.

use std::sync::Arc;

use super::{Codes, Dialect};

/// Paths and the dialects they speak, in the order in which the banner lists them.
pub const PATHS: [(&str, &str); 4] =
    [("/play", "native"), ("/", "legacy"), ("/moomoo", "legacy"), ("/server", "letters")];

/// The rule that a message of the other kind breaks, text where packets are binary, or binary where they are JSON: its name, its
/// sentence and the close code.
pub const FRAME_KIND: (&str, &str, u16) =
    ("frame_kind", "this endpoint takes the other kind of frame, binary or text", 1003);

/// Why there is no such endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoEndpoint {
    /// No game at this path: 404.
    Path,
    /// `?dialect=` names none of the tables, or one that the path cannot carry: 400.
    Dialect,
    /// `?format=` is neither `json` nor `msgpack`: 400.
    Format,
}

impl NoEndpoint {
    /// HTTP status and the rule's name.
    pub fn status(self) -> (u16, &'static str) {
        match self {
            NoEndpoint::Path => (404, "unknown_path"),
            NoEndpoint::Dialect => (400, "unknown_dialect"),
            NoEndpoint::Format => (400, "unknown_format"),
        }
    }
}

/// The dialect that a path speaks, or another one that the query asks for; and whether as JSON.
///
/// # Errors
/// [`NoEndpoint`] says what the request got wrong.
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
