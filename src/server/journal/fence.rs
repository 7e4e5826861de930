//! Fences: the numbers by which a journal on shared storage has one owner at a time.
//!
//! An owner creates a file with its fence before it reads the journal, and acknowledges a record
//! only if the directory has no higher fence after the sync. See `crate::server::cluster`.

use std::io;

use super::storage::{FilePosition, JournalStorage, without_part};

/// Suffix of the file that an owner creates.
const SUFFIX: &str = ".fence";

/// Returns the name of the file that the owner with this fence creates.
fn fence_file(fence: u64) -> String {
    format!("{fence:020}{SUFFIX}")
}

/// Returns the fence of a file of a journal, also of an incomplete one.
fn fence_of(name: &str) -> Option<u64> {
    let of_file = || FilePosition::of(without_part(name)).map(|position| position.fence);
    let fence = name.strip_suffix(SUFFIX).and_then(|digits| digits.parse().ok());
    fence.filter(|fence| fence_file(*fence) == name).or_else(of_file)
}

/// Returns the highest fence of the files in a directory; 0 without one.
///
/// # Errors
/// The error of the system.
pub fn highest_fence(storage: &impl JournalStorage) -> io::Result<u64> {
    Ok(storage.names()?.iter().filter_map(|name| fence_of(name)).max().unwrap_or(0))
}

/// Creates the file of a fence, and removes the files of lower fences. Returns whether no higher
/// fence exists: only then the journal may be read and written.
///
/// # Errors
/// The error of the system.
pub fn claim(storage: &mut impl JournalStorage, fence: u64) -> io::Result<bool> {
    storage.create(&fence_file(fence))?;
    storage.sync_directory()?;
    let names = storage.names()?;
    if names.iter().filter_map(|name| fence_of(name)).any(|other| other > fence) {
        return Ok(false);
    }
    for name in names.iter().filter(|name| name.ends_with(SUFFIX)) {
        if fence_of(name).is_some_and(|other| other < fence) {
            // Another process may have removed it.
            let _ = storage.remove(name);
        }
    }
    Ok(true)
}

/// Removes the journal of a room that has ended, except the files of higher fences. Ignores files
/// that another process has removed.
///
/// # Errors
/// The error of the system.
pub fn remove_journal(storage: &mut impl JournalStorage, fence: u64) -> io::Result<()> {
    for name in storage.names()? {
        if fence_of(&name).is_some_and(|other| other <= fence) {
            match storage.remove(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    storage.sync_directory()
}
