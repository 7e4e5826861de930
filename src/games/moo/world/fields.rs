//! The fields of this world: see [`tickwire_sim::fields`].

pub(crate) use tickwire_sim::fields::{ByteSink, Field, Malformed, Reader, Sink};
pub(crate) use tickwire_sim::{fields, scalar};

/// Why bytes are not a snapshot that this code can restore.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The bytes do not begin like a snapshot.
    NotASnapshot,
    /// The layout differs from the one that this code writes.
    Version {
        /// The layout number in the bytes.
        found: u16,
    },
    /// The world was made with other rules.
    Code {
        /// The code hash in the bytes; see [`crate::code_hash`].
        found: u64,
    },
    /// The bytes end before the state does.
    Truncated,
    /// Bytes follow the state.
    Trailing {
        /// The number of extra bytes.
        bytes: usize,
    },
    /// The name of a value that no world can have.
    Value(&'static str),
    /// Each value is possible, but the checksum does not match.
    Checksum,
}

impl From<Malformed> for SnapshotError {
    fn from(why: Malformed) -> SnapshotError {
        match why {
            Malformed::Truncated => SnapshotError::Truncated,
            Malformed::Value(what) => SnapshotError::Value(what),
            // A state has no actions.
            Malformed::TooMany(_) | Malformed::Trailing | Malformed::Kind(_) | Malformed::Text => {
                SnapshotError::Value("text")
            }
        }
    }
}
