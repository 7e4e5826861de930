//! Who is here: connections or clients by number, and waiting until all have gone.
//!
//! Comes in: entries as their threads begin, their numbers as these end. Goes out: all that are there, for a stop that reaches each. Never: an entry
//! dropped under the lock, since closing a socket takes its time; one who waits for the last that is not woken by it.

use std::collections::BTreeMap;
use std::time::Instant;

use super::sync::{Condvar, Mutex};

/// See the [module](self).
#[derive(Debug)]
pub struct Registry<T> {
    entries: Mutex<BTreeMap<u64, T>>,
    all_gone: Condvar,
}

impl<T> Default for Registry<T> {
    fn default() -> Registry<T> {
        Registry { entries: Mutex::default(), all_gone: Condvar::default() }
    }
}

impl<T: Clone> Registry<T> {
    /// An entry is here from now on, under a number of its own.
    pub fn add(&self, number: u64, entry: T) {
        self.entries.lock().insert(number, entry);
    }

    /// The entry of this number has gone. Gives it, if it was here.
    pub fn remove(&self, number: u64) -> Option<T> {
        let mut entries = self.entries.lock();
        let removed = entries.remove(&number);
        if entries.is_empty() {
            self.all_gone.notify_all();
        }
        removed
    }

    /// The entry of this number, if it is here.
    pub fn get(&self, number: u64) -> Option<T> {
        self.entries.lock().get(&number).cloned()
    }

    /// All that are here, in the order of their numbers.
    pub fn all(&self) -> Vec<T> {
        self.entries.lock().values().cloned().collect()
    }

    /// Waits until all have gone, at most until then. Returns how many are left.
    pub fn wait_until_empty(&self, deadline: Instant) -> usize {
        let mut entries = self.entries.lock();
        while !entries.is_empty() {
            if self.all_gone.wait_until(&mut entries, deadline).timed_out() {
                break;
            }
        }
        entries.len()
    }
}
