//! The bounds of the WebSocket layer in the form of its arguments.

use super::{
    CLIENT_MESSAGE_BYTES, HEAD_BYTES, HEAD_HEADERS, MESSAGE_BYTES, MESSAGE_FRAGMENTS, READ_AHEAD_BYTES,
    SELF_CHECK_MESSAGE_BYTES, TARGET_BYTES,
};
use crate::ws::{HeadLimits, Limits};

/// The limits on the head of a request or a response.
pub const HEAD_LIMITS: HeadLimits =
    HeadLimits { bytes: HEAD_BYTES, headers: HEAD_HEADERS, target_bytes: TARGET_BYTES };

/// The limits on messages from a client.
pub const CLIENT_MESSAGE_LIMITS: Limits =
    Limits { message_bytes: MESSAGE_BYTES, fragments: MESSAGE_FRAGMENTS, read_ahead_bytes: READ_AHEAD_BYTES };

/// The limits on messages from a server.
pub const SERVER_MESSAGE_LIMITS: Limits =
    Limits { message_bytes: CLIENT_MESSAGE_BYTES, ..CLIENT_MESSAGE_LIMITS };

/// The limits on messages of a room's journal to `--self-check`.
pub const SELF_CHECK_MESSAGE_LIMITS: Limits =
    Limits { message_bytes: SELF_CHECK_MESSAGE_BYTES, ..CLIENT_MESSAGE_LIMITS };
