//! The body of a close frame: RFC 6455, sections 5.5.1 and 7.4.
//!
//! This module decodes a body into a code and a reason, and encodes them. It neither sends a close
//! frame nor decides when to close: [`connection`](super::connection) does.
//!
//! ```text
//!     +--------------------+--------------------------------+
//!     |  code, big-endian  |  reason, UTF-8, 0 to 123 bytes |     or an empty body
//!     +--------------------+--------------------------------+
//! ```

pub use super::close_code::CloseCode;
use super::frame::MAX_CONTROL_PAYLOAD_BYTES;
use super::violation::Violation;

/// Length of the code at the start of a close body, in bytes.
const CODE_BYTES: usize = 2;

/// Longest reason, in bytes: a control frame's payload without the code.
pub const MAX_REASON_BYTES: usize = MAX_CONTROL_PAYLOAD_BYTES - CODE_BYTES;

/// The decoded body of a close frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close<'a> {
    /// The close code; `None` if the body is empty.
    pub code: Option<CloseCode>,
    /// The reason, at most [`MAX_REASON_BYTES`] bytes; empty if the peer sent none.
    pub reason: &'a str,
}

/// Decodes the body of a close frame. An empty body is valid: it has no code and no reason.
///
/// # Errors
/// [`Violation::CloseOneByte`], [`Violation::CloseCodeInvalid`], [`Violation::CloseReasonNotUtf8`].
pub fn decode(body: &[u8]) -> Result<Close<'_>, Violation> {
    let Some((number, reason)) = body.split_first_chunk::<CODE_BYTES>() else {
        let empty = Close { code: None, reason: "" };
        return if body.is_empty() { Ok(empty) } else { Err(Violation::CloseOneByte) };
    };
    let code = CloseCode::new(u16::from_be_bytes(*number)).ok_or(Violation::CloseCodeInvalid)?;
    let reason = std::str::from_utf8(reason).map_err(|_| Violation::CloseReasonNotUtf8)?;
    Ok(Close { code: Some(code), reason })
}

/// Appends the body of a close frame to `out`. A reason longer than [`MAX_REASON_BYTES`] is
/// truncated at a character boundary. Without a code the body is empty, because a reason must
/// follow a code.
pub fn encode(code: Option<CloseCode>, reason: &str, out: &mut Vec<u8>) {
    if let Some(code) = code {
        out.extend_from_slice(&code.get().to_be_bytes());
        let end = (0..=MAX_REASON_BYTES.min(reason.len())).rev().find(|&end| reason.is_char_boundary(end));
        out.extend_from_slice(&reason.as_bytes()[..end.unwrap_or(0)]);
    }
}
