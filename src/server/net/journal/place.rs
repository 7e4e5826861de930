//! The place of journals: a directory with a directory for each room.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::file_storage::FileStorage;
use crate::limits;
use crate::server::journal::JournalStorage;
use crate::util::os;

/// The directory of the default room. No room has this name.
const DEFAULT_ROOM: &str = "_default";

/// The files of one room's journal.
pub type RoomStorage = Box<dyn JournalStorage + Send>;

/// The place of the journals of a server.
#[derive(Debug, Clone)]
pub enum JournalPlace {
    /// A directory.
    Directory(PathBuf),
}

impl fmt::Display for JournalPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalPlace::Directory(directory) => directory.display().fmt(out),
        }
    }
}

impl JournalPlace {
    /// Returns the name of a room in this place. The default room has the name `""` elsewhere.
    pub fn room_name(room: &str) -> &str {
        if room.is_empty() { DEFAULT_ROOM } else { room }
    }

    /// Returns the description of a room's journal, for messages.
    pub fn describe(&self, room: &str) -> String {
        match self {
            JournalPlace::Directory(directory) => directory.join(room).display().to_string(),
        }
    }

    /// Returns the names of the rooms, sorted.
    ///
    /// # Errors
    /// The error of the system.
    pub fn rooms(&self) -> io::Result<Vec<String>> {
        match self {
            JournalPlace::Directory(directory) => {
                let entries = fs::read_dir(directory)?.collect::<Result<Vec<_>, _>>()?;
                let directories = entries.into_iter().filter(|entry| entry.path().is_dir());
                let mut rooms: Vec<String> =
                    directories.filter_map(|entry| entry.file_name().into_string().ok()).collect();
                rooms.sort_unstable();
                Ok(rooms)
            }
        }
    }

    /// Returns the files of a room, which may not exist.
    pub fn room(&self, room: &str) -> RoomStorage {
        match self {
            JournalPlace::Directory(directory) => Box::new(FileStorage::new(directory.join(room))),
        }
    }

    /// Returns the files of a room, and creates its directory if necessary.
    ///
    /// # Errors
    /// The error of the system.
    pub fn create_room(&self, room: &str) -> io::Result<RoomStorage> {
        match self {
            JournalPlace::Directory(directory) => {
                fs::create_dir_all(directory.join(room))?;
                os::try_sync_directory(directory)?;
            }
        }
        Ok(self.room(room))
    }

    /// Renames the journal of a room, so that the room begins with a new world. Returns the
    /// description of the renamed journal.
    ///
    /// # Errors
    /// The error of the system, or the room has too many such journals.
    pub fn set_aside(&self, room: &str) -> Result<String, String> {
        let JournalPlace::Directory(directory) = self;
        let exists = |name: &str| directory.join(name).exists();
        let mut names = (0..limits::MAX_SET_ASIDE_JOURNALS).map(|number| format!("{room}.refused-{number}"));
        let aside = names.find(|name| !exists(name));
        let aside = aside.ok_or_else(|| format!("{self}: too many journals were set aside; remove some"))?;
        let failed = |error| format!("{}: {error}", self.describe(&aside));
        rename(directory, room, &aside).map_err(failed)?;
        Ok(self.describe(&aside))
    }
}

fn rename(directory: &Path, from: &str, to: &str) -> io::Result<()> {
    fs::rename(directory.join(from), directory.join(to))
}
