//! Close codes and the body of a close frame: RFC 6455 sections 5.5.1 and 7.4.
//!
//! This module decodes a payload into a code and a reason, and encodes them. It neither sends nor
//! decides when to close: [`conn`](super::conn) does.
//!
//! ```text
//!     +--------+--------+------------------------------+
//!     |  code, big-endian  |  reason, UTF-8, 0 to 123 bytes |     or nothing at all
//!     +--------+--------+------------------------------+
//! ```

use std::fmt;

use super::violation::Violation;
use crate::limits::CONTROL_PAYLOAD_BYTES;

/// Bytes that the code takes at the start of a close body.
const CODE_BYTES: usize = 2;

/// Longest reason, in bytes: a control frame's payload without the code.
pub const REASON_BYTES: usize = CONTROL_PAYLOAD_BYTES - CODE_BYTES;

/// A close code that may travel in a frame: 1000 to 1014 without the reserved ones, and 3000 to 4999.
///
/// 1005, 1006 and 1015 report a local observation (no code, no close frame, TLS failure) and must
/// never be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloseCode(u16);

impl CloseCode {
    /// The purpose of the connection is fulfilled.
    pub const NORMAL: CloseCode = CloseCode(1000);
    /// The server stops, or the browser leaves the page.
    pub const GOING_AWAY: CloseCode = CloseCode(1001);
    /// A rule of the protocol was broken.
    pub const PROTOCOL_ERROR: CloseCode = CloseCode(1002);
    /// A kind of data that this endpoint does not accept.
    pub const UNSUPPORTED: CloseCode = CloseCode(1003);
    /// Data that does not fit the kind of the message, such as text that is not UTF-8.
    pub const NOT_CONSISTENT: CloseCode = CloseCode(1007);
    /// A server rule without a more specific code was broken.
    pub const POLICY: CloseCode = CloseCode(1008);
    /// A message that is longer than this endpoint accepts.
    pub const TOO_BIG: CloseCode = CloseCode(1009);
    /// The server cannot go on.
    pub const INTERNAL: CloseCode = CloseCode(1011);

    /// The code of this number, or `None` if section 7.4 forbids it in a frame.
    pub const fn new(number: u16) -> Option<CloseCode> {
        match number {
            1000..=1003 | 1007..=1014 | 3000..=4999 => Some(CloseCode(number)),
            _ => None,
        }
    }

    /// The number, as it travels.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// What the number means, in a few words, from section 7.4.1 and the IANA registry.
    pub const fn meaning(self) -> &'static str {
        match self.0 {
            1000 => "normal",
            1001 => "going away",
            1002 => "protocol error",
            1003 => "unsupported data",
            1007 => "inconsistent data",
            1008 => "policy violation",
            1009 => "message too big",
            1010 => "extension missing",
            1011 => "internal error",
            1012 => "service restart",
            1013 => "try again later",
            1014 => "bad gateway",
            3000..=3999 => "registered",
            _ => "private use",
        }
    }
}

impl fmt::Display for CloseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, self.meaning())
    }
}

/// The body of a close frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close<'a> {
    /// Why the peer closes; `None` if the body is empty.
    pub code: Option<CloseCode>,
    /// Words for a log, at most [`REASON_BYTES`]; empty if the peer gave none.
    pub reason: &'a str,
}

/// Reads the body of a close frame. An empty body is well formed: it has no code and no reason.
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

/// Appends the body of a close frame to `out`. A reason longer than [`REASON_BYTES`] is truncated
/// at a character boundary; a reason without a code cannot be represented and is omitted.
pub fn encode(code: Option<CloseCode>, reason: &str, out: &mut Vec<u8>) {
    if let Some(code) = code {
        out.extend_from_slice(&code.get().to_be_bytes());
        let end = (0..=REASON_BYTES.min(reason.len())).rev().find(|&end| reason.is_char_boundary(end));
        out.extend_from_slice(&reason.as_bytes()[..end.unwrap_or(0)]);
    }
}
