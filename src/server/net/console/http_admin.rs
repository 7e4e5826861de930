//! `POST /admin`: operator commands over HTTP.
//!
//! ```text
//!  head ─► token? 401, 429 ─► length? 411, 413 ─► body in time? 408 ─► each line ─► 200 or 422
//! ```
//!
//! The replies to all lines of a request form one text response. The server never reads a body
//! without the token, nor more than [`limits::ADMIN_BODY_BYTES`] of a body. It sets no cookie, and
//! no header that lets a page of another origin read the response. Requests from this machine also
//! need the token, because any page in the operator's browser can send them.

use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use tracing::debug;

use super::{Source, run};
use crate::limits;
use crate::server::admission::refusal::Refusal;
use crate::server::net::access::{bearer, check_token, unauthorized};
use crate::server::net::blocking_io::{read, write_all};
use crate::server::net::server_state::ServerState;
use crate::ws::http::{self, RequestHead};

/// Path of the operator's page and of the commands.
pub const PATH: &str = "/admin";

/// Headers that prevent caching of a response.
const NO_STORE_HEADERS: [(&str, &str); 2] =
    [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")];

/// Whether a request carries operator commands.
pub fn has_commands(head: &RequestHead) -> bool {
    head.method == "POST" && head.path() == PATH && !head.has_upgrade_headers()
}

/// Executes the operator commands of a request and returns the response.
///
/// # Errors
/// The refusal for the rule that the request breaks.
pub fn respond(
    host: &ServerState,
    stream: &TcpStream,
    (head, rest): (&RequestHead, Vec<u8>),
    address: SocketAddr,
    deadline: Instant,
) -> Result<Vec<u8>, Refusal> {
    let token = bearer(head).ok_or_else(|| unauthorized("admin_token_missing"))?;
    check_token(host, &token, address)?;
    let length = head.content_length().ok_or_else(|| Refusal::from_rule(411, "length_required"))?;
    if length > limits::ADMIN_BODY_BYTES {
        return Err(Refusal::from_rule(413, "body_too_long"));
    }
    if rest.len() < length && head.headers.has_token("Expect", "100-continue") {
        // A client that sent `Expect: 100-continue` may wait for this before it sends the body (RFC
        // 9110, section 10.1.1).
        let left = deadline.saturating_duration_since(Instant::now());
        let _ = write_all(stream, b"HTTP/1.1 100 Continue\r\n\r\n", left);
    }
    let body = read_body(stream, rest, length, deadline)?;
    let body = String::from_utf8(body).map_err(|_| Refusal::from_rule(400, "body_not_utf8"))?;
    let lines: Vec<&str> = body.lines().filter(|line| !line.trim().is_empty()).collect();
    if lines.len() > limits::MAX_ADMIN_LINES {
        return Err(Refusal::from_rule(413, "too_many_lines"));
    }
    let source = Source::Admin(address.ip());
    let answers: Vec<_> = lines.iter().filter_map(|line| run(host, line, source)).collect();
    let status = if answers.iter().all(|answer| answer.is_ok) { 200 } else { 422 };
    debug!(%address, status, lines = lines.len(), "operator commands over HTTP");
    let text: String = answers.into_iter().map(|answer| answer.text).collect();
    Ok(http::response(status, "text/plain; charset=utf-8", &NO_STORE_HEADERS, text.as_bytes()))
}

/// Reads the whole body before the deadline of its head, so that sending slowly gains no time.
/// `body` initially holds the part that arrived with the head.
fn read_body(
    stream: &TcpStream,
    mut body: Vec<u8>,
    length: usize,
    deadline: Instant,
) -> Result<Vec<u8>, Refusal> {
    let mut buffer = [0; limits::READ_BYTES];
    while body.len() < length {
        match read(stream, &mut buffer, deadline.saturating_duration_since(Instant::now())) {
            Ok(Some(0)) | Err(_) => return Err(Refusal::from_rule(400, "body_cut")),
            Ok(Some(count)) => body.extend_from_slice(&buffer[..count]),
            Ok(None) => return Err(Refusal::from_rule(408, "body_late")),
        }
    }
    body.truncate(length);
    Ok(body)
}
