//! The reason why a world cannot be restored.

use std::fmt;

use crate::Malformed;

/// The reason why bytes or a saved state are not a world of this program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestoreError {
    /// The bytes are not a snapshot of this game, but may be one of another game.
    NotASnapshot {
        /// The name of the game.
        game: &'static str,
    },
    /// The snapshot was made by a program with other rules.
    OtherRules {
        /// The rules hash in the snapshot.
        found: u64,
        /// The rules hash of this program.
        expected: u64,
    },
    /// The bytes are truncated or damaged.
    Malformed(Malformed),
    /// The state is impossible in this game. The text names the rule.
    Invalid(String),
}

impl From<Malformed> for RestoreError {
    fn from(error: Malformed) -> RestoreError {
        RestoreError::Malformed(error)
    }
}

impl fmt::Display for RestoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestoreError::NotASnapshot { game } => write!(out, "these bytes are not a snapshot of {game}"),
            RestoreError::OtherRules { found, expected } => write!(
                out,
                "the snapshot was made with other rules ({found:016x}, this program has {expected:016x})"
            ),
            RestoreError::Malformed(error) => error.fmt(out),
            RestoreError::Invalid(reason) => out.write_str(reason),
        }
    }
}

impl std::error::Error for RestoreError {}
