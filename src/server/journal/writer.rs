//! Writes a room's journal.

use std::fmt;
use std::io;

use super::identity::WorldIdentity;
use super::record::{Record, RecordBody};
use super::segment::SegmentHeader;
use super::snapshot::JournalSnapshot;
use super::storage::{FileKind, FilePosition, JournalStorage, write_whole};
use crate::limits;

/// The constants of one run of a room, which the files contain.
#[derive(Debug, Clone)]
pub struct JournalRun {
    /// The identity of the world.
    pub identity: WorldIdentity,
    /// The number of the run: one more than the run before it.
    pub run: u32,
    /// The epoch of the run.
    pub epoch: u64,
    /// The fence of the process; 0 outside a cluster.
    pub fence: u64,
    /// Random number for the CRC of records: see [`SegmentHeader::salt`].
    pub salt: u32,
    /// Bytes after which a segment ends.
    pub segment_bytes: u64,
}

/// The files that a room retains besides those needed for a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Maximum bytes of all files.
    pub bytes: u64,
    /// Maximum time since the last change of a file, in milliseconds.
    pub age_ms: u64,
}

/// The reason why a journal cannot be written. After any error the writer writes nothing: a failed
/// sync may have lost bytes that a later sync reports as written.
#[derive(Debug)]
pub enum JournalError {
    /// An operation of the storage has failed.
    Io {
        /// The operation.
        operation: &'static str,
        /// The file.
        file: String,
        /// The error of the system.
        error: io::Error,
    },
    /// A record or snapshot exceeds its limit.
    TooLarge {
        /// Its size in bytes.
        bytes: usize,
        /// The limit in bytes.
        max_bytes: usize,
    },
    /// An earlier operation has failed.
    Failed,
}

impl fmt::Display for JournalError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalError::Io { operation, file, error } => write!(out, "cannot {operation} {file}: {error}"),
            JournalError::TooLarge { bytes, max_bytes } => {
                write!(out, "a record or snapshot of {bytes} bytes: at most {max_bytes} are allowed")
            }
            JournalError::Failed => out.write_str("an earlier operation has failed"),
        }
    }
}

impl std::error::Error for JournalError {}

/// Appends records to the journal of one room.
///
/// [`append`](JournalWriter::append) only encodes; [`flush`](JournalWriter::flush) writes; a record
/// is durable once [`sync`](JournalWriter::sync) has returned a greater sequence.
#[derive(Debug)]
pub struct JournalWriter<S> {
    storage: S,
    run: JournalRun,
    /// Name and length of the current segment, with `buffer`.
    segment: (String, u64),
    /// Length of the header of the current segment.
    header_bytes: u64,
    /// Encoded records that are not written yet.
    buffer: Vec<u8>,
    next_sequence: u64,
    /// The sequence after the last synced record.
    durable_sequence: u64,
    has_failed: bool,
}

impl<S: JournalStorage> JournalWriter<S> {
    /// Begins a run: writes the snapshot with which it starts, then creates the first segment, and
    /// removes the named worlds of earlier runs.
    /// `sequence` is [`Inspection::next_sequence`](super::Inspection::next_sequence).
    ///
    /// # Errors
    /// The storage has failed, or the snapshot is too large.
    pub fn begin(
        storage: S,
        run: JournalRun,
        sequence: u64,
        snapshot: &JournalSnapshot,
        now_ms: u64,
    ) -> Result<JournalWriter<S>, JournalError> {
        let mut writer = JournalWriter {
            storage,
            run,
            segment: (String::new(), 0),
            header_bytes: 0,
            buffer: Vec::new(),
            next_sequence: sequence,
            durable_sequence: sequence,
            has_failed: false,
        };
        writer.guarded(|writer| {
            writer.write_world(FileKind::Snapshot, snapshot)?;
            writer.begin_segment(now_ms)?;
            writer.remove_named()
        })?;
        Ok(writer)
    }

    /// The storage.
    pub fn storage(&self) -> &S {
        &self.storage
    }

    /// Ends the writer. Records that are not written yet are dropped.
    pub fn into_storage(self) -> S {
        self.storage
    }

    /// The constants of the run.
    pub fn run(&self) -> &JournalRun {
        &self.run
    }

