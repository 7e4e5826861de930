//! The schedule of a room's ticks: each begins at its intended time, however long the earlier ticks
//! took, so that the tick rate cannot drift.
//!
//! A *late* tick begins more than half a period after its time; periods that have passed before
//! their tick could begin are *skipped*, so that no burst of ticks follows a stall.

use std::time::{Duration, Instant};

/// The schedule of the ticks.
#[derive(Debug)]
pub struct TickSchedule {
    start: Instant,
    hz: u32,
    periods: u64,
}

/// What to do about the next tick.
#[derive(Debug, PartialEq, Eq)]
pub struct NextTick {
    /// Time until it begins.
    pub wait: Duration,
    /// Whether it is more than half a period late.
    pub is_late: bool,
    /// Whole periods that have passed before it.
    pub skipped: u64,
}

impl TickSchedule {
    /// Ticks at `hz`, the first a period after `start`.
    pub fn new(start: Instant, hz: u32) -> TickSchedule {
        TickSchedule { start, hz, periods: 0 }
    }

    /// Periods are counted from the start, so rounding never adds up.
    fn time_of(&self, period: u64) -> Instant {
        self.start + Duration::from_nanos(period * 1_000_000_000 / u64::from(self.hz))
    }

    /// The next tick, seen at `now`. Whole periods that have passed are left out.
    pub fn next(&mut self, now: Instant) -> NextTick {
        self.periods += 1;
        let behind = now.saturating_duration_since(self.time_of(self.periods));
        let period = Duration::from_secs(1) / self.hz;
        let skipped = (behind.as_nanos() / period.as_nanos()) as u64;
        self.periods += skipped;
        let wait = self.time_of(self.periods).saturating_duration_since(now);
        NextTick { wait, is_late: behind > period / 2, skipped }
    }
}
