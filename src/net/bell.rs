//! Wakes a worker: the ticks that rooms have published, and the clients that the worker takes over.
//!
//! The rooms hand over their ticks, and client threads hand over their clients. The one worker that
//! waits takes everything that has arrived since its last call. Of the ticks that it has missed, the
//! bell keeps the events, in order, at most [`limits::MISSED_EVENT_BYTES`] for each room, and only
//! the newest state. A worker never sleeps while something is waiting for it.

use std::collections::BTreeMap;

use crate::limits;
use crate::sync::{Condvar, Mutex};

/// A published tick. When a newer one comes, only its events are kept.
pub trait Tick {
    /// The events of the tick.
    type Events: std::fmt::Debug;

    /// The events, and their bytes as the bound counts them.
    fn into_events(self) -> (Self::Events, usize);
}

/// What one room has published since the worker looked last.
#[derive(Debug, PartialEq, Eq)]
pub struct Backlog<T: Tick> {
    /// The events of the ticks before the newest.
    pub missed: Vec<T::Events>,
    /// The newest tick.
    pub newest: T,
    /// Whether there were more events than the bound allows: then all of `missed` is given up.
    pub is_lost: bool,
    missed_bytes: usize,
}

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

impl<T: Tick> Backlog<T> {
    fn new(newest: T) -> Backlog<T> {
        Backlog { missed: Vec::new(), newest, is_lost: false, missed_bytes: 0 }
    }

    fn push(&mut self, tick: T) {
        let (events, bytes) = std::mem::replace(&mut self.newest, tick).into_events();
        self.missed_bytes += bytes;
        self.is_lost |= self.missed_bytes > limits::MISSED_EVENT_BYTES;
        if self.is_lost {
            self.missed = Vec::new();
        } else {
            self.missed.push(events);
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A tick with so many bytes of events.
    impl Tick for (u32, usize) {
        type Events = u32;

        fn into_events(self) -> (u32, usize) {
            self
        }
    }

    #[test]
    fn a_worker_that_falls_behind_keeps_the_events_of_missed_ticks_and_the_newest_state_of_each_room() {
        let bell = Bell::<(u32, usize), ()>::default();
        let taken = |bell: &Bell<(u32, usize), ()>| bell.wait(&mut Vec::new()).expect("not stopping");
        for tick in 1..=3 {
            bell.ring(0, (tick, 10));
        }
        bell.ring(1, (7, 10));
        let backlogs = taken(&bell);
        assert_eq!((&backlogs[&0].missed[..], backlogs[&0].newest), (&[1, 2][..], (3, 10)));
        assert_eq!((&backlogs[&1].missed[..], backlogs[&1].newest), (&[][..], (7, 10)));
        bell.ring(0, (4, 10));
        let backlogs = taken(&bell);
        assert_eq!((backlogs.len(), &backlogs[&0].missed[..]), (1, &[][..]));
    }

    #[test]
    fn events_beyond_the_bound_are_given_up_together_and_reported() {
        let bell = Bell::<(u32, usize), ()>::default();
        let most = limits::MISSED_EVENT_BYTES / 4;
        (0..6).for_each(|tick| bell.ring(0, (tick, most)));
        bell.ring(1, (0, 2 * limits::MISSED_EVENT_BYTES));
        let backlogs = bell.wait(&mut Vec::new()).expect("not stopping");
        assert!(backlogs[&0].is_lost && backlogs[&0].missed.is_empty(), "{backlogs:?}");
        assert_eq!(backlogs[&0].newest, (5, most));
        assert!(!backlogs[&1].is_lost, "the newest tick is not missed");
    }
}
