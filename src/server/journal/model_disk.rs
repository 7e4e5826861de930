//! A model of a disk that several machines share. A power cut drops, tears and reorders everything
//! that a machine has not synced, and any operation can fail.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use tickwire_sim::Rng;

use super::storage::{FileInfo, JournalStorage};

/// Bytes that reach the disk as a unit, small enough to tear the records of a test.
const SECTOR_BYTES: usize = 16;

/// A fault of the program that tests and simulations must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlantedFault {
    /// Records are acknowledged although no file is synced.
    SkipSync,
    /// The directory is not synced.
    SkipDirectorySync,
}

/// A handle to the disk, as one process uses it. Clones share the disk.
#[derive(Debug, Clone, Default)]
pub struct ModelDisk {
    state: Rc<RefCell<DiskState>>,
    machine: usize,
    life: ProcessLife,
}

/// Ends a process between any two operations of its disks. Clones share the life.
#[derive(Debug, Clone, Default)]
pub struct ProcessLife(Rc<Cell<Option<u64>>>);

/// A change of the names: the file of a new name, a removed name, and the machine.
#[derive(Debug, Clone)]
struct NameChange {
    set: Option<(String, usize)>,
    removed: Option<String>,
    machine: usize,
}

#[derive(Debug, Default, Clone)]
struct DiskState {
    files: BTreeMap<usize, ModelFile>,
    next_file: usize,
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
    /// The machine that has changed the file. No two machines change the same file.
    machine: usize,
    /// A sync has failed: later ones succeed, but the earlier content is never durable.
    is_lost: bool,
}

#[derive(Debug, Clone)]
enum FileChange {
    Write(usize, Vec<u8>),
    Truncate(usize),
}

impl ProcessLife {
    /// Ends the process after this many operations.
    pub fn end_after(&self, operations: u64) {
        self.0.set(Some(operations));
    }

    /// Returns whether the process has ended: all further operations fail.
    pub fn has_ended(&self) -> bool {
        self.0.get() == Some(0)
    }
}

impl ModelDisk {
    /// Returns a handle of a process on this machine.
    pub fn for_process(&self, machine: usize, life: &ProcessLife) -> ModelDisk {
        ModelDisk { state: Rc::clone(&self.state), machine, life: life.clone() }
    }

    /// Makes the operation with this number fail once.
    pub fn fail_at(&self, operation: Option<u64>) {
        self.state.borrow_mut().fails_at = operation;
    }

    /// Makes all operations from this number on fail.
    pub fn end_at(&self, operation: u64) {
        self.state.borrow_mut().ends_at = Some(operation);
    }

    /// Plants a fault.
    pub fn plant(&self, fault: Option<PlantedFault>) {
        self.state.borrow_mut().fault = fault;
    }

    /// Returns another disk with the present content.
    pub fn copy(&self) -> ModelDisk {
        let state = DiskState {
            operations: 0,
            fails_at: None,
            ends_at: None,
            fault: None,
            name_changes: Vec::new(),
            ..self.state.borrow().clone()
        };
        ModelDisk { state: Rc::new(RefCell::new(state)), ..ModelDisk::default() }
    }

    /// Returns the number of operations so far.
    pub fn operations(&self) -> u64 {
        self.state.borrow().operations
    }

    /// Changes a bit of a file, on the disk itself.
    pub fn flip(&self, name: &str, bit: usize) {
        let mut state = self.state.borrow_mut();
        let number = state.names[name];
        let Some(file) = state.files.get_mut(&number) else { return };
        for content in [&mut file.content, &mut file.durable] {
            if let Some(byte) = content.get_mut(bit / 8) {
                *byte ^= 1 << (bit % 8);
            }
        }
    }

    /// Returns a disk with the content after a power cut of all machines.
    pub fn crashed(&self, rng: &mut Rng) -> ModelDisk {
        let mut state = self.state.borrow().clone();
        state.cut_power(|_| true, rng);
        (state.operations, state.fails_at, state.ends_at, state.fault) = (0, None, None, None);
        ModelDisk { state: Rc::new(RefCell::new(state)), ..ModelDisk::default() }
    }

    /// Drops, tears and reorders everything that this machine has not synced. `None`: all machines.
    pub fn cut_power(&self, machine: Option<usize>, rng: &mut Rng) {
        self.state.borrow_mut().cut_power(|one| machine.is_none_or(|cut| cut == one), rng);
    }

    fn begin(&self) -> io::Result<()> {
        self.life.begin()?;
        let state = &mut *self.state.borrow_mut();
        let number = state.operations;
        state.operations += 1;
        if state.ends_at.is_some_and(|end| number >= end) || state.fails_at == Some(number) {
            return Err(io::Error::other("the model fails"));
        }
        Ok(())
    }

