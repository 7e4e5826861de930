//! Wakes a worker: the ticks that rooms have published, and the clients that the worker takes over.
//!
//! The rooms hand over their ticks, and client threads hand over their clients. The one worker that
//! waits takes everything that has arrived since its last call. Of the ticks that it has missed, the
//! bell keeps the events, in order, at most [`limits::MISSED_EVENT_BYTES`] for each room, and only
//! the newest state. A worker never sleeps while something is waiting for it.

use std::collections::BTreeMap;

use crate::host::backlog::{Backlog, Tick};
use crate::limits;
use crate::sync::{Condvar, Mutex};

/// See the [module](self).
#[derive(Debug)]
pub struct Bell<T: Tick, Newcomer> {
    state: Mutex<State<T, Newcomer>>,
    rung: Condvar,
}

#[derive(Debug)]
struct State<T: Tick, Newcomer> {
    /// By the room's place in the host's list.
    backlogs: BTreeMap<usize, Backlog<T>>,
    newcomers: Vec<Newcomer>,
    stopping: bool,
}

impl<T: Tick, Newcomer> Default for Bell<T, Newcomer> {
    fn default() -> Bell<T, Newcomer> {
        let state = State { backlogs: BTreeMap::new(), newcomers: Vec::new(), stopping: false };
        Bell { state: Mutex::new(state), rung: Condvar::default() }
    }
}

impl<T: Tick, Newcomer> Bell<T, Newcomer> {
    /// Hands over a tick of a room.
    pub fn ring(&self, room: usize, tick: T) {
        let mut state = self.state.lock();
        if let Some(backlog) = state.backlogs.get_mut(&room) {
            backlog.push(tick);
        } else {
            state.backlogs.insert(room, Backlog::new(tick));
        }
        drop(state);
        self.rung.notify_one();
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

    /// Waits for ticks, and returns what each room has published since the last call; moves the new
    /// clients into `newcomers`. `None` when the worker must end.
    pub fn wait(&self, newcomers: &mut Vec<Newcomer>) -> Option<BTreeMap<usize, Backlog<T>>> {
        let mut state = self.state.lock();
        if state.backlogs.is_empty() && !state.stopping {
            self.rung.wait_for(&mut state, limits::WORKER_IDLE);
        }
        newcomers.append(&mut state.newcomers);
        (!state.stopping).then(|| std::mem::take(&mut state.backlogs))
    }
}
