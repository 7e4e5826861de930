//! The packets of lockstep: their names, and the required rows.
//!
//! These packets are the same in every game. A client of a dialect with these rows can join in
//! lockstep: the client runs the room's world itself, from a snapshot and the commands of each
//! tick. It requests this in `hello` with [`MODE_LOCKSTEP`].

use std::fmt;

use crate::limits;
use crate::packet::grammar::format_arguments;
use crate::packet::{Dialect, Direction, Lane};

/// Bit of the mode in `hello` that requests lockstep. The lowest bit requests a player.
pub const MODE_LOCKSTEP: u8 = 2;

/// To the client: a snapshot follows, from which the client's world starts or restarts.
pub const STATE_SYNC: &str = "state_sync";
/// To the client: the snapshot before a tick, or a part of it ([`snapshot_parts`]).
pub const SNAPSHOT: &str = "snapshot";
/// To the client: the commands of a tick, as a command frame.
pub const COMMAND_FRAME: &str = "command_frame";
/// To the client: some participants' worlds differ from the server's.
pub const DESYNC_REPORT: &str = "desync_report";
/// To the server: requests a snapshot.
pub const STATE_SYNC_REQUEST: &str = "state_sync_request";
/// To the server: the checksum of the client's world at a checksum tick.
pub const CHECKSUM: &str = "checksum";
/// To the server: differing fields of the client's world, found when that world restarted from a
/// snapshot.
pub const DESYNC_DETAILS: &str = "desync_details";

/// The rows, each with the arguments that the server uses.
const REQUIRED_ROWS: [(Direction, &str, &str); 7] = [
    (
        Direction::ToClient,
        STATE_SYNC,
        "player:u16|nil tick:u32.tick snapshot_tick:u32.tick checksum_ticks:u16.tick epoch:str<=16",
    ),
    (Direction::ToClient, SNAPSHOT, "tick:u32.tick state:bin"),
    (Direction::ToClient, COMMAND_FRAME, "frame:bin"),
    (
        Direction::ToClient,
        DESYNC_REPORT,
        "tick:u32.tick groups:[checksum:str<=16,participants:[str<=48]] omitted:u16 \
         fields:[participant:str<=48,entity:str<=48,field:str<=48,server:str<=48|nil,own:str<=48|nil]",
    ),
    (Direction::ToServer, STATE_SYNC_REQUEST, "-"),
    (Direction::ToServer, CHECKSUM, "tick:u32.tick checksum:str<=16"),
    (
        Direction::ToServer,
        DESYNC_DETAILS,
        "tick:u32.tick fields:[entity:str<=48,field:str<=48,server:str<=48|nil,own:str<=48|nil]<=8",
    ),
];

/// Splits a snapshot into the parts of its packets. Only the last part is shorter than
/// `limits::SNAPSHOT_PART_BYTES`. That part is empty if the length is a multiple of this size.
pub fn snapshot_parts(state: &[u8]) -> impl Iterator<Item = &[u8]> {
    let size = limits::SNAPSHOT_PART_BYTES;
    (0..=state.len() / size).map(move |part| &state[part * size..state.len().min((part + 1) * size)])
}

/// The reason why parts of a snapshot cannot be joined.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotPartError {
    /// Another packet came before the last part.
    Interrupted {
        /// The name of that packet.
        packet: String,
        /// The tick of the unfinished snapshot.
        tick: u32,
        /// The bytes that had been received of it.
        bytes: usize,
    },
    /// A part of another snapshot came before the last part.
    OtherTick {
        /// The tick of the part.
        found: u32,
        /// The tick of the unfinished snapshot.
        tick: u32,
        /// The bytes that had been received of it.
        bytes: usize,
    },
    /// A part is too long.
    PartTooLong {
        /// The tick of the snapshot.
        tick: u32,
        /// The length of the part.
        bytes: usize,
    },
    /// The snapshot is too long.
    TooLong {
        /// The tick of the snapshot.
        tick: u32,
    },
}

impl fmt::Display for SnapshotPartError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SnapshotPartError::Interrupted { packet, tick, bytes } => write!(
                out,
                "{packet} came after {bytes} bytes of the snapshot of tick {tick}: a part is missing"
            ),
            SnapshotPartError::OtherTick { found, tick, bytes } => write!(
                out,
                "a snapshot part of tick {found} came after {bytes} bytes of tick {tick}: a part is missing"
            ),
            SnapshotPartError::PartTooLong { tick, bytes } => {
                let max = limits::SNAPSHOT_PART_BYTES;
                write!(out, "a snapshot part of tick {tick} has {bytes} bytes: must be at most {max}")
            }
            SnapshotPartError::TooLong { tick } => {
                let max = limits::SNAPSHOT_REASSEMBLED_BYTES;
                write!(out, "the snapshot of tick {tick} is longer than {max} bytes")
            }
        }
    }
}

