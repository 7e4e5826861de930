//! Encodes and decodes snapshots of the state.
//!
//! Restoring treats the bytes as untrusted. Counts are checked against the remaining bytes before
//! memory is reserved, each value against its valid range, and the whole state against its
//! checksum.
//!
//! ```text
//!    0        4         6                14                        n-8        n
//!    +--------+---------+----------------+-------------------------+----------+
//!    | "TWSN" | version | rules_hash      | identity, then the rest | checksum |
//!    |        | u16     | u64            | of the state            | u64      |
//!    +--------+---------+----------------+-------------------------+----------+
//! ```
//! Numbers are little-endian. The identity is seed, map size and tick rate (u32, u32, u8). The
//! other fields follow the field lists of the types, from `State` downwards.

use std::fmt;

use tickwire_sim::migrate::{NamedState, NamedWriter};
use tickwire_sim::RestoreError;

use crate::controller::Controller;
pub use crate::fields::SnapshotError;
use crate::fields::{ByteSink, Field, Reader, Sink};
use crate::rules_hash::rules_hash;
use crate::state::{Identity, State};
use crate::validate::check;
use crate::world::World;

/// The first bytes of every snapshot.
pub(crate) const MAGIC: &[u8; 4] = b"TWSN";
/// Layout version that this code writes and reads.
const VERSION: u16 = 1;
/// Size of the checksum, in bytes.
const CHECKSUM_BYTES: usize = 8;

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotError::NotASnapshot => f.write_str("these bytes are not a snapshot of a world"),
            SnapshotError::Version { found } => {
                write!(f, "the snapshot has layout {found}, but this program reads layout {VERSION}")
            }
            SnapshotError::Code { found } => {
                let own = rules_hash();
                write!(
                    f,
                    "the snapshot was made with other rules ({found:016x}, this program has {own:016x})"
                )
            }
            SnapshotError::Truncated => f.write_str("the snapshot is truncated"),
            SnapshotError::Trailing { bytes } => {
                write!(f, "extra bytes at the end of the snapshot: {bytes}")
            }
            SnapshotError::Value(what) => write!(f, "the snapshot contains an impossible value: {what}"),
            SnapshotError::Checksum => f.write_str("the snapshot is damaged: its checksum does not match"),
        }
    }
}

impl std::error::Error for SnapshotError {}

impl From<SnapshotError> for RestoreError {
    fn from(error: SnapshotError) -> RestoreError {
        match error {
            SnapshotError::NotASnapshot => RestoreError::NotASnapshot { game: "a world" },
            SnapshotError::Code { found } => RestoreError::OtherRules { found, expected: rules_hash() },
            error => RestoreError::Invalid(error.to_string()),
        }
    }
}

impl World {
    /// Encodes the state, after a header with the layout version and the rules hash.
    pub fn snapshot(&self) -> Vec<u8> {
        let mut out = ByteSink(MAGIC.to_vec());
        out.put(u64::from(VERSION), 2);
        out.put(rules_hash(), 8);
        self.state.write(&mut out);
        out.put(self.checksum(), CHECKSUM_BYTES);
        out.0
    }

    /// Restores the world of a snapshot. The restored world continues exactly like the saved world.
    ///
    /// # Errors
    /// The bytes were not made by [`World::snapshot`] of the same code.
    pub fn restore(bytes: &[u8]) -> Result<World, SnapshotError> {
        let (state, checksum) = read(bytes)?;
        check(&state)?;
        let world = World::from_state(state);
        if world.checksum() == checksum {
            Ok(world)
        } else {
            Err(SnapshotError::Checksum)
        }
    }
}

impl World {
    /// Encodes the state with the names of its fields, for a program with other fields or rules.
    pub fn named(&self) -> Vec<u8> {
        let mut out = NamedWriter::default();
        out.field("world", &self.state);
        out.bytes("moo")
    }

    /// Migrates a saved state with named fields, as described at [`tickwire_sim::Sim::migrate`].
    ///
    /// # Errors
    /// The saved state is not a valid world under the rules of this program.
    pub fn carried(identity: Identity, saved: &NamedState) -> Result<World, SnapshotError> {
        let fresh = World::new(identity);
        let mut state: State = saved.field("world", &fresh.state)?;
        state.identity = fresh.state.identity;
        for entity in &mut state.players {
            if let Controller::Player(player) = &mut entity.controller {
                player.sequence = 0;
            }
        }
        check(&state)?;
        Ok(World::from_state(state))
    }
}

/// Decodes the state and the checksum, and validates neither.
pub(crate) fn read(bytes: &[u8]) -> Result<(State, u64), SnapshotError> {
    if !bytes.starts_with(MAGIC) {
        return Err(SnapshotError::NotASnapshot);
    }
    let mut reader = Reader::new(&bytes[MAGIC.len()..]);
    let version = reader.scalar(2)? as u16;
    if version != VERSION {
        return Err(SnapshotError::Version { found: version });
    }
    let code = reader.scalar(8)?;
    if code != rules_hash() {
        return Err(SnapshotError::Code { found: code });
    }
    let state = State::read(&mut reader)?;
    let checksum = reader.scalar(CHECKSUM_BYTES)?;
    match reader.rest().len() {
        0 => Ok((state, checksum)),
        bytes => Err(SnapshotError::Trailing { bytes }),
    }
}
