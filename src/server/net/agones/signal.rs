//! Wakes the thread of the reports to Agones.

use std::time::Duration;

use crate::util::sync::{Condvar, Mutex};

/// Wakes the thread when the server stops.
#[derive(Debug, Default)]
pub struct AgonesSignal {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl AgonesSignal {
    /// Wakes the thread.
    pub fn wake(&self) {
        *self.is_set.lock() = true;
        self.changed.notify_all();
    }

    /// Waits until the thread is woken, at most for `time`.
    pub fn wait(&self, time: Duration) {
        let mut is_set = self.is_set.lock();
        if !*is_set {
            let _ = self.changed.wait_for(&mut is_set, time);
        }
        *is_set = false;
    }
}
