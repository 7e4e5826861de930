//! The server's own reasons for closing a client: name, close code, sentence. Close frame, log line
//! and metric take their text from here.

use std::fmt;

#[cfg(doc)]
use crate::limits;
use crate::packet::routes::WRONG_FRAME_TYPE;

/// A rule of our own that a client broke, or a reason of the server to close. RFC 6455's rules are
/// `ws::Violation`s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CloseReason {
    /// More messages than [`limits::CLIENT_MESSAGES_PER_SECOND`] and its burst allow.
    MessageRate,
    /// More bytes than [`limits::CLIENT_BYTES_PER_SECOND`] and its burst allow.
    ByteRate,
    /// No `hello` within [`limits::HELLO_TIMEOUT`].
    HelloLate,
    /// A native client's first packet was not `hello`.
    HelloFirst,
    /// A `hello` of a version that this server does not support.
    HelloVersion,
    /// A text frame on a MessagePack endpoint, or a binary frame on a JSON one.
    WrongFrameType,
    /// Unsent bytes reached [`limits::SEND_QUEUE_BYTES`], or the kernel accepted none for
    /// [`limits::SEND_STALL_TIME`].
    SlowClient,
    /// The client sent nothing for [`limits::IDLE_TIMEOUT`], not even a pong or ping.
    IdleTimeout,
    /// All player numbers are taken.
    WorldFull,
    /// The operator removed the client.
    Kicked,
    /// The operator banned the client's address.
    Banned,
    /// The server is shutting down, or the operator has ended the room.
    GoingAway,
    /// The server fell behind and gave up events that the client should have received: more than
    /// [`limits::MISSED_EVENT_BYTES`] waited.
    Overloaded,
    /// Another connection has come back to this client's seat with the same key or token.
    TakenOver,
    /// The server wants a token from those who play, and this client has none.
    TokenMissing,
    /// The client's token is not one of the server's; told after [`limits::WRONG_TOKEN_DELAY`].
    TokenWrong,
    /// The client's token is wrong after [`limits::MAX_WRONG_TOKENS`] other wrong ones of its address, or was
    /// not compared.
    TooManyTokenAttempts,
    /// The client's request would make a room, which on a server with tokens needs one in the request.
    RoomTokenMissing,
    /// The client asks to follow in lockstep, which its server does not offer, or not without a token.
    LockstepOff,
    /// The client follows in lockstep a room whose snapshot is larger than
    /// [`limits::SNAPSHOT_MOST_BYTES`].
    LockstepTooLarge,
    /// An internal bug.
    InternalError,
}

/// Each breach with its name, its close code (RFC 6455 7.4.1) and its sentence, in the order of the enum.
const ROWS: [(CloseReason, &str, u16, &str); 21] = [
    (CloseReason::MessageRate, "message_rate", 1008, "more messages than a client may send"),
    (CloseReason::ByteRate, "byte_rate", 1008, "more bytes than a client may send"),
    (CloseReason::HelloLate, "hello_late", 1008, "no hello before the deadline"),
    (CloseReason::HelloFirst, "hello_first", 1008, "the first packet must be hello"),
    (CloseReason::HelloVersion, "hello_version", 1008, "this server speaks version 1"),
    (CloseReason::WrongFrameType, WRONG_FRAME_TYPE.0, WRONG_FRAME_TYPE.2, WRONG_FRAME_TYPE.1),
    (CloseReason::SlowClient, "slow_client", 1008, "the client did not read its data in time"),
    (CloseReason::IdleTimeout, "silent", 1011, "the client sent nothing, not even a pong"),
    (CloseReason::WorldFull, "full", 1013, "the world is full"),
    (CloseReason::Kicked, "kicked", 1008, "the operator kicked this client"),
    (CloseReason::Banned, "banned", 1008, "the operator banned this address"),
    (
        CloseReason::GoingAway,
        "going_away",
        1001,
        "the server is shutting down, or the operator has ended the room",
    ),
    (CloseReason::Overloaded, "overloaded", 1013, "the server fell behind and lost events"),
    (CloseReason::TakenOver, "taken_over", 1008, "the game goes on over another connection"),
    (CloseReason::TokenMissing, "token_missing", 1008, "this server wants a token from those who play"),
    (CloseReason::TokenWrong, "token_wrong", 1008, "the token is wrong"),
    (
        CloseReason::TooManyTokenAttempts,
        "token_too_often",
        1008,
        "too many wrong tokens from this address: wait a minute",
    ),
    (
        CloseReason::RoomTokenMissing,
        "room_token_missing",
        1008,
        "a new room needs a player's token in the request: as a subprotocol, or in the query",
    ),
    (
        CloseReason::LockstepOff,
        "lockstep_off",
        1008,
        "this server does not offer lockstep, or not without a token",
    ),
    (
        CloseReason::LockstepTooLarge,
        "lockstep_too_large",
        1008,
        "the world is too large to be sent: follow it as a stream",
    ),
    (CloseReason::InternalError, "internal_error", 1011, "a bug in the server"),
];

impl CloseReason {
    /// All of them, for the tests that check PROTOCOL.md against the code.
    pub const ALL: [CloseReason; ROWS.len()] = {
        let (mut all, mut at) = ([CloseReason::MessageRate; ROWS.len()], 0);
        while at < all.len() {
            assert!(ROWS[at].0 as usize == at, "the rows have the order of the enum");
            assert!(matches!(ROWS[at].2, 1000..=1003 | 1007..=1014), "a code that a close frame may have");
            all[at] = ROWS[at].0;
            at += 1;
        }
        all
    };

    /// The rule's name in PROTOCOL.md, log lines, metrics and the close frame's reason.
    pub fn name(self) -> &'static str {
        ROWS[self as usize].1
    }

    /// The close code, RFC 6455 7.4.1.
    pub fn close_code(self) -> u16 {
        ROWS[self as usize].2
    }

    /// Whether the client broke a rule; otherwise the reason is the server's own, as from
    /// [`CloseReason::Full`] on.
    pub fn is_client_fault(self) -> bool {
        (self as u8) < CloseReason::WorldFull as u8
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(ROWS[*self as usize].3)
    }
}
