//! The state as bytes, and back.

use std::fmt;

use crate::state::World;

/// Why bytes are not a snapshot of this code's world.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The bytes end before the state does.
    Truncated,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotError::Truncated => f.write_str("the bytes end before the state does"),
        }
    }
}

impl std::error::Error for SnapshotError {}

impl World {
    /// The world of a snapshot.
    ///
    /// # Errors
    /// When the bytes are not what [`World::snapshot`] of the same code made.
    pub fn restore(_bytes: &[u8]) -> Result<World, SnapshotError> {
        Err(SnapshotError::Truncated)
    }
}
