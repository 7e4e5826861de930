//! The state file of `--state-file`: worlds that continue after a restart of the server, also with
//! other rules.
//!
//! ```text
//!  start    FILE.part is created, locked against other servers, and filled with zeros: a full disk
//!           or a read-only directory is an error now
//!           FILE is read. A file of another format is refused; a damaged one becomes FILE.damaged
//!  running  FILE becomes FILE.outdated, because its worlds continue
//!  stop     FILE.part is written, synced and renamed to FILE; FILE.outdated is removed
//!           on an error, the worlds are written to another directory, which the error names
//! ```
//! A killed server leaves FILE.outdated, and its next run starts new worlds. Otherwise players
//! could regain items that they lost after the last stop.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tickwire_sim::WorldParams;
use tracing::{error, info, warn};

use super::{TcpGameFactory, TcpRoom};
use crate::limits;
use crate::server::room::{RoomConfig, SavedRoom, saved_rooms};
use crate::util::os;
use crate::util::plural::count_noun;

const PART: &str = "part";
const OUTDATED: &str = "outdated";
const DAMAGED: &str = "damaged";
/// Maximum attempts to lock a file that another server renames meanwhile.
const LOCK_TRIES: u32 = 10;

/// The state file: the saved worlds of an earlier run, and the file for the worlds of this run.
#[derive(Debug, Default)]
pub struct StateFile {
    place: Option<StateFilePath>,
    /// Saved worlds of rooms that have not started, by room name.
    rooms: Vec<(String, SavedRoom)>,
    /// Messages for the log, which starts later. Each has a flag, true for a warning, and a text.
    reports: Vec<(bool, String)>,
    /// Whether the outdated file has a world that no other file has.
    is_needed: bool,
}

/// The files of this run.
#[derive(Debug)]
struct StateFilePath {
    file: PathBuf,
    /// The unfinished file: locked during the whole run, and written at its end.
    part: File,
    /// The kind of the file at the start, which decides its new name during the run.
    before: Before,
    /// The renamed file of the last run.
    aside: Option<PathBuf>,
    /// Whether the unfinished file contains the worlds of this run.
    is_full: bool,
}

/// The kind of the file at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Absent,
    Empty,
    Worlds,
    Damaged,
}

impl StateFile {
    /// Opens the state file and locks it for this run. There are no saved worlds if the file does
    /// not exist or is damaged.
    ///
    /// # Errors
    /// The file has another format, another server uses it, or it could not be written at the end.
    pub fn open(file: Option<&Path>) -> Result<StateFile, String> {
        let Some(file) = file else { return Ok(StateFile::default()) };
        let refused = |why: &dyn std::fmt::Display| format!("--state-file {}: {why}", file.display());
        // A symbolic link stays; its target is replaced.
        let file = &fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let part = lock(&with_suffix(file, PART)).map_err(|why| refused(&why))?;
        if !is_ours(&part) {
            let name = with_suffix(file, PART);
            return Err(refused(&format!(
                "{} is another program's file; choose another name",
                name.display()
            )));
        }
        let mut keep = StateFile::default();
        if adopt(file) {
            let sentence = "the last run could not give its worlds this name; they go on now";
            keep.reports.push((true, format!("{}: {sentence}", file.display())));
            drop(part);
            let reports = keep.reports;
            let mut keep = StateFile::open(Some(file))?;
            keep.reports.extend(reports);
            return Ok(keep);
        }
        let before = Before::Absent;
        let mut place = StateFilePath { file: file.clone(), part, before, aside: None, is_full: false };
        let (before, rooms, sentence) = read(file).map_err(|why| refused(&why))?;
        (place.before, keep.rooms) = (before, rooms);
        keep.reports.extend(sentence.map(|sentence| (true, format!("{}: {sentence}", file.display()))));
        place.reserve().map_err(|error| {
            refused(&format!("the worlds could not be written at the end: {error}; free some space, or choose another directory"))
        })?;
        keep.place = Some(place);
        Ok(keep)
    }