impl std::error::Error for SnapshotPartError {}

/// Reassembles a snapshot from its parts.
#[derive(Debug, Default)]
pub struct SnapshotParts {
    /// Tick and bytes of the unfinished snapshot.
    unfinished: Option<(u32, Vec<u8>)>,
}

impl SnapshotParts {
    /// Adds a part. Returns the whole snapshot after the last part. A first part longer than
    /// `limits::SNAPSHOT_PART_BYTES` is a whole snapshot, because earlier versions of the server
    /// sent a snapshot as one packet, and old captures contain such packets.
    ///
    /// # Errors
    /// The part does not continue the unfinished snapshot, which is dropped.
    pub fn add(&mut self, tick: u32, part: &[u8]) -> Result<Option<Vec<u8>>, SnapshotPartError> {
        let size = limits::SNAPSHOT_PART_BYTES;
        let (own, mut bytes) = self.unfinished.take().unwrap_or((tick, Vec::new()));
        let before = bytes.len();
        if own != tick {
            return Err(SnapshotPartError::OtherTick { found: tick, tick: own, bytes: before });
        }
        if before > 0 && part.len() > size {
            return Err(SnapshotPartError::PartTooLong { tick, bytes: part.len() });
        }
        if before + part.len() > limits::SNAPSHOT_REASSEMBLED_BYTES {
            return Err(SnapshotPartError::TooLong { tick });
        }
        bytes.extend_from_slice(part);
        if part.len() == size {
            self.unfinished = Some((tick, bytes));
            return Ok(None);
        }
        Ok(Some(bytes))
    }

    /// Checks that no snapshot is unfinished when another lockstep packet arrives.
    ///
    /// # Errors
    /// The last part is missing. The unfinished snapshot is dropped.
    pub fn interrupt(&mut self, packet: &str) -> Result<(), SnapshotPartError> {
        self.unfinished.take().map_or(Ok(()), |(tick, bytes)| {
            Err(SnapshotPartError::Interrupted { packet: packet.to_owned(), tick, bytes: bytes.len() })
        })
    }
}

/// Returns whether clients of a dialect can join in lockstep.
pub fn has_lockstep(dialect: &Dialect) -> bool {
    dialect.row(Direction::ToClient, COMMAND_FRAME).is_some()
}

/// Checks that a dialect has all of these rows or none, with the arguments that the server uses.
///
/// # Errors
/// A message with the invalid row and the rule that it breaks.
pub(crate) fn check(dialect: &Dialect) -> Result<(), String> {
    let name = dialect.name();
    let rows = REQUIRED_ROWS
        .map(|(direction, packet, arguments)| (dialect.row(direction, packet), packet, arguments));
    if rows.iter().all(|(row, ..)| row.is_none()) {
        return Ok(());
    }
    for (row, packet, arguments) in rows {
        let Some(row) = row else {
            return Err(format!(
                "the dialect {name} has packets of lockstep, but lacks {packet}: it needs all of them or none"
            ));
        };
        if row.lane != Lane::Reliable || format_arguments(&row.arguments) != arguments {
            return Err(format!(
                "the packet {packet} of the dialect {name} must be reliable, with the arguments {arguments}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketTables;

    fn checked(change: impl Fn(&str) -> String) -> Result<(), String> {
        let rows = REQUIRED_ROWS.iter().enumerate().map(|(code, (direction, packet, arguments))| {
            change(&format!("{}\t{packet}\treliable\t{code}\t{arguments}\ta meaning\n", direction.name()))
        });
        let rows: String = rows.collect();
        let text = format!(
            "direction\tname\tlane\ttest:int\targuments\tmeaning\nto_client\tpong\treliable\t99\t-\ta meaning\n{rows}"
        );
        let codes =
            PacketTables::from_texts(&[("test.tsv", text.as_str())]).map_err(|error| error.to_string())?;
        check(&codes.dialect("test").expect("its dialect"))
    }

    #[test]
    fn tables_have_all_rows_or_none_as_the_server_uses_them() {
        assert_eq!(checked(str::to_owned), Ok(()));
        assert_eq!(checked(|_| String::new()), Ok(()));
        for (_, packet, _) in REQUIRED_ROWS {
            let lacks = |row: &str| {
                if row.contains(&format!("\t{packet}\t")) { String::new() } else { row.to_owned() }
            };
            assert!(checked(lacks).is_err_and(|why| why.contains(&format!("lacks {packet}"))), "{packet}");
        }
        for (from, to) in [("reliable", "latest"), ("frame:bin", "frame:bin<=9"), ("omitted:u16 ", "")] {
            assert!(
                checked(|row| row.replace(from, to)).is_err_and(|why| why.contains("must be reliable")),
                "{from}"
            );
        }
    }
}
