//! Wakes a worker: published ticks, in order and bounded, and the clients that the worker takes
//! over.
//!
//! The rooms hand over their ticks, and client threads hand over their clients. The one
//! worker that waits takes everything that has arrived since its last call. Ticks are never out of
//! order, there are never more than [`limits::PUBLISHED_TICKS`] of them, and a worker never sleeps
//! while something is waiting for it.

use std::collections::VecDeque;

use crate::limits;
use crate::sync::{Condvar, Mutex};

/// See the [module](self).
#[derive(Debug)]
pub struct Bell<Tick, Newcomer> {
    state: Mutex<State<Tick, Newcomer>>,
    rung: Condvar,
}

#[derive(Debug)]
struct State<Tick, Newcomer> {
    published: VecDeque<Tick>,
    newcomers: Vec<Newcomer>,
    stopping: bool,
}

impl<Tick, Newcomer> Default for Bell<Tick, Newcomer> {
    fn default() -> Bell<Tick, Newcomer> {
        let state = State { published: VecDeque::new(), newcomers: Vec::new(), stopping: false };
        Bell { state: Mutex::new(state), rung: Condvar::default() }
    }
}

impl<Tick, Newcomer> Bell<Tick, Newcomer> {
    /// Hands over a published tick. Returns whether an older tick was dropped to make room.
    pub fn ring(&self, published: Tick) -> bool {
        let mut state = self.state.lock();
        let overflows = state.published.len() >= limits::PUBLISHED_TICKS;
        if overflows {
            state.published.pop_front();
        }
        state.published.push_back(published);
        drop(state);
        self.rung.notify_one();
        overflows
    }

    /// Hands over a client, which the worker takes over with the next tick.
    pub fn welcome(&self, newcomer: Newcomer) {
        self.state.lock().newcomers.push(newcomer);
    }

    /// Ends the worker.
    pub fn stop(&self) {
        self.state.lock().stopping = true;
        self.rung.notify_one();
    }

    /// Waits for ticks, and moves everything that has arrived into `ticks` and `newcomers`. Returns
    /// false when the worker must end.
    pub fn wait(&self, ticks: &mut VecDeque<Tick>, newcomers: &mut Vec<Newcomer>) -> bool {
        let mut state = self.state.lock();
        if state.published.is_empty() && !state.stopping {
            self.rung.wait_for(&mut state, limits::WORKER_IDLE);
        }
        std::mem::swap(&mut state.published, ticks);
        newcomers.append(&mut state.newcomers);
        !state.stopping
    }
}
