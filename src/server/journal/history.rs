//! The past of a journal, for captures and replays.

use super::record::Record;
use super::recovery::{Inspection, RecoveryError, inspect_from, read_snapshot};
use super::snapshot::JournalSnapshot;
use super::storage::{FileKind, FilePosition, JournalStorage};

/// A run, or the end of one: a world, and the records after it.
#[derive(Debug)]
pub struct JournalPart {
    /// The world with which the part begins.
    pub snapshot: JournalSnapshot,
    /// The records after it.
    pub records: Vec<Record>,
    /// Time at which the first segment of the part was created, in milliseconds since 1970.
    pub created_ms: u64,
}

/// Reads a journal from the last snapshot on that was written at least this time before the last
/// change of the journal, or from the oldest snapshot that is retained. With zero, this is the
/// newest snapshot. The result has a part for each run, and none if the journal is empty. Worlds
/// with other rules than the last one are left out.
///
/// # Errors
/// The storage has failed, or a file is damaged.
pub fn history(storage: &impl JournalStorage, time_ms: u64) -> Result<Vec<JournalPart>, RecoveryError> {
    let mut files = storage.list().map_err(|error| RecoveryError::Io { file: String::new(), error })?;
    let last_change_ms = files.iter().map(|file| file.modified_ms).max().unwrap_or_default();
    files.sort_by_key(|file| std::cmp::Reverse(FilePosition::of(&file.name)));
    // The first snapshots of the runs, the newest run first.
    let mut starts: Vec<JournalSnapshot> = Vec::new();
    for file in files {
        let Some(position) = FileKind::Snapshot.position_of(&file.name) else { continue };
        let Ok(snapshot) = read_snapshot(storage, (FileKind::Snapshot, position))? else { continue };
        match starts.last_mut() {
            // A snapshot of other rules: one program cannot replay both.
            Some(later) if later.identity != snapshot.identity => break,
            Some(later) if later.run == snapshot.run => *later = snapshot,
            _ => starts.push(snapshot),
        }
        if file.modified_ms.saturating_add(time_ms) <= last_change_ms {
            break;
        }
    }
    let start = starts.last().map(|snapshot| FilePosition::new(snapshot.fence, snapshot.sequence));
    let Inspection { mut records, segments, .. } = inspect_from(storage, None, start)?;
    let created_ms = |sequence: u64| {
        let header = segments.iter().find(|header| header.first_sequence >= sequence);
        header.map_or(0, |header| header.created_ms)
    };
    let mut parts = Vec::new();
    for snapshot in starts {
        let at = records.partition_point(|record| record.sequence < snapshot.sequence);
        let (created_ms, records) = (created_ms(snapshot.sequence), records.split_off(at));
        parts.push(JournalPart { snapshot, records, created_ms });
    }
    parts.reverse();
    Ok(parts)
}
