//! Events of the last ticks that a client is still told when it comes back to its player.
//!
//! Most of what happened meanwhile is over, or shows in the state. A game says which events are neither
//! ([`Game::lasts`](crate::game::Game::lasts)): what the operator has said to everyone, for example.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

use crate::game::DynTick;
use crate::limits;

/// The ticks with such events, the oldest first.
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
    /// Keeps the events of a tick, and forgets those that are older than a seat waits (`seat_ticks`), or
    /// too many.
    pub fn push(&mut self, tick: &dyn DynTick, seat_ticks: u32) {
        let (now, bytes) = (tick.tick(), tick.event_bytes());
        self.ticks.push_back(TickEvents { tick: now, events: tick.events(), bytes });
        self.bytes += bytes;
        let is_old = |kept: &TickEvents| kept.tick < now.saturating_sub(seat_ticks);
        while self.bytes > limits::RECENT_EVENT_BYTES || self.ticks.front().is_some_and(is_old) {
            let Some(oldest) = self.ticks.pop_front() else { break };
            self.bytes -= oldest.bytes;
        }
    }

    /// The events of the ticks after `since`, up to `until`.
    pub fn between(&self, since: u32, until: u32) -> Vec<Arc<dyn Any + Send + Sync>> {
        let is_meant = |kept: &&TickEvents| kept.tick > since && kept.tick <= until;
        self.ticks.iter().filter(is_meant).map(|kept| Arc::clone(&kept.events)).collect()
    }
}
