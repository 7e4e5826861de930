//! Close codes: RFC 6455, section 7.4.

use std::fmt;

/// A close code that is allowed in a frame: 1000 to 1014 without the reserved ones, and 3000 to
/// 4999.
///
/// 1005, 1006 and 1015 report a local observation (no code, no close frame, TLS failure) and must
/// never be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CloseCode(u16);

impl CloseCode {
    /// The connection has fulfilled its purpose.
    pub const NORMAL: CloseCode = CloseCode(1000);
    /// The server stops, or the browser leaves the page.
    pub const GOING_AWAY: CloseCode = CloseCode(1001);
    /// The peer broke a rule of the protocol.
    pub const PROTOCOL_ERROR: CloseCode = CloseCode(1002);
    /// The message has a data type that this endpoint does not accept.
    pub const UNSUPPORTED_DATA: CloseCode = CloseCode(1003);
    /// The payload does not match the type of the message, such as text that is not UTF-8.
    pub const INVALID_PAYLOAD: CloseCode = CloseCode(1007);
    /// The peer broke a rule of the server that has no more specific code.
    pub const POLICY_VIOLATION: CloseCode = CloseCode(1008);
    /// The message is longer than this endpoint accepts.
    pub const MESSAGE_TOO_BIG: CloseCode = CloseCode(1009);
    /// The server cannot continue because of an internal error.
    pub const INTERNAL_ERROR: CloseCode = CloseCode(1011);

    /// Converts a number. Returns `None` if RFC 6455, section 7.4, forbids it in a frame.
    pub const fn new(number: u16) -> Option<CloseCode> {
        match number {
            1000..=1003 | 1007..=1014 | 3000..=4999 => Some(CloseCode(number)),
            _ => None,
        }
    }

    /// The number that is sent.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// A short description of the number, from section 7.4.1 and the IANA registry.
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
