//! A registry of open connections or clients by number.
//!
//! Entries are dropped outside the lock, because closing a socket takes time.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::util::sync::{Condvar, Mutex};

/// Entries by number. A shutdown can wait until the registry is empty.
#[derive(Debug)]
pub struct Registry<T> {
    entries: Mutex<BTreeMap<u64, T>>,
    emptied: Condvar,
}

impl<T> Default for Registry<T> {
    fn default() -> Registry<T> {
        Registry { entries: Mutex::default(), emptied: Condvar::default() }
    }
}

impl<T: Clone> Registry<T> {
    /// Adds an entry under a unique number.
    pub fn add(&self, number: u64, entry: T) {
        self.entries.lock().insert(number, entry);
    }

    /// Removes and returns the entry with this number, if present.
    pub fn remove(&self, number: u64) -> Option<T> {
        let mut entries = self.entries.lock();
        let removed = entries.remove(&number);
        if entries.is_empty() {
            self.emptied.notify_all();
        }
        removed
    }

    /// Returns the entry with this number, if present.
    pub fn get(&self, number: u64) -> Option<T> {
        self.entries.lock().get(&number).cloned()
    }

    /// Returns the number of entries.
    pub fn count(&self) -> usize {
        self.entries.lock().len()
    }

    /// Returns all entries, ordered by number.
    pub fn all(&self) -> Vec<T> {
        self.entries.lock().values().cloned().collect()
    }

    /// Waits until the registry is empty or `deadline` has passed. Returns the number of remaining
    /// entries.
    pub fn wait_until_empty(&self, deadline: Instant) -> usize {
        let mut entries = self.entries.lock();
        while !entries.is_empty() {
            if self.emptied.wait_until(&mut entries, deadline).timed_out() {
                break;
            }
        }
        entries.len()
    }
}
