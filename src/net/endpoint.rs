//! Endpoints: which dialect a WebSocket path speaks.
//!
//! The dialect comes with the path, since in the MooMoo dialects the server speaks first. Comes in: a request target.
//! Goes out: a dialect and whether it is spoken as JSON, or why not.

use std::sync::Arc;

use crate::feed::view::Layout;
use crate::packet::{Codes, Dialect};
use crate::ws::http::RequestHead;

/// Paths and the dialects they speak, in the order in which the banner lists them.
pub const PATHS: [(&str, &str); 4] =
    [("/play", "native"), ("/", "legacy"), ("/moomoo", "legacy"), ("/server", "letters")];

/// What a client is spoken to in.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Codes and types.
    pub dialect: Arc<Dialect>,
    /// What it is told, and when.
    pub layout: Layout,
    /// `?format=json`: text frames.
    pub json: bool,
}

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

/// The endpoint that a request asks for. The query may name another dialect and a format.
///
/// # Errors
/// [`NoEndpoint`] says what the request got wrong.
pub fn find(codes: &Codes, head: &RequestHead) -> Result<Endpoint, NoEndpoint> {
    let path = head.path();
    let (_, of_path) = PATHS.iter().find(|(known, _)| *known == path).ok_or(NoEndpoint::Path)?;
    let asked = head.query("dialect");
    let name = asked.as_deref().unwrap_or(of_path);
    let dialect = codes.dialect(name).ok_or(NoEndpoint::Dialect)?;
    let layout = if name == "native" { Layout::Native } else { Layout::Moomoo };
    let json = match head.query("format").as_deref() {
        Some("json") => true,
        Some("msgpack") | None => false,
        Some(_) => return Err(NoEndpoint::Format),
    };
    Ok(Endpoint { dialect, layout, json })
}
