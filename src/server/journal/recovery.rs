//! Finds the state from which a room continues: the newest undamaged snapshot, and the records
//! after it.

use std::fmt;
use std::io;

use super::identity::WorldIdentity;
use super::record::{Record, RecordFault};
use super::segment::{self, SegmentHeader};
use super::snapshot::JournalSnapshot;
use super::storage::{FileKind, FilePosition, JournalStorage};

/// The remedy for damage that recovery cannot decide about.
const RESTORE_OR_TRUNCATE: &str = "restore the file from a backup, or give up everything from this \
     byte on with `tickwire journal truncate`";

/// A fault of a file, with its position and the remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalDamage {
    /// The name of the file.
    pub file: String,
    /// The position of the fault in bytes.
    pub offset: u64,
    /// The broken rule.
    pub rule: String,
    /// The remedy.
    pub remedy: &'static str,
}

impl fmt::Display for JournalDamage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let JournalDamage { file, offset, rule, remedy } = self;
        write!(out, "{file}, byte {offset}: {rule}; {remedy}")
    }
}

/// The reason why a journal cannot be recovered.
#[derive(Debug)]
pub enum RecoveryError {
    /// The storage has failed.
    Io {
        /// The file; empty for the directory.
        file: String,
        /// The error of the system.
        error: io::Error,
    },
    /// A file is damaged, or belongs to another world.
    Damage(JournalDamage),
}

impl fmt::Display for RecoveryError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecoveryError::Io { file, error } if file.is_empty() => error.fmt(out),
            RecoveryError::Io { file, error } => write!(out, "{file}: {error}"),
            RecoveryError::Damage(damage) => damage.fmt(out),
        }
    }
}

impl std::error::Error for RecoveryError {}

/// The incomplete end of the last segment: a write that a crash has interrupted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TornTail {
    /// The name of the segment.
    pub file: String,
    /// The position of the first incomplete record in bytes.
    pub offset: u64,
    /// The bytes from there to the end of the file.
    pub bytes: u64,
    /// The rule that the first incomplete record breaks.
    pub rule: RecordFault,
}

/// The readable content of a journal.
#[derive(Debug, Default)]
pub struct Inspection {
    /// The newest undamaged snapshot. `None` if the journal is empty.
    pub snapshot: Option<JournalSnapshot>,
    /// The records after the snapshot.
    pub records: Vec<Record>,
    /// The headers of the segments after the snapshot.
    pub segments: Vec<SegmentHeader>,
    /// The sequence of the next record.
    pub next_sequence: u64,
    /// The fence of the last run; 0 outside a cluster.
    pub last_fence: u64,
    /// The number of the last run; 0 before the first.
    pub last_run: u32,
    /// The torn tail, which [`repair`] truncates.
    pub torn: Option<TornTail>,
    /// The faults of newer snapshots, which are not used.
    pub damaged_snapshots: Vec<JournalDamage>,
    /// Incomplete files, which [`repair`] removes.
    pub parts: Vec<String>,
}

/// Reads a journal from its newest undamaged snapshot on, and changes nothing.
///
/// # Errors
/// The storage has failed, a needed file is damaged, records are missing, or the journal has
/// another identity than `expected`.
pub fn inspect(
    storage: &impl JournalStorage,
    expected: Option<&WorldIdentity>,
) -> Result<Inspection, RecoveryError> {
    inspect_from(storage, expected, None)
}

/// Reads a journal from its newest undamaged snapshot at this position or before it, and changes
/// nothing. Without a position, from the newest one.
///
/// # Errors
/// As [`inspect`].
pub fn inspect_from(
    storage: &impl JournalStorage,
    expected: Option<&WorldIdentity>,
    start: Option<FilePosition>,
) -> Result<Inspection, RecoveryError> {
    let files = storage.list().map_err(|error| RecoveryError::Io { file: String::new(), error })?;
    let positions = |kind: FileKind| {
        let mut all: Vec<_> = files.iter().filter_map(|file| kind.position_of(&file.name)).collect();
        all.sort_unstable();
        all
    };
    let (snapshots, segments) = (positions(FileKind::Snapshot), positions(FileKind::Segment));
    let mut inspection = Inspection::default();
    let names = files.iter().map(|file| &file.name);
    inspection.parts = names.filter(|name| FileKind::is_part(name)).cloned().collect();
    for position in snapshots.iter().rev().filter(|position| start.is_none_or(|start| **position <= start)) {
        match read_snapshot(storage, (FileKind::Snapshot, *position))? {
            Ok(snapshot) => {
                inspection.snapshot = Some(snapshot);
                break;
            }
            Err(damage) => inspection.damaged_snapshots.push(damage),
        }
    }
    let Some(snapshot) = &inspection.snapshot else {
        return match (inspection.damaged_snapshots.first(), segments.first()) {
            (Some(damage), _) => Err(RecoveryError::Damage(damage.clone())),
            (None, Some(first)) => {
                Err(damaged(FileKind::Segment.name(*first), 0, "there is no snapshot before it"))
            }
            (None, None) => Ok(inspection),
        };
    };
    let start = FilePosition::new(snapshot.fence, snapshot.sequence);
    check_identity(expected, &snapshot.identity, FileKind::Snapshot.name(start))?;
    let identity = snapshot.identity.clone();
    (inspection.next_sequence, inspection.last_run, inspection.last_fence) =
        (start.sequence, snapshot.run, start.fence);
    let needed: Vec<FilePosition> = segments.iter().copied().filter(|position| *position >= start).collect();
    for (at, position) in needed.iter().enumerate() {
        // The next owner has read the records up to here: later ones of this fence are dropped.
        let later = snapshots.iter().chain(&segments).filter(|other| other.fence > position.fence);
        let end = later.map(|other| other.sequence).min();
        if end.is_none_or(|end| position.sequence < end) {
            let is_last = at + 1 == needed.len();
            inspection.read_segment(storage, *position, &identity, (end, is_last))?;
        }
    }
    Ok(inspection)
}

