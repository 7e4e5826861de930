//! The past of a journal, for captures and replays.

use super::record::{Record, RecordBody};
use super::recovery::{Inspection, RecoveryError, inspect_from, read_snapshot};
use super::snapshot::JournalSnapshot;
use super::storage::{FileKind, FilePosition, JournalStorage};

/// A world, and all records after it, of one or several runs.
#[derive(Debug)]
pub struct JournalHistory {
    /// The world with which the history begins.
    pub snapshot: JournalSnapshot,
    /// The records after it.
    pub records: Vec<Record>,
    /// Time at which the first segment was created, in milliseconds since 1970.
    pub created_ms: u64,
}

/// Reads a journal from the last snapshot on that was written at least this time before the last
/// change of the journal, or from the oldest one that is retained and from which the world has
/// continued: not with other rules, and not by a new world. With zero, this is the newest
/// snapshot. `None` if the journal is empty.
///
/// # Errors
/// The storage has failed, or a file is damaged.
pub fn history(storage: &impl JournalStorage, time_ms: u64) -> Result<Option<JournalHistory>, RecoveryError> {
    let mut files = storage.list().map_err(|error| RecoveryError::Io { file: String::new(), error })?;
    let last_change_ms = files.iter().map(|file| file.modified_ms).max().unwrap_or_default();
    files.sort_by_key(|file| std::cmp::Reverse(FilePosition::of(&file.name)));
    // Position and tick of the snapshots, the newest first.
    let mut snapshots: Vec<(FilePosition, u32)> = Vec::new();
    let mut identity = None;
    for file in files {
        let Some(position) = FileKind::Snapshot.position_of(&file.name) else { continue };
        let Ok(snapshot) = read_snapshot(storage, (FileKind::Snapshot, position))? else { continue };
        if *identity.get_or_insert_with(|| snapshot.identity.clone()) != snapshot.identity {
            break;
        }
        snapshots.push((position, snapshot.tick));
        if file.modified_ms.saturating_add(time_ms) <= last_change_ms {
            break;
        }
    }
    let all = loop {
        let Some((oldest, _)) = snapshots.last() else { return Ok(None) };
        match inspect_from(storage, None, Some(*oldest)) {
            // Records between two snapshots are missing: the history begins with the later one.
            Err(RecoveryError::Damage(_)) if snapshots.len() > 1 => drop(snapshots.pop()),
            inspected => break inspected?,
        }
    };
    let new_world = snapshots.windows(2).find(|two| {
        let [(position, tick), (_, before)] = two else { return false };
        let at = all.records.partition_point(|record| record.sequence < position.sequence);
        let is_frame = |record: &&Record| matches!(record.body, RecordBody::Frame(_));
        all.records[..at].iter().rfind(is_frame).map_or(*before, |record| record.tick + 1) != *tick
    });
    let Inspection { snapshot, records, segments, .. } = match new_world {
        Some(two) => inspect_from(storage, None, Some(two[0].0))?,
        None => all,
    };
    let created_ms = segments.first().map_or(0, |header| header.created_ms);
    Ok(snapshot.map(|snapshot| JournalHistory { snapshot, records, created_ms }))
}
