//! The threads of the rooms on demand, which come and go while the server runs.

use std::thread::JoinHandle;

use crate::sync::Mutex;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Threads {
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    /// Remembers a thread, and forgets those that have ended.
    pub fn add(&self, thread: JoinHandle<()>) {
        let mut running = self.running.lock();
        running.retain(|thread| !thread.is_finished());
        running.push(thread);
    }

    /// Waits until all have ended.
    pub fn join(&self) {
        let running = std::mem::take(&mut *self.running.lock());
        for thread in running {
            let _ = thread.join();
        }
    }
}
