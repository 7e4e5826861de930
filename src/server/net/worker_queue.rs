//! Wakes a worker when a room has published a tick, or when the worker takes over a client.
//!
//! Each bell belongs to one worker, which takes everything that has arrived since its last call,
//! and never sleeps while something is waiting for it. A worker without clients sleeps until a client
//! comes: rooms in which nobody plays cost it nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::game::DynTick;
use crate::limits;
use crate::server::clients::backlog::{Backlog, CommandAcks};
use crate::util::sync::{Condvar, Mutex};

/// What rooms have published, by the number of the room's run.
pub type Backlogs = BTreeMap<u64, Backlog>;

/// See the [module](self).
#[derive(Debug)]
pub struct WorkerQueue<Newcomer> {
    state: Mutex<QueueState<Newcomer>>,
    wakeup: Condvar,
}

#[derive(Debug)]
struct QueueState<Newcomer> {
    backlogs: Backlogs,
    new_clients: Vec<Newcomer>,
    /// The worker has clients, so ticks are for it.
    has_clients: bool,
    stopping: bool,
}

impl<Newcomer> Default for WorkerQueue<Newcomer> {
    fn default() -> WorkerQueue<Newcomer> {
        let (backlogs, newcomers) = (BTreeMap::new(), Vec::new());
        let state = QueueState { backlogs, new_clients: newcomers, has_clients: false, stopping: false };
        WorkerQueue { state: Mutex::new(state), wakeup: Condvar::default() }
    }
}

impl<Newcomer> WorkerQueue<Newcomer> {
    /// Hands over a tick of a room, with its answers; a worker without clients has no use for it.
    pub fn push_tick(&self, room: u64, tick: Arc<dyn DynTick>, answers: Option<Arc<CommandAcks>>) {
        let mut state = self.state.lock();
        if !state.has_clients {
            return;
        }
        if let Some(backlog) = state.backlogs.get_mut(&room) {
            backlog.push(tick, answers);
        } else {
            state.backlogs.insert(room, Backlog::new(tick, answers));
        }
        drop(state);
        self.wakeup.notify_one();
    }

    /// Hands over a client. A worker that has clients takes it over with the next tick, another at
    /// once.
    pub fn push_client(&self, newcomer: Newcomer) {
        let mut state = self.state.lock();
        state.new_clients.push(newcomer);
        if !std::mem::replace(&mut state.has_clients, true) {
            drop(state);
            self.wakeup.notify_one();
        }
    }

    /// Ends the worker.
    pub fn stop(&self) {
        self.state.lock().stopping = true;
        self.wakeup.notify_one();
    }

    /// Waits for ticks, and returns what each room has published since the last call; moves the new
    /// clients into `newcomers`. `has_clients` says whether the worker has any already. `None` when the
    /// worker must end.
    pub fn wait(&self, newcomers: &mut Vec<Newcomer>, has_clients: bool) -> Option<Backlogs> {
        let mut state = self.state.lock();
        state.has_clients = has_clients || !state.new_clients.is_empty();
        while !state.has_clients && !state.stopping {
            self.wakeup.wait(&mut state);
        }
        if state.backlogs.is_empty() && state.new_clients.is_empty() && !state.stopping {
            self.wakeup.wait_for(&mut state, limits::WORKER_IDLE_WAKEUP);
        }
        newcomers.append(&mut state.new_clients);
        (!state.stopping).then(|| std::mem::take(&mut state.backlogs))
    }
}
