//! The ticks that a room has published since a worker's last turn: all events and answers in
//! order, up to [`limits::MISSED_EVENT_BYTES`], and only the newest state.

use std::any::Any;
use std::sync::Arc;

use crate::game::DynTick;
use crate::limits;
pub use crate::server::room::CommandAcks;

/// What one room has published since the worker looked last.
#[derive(Debug)]
pub struct Backlog {
    /// The events of the ticks before the newest, as [`DynTick::events`] returns them.
    pub missed: Vec<Arc<dyn Any + Send + Sync>>,
    /// The newest tick.
    pub newest: Arc<dyn DynTick>,
    /// Whether there were more events than the bound allows: then all of `missed` is given up.
    pub is_lost: bool,
    /// The answers that all these ticks bring, in order.
    pub answers: Vec<Arc<CommandAcks>>,
    missed_bytes: usize,
}

impl Backlog {
    /// The backlog that begins with this tick.
    pub fn new(newest: Arc<dyn DynTick>, answers: Option<Arc<CommandAcks>>) -> Backlog {
        let answers = answers.into_iter().collect();
        Backlog { missed: Vec::new(), newest, is_lost: false, answers, missed_bytes: 0 }
    }

    /// Adds the next tick.
    pub fn push(&mut self, tick: Arc<dyn DynTick>, answers: Option<Arc<CommandAcks>>) {
        let before = std::mem::replace(&mut self.newest, tick);
        self.missed_bytes += before.event_bytes() + answers.as_ref().map_or(0, |answers| answers.bytes());
        self.answers.extend(answers);
        self.is_lost |= self.missed_bytes > limits::MISSED_EVENT_BYTES;
        if self.is_lost {
            (self.missed, self.answers) = (Vec::new(), Vec::new());
        } else {
            self.missed.push(before.events());
        }
    }
}
