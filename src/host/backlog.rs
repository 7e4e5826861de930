//! The ticks that a room has published since a worker's last turn: all events in order, at most
//! [`limits::MISSED_EVENT_BYTES`] of them, and only the newest state.

use std::sync::Arc;

use crate::feed::{Events, Published};
use crate::limits;

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

impl<T: Tick> Backlog<T> {
    /// The backlog that begins with this tick.
    pub fn new(newest: T) -> Backlog<T> {
        Backlog { missed: Vec::new(), newest, is_lost: false, missed_bytes: 0 }
    }

    /// Adds the next tick.
    pub fn push(&mut self, tick: T) {
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

impl Tick for Arc<Published> {
    type Events = Arc<Events>;

    fn into_events(self) -> (Arc<Events>, usize) {
        (Arc::clone(&self.events), self.events.bytes())
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
    fn a_backlog_keeps_the_events_of_missed_ticks_and_the_newest_state() {
        let mut backlog = Backlog::new((1, 10));
        backlog.push((2, 10));
        backlog.push((3, 10));
        assert_eq!((&backlog.missed[..], backlog.newest, backlog.is_lost), (&[1, 2][..], (3, 10), false));
    }

    #[test]
    fn events_beyond_the_bound_are_given_up_together_and_the_newest_tick_is_not_missed() {
        let most = limits::MISSED_EVENT_BYTES / 4;
        let mut backlog = Backlog::new((0, most));
        (1..6).for_each(|tick| backlog.push((tick, most)));
        assert!(backlog.is_lost && backlog.missed.is_empty(), "{backlog:?}");
        assert_eq!(backlog.newest, (5, most));
        assert!(!Backlog::new((0, 2 * limits::MISSED_EVENT_BYTES)).is_lost);
    }
}
