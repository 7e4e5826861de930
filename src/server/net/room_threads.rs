//! The threads of rooms on demand.
//!
//! The system retains the stack of an ended thread until its handle is dropped, so each thread
//! drops its own handle when it ends.

use std::thread::{self, JoinHandle};

use crate::util::sync::Mutex;

/// Handles of the running threads.
#[derive(Debug, Default)]
pub struct RoomThreads {
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl RoomThreads {
    /// Adds a thread, and drops the handles of ended threads.
    pub fn add(&self, thread: JoinHandle<()>) {
        let mut running = self.running.lock();
        running.retain(|thread| !thread.is_finished());
        running.push(thread);
    }

    /// Drops the handle of the calling thread, which ends now.
    pub fn leave(&self) {
        let own = thread::current().id();
        self.running.lock().retain(|running| running.thread().id() != own);
    }

    /// Waits until all threads have ended.
    pub fn join(&self) {
        let running = std::mem::take(&mut *self.running.lock());
        for thread in running {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_thread_that_leaves_is_forgotten_without_another_one_that_comes() {
        let threads = Arc::new(RoomThreads::default());
        let ((end, ends), (left, leaves)) = (channel(), channel());
        let of_thread = Arc::clone(&threads);
        threads.add(thread::spawn(move || {
            let _ = ends.recv();
            of_thread.leave();
            let _ = left.send(());
        }));
        assert_eq!(threads.running.lock().len(), 1);
        end.send(()).expect("it waits");
        leaves.recv().expect("it has left");
        assert_eq!(threads.running.lock().len(), 0);
        threads.join();
    }
}
