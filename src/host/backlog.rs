//! The ticks that a room has published since a worker's last turn: all events in order, up to
//! [`limits::MISSED_EVENT_BYTES`], and only the newest state.

use std::any::Any;
use std::sync::Arc;

use crate::game::Tick;
use crate::limits;

/// What one room has published since the worker looked last.
#[derive(Debug)]
pub struct Backlog {
    /// The events of the ticks before the newest, as [`Tick::events`] returns them.
    pub missed: Vec<Arc<dyn Any + Send + Sync>>,
    /// The newest tick.
    pub newest: Arc<dyn Tick>,
    /// Whether there were more events than the bound allows: then all of `missed` is given up.
    pub is_lost: bool,
    missed_bytes: usize,
}

impl Backlog {
    /// The backlog that begins with this tick.
    pub fn new(newest: Arc<dyn Tick>) -> Backlog {
        Backlog { missed: Vec::new(), newest, is_lost: false, missed_bytes: 0 }
    }

    /// Adds the next tick.
    pub fn push(&mut self, tick: Arc<dyn Tick>) {
        let before = std::mem::replace(&mut self.newest, tick);
        self.missed_bytes += before.event_bytes();
        self.is_lost |= self.missed_bytes > limits::MISSED_EVENT_BYTES;
        if self.is_lost {
            self.missed = Vec::new();
        } else {
            self.missed.push(before.events());
        }
    }
}
