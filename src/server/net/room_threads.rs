//! The threads of the rooms on demand, which come and go while the server runs.
//!
//! The system keeps the stack of an ended thread until its handle is dropped, so a thread drops its own
//! handle when it ends.

use std::thread::{self, JoinHandle};

use crate::util::sync::Mutex;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct RoomThreads {
    running: Mutex<Vec<JoinHandle<()>>>,
}

impl RoomThreads {
    /// Remembers a thread, and forgets those that have ended.
    pub fn add(&self, thread: JoinHandle<()>) {
        let mut running = self.running.lock();
        running.retain(|thread| !thread.is_finished());
        running.push(thread);
    }

    /// Forgets the calling thread, which ends now.
    pub fn leave(&self) {
        let own = thread::current().id();
        self.running.lock().retain(|running| running.thread().id() != own);
    }

    /// Waits until all have ended.
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
