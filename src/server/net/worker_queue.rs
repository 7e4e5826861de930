//! The queue of an update worker: published ticks of rooms, and clients that the worker takes over.
//!
//! Each queue belongs to one worker. The worker takes the whole content at once, and never sleeps
//! while the queue has content for it. A worker without clients sleeps until it gets one, so rooms
//! without clients cost it nothing.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use crate::game::DynTick;
use crate::limits;
use crate::server::clients::backlog::{Backlog, CommandAcks};
use crate::util::sync::{Condvar, Mutex};

/// Published ticks that a worker has not taken yet, by the number of the room's run.
pub type Backlogs = BTreeMap<u64, Backlog>;

/// Jobs for one update worker.
#[derive(Debug)]
pub struct WorkerQueue<Newcomer> {
    state: Mutex<QueueState<Newcomer>>,
    wakeup: Condvar,
}

#[derive(Debug)]
struct QueueState<Newcomer> {
    backlogs: Backlogs,
    new_clients: Vec<Newcomer>,
    /// Whether the worker has clients. If not, ticks are dropped.
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
    /// Queues a tick of a room with acks. `unacked` is the number of newest ticks without their
    /// acks. Drops it if the worker has no clients.
    pub fn push_tick(
        &self,
        room: u64,
        tick: Arc<dyn DynTick>,
        (acks, unacked): (impl IntoIterator<Item = Arc<CommandAcks>>, u32),
    ) {
        let mut state = self.state.lock();
        if !state.has_clients {
            return;
        }
        let backlog = match state.backlogs.entry(room) {
            Entry::Occupied(backlog) => {
                let backlog = backlog.into_mut();
                backlog.push(tick, acks);
                backlog
            }
            Entry::Vacant(place) => place.insert(Backlog::new(tick, acks)),
        };
        backlog.unacked_ticks = unacked;
        drop(state);
        self.wakeup.notify_one();
    }

    /// Queues a new client. A worker with clients takes it over with the next tick, a worker
    /// without clients immediately.
    pub fn push_client(&self, newcomer: Newcomer) {
        let mut state = self.state.lock();
        state.new_clients.push(newcomer);
        if !std::mem::replace(&mut state.has_clients, true) {
            drop(state);
            self.wakeup.notify_one();
        }
    }

    /// Stops the worker.
    pub fn stop(&self) {
        self.state.lock().stopping = true;
        self.wakeup.notify_one();
    }

    /// Returns the approximate size of the ticks of a room that the worker has not taken yet,
    /// without the newest, in bytes.
    pub fn backlog_bytes(&self, room: u64) -> usize {
        self.state.lock().backlogs.get(&room).map_or(0, Backlog::missed_bytes)
    }

    /// Waits for ticks, and returns the ticks that each room has published since the last call.
    /// Moves new clients into `newcomers`. `has_clients` is whether the worker already has clients.
    /// Returns `None` once the worker must end.
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
