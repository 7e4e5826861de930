//! The directory of one room's journal, as an interface.

use std::fmt;
use std::io;

/// Digits of the sequence in a file name.
const SEQUENCE_DIGITS: usize = 20;
/// Suffix of a file that is not complete.
const PART: &str = ".part";

/// A file of the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// The name.
    pub name: String,
    /// The length in bytes.
    pub bytes: u64,
    /// Time of the last change, in milliseconds since 1970.
    pub modified_ms: u64,
}

/// The files of one room's journal. All names are in one directory.
///
/// A change of a file is durable after [`sync`](JournalStorage::sync), and a created, renamed or
/// removed name after [`sync_directory`](JournalStorage::sync_directory).
pub trait JournalStorage: fmt::Debug {
    /// Lists the files in any order.
    ///
    /// # Errors
    /// The error of the system.
    fn list(&self) -> io::Result<Vec<FileInfo>>;

    /// Lists the names of the files in any order.
    ///
    /// # Errors
    /// The error of the system.
    fn names(&self) -> io::Result<Vec<String>> {
        Ok(self.list()?.into_iter().map(|file| file.name).collect())
    }

    /// Returns the content of a file.
    ///
    /// # Errors
    /// The error of the system.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// Creates an empty file, or empties an existing one.
    ///
    /// # Errors
    /// The error of the system.
    fn create(&mut self, name: &str) -> io::Result<()>;

    /// Appends bytes to a file.
    ///
    /// # Errors
    /// The error of the system. A part of the bytes may be written.
    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Waits until the content of a file is durable.
    ///
    /// # Errors
    /// The error of the system. The content may be lost, even after a later success.
    fn sync(&mut self, name: &str) -> io::Result<()>;

    /// Renames a file. An existing file with the new name is replaced.
    ///
    /// # Errors
    /// The error of the system.
    fn rename(&mut self, from: &str, to: &str) -> io::Result<()>;

    /// Truncates a file to this many bytes.
    ///
    /// # Errors
    /// The error of the system.
    fn truncate(&mut self, name: &str, bytes: u64) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// The error of the system.
    fn remove(&mut self, name: &str) -> io::Result<()>;

    /// Waits until the names of the files are durable.
    ///
    /// # Errors
    /// The error of the system.
    fn sync_directory(&mut self) -> io::Result<()>;

    /// Removes the directory if it is empty.
    fn remove_directory(&mut self) {}

    /// Makes later operations wait while the storage cannot be reached.
    fn wait_for_store(&mut self) {}
}

impl<S: JournalStorage + ?Sized> JournalStorage for Box<S> {
    fn list(&self) -> io::Result<Vec<FileInfo>> {
        (**self).list()
    }

    fn names(&self) -> io::Result<Vec<String>> {
        (**self).names()
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        (**self).read(name)
    }

    fn create(&mut self, name: &str) -> io::Result<()> {
        (**self).create(name)
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        (**self).append(name, bytes)
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        (**self).sync(name)
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        (**self).rename(from, to)
    }

    fn truncate(&mut self, name: &str, bytes: u64) -> io::Result<()> {
        (**self).truncate(name, bytes)
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        (**self).remove(name)
    }

    fn sync_directory(&mut self) -> io::Result<()> {
        (**self).sync_directory()
    }

    fn remove_directory(&mut self) {
        (**self).remove_directory();
    }

    fn wait_for_store(&mut self) {
        (**self).wait_for_store();
    }
}

/// The position of a file in the journal, which its name contains. A run with a higher fence comes
/// later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FilePosition {
    /// The fence of the run; 0 outside a cluster.
    pub fence: u64,
    /// The sequence with which the file begins.
    pub sequence: u64,
}

/// The kind of a file of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Records.
    Segment,
    /// The world at a sequence.
    Snapshot,
    /// The world at the end of a run that has stopped, by the names of its fields.
    Named,
}

impl FilePosition {
    /// Creates a position.
    pub fn new(fence: u64, sequence: u64) -> FilePosition {
        FilePosition { fence, sequence }
    }

    /// Returns the position in the name of a file of any kind.
    pub fn of(name: &str) -> Option<FilePosition> {
        [FileKind::Segment, FileKind::Snapshot, FileKind::Named]
            .iter()
            .find_map(|kind| kind.position_of(name))
    }
}

impl FileKind {
    fn suffix(self) -> &'static str {
        match self {
            FileKind::Segment => ".segment",
            FileKind::Snapshot => ".snapshot",
            FileKind::Named => ".named",
        }
    }

    /// Returns the name of the file at this position: `SEQUENCE.segment`, or
    /// `FENCE-SEQUENCE.segment` in a cluster. Processes with different fences never write the same
    /// file.
    pub fn name(self, FilePosition { fence, sequence }: FilePosition) -> String {
        let prefix = if fence == 0 { String::new() } else { format!("{fence:0SEQUENCE_DIGITS$}-") };
        format!("{prefix}{sequence:0SEQUENCE_DIGITS$}{}", self.suffix())
    }

    /// Returns the name of the incomplete file.
    pub fn part_name(self, position: FilePosition) -> String {
        self.name(position) + PART
    }

    /// Returns the position in the name of a file of this kind.
    pub fn position_of(self, name: &str) -> Option<FilePosition> {
        let digits = name.strip_suffix(self.suffix())?;
        let (fence, sequence) = digits.split_once('-').unwrap_or(("0", digits));
        let position = FilePosition { fence: fence.parse().ok()?, sequence: sequence.parse().ok()? };
        Some(position).filter(|position| self.name(*position) == name)
    }

    /// Returns whether the file is an incomplete file of any kind.
    pub fn is_part(name: &str) -> bool {
        name.ends_with(PART) && FilePosition::of(without_part(name)).is_some()
    }
}

/// Returns the name that an incomplete file gets.
pub fn without_part(name: &str) -> &str {
    name.strip_suffix(PART).unwrap_or(name)
}

/// Creates a file with these bytes under its name: written aside, synced, renamed, and the
/// directory synced. A crash leaves the whole file or none.
///
/// # Errors
/// The operation that failed, the file and the error.
pub fn write_whole(
    storage: &mut impl JournalStorage,
    (kind, position): (FileKind, FilePosition),
    bytes: &[u8],
) -> Result<(), (&'static str, String, io::Error)> {
    let (part, name) = (kind.part_name(position), kind.name(position));
    let failed = |operation| {
        let file = part.clone();
        move |error| (operation, file, error)
    };
    storage.create(&part).map_err(failed("create"))?;
    storage.append(&part, bytes).map_err(failed("write"))?;
    storage.sync(&part).map_err(failed("sync"))?;
    storage.rename(&part, &name).map_err(failed("rename"))?;
    storage.sync_directory().map_err(failed("sync the directory of"))
}
