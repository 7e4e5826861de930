//! What stands in for the locks of `src/sync.rs`: the same words, with the checker behind them.
//!
//! Comes in: what the product asks of a lock. Goes out: the checker's choice of who goes on. Never: a time that is over, so nobody is woken but by
//! somebody.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::time::{Duration, Instant};

thread_local! {
    /// Whether [`Condvar`] lets go of the lock a moment before it waits: the fault of [`super::planted`].
    static LETS_GO_TOO_SOON: Cell<bool> = const { Cell::new(false) };
}

/// Runs something with the fault in all that waits.
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

    fn wait<T>(&self, guard: &mut Guard<'_, T>) -> Waited {
        let mut held = guard.held.take().expect("held");
        if LETS_GO_TOO_SOON.get() {
            drop(held);
            held = guard.lock.lock().expect("no model panics under a lock");
        }
        guard.held = Some(self.0.wait(held).expect("no model panics under a lock"));
        Waited
    }
}