/// Reads the world with which the last run has stopped, by the names of its fields. `None` if the
/// run has not stopped cleanly.
///
/// # Errors
/// The storage has failed, or the file is damaged.
pub fn named_world(
    storage: &impl JournalStorage,
    inspection: &Inspection,
) -> Result<Option<JournalSnapshot>, RecoveryError> {
    let position = FilePosition::new(inspection.last_fence, inspection.next_sequence);
    let names = storage.names().map_err(in_file(""))?;
    if inspection.torn.is_some() || !names.contains(&FileKind::Named.name(position)) {
        return Ok(None);
    }
    read_snapshot(storage, (FileKind::Named, position))?.map(Some).map_err(RecoveryError::Damage)
}

/// Makes a journal ready for the next run, with this fence: truncates the torn tail, and removes
/// incomplete files. Leaves both if the next run has a higher fence, because the process with the
/// earlier fence may still write; the next recovery ignores them.
///
/// # Errors
/// The storage has failed.
pub fn repair(
    storage: &mut impl JournalStorage,
    inspection: &Inspection,
    fence: u64,
) -> Result<(), RecoveryError> {
    if inspection.last_fence == fence {
        for part in &inspection.parts {
            storage.remove(part).map_err(in_file(part))?;
        }
        if let Some(torn) = &inspection.torn {
            storage.truncate(&torn.file, torn.offset).map_err(in_file(&torn.file))?;
        }
    }
    // The end of the last run may not be durable yet, although it can be read.
    if let Some(last) = inspection.segments.last() {
        let file = FileKind::Segment.name(FilePosition::new(last.fence, last.first_sequence));
        storage.sync(&file).map_err(in_file(&file))?;
    }
    Ok(())
}

impl Inspection {
    fn read_segment(
        &mut self,
        storage: &impl JournalStorage,
        position: FilePosition,
        identity: &WorldIdentity,
        (end, is_last): (Option<u64>, bool),
    ) -> Result<(), RecoveryError> {
        let (file, first) = (FileKind::Segment.name(position), position.sequence);
        let bytes = storage.read(&file).map_err(in_file(&file))?;
        let (header, start) =
            SegmentHeader::decode(&bytes).map_err(|(offset, rule)| damaged(file.clone(), offset, &rule))?;
        if (header.fence, header.first_sequence) != (position.fence, first) {
            let (fence, first) = (header.fence, header.first_sequence);
            let rule = format!("the segment begins with record {first} of fence {fence}");
            return Err(damaged(file, 0, &rule));
        }
        check_identity(Some(identity), &header.identity, file.clone())?;
        let expected = self.next_sequence;
        if first != expected {
            return Err(damaged(file, 0, &format!("the records from {expected} to {first} are missing")));
        }
        let mut scan = segment::scan(&bytes, &header, start);
        scan.records.retain(|record| end.is_none_or(|end| record.sequence < end));
        self.next_sequence += scan.records.len() as u64;
        self.records.extend(scan.records);
        let is_needed = end.is_none_or(|end| self.next_sequence < end);
        if let Some((offset, rule)) = scan.fault.filter(|_| is_needed) {
            let is_undecodable = matches!(rule, RecordFault::Payload(_));
            if !is_last || is_undecodable || segment::is_damage(&bytes, &header, offset, self.next_sequence) {
                return Err(damaged(file, offset, &rule.to_string()));
            }
            self.torn = Some(TornTail { file, offset, bytes: bytes.len() as u64 - offset, rule });
        }
        self.last_run = self.last_run.max(header.run);
        self.last_fence = header.fence;
        self.segments.push(header);
        Ok(())
    }
}

pub(super) fn read_snapshot(
    storage: &impl JournalStorage,
    (kind, position): (FileKind, FilePosition),
) -> Result<Result<JournalSnapshot, JournalDamage>, RecoveryError> {
    let file = kind.name(position);
    let bytes = storage.read(&file).map_err(in_file(&file))?;
    let damage =
        |offset, rule| JournalDamage { file: file.clone(), offset, rule, remedy: RESTORE_OR_TRUNCATE };
    Ok(match JournalSnapshot::decode(&bytes) {
        Ok(snapshot) if FilePosition::new(snapshot.fence, snapshot.sequence) == position => Ok(snapshot),
        Ok(snapshot) => {
            let (fence, sequence) = (snapshot.fence, snapshot.sequence);
            Err(damage(24, format!("the snapshot is before record {sequence} of fence {fence}")))
        }
        Err((offset, rule)) => Err(damage(offset, rule)),
    })
}

/// Checks the identity in a file.
fn check_identity(
    expected: Option<&WorldIdentity>,
    found: &WorldIdentity,
    file: String,
) -> Result<(), RecoveryError> {
    let Some((field, expected, found)) = expected.and_then(|expected| expected.difference(found)) else {
        return Ok(());
    };
    let rule = format!("the file is of another world: {field} is {found}, not {expected}");
    let remedy = "start the server with the options of this journal, or choose another directory";
    Err(RecoveryError::Damage(JournalDamage { file, offset: 0, rule, remedy }))
}

fn damaged(file: String, offset: u64, rule: &str) -> RecoveryError {
    RecoveryError::Damage(JournalDamage { file, offset, rule: rule.to_owned(), remedy: RESTORE_OR_TRUNCATE })
}

fn in_file(file: &str) -> impl FnOnce(io::Error) -> RecoveryError {
    let file = file.to_owned();
    move |error| RecoveryError::Io { file, error }
}
