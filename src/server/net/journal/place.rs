//! The place of journals: a directory with a directory for each room, or Redis.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::file_storage::FileStorage;
use super::redis_storage::{RedisJournals, RedisStorage};
use crate::limits;
use crate::server::journal::JournalStorage;
use crate::util::os;

/// The directory of the default room. No room has this name.
const DEFAULT_ROOM: &str = "_default";
/// The value of `--journal` for the Redis of the cluster.
const REDIS: &str = "redis";
/// Start of the URL of a Redis.
const REDIS_SCHEME: &str = "redis://";

/// The files of one room's journal.
pub type RoomStorage = Box<dyn JournalStorage + Send>;

/// The place of the journals of a server.
#[derive(Debug, Clone)]
pub enum JournalPlace {
    /// A directory.
    Directory(PathBuf),
    /// A Redis or Valkey server.
    Redis(Arc<RedisJournals>),
}

impl fmt::Display for JournalPlace {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JournalPlace::Directory(directory) => directory.display().fmt(out),
            JournalPlace::Redis(journals) => journals.fmt(out),
        }
    }
}

impl JournalPlace {
    /// Returns the place of `--journal`: a directory, or with `redis` the Redis of the cluster at
    /// this URL.
    ///
    /// # Errors
    /// The broken rule.
    pub fn of_server(text: &Path, cluster: Option<&str>) -> Result<JournalPlace, String> {
        if text != Path::new(REDIS) {
            return Ok(JournalPlace::Directory(text.to_owned()));
        }
        let url = cluster.ok_or_else(|| {
            "redis needs --cluster redis://…; for a directory of this name, use ./redis".to_owned()
        })?;
        RedisJournals::new(url).map(JournalPlace::Redis)
    }

    /// Returns the place that a tool reads: a directory, or a Redis by its URL.
    ///
    /// # Errors
    /// The broken rule.
    pub fn of_tool(text: &Path) -> Result<JournalPlace, String> {
        match text.to_str().filter(|_| JournalPlace::is_url(text)) {
            Some(url) => RedisJournals::new(url).map(JournalPlace::Redis),
            None => Ok(JournalPlace::Directory(text.to_owned())),
        }
    }

    /// Returns whether an argument is the URL of a Redis.
    pub fn is_url(text: &Path) -> bool {
        text.to_str().is_some_and(|text| text.starts_with(REDIS_SCHEME))
    }

    /// Returns the name of a room in this place. The default room has the name `""` elsewhere.
    pub fn room_name(room: &str) -> &str {
        if room.is_empty() { DEFAULT_ROOM } else { room }
    }

    /// Returns the description of a room's journal, for messages.
    pub fn describe(&self, room: &str) -> String {
        match self {
            JournalPlace::Directory(directory) => directory.join(room).display().to_string(),
            JournalPlace::Redis(journals) => format!("{journals}, room {room}"),
        }
    }

    /// Returns the names of the rooms, sorted.
    ///
    /// # Errors
    /// The error of the system or of Redis.
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
            JournalPlace::Redis(journals) => journals.rooms(),
        }
    }

    /// Returns the files of a room, which may not exist.
    pub fn room(&self, room: &str) -> RoomStorage {
        match self {
            JournalPlace::Directory(directory) => Box::new(FileStorage::new(directory.join(room))),
            JournalPlace::Redis(journals) => Box::new(RedisStorage::new(Arc::clone(journals), room)),
        }
    }

    /// Returns the files of a room, and creates its directory if necessary.
    ///
    /// # Errors
    /// The error of the system.
    pub fn create_room(&self, room: &str) -> io::Result<RoomStorage> {
        if let JournalPlace::Directory(directory) = self {
            fs::create_dir_all(directory.join(room))?;
            os::try_sync_directory(directory)?;
        }
        Ok(self.room(room))
    }

    /// Renames the journal of a room, so that the room begins with a new world. Returns the
    /// description of the renamed journal.
    ///
    /// # Errors
    /// The error of the system or of Redis, or the room has too many such journals.
    pub fn set_aside(&self, room: &str) -> Result<String, String> {
        for number in 0..limits::MAX_SET_ASIDE_JOURNALS {
            let aside = format!("{room}.refused-{number}");
            let renamed = match self {
                JournalPlace::Directory(directory) if directory.join(&aside).exists() => Ok(false),
                JournalPlace::Directory(directory) => {
                    fs::rename(directory.join(room), directory.join(&aside)).map(|()| true)
                }
                JournalPlace::Redis(journals) => journals.set_aside(room, &aside),
            };
            if renamed.map_err(|error| format!("{}: {error}", self.describe(&aside)))? {
                return Ok(self.describe(&aside));
            }
        }
        Err(format!("{self}: too many journals were set aside; remove some"))
    }

    /// Returns the retained bytes of each room without `--journal-megabytes`: Redis holds them in
    /// memory.
    pub fn default_retained_bytes(&self) -> u64 {
        match self {
            JournalPlace::Directory(_) => limits::JOURNAL_RETAINED_BYTES,
            JournalPlace::Redis(_) => 0,
        }
    }

    /// Returns whether a process uses the journal of a room. A directory has a lock instead.
    ///
    /// # Errors
    /// The error of Redis.
    pub fn is_leased(&self, room: &str) -> io::Result<bool> {
        match self {
            JournalPlace::Directory(_) => Ok(false),
            JournalPlace::Redis(journals) => journals.is_leased(room),
        }
    }

    /// Ends the waiting of the writer thread after this time, if the place cannot be reached.
    pub fn give_up_after(&self, time: Duration) {
        if let JournalPlace::Redis(journals) = self {
            journals.give_up_at(Instant::now() + time);
        }
    }
}