    /// A room with its saved world, if the world can continue with these rules. Otherwise a room
    /// with a new world.
    pub fn room(
        &mut self,
        game: &TcpGameFactory,
        identity: &WorldParams,
        options: RoomConfig,
    ) -> Box<TcpRoom> {
        let at = self.rooms.iter().position(|(name, _)| **name == *options.name);
        let Some((name, saved)) = at.map(|at| self.rooms.swap_remove(at)) else {
            return (game.new_room)(identity, options);
        };
        let title = if name.is_empty() { "the default room".to_owned() } else { format!("room {name}") };
        match (game.migrate_room)(identity, &saved.state, options.clone()) {
            Ok((room, changes)) => {
                // The server's clock is at zero.
                room.handle().restore_seats(&saved.keys, Duration::ZERO);
                let (tick, players) = (room.handle().tick(), count_noun(saved.keys.len(), "player"));
                self.reports
                    .push((false, format!("{title} goes on after tick {tick}: {players} may come back")));
                self.reports.extend(changes.into_iter().map(|change| (false, format!("{title}: {change}"))));
                room
            }
            Err(why) => {
                self.is_needed = true;
                self.reports.push((true, format!("{title} begins anew: its world cannot go on: {why}")));
                (game.new_room)(identity, options)
            }
        }
    }

    /// Logs the results for all saved worlds.
    pub fn log_reports(&self) {
        for (name, _) in &self.rooms {
            let file = self.place.as_ref().map(|place| place.file.display().to_string()).unwrap_or_default();
            warn!(
                "{file} has a world of the room {name:?}, which this server does not have: it stays in the file; --room {name} goes on with it"
            );
        }
        for (is_bad, sentence) in &self.reports {
            if *is_bad { warn!("{sentence}") } else { info!("{sentence}") }
        }
    }

    /// Renames the file of the last run, because its worlds now continue.
    ///
    /// # Errors
    /// The file cannot be renamed, so it could not be replaced at the end.
    pub fn begin(&mut self) -> Result<(), String> {
        let Some(place) = &mut self.place else { return Ok(()) };
        let file = place.file.display().to_string();
        let set_aside = place.set_aside();
        set_aside.map_err(|error| format!("--state-file {file}: cannot be replaced: {error}"))?;
        if let Some(aside) = &place.aside {
            let aside = aside.display();
            match place.before {
                Before::Damaged => warn!("the damaged file of --state-file is {aside} now"),
                _ if self.is_needed => warn!("{aside} has the worlds that cannot go on"),
                _ => info!("until the server stops, {aside} has the worlds with which it begins"),
            }
        }
        Ok(())
    }

    /// Writes the worlds of this run, completely or not at all. On an error it tries the
    /// directories `elsewhere` in order. The second part of `worlds` has the titles of rooms with
    /// missing worlds.
    ///
    /// # Errors
    /// Worlds are missing, or are in another file, which the message names.
    pub fn write(
        self,
        worlds: (Vec<(String, SavedRoom)>, Vec<String>),
        elsewhere: &[PathBuf],
    ) -> Result<(), String> {
        let Some(mut place) = self.place else { return Ok(()) };
        let (mut worlds, late) = worlds;
        let others = self.rooms.into_iter();
        let others: Vec<_> = others.filter(|(name, _)| worlds.iter().all(|(own, _)| own != name)).collect();
        worlds.extend(others);
        let bytes = saved_rooms::write(&worlds);
        if bytes.len() as u64 > limits::MAX_STATE_FILE_BYTES {
            let (file, length, max_bytes) = (place.file.display(), bytes.len(), limits::MAX_STATE_FILE_BYTES);
            error!(
                "{file}: {length} bytes of worlds are more than the {max_bytes} with which a server starts"
            );
        }
        if let Err(why) = place.finish(&bytes) {
            let reports = place.rescue(&bytes, &why, elsewhere);
            error!("{reports}");
            return Err(reports);
        }
        if late.is_empty() {
            if place.before == Before::Worlds && !self.is_needed {
                place.aside.as_ref().map(fs::remove_file);
            }
            return Ok(());
        }
        let (file, rooms) = (place.file.display(), late.join(", "));
        let before = place.aside.as_ref().map_or(String::new(), |aside| {
            format!("; their worlds of the last stop are in {}", aside.display())
        });
        Err(format!(
            "--state-file {file}: these rooms did not answer in time and are not in it: {rooms}{before}"
        ))
    }
}

