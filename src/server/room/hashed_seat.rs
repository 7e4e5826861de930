//! Seats with hashed keys, as the journal stores them: a reader of the file cannot take a seat.

use std::fmt;

use sha2::{Digest as _, Sha256};
use tickwire_sim::PlayerId;

use crate::util::address_prefix::AddressPrefix;

/// Prefix of the hashed bytes, so that the hash of a key has no other use.
const DOMAIN: &[u8] = b"tickwire seat key";

/// The first 16 bytes of the SHA-256 hash of a seat key. `Debug` hides it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeatKeyHash(pub [u8; 16]);

impl SeatKeyHash {
    /// Hashes the bytes of a seat key.
    pub fn of(key: [u8; 16]) -> SeatKeyHash {
        let mut hash = Sha256::new();
        hash.update(DOMAIN);
        hash.update(key);
        let mut first = [0; 16];
        first.copy_from_slice(&hash.finalize()[..16]);
        SeatKeyHash(first)
    }
}

impl fmt::Debug for SeatKeyHash {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SeatKeyHash(…)")
    }
}

/// A seat that a client can resume, with the hash of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashedSeat {
    /// The player number of the seat.
    pub player: PlayerId,
    /// The hash of the seat's key.
    pub key: SeatKeyHash,
    /// Address prefix of the last connection.
    pub from: AddressPrefix,
}

/// A change of the seats that clients can resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeatChange {
    /// The seat has this key and this address prefix.
    Keyed(HashedSeat),
    /// The seat of this player has no key.
    Unkeyed(PlayerId),
}

impl SeatChange {
    /// Returns the player of the seat.
    pub fn player(&self) -> PlayerId {
        match self {
            SeatChange::Keyed(seat) => seat.player,
            SeatChange::Unkeyed(player) => *player,
        }
    }
}
