//! The field lists of this world: see [`mod@tickwire_sim::fields`].

pub(crate) use tickwire_sim::fields::{ByteSink, Field, Malformed, Reader, Sink};
pub(crate) use tickwire_sim::{fields, scalar};

/// Reason why a snapshot was not restored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The bytes do not start with the magic bytes of a snapshot.
    NotASnapshot,
    /// The snapshot has another layout version.
    Version {
        /// The layout version in the snapshot.
        found: u16,
    },
    /// The snapshot was made by a program with other rules.
    Code {
        /// The rules hash in the snapshot; see [`rules_hash`](crate::rules_hash()).
        found: u64,
    },
    /// The bytes end before the end of the state.
    Truncated,
    /// Extra bytes follow the state.
    Trailing {
        /// Number of extra bytes.
        bytes: usize,
    },
    /// A value that no world can have; the text names the field.
    Value(&'static str),
    /// The checksum does not match the state, although each value is possible.
    Checksum,
}

impl From<Malformed> for SnapshotError {
    fn from(why: Malformed) -> SnapshotError {
        match why {
            Malformed::Truncated => SnapshotError::Truncated,
            Malformed::Value(what) => SnapshotError::Value(what),
            // A state contains no actions, so these errors cannot occur.
            Malformed::TooMany(_) | Malformed::Trailing | Malformed::Kind(_) | Malformed::Text => {
                SnapshotError::Value("text")
            }
        }
    }
}
