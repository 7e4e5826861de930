//! The model checker's replacements for the locks of `src/util/sync.rs`, with the same interface.
//!
//! The checker chooses the next thread at each operation. No wait ever times out, so a waiting
//! thread continues only when another thread wakes it.

use shuttle::sync::atomic::{AtomicBool, Ordering};
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

thread_local! {
    /// Whether [`Condvar`] releases the lock shortly before it waits: the fault of
    /// [`super::planted`].
    static LETS_GO_TOO_SOON: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function with this fault in every wait.
pub fn with_a_gap_before_waiting<T>(run: impl FnOnce() -> T) -> T {
    struct Repaired;
    impl Drop for Repaired {
        fn drop(&mut self) {
            LETS_GO_TOO_SOON.set(false);
        }
    }
    let _repaired = Repaired;
    LETS_GO_TOO_SOON.set(true);
    run()
}

/// A lock without poisoning.
#[derive(Debug, Default)]
pub struct Mutex<T>(shuttle::sync::Mutex<T>);

/// Holds the lock until it is dropped.
pub struct Guard<'a, T> {
    lock: &'a shuttle::sync::Mutex<T>,
    /// Only empty within [`Condvar`].
    held: Option<shuttle::sync::MutexGuard<'a, T>>,
}

impl<T> Mutex<T> {
    pub fn new(value: T) -> Mutex<T> {
        Mutex(shuttle::sync::Mutex::new(value))
    }

    pub fn lock(&self) -> Guard<'_, T> {
        Guard { lock: &self.0, held: Some(self.0.lock().expect("no model panics under a lock")) }
    }

    /// Asked only to load the lock into the CPU cache.
    pub fn is_locked(&self) -> bool {
        false
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.held.as_ref().expect("held")
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.held.as_mut().expect("held")
    }
}

impl<T> Drop for Guard<'_, T> {
    /// Another thread may go on here too: what follows without the lock is not one step with what was done under it.
    fn drop(&mut self) {
        drop(self.held.take());
        if !std::thread::panicking() {
            let _ = AtomicBool::new(false).load(Ordering::SeqCst);
        }
    }
}

/// Waits for somebody.
#[derive(Debug, Default)]
pub struct Condvar(shuttle::sync::Condvar);

/// How a wait ended.
pub struct Waited;

impl Waited {
    /// There is no time here.
    pub fn timed_out(&self) -> bool {
        false
    }
}

impl Condvar {
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    pub fn notify_all(&self) {
        self.0.notify_all();
    }

    pub fn wait_for<T>(&self, guard: &mut Guard<'_, T>, _time: Duration) -> Waited {
        self.wait(guard)
    }

    pub fn wait_until<T>(&self, guard: &mut Guard<'_, T>, _deadline: Instant) -> Waited {
        self.wait(guard)
    }

    pub fn wait<T>(&self, guard: &mut Guard<'_, T>) -> Waited {
        let mut held = guard.held.take().expect("held");
        if LETS_GO_TOO_SOON.get() {
            drop(held);
            held = guard.lock.lock().expect("no model panics under a lock");
        }
        guard.held = Some(self.0.wait(held).expect("no model panics under a lock"));
        Waited
    }
}
