//! A model of a disk. A crash drops, tears and reorders everything that is not synced, and any
//! operation can fail.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use tickwire_sim::Rng;

use super::storage::{FileInfo, JournalStorage};

/// Bytes that reach the disk as a unit, small enough to tear the records of a test.
const SECTOR_BYTES: usize = 16;

/// A fault of the program that the tests must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedFault {
    /// Records are acknowledged although no file is synced.
    SkipSync,
    /// The directory is not synced.
    SkipDirectorySync,
}

/// A handle to the disk. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct ModelDisk(Rc<RefCell<DiskState>>);

/// The file of a new name, and a removed name.
type NameChange = (Option<(String, usize)>, Option<String>);

#[derive(Debug, Default)]
struct DiskState {
    files: Vec<ModelFile>,
    /// Files by name: as the program sees them, and after a crash.
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
    /// Changes of names since the last sync.
    name_changes: Vec<NameChange>,
    /// Number of operations so far.
    operations: u64,
    /// The operation that fails.
    fails_at: Option<u64>,
    /// The operation from which on all fail.
    ends_at: Option<u64>,
    fault: Option<PlantedFault>,
}

#[derive(Debug, Default, Clone)]
struct ModelFile {
    content: Vec<u8>,
    durable: Vec<u8>,
    /// Changes since the last sync.
    changes: Vec<FileChange>,
    /// A sync has failed: later ones succeed, but the earlier content is never durable.
    is_lost: bool,
}

#[derive(Debug, Clone)]
enum FileChange {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

impl ModelDisk {
    /// Makes the operation with this number fail once.
    pub fn fail_at(&self, operation: Option<u64>) {
        self.0.borrow_mut().fails_at = operation;
    }

    /// Makes all operations from this number on fail.
    pub fn end_at(&self, operation: u64) {
        self.0.borrow_mut().ends_at = Some(operation);
    }

    /// Plants a fault.
    pub fn plant(&self, fault: Option<PlantedFault>) {
        self.0.borrow_mut().fault = fault;
    }

    /// Returns another disk with the present content.
    pub fn copy(&self) -> ModelDisk {
        let state = self.0.borrow();
        let (files, names, durable_names) =
            (state.files.clone(), state.names.clone(), state.durable_names.clone());
        ModelDisk(Rc::new(RefCell::new(DiskState { files, names, durable_names, ..DiskState::default() })))
    }

    /// Returns the number of operations so far.
    pub fn operations(&self) -> u64 {
        self.0.borrow().operations
    }

    /// Changes a bit of a file, on the disk itself.
    pub fn flip(&self, name: &str, bit: usize) {
        let mut state = self.0.borrow_mut();
        let file = state.names[name];
        state.files[file].content[bit / 8] ^= 1 << (bit % 8);
    }

    /// Returns a disk with the content after a crash.
    pub fn crashed(&self, rng: &mut Rng) -> ModelDisk {
        let state = self.0.borrow();
        let mut names = state.durable_names.clone();
        let count = state.name_changes.len() as u32;
        let (is_prefix, prefix) = (rng.below(2) == 0, rng.below(count + 1));
        for (at, (set, removed)) in (0..).zip(&state.name_changes) {
            let is_applied = if is_prefix { at < prefix } else { rng.below(2) == 0 };
            if is_applied {
                removed.as_ref().map(|name| names.remove(name));
                names.extend(set.clone());
            }
        }
        let files = state.files.iter().map(|file| file.crashed(rng)).collect();
        let disk = DiskState { files, durable_names: names.clone(), names, ..DiskState::default() };
        ModelDisk(Rc::new(RefCell::new(disk)))
    }

    fn begin(&self) -> io::Result<()> {
        let state = &mut *self.0.borrow_mut();
        let number = state.operations;
        state.operations += 1;
        if state.ends_at.is_some_and(|end| number >= end) || state.fails_at == Some(number) {
            return Err(io::Error::other("the model fails"));
        }
        Ok(())
    }

    fn with_file<T>(&self, name: &str, change: impl FnOnce(&mut ModelFile) -> T) -> io::Result<T> {
        let state = &mut *self.0.borrow_mut();
        let file = state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        Ok(change(&mut state.files[*file]))
    }