/// Removes the file, its unfinished and its outdated version.
pub fn remove(file: &Path) {
    for path in [file.to_owned(), with_suffix(file, PART), with_suffix(file, OUTDATED)] {
        let _ = fs::remove_file(path);
    }
}

impl StateFilePath {
    /// Fills the unfinished file with zeros, to reserve space for the worlds.
    fn reserve(&self) -> io::Result<()> {
        let before = fs::metadata(&self.file).map_or(0, |metadata| metadata.len());
        let zeros = vec![0; before.max(limits::STATE_FILE_RESERVE_BYTES) as usize];
        let mut part = &self.part;
        part.rewind()?;
        part.write_all(&zeros)?;
        part.set_len(zeros.len() as u64)?;
        part.sync_all()
    }

    fn set_aside(&mut self) -> io::Result<()> {
        let word = match self.before {
            Before::Absent => return Ok(()),
            Before::Empty => return fs::remove_file(&self.file),
            Before::Worlds => OUTDATED,
            Before::Damaged => DAMAGED,
        };
        let aside = unused(&self.file, word)?;
        fs::rename(&self.file, &aside)?;
        os::sync_directory(directory(&self.file));
        self.aside = Some(aside);
        Ok(())
    }

    /// Writes the worlds. The magic bytes are written last, so a file with them is complete.
    fn finish(&mut self, bytes: &[u8]) -> io::Result<()> {
        let (mark, rest) = bytes.split_at(saved_rooms::MAGIC.len());
        self.part.rewind()?;
        self.part.write_all(&[0; saved_rooms::MAGIC.len()])?;
        self.part.write_all(rest)?;
        self.part.set_len(bytes.len() as u64)?;
        self.part.sync_all()?;
        self.part.rewind()?;
        self.part.write_all(mark)?;
        self.part.sync_all()?;
        let part = with_suffix(&self.file, PART);
        self.is_full = os::is_at(&self.part, &part);
        fs::rename(part, &self.file)?;
        os::sync_directory(directory(&self.file));
        Ok(())
    }

    /// Writes the worlds to another directory after an error. Returns the error text, with the path
    /// of the worlds.
    fn rescue(&self, bytes: &[u8], why: &io::Error, elsewhere: &[PathBuf]) -> String {
        let file = self.file.display();
        if self.is_full {
            let part = with_suffix(&self.file, PART);
            return format!(
                "--state-file {file}: {why}; the worlds are in {}, and go on from there",
                part.display()
            );
        }
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let chance = u32::from_le_bytes(os::random());
        for directory in elsewhere {
            let other = directory.join(format!("{name}.{chance:08x}"));
            let written = os::create_private(&other)
                .and_then(|mut other| other.write_all(bytes).and_then(|()| other.sync_all()));
            if written.is_ok() {
                os::sync_directory(directory);
                let other = other.display();
                return format!(
                    "--state-file {file}: {why}; the worlds are in {other}: move that file to {file}"
                );
            }
            let _ = fs::remove_file(other);
        }
        format!("--state-file {file}: {why}; no other directory takes the worlds either: they are lost")
    }
}

impl Drop for StateFilePath {
    /// Removes the unfinished file, unless it contains worlds or belongs to another server.
    fn drop(&mut self) {
        let part = with_suffix(&self.file, PART);
        if !self.is_full && os::is_at(&self.part, &part) {
            let _ = fs::remove_file(part);
        }
    }
}

