//! Checks all files of a journal, and gives up what recovery refuses.

use std::io;

use super::recovery::{JournalDamage, RecoveryError, inspect};
use super::segment::{self, SegmentHeader};
use super::snapshot::JournalSnapshot;
use super::storage::{FileKind, FilePosition, JournalStorage};

/// The remedy for a fault of a file that recovery may not need.
const UNUSED_OR_REFUSED: &str = "recovery uses another file, or refuses this one";

/// Returns the faults of all files, also of files that recovery does not need. A torn tail of the
/// last segment is one of them.
///
/// # Errors
/// The error of the system.
pub fn check(storage: &impl JournalStorage) -> io::Result<Vec<JournalDamage>> {
    let mut files: Vec<String> = storage.list()?.into_iter().map(|file| file.name).collect();
    files.sort_unstable();
    let mut faults = Vec::new();
    for file in files {
        let fault =
            if [FileKind::Snapshot, FileKind::Named].iter().any(|kind| kind.position_of(&file).is_some()) {
                JournalSnapshot::decode(&storage.read(&file)?).err()
            } else if FileKind::Segment.position_of(&file).is_some() {
                let bytes = storage.read(&file)?;
                match SegmentHeader::decode(&bytes) {
                    Ok((header, start)) => {
                        let fault = segment::scan(&bytes, &header, start).fault;
                        fault.map(|(offset, rule)| (offset, rule.to_string()))
                    }
                    Err(fault) => Some(fault),
                }
            } else {
                None
            };
        let remedy = UNUSED_OR_REFUSED;
        faults.extend(fault.map(|(offset, rule)| JournalDamage { file, offset, rule, remedy }));
    }
    Ok(faults)
}

/// Truncates the journal at the first damage that recovery refuses, until it can be recovered. The
/// later records are lost. Returns each damage.
///
/// # Errors
/// The storage has failed.
pub fn truncate(storage: &mut impl JournalStorage) -> Result<Vec<JournalDamage>, RecoveryError> {
    let mut given_up = Vec::new();
    loop {
        let damage = match inspect(storage, None) {
            Ok(_) => return Ok(given_up),
            Err(RecoveryError::Damage(damage)) => damage,
            Err(error) => return Err(error),
        };
        let in_file = |error| RecoveryError::Io { file: damage.file.clone(), error };
        remove_from(storage, &damage).map_err(in_file)?;
        given_up.push(damage);
    }
}

/// Removes the damaged end of a file, and all later files.
fn remove_from(storage: &mut impl JournalStorage, damage: &JournalDamage) -> io::Result<()> {
    let Some(first) = FileKind::Segment.position_of(&damage.file) else {
        storage.remove(&damage.file)?;
        return storage.sync_directory();
    };
    let bytes = storage.read(&damage.file)?;
    let is_in_records = SegmentHeader::decode(&bytes).is_ok_and(|(_, start)| damage.offset >= start as u64);
    let later = |file: &str| FilePosition::of(file).is_some_and(|position| position > first);
    let files = storage.list()?;
    for file in files.iter().filter(|file| later(&file.name)) {
        storage.remove(&file.name)?;
    }
    if is_in_records {
        storage.truncate(&damage.file, damage.offset)?;
        storage.sync(&damage.file)?;
    } else {
        storage.remove(&damage.file)?;
    }
    storage.sync_directory()
}