    fn has(&self, fault: PlantedFault) -> bool {
        self.0.borrow().fault == Some(fault)
    }
}

impl ModelFile {
    fn crashed(&self, rng: &mut Rng) -> ModelFile {
        let mut content = self.durable.clone();
        let (mode, kept) = (rng.below(4), rng.below(self.changes.len() as u32 + 1));
        for (at, change) in (0..).zip(&self.changes) {
            match change {
                _ if mode == 0 || mode == 1 && at > kept => break,
                FileChange::Truncate(length) if mode == 3 || rng.below(2) == 0 => content.truncate(*length),
                FileChange::Truncate(_) => {}
                FileChange::Write(offset, bytes) => {
                    // In mode 1 the last write is torn. In mode 2 any sector may be missing.
                    let is_torn = mode == 1 && at == kept;
                    let length =
                        if is_torn { rng.below(bytes.len() as u32 + 1) as usize } else { bytes.len() };
                    for start in (0..length).step_by(SECTOR_BYTES) {
                        if mode != 2 || rng.below(3) > 0 {
                            let part = &bytes[start..length.min(start + SECTOR_BYTES)];
                            write_at(&mut content, offset + start, part);
                        }
                    }
                }
            }
        }
        // The length can be durable without the bytes.
        if mode == 2 && content.len() < self.content.len() && rng.below(2) == 0 {
            content.resize(self.content.len(), 0);
        }
        ModelFile { durable: content.clone(), content, ..ModelFile::default() }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.changes.push(FileChange::Write(self.content.len(), bytes.to_vec()));
        self.content.extend_from_slice(bytes);
    }
}

/// Writes at an offset, with zeros before it if necessary.
fn write_at(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    content.resize(content.len().max(end), 0);
    content[offset..end].copy_from_slice(bytes);
}

impl JournalStorage for ModelDisk {
    fn list(&self) -> io::Result<Vec<FileInfo>> {
        self.begin()?;
        let state = self.0.borrow();
        let info = |(name, file): (&String, &usize)| FileInfo {
            name: name.clone(),
            bytes: state.files[*file].content.len() as u64,
            modified_ms: 0,
        };
        Ok(state.names.iter().map(info).collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.begin()?;
        self.with_file(name, |file| file.content.clone())
    }

    fn create(&mut self, name: &str) -> io::Result<()> {
        self.begin()?;
        let state = &mut *self.0.borrow_mut();
        let file = state.files.len();
        state.files.push(ModelFile::default());
        state.names.insert(name.to_owned(), file);
        state.name_changes.push((Some((name.to_owned(), file)), None));
        Ok(())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let begun = self.begin();
        let written = if begun.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        if begun.is_ok() || self.0.borrow().ends_at.is_none() {
            self.with_file(name, |file| file.write(written))?;
        }
        begun
    }

    fn sync(&mut self, name: &str) -> io::Result<()> {
        let begun = self.begin();
        if self.has(PlantedFault::SkipSync) {
            return begun;
        }
        self.with_file(name, |file| {
            file.is_lost |= begun.is_err();
            if begun.is_ok() && !file.is_lost {
                file.durable.clone_from(&file.content);
                file.changes.clear();
            }
        })?;
        begun
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.begin()?;
        let state = &mut *self.0.borrow_mut();
        let file = state.names.remove(from).ok_or(io::ErrorKind::NotFound)?;
        state.names.insert(to.to_owned(), file);
        state.name_changes.push((Some((to.to_owned(), file)), Some(from.to_owned())));
        Ok(())
    }

    fn truncate(&mut self, name: &str, bytes: u64) -> io::Result<()> {
        self.begin()?;
        self.with_file(name, |file| {
            file.content.truncate(bytes as usize);
            file.changes.push(FileChange::Truncate(bytes as usize));
        })
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.begin()?;
        let state = &mut *self.0.borrow_mut();
        state.names.remove(name).ok_or(io::ErrorKind::NotFound)?;
        state.name_changes.push((None, Some(name.to_owned())));
        Ok(())
    }

    fn sync_directory(&mut self) -> io::Result<()> {
        self.begin()?;
        let state = &mut *self.0.borrow_mut();
        if state.fault != Some(PlantedFault::SkipDirectorySync) {
            state.durable_names.clone_from(&state.names);
            state.name_changes.clear();
        }
        Ok(())
    }
}
