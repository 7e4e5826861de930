//! The ticks of a room since an update worker's last pass. Contains all events and acks in order,
//! up to [`limits::MISSED_EVENT_BYTES`], and the newest state only.

use std::any::Any;
use std::sync::Arc;

use crate::game::DynTick;
use crate::limits;
pub use crate::server::room::CommandAcks;

/// The ticks that a room has published since the worker's last pass.
#[derive(Debug)]
pub struct Backlog {
    /// The events of the ticks before `newest`, as [`DynTick::events`] returns them.
    pub missed_events: Vec<Arc<dyn Any + Send + Sync>>,
    /// The newest tick.
    pub newest: Arc<dyn DynTick>,
    /// Whether the events and acks exceeded the limit in bytes. If so, `missed_events` and
    /// `acks` are empty.
    pub has_overflowed: bool,
    /// The acks of all these ticks, in order. With a journal, they may be of earlier ticks.
    pub acks: Vec<Arc<CommandAcks>>,
    /// Number of newest ticks without their acks, because a journal has not synced them yet.
    pub unacked_ticks: u32,
    missed_bytes: usize,
}

impl Backlog {
    /// Creates a backlog with one tick.
    pub fn new(newest: Arc<dyn DynTick>, acks: impl IntoIterator<Item = Arc<CommandAcks>>) -> Backlog {
        let acks = acks.into_iter().collect();
        Backlog {
            missed_events: Vec::new(),
            newest,
            has_overflowed: false,
            acks,
            unacked_ticks: 0,
            missed_bytes: 0,
        }
    }

    /// Returns the approximate size of the events and acks before the newest tick, in bytes.
    pub fn missed_bytes(&self) -> usize {
        if self.has_overflowed { 0 } else { self.missed_bytes }
    }

    /// Adds the next tick.
    pub fn push(&mut self, tick: Arc<dyn DynTick>, acks: impl IntoIterator<Item = Arc<CommandAcks>>) {
        let before = std::mem::replace(&mut self.newest, tick);
        self.missed_bytes += before.event_bytes();
        for acks in acks {
            self.missed_bytes += acks.bytes();
            self.acks.push(acks);
        }
        self.has_overflowed |= self.missed_bytes > limits::MISSED_EVENT_BYTES;
        if self.has_overflowed {
            (self.missed_events, self.acks) = (Vec::new(), Vec::new());
        } else {
            self.missed_events.push(before.events());
        }
    }
}
