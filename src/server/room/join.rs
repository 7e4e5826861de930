//! A join: the client that joins, and the player that it got.

use tickwire_sim::PlayerId;

use super::seat_keys::SeatKey;
use crate::util::address_prefix::AddressPrefix;

/// A client that joins with a player.
#[derive(Debug, Clone, Copy)]
pub struct JoinAttempt {
    /// The key for a later resume. `None` if the client cannot resume.
    pub key: Option<SeatKey>,
    /// The number of its connection.
    pub connection: u64,
    /// The address prefix of the connection.
    pub from: AddressPrefix,
}

/// The player that a client got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinOutcome {
    /// The player number.
    pub player: PlayerId,
    /// Whether the client has resumed the player.
    pub is_resumed: bool,
    /// After this many ticks, the published player reflects this connection. Before that, queued
    /// commands of an earlier connection may still be executed.
    pub from_tick: u32,
    /// Ticks completed when the seat was taken.
    pub taken_at_tick: u32,
}
