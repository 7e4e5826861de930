//! The server's own reasons to close a connection: name, close code and text. Close frames, log
//! lines and metrics use them.

use std::fmt;

#[cfg(doc)]
use crate::limits;
use crate::packet::routes::WRONG_FRAME_TYPE;

/// A rule of the game protocol that a client broke, or another reason for which the server closes a
/// connection. Broken rules of RFC 6455 are `ws::Violation`s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// More than 120 messages per second, after a burst of 240.
    MessageRate,
    /// More than 16 KiB per second, after a burst of 64 KiB.
    ByteRate,
    /// No `hello` within 10 seconds.
    HelloLate,
    /// A native client's first packet was not `hello`.
    HelloFirst,
    /// A `hello` of a version that this server does not support.
    HelloVersion,
    /// A text frame on a MessagePack endpoint, or a binary frame on a JSON one.
    WrongFrameType,
    /// 64 KiB were unsent, or the kernel accepted no bytes for 10 seconds.
    SlowClient,
    /// The client sent nothing for 65 seconds, not even a pong or ping.
    IdleTimeout,
    /// All player numbers are taken.
    WorldFull,
    /// The operator removed the client.
    Kicked,
    /// The operator banned the client's address.
    Banned,
    /// The server is shutting down, or the operator has closed the room.
    GoingAway,
    /// The server fell behind and dropped events for the client, because more than
    /// 8 MiB waited.
    Overloaded,
    /// Another connection has resumed this client's seat with the same key or token.
    TakenOver,
    /// The server requires a player token, and this client has none.
    TokenMissing,
    /// The client's token is unknown. Sent after a second.
    TokenWrong,
    /// The address has already sent 10 wrong tokens within a minute. This token is wrong too, or
    /// was not compared.
    TooManyTokenAttempts,
    /// The request would create a room. On a server with tokens, such a request must contain a
    /// token.
    RoomTokenMissing,
    /// The request wants any room. No room meets its conditions, and the server can create none
    /// that does.
    NoRoomFits,
    /// The client requests lockstep. The server does not offer it, or offers it only to clients
    /// with a token.
    LockstepOff,
    /// The snapshot of a lockstep client's room exceeds 8 MiB.
    LockstepTooLarge,
    /// A bug of the server.
    InternalError,
}

/// Each reason with its name, its close code (RFC 6455, section 7.4.1) and its text, in enum order.
const ROWS: [(CloseReason, &str, u16, &str); 22] = [
    (CloseReason::MessageRate, "message_rate", 1008, "more messages than a client may send"),
    (CloseReason::ByteRate, "byte_rate", 1008, "more bytes than a client may send"),
    (CloseReason::HelloLate, "hello_late", 1008, "no hello before the deadline"),
    (CloseReason::HelloFirst, "hello_first", 1008, "the first packet must be hello"),
    (CloseReason::HelloVersion, "hello_version", 1008, "this server speaks version 1"),
    (CloseReason::WrongFrameType, WRONG_FRAME_TYPE.0, WRONG_FRAME_TYPE.2, WRONG_FRAME_TYPE.1),
    (CloseReason::SlowClient, "slow_client", 1008, "the client did not read its data in time"),
    (CloseReason::IdleTimeout, "idle_timeout", 1011, "the client sent nothing, not even a pong"),
    (CloseReason::WorldFull, "world_full", 1013, "the world is full"),
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
        "too_many_token_attempts",
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
        CloseReason::NoRoomFits,
        "no_room_fits",
        1013,
        "no room fits, and none can be created that does: leave out a condition, or try again",
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
    /// All reasons, for the tests that compare PROTOCOL.md with the code.
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

    /// The name in PROTOCOL.md, log lines, metrics and close frames.
    pub fn name(self) -> &'static str {
        ROWS[self as usize].1
    }

    /// The close code, RFC 6455, section 7.4.1.
    pub fn close_code(self) -> u16 {
        ROWS[self as usize].2
    }

    /// Returns whether the client broke a rule. [`CloseReason::WorldFull`] and all later reasons
    /// are not faults of the client.
    pub fn is_client_fault(self) -> bool {
        (self as u8) < CloseReason::WorldFull as u8
    }
}

impl fmt::Display for CloseReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(ROWS[*self as usize].3)
    }
}
