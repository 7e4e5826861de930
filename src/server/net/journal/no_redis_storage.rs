//! Stands in for journals in Redis in a build without the feature `cluster`.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Instant;

use super::file_storage::FileStorage;

/// Journals that cannot be created.
#[derive(Debug)]
pub enum RedisJournals {}

impl fmt::Display for RedisJournals {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl RedisJournals {
    /// Refuses every URL.
    ///
    /// # Errors
    /// The missing feature.
    pub fn new(_: &str) -> Result<Arc<RedisJournals>, String> {
        Err("this program is built without the feature `cluster`".to_owned())
    }

    /// Has no effect.
    pub fn give_up_at(&self, _: Instant) {
        match *self {}
    }

    /// Returns no rooms.
    ///
    /// # Errors
    /// None.
    pub fn rooms(&self) -> io::Result<Vec<String>> {
        match *self {}
    }

    /// Renames nothing.
    ///
    /// # Errors
    /// None.
    pub fn set_aside(&self, _: &str, _: &str) -> io::Result<bool> {
        match *self {}
    }

    /// Returns nothing.
    ///
    /// # Errors
    /// None.
    pub fn is_leased(&self, _: &str) -> io::Result<bool> {
        match *self {}
    }
}

/// The files of one room, which cannot be created.
#[derive(Debug)]
pub enum RedisStorage {}

impl RedisStorage {
    /// Creates nothing.
    #[allow(clippy::new_ret_no_self, reason = "there are no journals from which a storage could be created")]
    pub fn new(journals: Arc<RedisJournals>, _: &str) -> FileStorage {
        match *journals {}
    }
}