/// The path with a suffix appended.
fn with_suffix(file: &Path, word: &str) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push(format!(".{word}"));
    PathBuf::from(path)
}

fn directory(file: &Path) -> &Path {
    file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// An unused path with this suffix, with a number if necessary.
fn unused(file: &Path, word: &str) -> io::Result<PathBuf> {
    let name = |number: u32| match number {
        0 => with_suffix(file, word),
        number => with_suffix(file, &format!("{word}.{number}")),
    };
    let mut names = (0..limits::MAX_SET_ASIDE_FILES).map(name);
    let is_free = |name: &PathBuf| fs::symlink_metadata(name).is_err();
    let all = || {
        io::Error::other(format!(
            "{} to .{} exist; remove some",
            name(0).display(),
            limits::MAX_SET_ASIDE_FILES - 1
        ))
    };
    names.find(is_free).ok_or_else(all)
}

/// Opens a file and locks it until the program ends.
fn lock(path: &Path) -> Result<File, String> {
    for _ in 0..LOCK_TRIES {
        let file = os::open_private(path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => "no such directory; create it first".to_owned(),
            _ => format!("{} cannot be written: {error}", path.display()),
        })?;
        match file.try_lock() {
            // Another server may have renamed the file before this lock.
            Ok(()) if !os::is_at(&file, path) => {}
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                return Err("another server uses this file; stop it, or choose another file".to_owned());
            }
            Err(TryLockError::Error(error)) => {
                return Err(format!("{} cannot be locked: {error}", path.display()));
            }
        }
    }
    Err("other servers that use this file keep starting; choose another file".to_owned())
}

/// Whether an unfinished file is empty, or starts as our own files do: with zeros or with the magic
/// bytes.
fn is_ours(mut part: &File) -> bool {
    let mut head = [0; saved_rooms::MAGIC.len()];
    let read = part.read(&mut head);
    read.is_ok_and(|count| {
        count == 0 || head.starts_with(saved_rooms::MARK) || head == [0; saved_rooms::MAGIC.len()]
    })
}

/// Renames a complete file that the last run could not rename.
fn adopt(file: &Path) -> bool {
    let part = with_suffix(file, PART);
    let is_finished = read(&part).is_ok_and(|(before, ..)| before == Before::Worlds);
    is_finished && fs::rename(part, file).is_ok()
}

/// The kind of a state file, its worlds by room, and a message if it has none.
type Contents = (Before, Vec<(String, SavedRoom)>, Option<String>);

/// Reads a state file.
fn read(file: &Path) -> Result<Contents, String> {
    let metadata = match fs::metadata(file) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let outdated = with_suffix(file, OUTDATED);
            let sentence = format!(
                "the last run did not stop cleanly, so its worlds are lost and start over; {} has those of the stop before: move it to this name to go on from there",
                outdated.display()
            );
            return Ok((Before::Absent, Vec::new(), outdated.exists().then_some(sentence)));
        }
        Err(error) => return Err(error.to_string()),
    };
    if !metadata.is_file() {
        return Err("is not a regular file; choose another name".to_owned());
    }
    if metadata.len() > limits::MAX_STATE_FILE_BYTES {
        return Err(format!(
            "has {} bytes; a file of worlds has at most {}",
            metadata.len(),
            limits::MAX_STATE_FILE_BYTES
        ));
    }
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    match saved_rooms::read(&bytes) {
        _ if bytes.is_empty() => Ok((Before::Empty, Vec::new(), None)),
        _ if !bytes.starts_with(saved_rooms::MARK) => {
            Err("is not a file of saved worlds, and would be overwritten; choose another name".to_owned())
        }
        Ok(rooms) => Ok((Before::Worlds, rooms, None)),
        Err(why) => Ok((Before::Damaged, Vec::new(), Some(format!("{why}; all worlds start over")))),
    }
}

#[cfg(test)]
mod tests;