    /// The sequence of the next record.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence
    }

    /// Begins another run with the next snapshot, unless the epoch is unchanged: the room has
    /// restarted with a new world.
    pub fn set_epoch(&mut self, epoch: u64) {
        if self.run.epoch != epoch {
            (self.run.epoch, self.run.run) = (epoch, self.run.run + 1);
        }
    }

    /// Encodes a record. Begins the next segment if the current one is full.
    ///
    /// # Errors
    /// The storage has failed, now or before, or the record is too large.
    pub fn append(&mut self, tick: u32, body: RecordBody, now_ms: u64) -> Result<(), JournalError> {
        self.guarded(|writer| {
            let bytes = body.encoded_bytes();
            if bytes > limits::JOURNAL_RECORD_BYTES {
                return Err(JournalError::TooLarge { bytes, max_bytes: limits::JOURNAL_RECORD_BYTES });
            }
            let has_records = writer.segment.1 > writer.header_bytes;
            if has_records && writer.segment.1 + bytes as u64 > writer.run.segment_bytes {
                writer.write_and_sync()?;
                writer.begin_segment(now_ms)?;
            }
            let lag = u32::try_from(writer.next_sequence - writer.durable_sequence).unwrap_or(u32::MAX);
            let record = Record { sequence: writer.next_sequence, tick, lag, body };
            record.encode(writer.run.salt, &mut writer.buffer);
            writer.segment.1 += bytes as u64;
            writer.next_sequence += 1;
            Ok(())
        })
    }

    /// Writes the encoded records to the segment.
    ///
    /// # Errors
    /// The storage has failed, now or before.
    pub fn flush(&mut self) -> Result<(), JournalError> {
        self.guarded(JournalWriter::write)
    }

    /// Writes the encoded records and waits until they are durable. Returns the sequence after the
    /// last durable record.
    ///
    /// # Errors
    /// The storage has failed, now or before.
    pub fn sync(&mut self) -> Result<u64, JournalError> {
        self.guarded(|writer| {
            writer.write_and_sync()?;
            Ok(writer.durable_sequence)
        })
    }

    /// Writes a snapshot that includes all records so far, and begins the next segment. The records
    /// are synced first.
    ///
    /// # Errors
    /// The storage has failed, now or before, or the snapshot is too large.
    pub fn snapshot(&mut self, snapshot: &JournalSnapshot, now_ms: u64) -> Result<(), JournalError> {
        self.guarded(|writer| {
            writer.write_and_sync()?;
            writer.write_world(FileKind::Snapshot, snapshot)?;
            writer.begin_segment(now_ms)
        })
    }

    /// Ends the run: syncs the records, and writes the world by the names of its fields, with which
    /// a program with other rules continues.
    ///
    /// # Errors
    /// The storage has failed, now or before, or the world is too large.
    pub fn write_named(&mut self, named: &JournalSnapshot) -> Result<(), JournalError> {
        self.guarded(|writer| {
            writer.write_and_sync()?;
            writer.write_world(FileKind::Named, named)
        })
    }

    /// Removes the oldest files while they exceed the retention. The newest
    /// [`limits::JOURNAL_MIN_SNAPSHOTS`] snapshots and the records after them remain, and so do the
    /// files of higher fences. Returns the number of removed files.
    ///
    /// # Errors
    /// The storage has failed. The journal can still be written.
    pub fn retain(&mut self, retention: Retention, now_ms: u64) -> Result<usize, JournalError> {
        let failed =
            |operation, file: &str, error| JournalError::Io { operation, file: file.to_owned(), error };
        let files = self.storage.list().map_err(|error| failed("list", "the directory", error))?;
        let is_own = |position: &FilePosition| position.fence <= self.run.fence;
        let snapshots = files.iter().filter_map(|file| FileKind::Snapshot.position_of(&file.name));
        let mut snapshots: Vec<FilePosition> = snapshots.filter(is_own).collect();
        snapshots.sort_unstable_by(|one, other| other.cmp(one));
        let Some(needed) = snapshots.get(limits::JOURNAL_MIN_SNAPSHOTS - 1) else { return Ok(0) };
        let mut left: u64 = files.iter().map(|file| file.bytes).sum();
        let old = files.iter().filter_map(|file| Some((FilePosition::of(&file.name)?, file)));
        let mut old: Vec<_> = old.filter(|(position, _)| position < needed).collect();
        old.sort_by_key(|(position, _)| *position);
        let (mut removed, mut last) = (0, None);
        for (position, file) in old {
            let age_ms = now_ms.saturating_sub(file.modified_ms);
            // A snapshot goes together with the segment after it.
            if last != Some(position) && left <= retention.bytes && age_ms <= retention.age_ms {
                break;
            }
            last = Some(position);
            self.storage.remove(&file.name).map_err(|error| failed("remove", &file.name, error))?;
            left = left.saturating_sub(file.bytes);
            removed += 1;
        }
        Ok(removed)
    }

    /// Runs an operation unless an earlier one has failed.
    fn guarded<T>(
        &mut self,
        operation: impl FnOnce(&mut JournalWriter<S>) -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        if self.has_failed {
            return Err(JournalError::Failed);
        }
        // Set before, so that a panic within the storage also ends the journal.
        self.has_failed = true;
        let result = operation(self)?;
        self.has_failed = false;
        Ok(result)
    }

    fn write(&mut self) -> Result<(), JournalError> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let name = &self.segment.0;
        let written = self.storage.append(name, &self.buffer);
        written.map_err(|error| JournalError::Io { operation: "write", file: name.clone(), error })?;
        self.buffer.clear();
        Ok(())
    }

    fn write_and_sync(&mut self) -> Result<(), JournalError> {
        self.write()?;
        if self.durable_sequence < self.next_sequence {
            let name = &self.segment.0;
            let synced = self.storage.sync(name);
            synced.map_err(|error| JournalError::Io { operation: "sync", file: name.clone(), error })?;
            self.durable_sequence = self.next_sequence;
        }
        Ok(())
    }

    /// Removes the worlds with which earlier runs have ended, because records follow them. Leaves
    /// files of higher fences.
    fn remove_named(&mut self) -> Result<(), JournalError> {
        let failed = |operation, file: String| move |error| JournalError::Io { operation, file, error };
        let names = self.storage.names().map_err(failed("list", "the directory".to_owned()))?;
        let fence = self.run.fence;
        let is_earlier = |position: FilePosition| position.fence <= fence;
        for name in names.iter().filter(|name| FileKind::Named.position_of(name).is_some_and(is_earlier)) {
            self.storage.remove(name).map_err(failed("remove", name.clone()))?;
        }
        Ok(())
    }

    fn write_world(&mut self, kind: FileKind, snapshot: &JournalSnapshot) -> Result<(), JournalError> {
        let (bytes, max_bytes) = (snapshot.world.len(), limits::JOURNAL_SNAPSHOT_BYTES);
        if bytes > max_bytes {
            return Err(JournalError::TooLarge { bytes, max_bytes });
        }
        let JournalRun { run, epoch, fence, .. } = self.run;
        let snapshot =
            JournalSnapshot { run, epoch, fence, sequence: self.next_sequence, ..snapshot.clone() };
        self.write_file(kind, &snapshot.encode())
    }

    fn begin_segment(&mut self, now_ms: u64) -> Result<(), JournalError> {
        let JournalRun { identity, run, epoch, fence, salt, .. } = &self.run;
        let header = SegmentHeader {
            salt: *salt,
            epoch: *epoch,
            run: *run,
            fence: *fence,
            first_sequence: self.next_sequence,
            created_ms: now_ms,
            identity: identity.clone(),
        };
        let bytes = header.encode();
        self.write_file(FileKind::Segment, &bytes)?;
        self.header_bytes = bytes.len() as u64;
        self.segment = (FileKind::Segment.name(self.position()), self.header_bytes);
        Ok(())
    }

    fn position(&self) -> FilePosition {
        FilePosition::new(self.run.fence, self.next_sequence)
    }

    fn write_file(&mut self, kind: FileKind, bytes: &[u8]) -> Result<(), JournalError> {
        let position = self.position();
        let written = write_whole(&mut self.storage, (kind, position), bytes);
        written.map_err(|(operation, file, error)| JournalError::Io { operation, file, error })
    }
}
