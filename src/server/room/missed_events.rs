//! Events of recent ticks that are sent to a client after it resumes.
//!
//! Most events that a client missed are obsolete or visible in the state. A game marks ticks with
//! other events ([`Game::is_sent_on_resume`](crate::game::Game::is_sent_on_resume)), for example an
//! operator's announcement.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::game::DynTick;
use crate::limits;

/// Recent ticks with events that are sent on a resume, oldest first. Bounded in age and bytes.
#[derive(Debug, Default)]
pub struct MissedEvents {
    ticks: VecDeque<TickEvents>,
    bytes: usize,
}

#[derive(Debug)]
struct TickEvents {
    tick: u32,
    events: Arc<dyn Any + Send + Sync>,
    bytes: usize,
}

impl MissedEvents {
    /// Stores the events of a tick. Drops events older than `seat_ticks`, because no seat is
    /// suspended for longer. Also drops the oldest events beyond [`limits::RECENT_EVENT_BYTES`].
    pub fn push(&mut self, tick: &dyn DynTick, seat_ticks: u32) {
        let (now, bytes) = (tick.tick(), tick.event_bytes());
        self.ticks.push_back(TickEvents { tick: now, events: tick.events(), bytes });
        self.bytes += bytes;
        let is_old = |events: &TickEvents| events.tick < now.saturating_sub(seat_ticks);
        while self.bytes > limits::RECENT_EVENT_BYTES || self.ticks.front().is_some_and(is_old) {
            let Some(oldest) = self.ticks.pop_front() else { break };
            self.bytes -= oldest.bytes;
        }
    }

    /// Returns the approximate size of the stored events in memory, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the events of the ticks after `since`, up to and including `until`.
    pub fn between(&self, since: u32, until: u32) -> Vec<Arc<dyn Any + Send + Sync>> {
        let is_missed = |events: &&TickEvents| events.tick > since && events.tick <= until;
        self.ticks.iter().filter(is_missed).map(|events| Arc::clone(&events.events)).collect()
    }
}
