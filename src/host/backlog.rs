//! The ticks that a room has published since a worker's last turn: all events in order, up to
//! [`limits::MISSED_EVENT_BYTES`], and only the newest state.

use std::sync::Arc;

use crate::feed::{Events, Published};
use crate::limits;

/// What one room has published since the worker looked last.
#[derive(Debug)]
pub struct Backlog {
    /// The events of the ticks before the newest.
    pub missed: Vec<Arc<Events>>,
    /// The newest tick.
    pub newest: Arc<Published>,
    /// Whether there were more events than the bound allows: then all of `missed` is given up.
    pub is_lost: bool,
    missed_bytes: usize,
}

impl Backlog {
    /// The backlog that begins with this tick.
    pub fn new(newest: Arc<Published>) -> Backlog {
        Backlog { missed: Vec::new(), newest, is_lost: false, missed_bytes: 0 }
    }

    /// Adds the next tick.
    pub fn push(&mut self, tick: Arc<Published>) {
        let events = Arc::clone(&std::mem::replace(&mut self.newest, tick).events);
        self.missed_bytes += events.bytes();
        self.is_lost |= self.missed_bytes > limits::MISSED_EVENT_BYTES;
        if self.is_lost {
            self.missed = Vec::new();
        } else {
            self.missed.push(events);
        }
    }
}