    fn with_file<T>(&self, name: &str, change: impl FnOnce(&mut ModelFile) -> T) -> io::Result<T> {
        let state = &mut *self.state.borrow_mut();
        let number = state.names.get(name).ok_or(io::ErrorKind::NotFound)?;
        let file = state.files.get_mut(number).ok_or(io::ErrorKind::NotFound)?;
        Ok(change(file))
    }

    fn has(&self, fault: PlantedFault) -> bool {
        self.state.borrow().fault == Some(fault)
    }

    fn change_names(&self, set: Option<(String, usize)>, removed: Option<String>) {
        let change = NameChange { set, removed, machine: self.machine };
        let state = &mut *self.state.borrow_mut();
        change.apply(&mut state.names);
        state.name_changes.push(change);
    }
}

impl ProcessLife {
    fn begin(&self) -> io::Result<()> {
        match self.0.get() {
            Some(0) => return Err(io::Error::other("the process has ended")),
            left => self.0.set(left.map(|left| left - 1)),
        }
        Ok(())
    }
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, usize>) {
        self.removed.as_ref().map(|name| names.remove(name));
        names.extend(self.set.clone());
    }
}

impl DiskState {
    fn cut_power(&mut self, is_cut: impl Fn(usize) -> bool, rng: &mut Rng) {
        let count = self.name_changes.iter().filter(|change| is_cut(change.machine)).count() as u32;
        let (is_prefix, prefix) = (rng.below(2) == 0, rng.below(count + 1));
        let mut names = self.durable_names.clone();
        let (mut at, mut pending) = (0, Vec::new());
        for change in std::mem::take(&mut self.name_changes) {
            if !is_cut(change.machine) {
                pending.push(change);
                continue;
            }
            if if is_prefix { at < prefix } else { rng.below(2) == 0 } {
                change.apply(&mut names);
            }
            at += 1;
        }
        self.durable_names = names.clone();
        pending.iter().for_each(|change| change.apply(&mut names));
        (self.names, self.name_changes) = (names, pending);
        for file in self.files.values_mut().filter(|file| is_cut(file.machine)) {
            *file = file.crashed(rng);
        }
        self.drop_unnamed();
    }

    /// Drops the files that have no name and get none after a power cut.
    fn drop_unnamed(&mut self) {
        let DiskState { files, names, durable_names, name_changes, .. } = self;
        if files.len() > names.len() && name_changes.is_empty() {
            let is_named =
                |number: &usize| names.values().chain(durable_names.values()).any(|named| named == number);
            files.retain(|number, _| is_named(number));
        }
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
        ModelFile { durable: content.clone(), content, machine: self.machine, ..ModelFile::default() }
    }

    /// Makes all changes durable.
    fn sync(&mut self) {
        for change in self.changes.drain(..) {
            match change {
                FileChange::Truncate(length) => self.durable.truncate(length),
                FileChange::Write(offset, bytes) => write_at(&mut self.durable, offset, &bytes),
            }
        }
    }

    fn write(&mut self, bytes: &[u8], machine: usize) {
        self.machine = machine;
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
        let state = self.state.borrow();
        let info = |(name, file): (&String, &usize)| FileInfo {
            name: name.clone(),
            bytes: state.files[file].content.len() as u64,
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
        let number = {
            let state = &mut *self.state.borrow_mut();
            state.next_file += 1;
            let file = ModelFile { machine: self.machine, ..ModelFile::default() };
            state.files.insert(state.next_file, file);
            state.next_file
        };
        self.change_names(Some((name.to_owned(), number)), None);
        Ok(())
    }

    fn append(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let begun = self.begin();
        let written = if begun.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        if begun.is_ok() || self.state.borrow().ends_at.is_none() && !self.life.has_ended() {
            self.with_file(name, |file| file.write(written, self.machine))?;
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
                file.sync();
            }
        })?;
        begun
    }

    fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        self.begin()?;
        let file = self.state.borrow().names.get(from).copied().ok_or(io::ErrorKind::NotFound)?;
        self.change_names(Some((to.to_owned(), file)), Some(from.to_owned()));
        Ok(())
    }

    fn truncate(&mut self, name: &str, bytes: u64) -> io::Result<()> {
        self.begin()?;
        self.with_file(name, |file| {
            file.machine = self.machine;
            file.content.truncate(bytes as usize);
            file.changes.push(FileChange::Truncate(bytes as usize));
        })
    }

    fn remove(&mut self, name: &str) -> io::Result<()> {
        self.begin()?;
        if !self.state.borrow().names.contains_key(name) {
            return Err(io::ErrorKind::NotFound.into());
        }
        self.change_names(None, Some(name.to_owned()));
        Ok(())
    }

    fn sync_directory(&mut self) -> io::Result<()> {
        self.begin()?;
        let state = &mut *self.state.borrow_mut();
        if state.fault != Some(PlantedFault::SkipDirectorySync) {
            state.durable_names.clone_from(&state.names);
            state.name_changes.clear();
            state.drop_unnamed();
        }
        Ok(())
    }
}
