//! Endpoints: what a client is spoken to in.
//!
//! Comes in: a request. Goes out: dialect, layout and whether it is spoken as JSON, or why not. Which path speaks what is said by
//! [`packet::endpoint`](crate::packet::endpoint), since who reads a capture asks that too.

use std::sync::Arc;

use crate::feed::view::Layout;
pub use crate::packet::endpoint::{NoEndpoint, PATHS};
use crate::packet::{Codes, Dialect, endpoint};
use crate::ws::http::RequestHead;

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

/// The endpoint that a request asks for. The query may name another dialect and a format.
///
/// # Errors
/// [`NoEndpoint`] says what the request got wrong.
pub fn find(codes: &Codes, head: &RequestHead) -> Result<Endpoint, NoEndpoint> {
    let (asked, format) = (head.query("dialect"), head.query("format"));
    let (dialect, json) = endpoint::find(codes, head.path(), asked.as_deref(), format.as_deref())?;
    let layout = if dialect.name() == "native" { Layout::Native } else { Layout::Moomoo };
    Ok(Endpoint { dialect: Arc::clone(dialect), layout, json })
}
