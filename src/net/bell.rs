//! Wakes a worker when a room has published a tick, or when the worker takes over a client.
//!
//! Each bell belongs to one worker, which takes everything that has arrived since its last call,
//! and never sleeps while something is waiting for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::feed::Published;
use crate::host::backlog::Backlog;
use crate::limits;
use crate::sync::{Condvar, Mutex};

/// What rooms have published, by the room's place in the host's list.
pub type Backlogs = BTreeMap<usize, Backlog>;

/// See the [module](self).
#[derive(Debug)]
pub struct Bell<Newcomer> {
    state: Mutex<State<Newcomer>>,
    rung: Condvar,
}

#[derive(Debug)]
struct State<Newcomer> {
    backlogs: Backlogs,
    newcomers: Vec<Newcomer>,
    stopping: bool,
}

impl<Newcomer> Default for Bell<Newcomer> {
    fn default() -> Bell<Newcomer> {
        let state = State { backlogs: BTreeMap::new(), newcomers: Vec::new(), stopping: false };
        Bell { state: Mutex::new(state), rung: Condvar::default() }
    }
}

impl<Newcomer> Bell<Newcomer> {
    /// Hands over a tick of a room.
    pub fn ring(&self, room: usize, tick: Arc<Published>) {
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
    pub fn wait(&self, newcomers: &mut Vec<Newcomer>) -> Option<Backlogs> {
        let mut state = self.state.lock();
        if state.backlogs.is_empty() && !state.stopping {
            self.rung.wait_for(&mut state, limits::WORKER_IDLE);
        }
        newcomers.append(&mut state.newcomers);
        (!state.stopping).then(|| std::mem::take(&mut state.backlogs))
    }
}
