//! The server's own reasons for closing a client: name, close code, sentence.
//!
//! Close frame, log line and metric take their text from here. Rules of RFC 6455 are not here; each
//! is a `ws::Violation`.

use std::fmt;

#[cfg(doc)]
use crate::limits;
use crate::packet::endpoint::FRAME_KIND;

/// A rule of our own that a client broke, or a reason of the server to close. RFC 6455's rules are
/// `ws::Violation`s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breach {
    /// More messages than [`limits::CLIENT_MESSAGES_PER_SECOND`] and its burst allow.
    MessageRate,
    /// More bytes than [`limits::CLIENT_BYTES_PER_SECOND`] and its burst allow.
    ByteRate,
    /// No `hello` within [`limits::HELLO_TIME`].
    HelloLate,
    /// A native client's first packet was not `hello`.
    HelloFirst,
    /// A `hello` of a version that this server does not support.
    HelloVersion,
    /// A text frame on a MessagePack endpoint, or a binary frame on a JSON one.
    FrameKind,
    /// Unsent bytes reached [`limits::OUTBOX_BYTES`], or the kernel accepted none for
    /// [`limits::OUTBOX_GRACE`].
    SlowClient,
    /// The client sent nothing for [`limits::SILENCE`], not even a pong or ping.
    Silent,
    /// All player numbers are taken.
    Full,
    /// The operator removed the client.
    Kicked,
    /// The operator banned the client's address.
    Banned,
    /// The server is shutting down.
    GoingAway,
    /// The server fell behind and gave up events that the client should have received: more than
    /// [`limits::MISSED_EVENT_BYTES`] waited.
    Overloaded,
    /// An internal bug.
    InternalError,
}

impl Breach {
    /// All of them, for the tests that check PROTOCOL.md against the code.
    pub const ALL: [Breach; 14] = [
        Breach::MessageRate,
        Breach::ByteRate,
        Breach::HelloLate,
        Breach::HelloFirst,
        Breach::HelloVersion,
        Breach::FrameKind,
        Breach::SlowClient,
        Breach::Silent,
        Breach::Full,
        Breach::Kicked,
        Breach::Banned,
        Breach::GoingAway,
        Breach::Overloaded,
        Breach::InternalError,
    ];

    /// The rule's name in PROTOCOL.md, log lines, metrics and the close frame's reason.
    pub fn name(self) -> &'static str {
        match self {
            Breach::MessageRate => "message_rate",
            Breach::ByteRate => "byte_rate",
            Breach::HelloLate => "hello_late",
            Breach::HelloFirst => "hello_first",
            Breach::HelloVersion => "hello_version",
            Breach::FrameKind => FRAME_KIND.0,
            Breach::SlowClient => "slow_client",
            Breach::Silent => "silent",
            Breach::Full => "full",
            Breach::Kicked => "kicked",
            Breach::Banned => "banned",
            Breach::GoingAway => "going_away",
            Breach::Overloaded => "overloaded",
            Breach::InternalError => "internal_error",
        }
    }

    /// Whether the client broke a rule; otherwise the reason is the server's own.
    pub fn is_of_the_client(self) -> bool {
        !matches!(
            self,
            Breach::Full
                | Breach::Kicked
                | Breach::Banned
                | Breach::GoingAway
                | Breach::Overloaded
                | Breach::InternalError
        )
    }

    /// The close code, RFC 6455 7.4.1.
    pub fn close_code(self) -> u16 {
        match self {
            Breach::GoingAway => 1001,
            Breach::FrameKind => FRAME_KIND.2,
            Breach::Silent | Breach::InternalError => 1011,
            Breach::Full | Breach::Overloaded => 1013,
            _ => 1008,
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Breach::MessageRate => "more messages than a client may send",
            Breach::ByteRate => "more bytes than a client may send",
            Breach::HelloLate => "no hello before the deadline",
            Breach::HelloFirst => "the first packet must be hello",
            Breach::HelloVersion => "this server speaks version 1",
            Breach::FrameKind => FRAME_KIND.1,
            Breach::SlowClient => "the client did not read its data in time",
            Breach::Silent => "the client sent nothing, not even a pong",
            Breach::Full => "the world is full",
            Breach::Kicked => "the operator kicked this client",
            Breach::Banned => "the operator banned this address",
            Breach::GoingAway => "the server is shutting down",
            Breach::Overloaded => "the server fell behind and lost events",
            Breach::InternalError => "a bug in the server",
        })
    }
}
