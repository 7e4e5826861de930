//! The reason why the packet tables of a capture cannot be used.

use std::fmt;

/// The reason why the packet tables of a capture cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CapturedTablesError {
    /// The capture program stored only the first bytes of each packet.
    Truncated {
        /// Number of the packet in the capture, from 1.
        packet: usize,
    },
    /// A part of a table is missing.
    PartMissing {
        /// Number of the packet in the capture, from 1.
        packet: usize,
    },
    /// The capture ends before the last table.
    Incomplete,
    /// The capture has two different sets of tables.
    TwoSets,
    /// A table is not UTF-8.
    NotUtf8 {
        /// The name of the table's file.
        file: String,
    },
}

impl fmt::Display for CapturedTablesError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CapturedTablesError::Truncated { packet } => {
                write!(out, "the capture truncated the packet tables (snapshot length), at packet {packet}")
            }
            CapturedTablesError::PartMissing { packet } => {
                write!(out, "the packet tables in the capture lack a part, at packet {packet}")
            }
            CapturedTablesError::Incomplete => {
                out.write_str("the packet tables in the capture are not complete")
            }
            CapturedTablesError::TwoSets => {
                out.write_str("the capture was made with two different sets of packet tables")
            }
            CapturedTablesError::NotUtf8 { file } => {
                write!(out, "the packet table {file:?} in the capture is not UTF-8")
            }
        }
    }
}

impl std::error::Error for CapturedTablesError {}
