//! The schedule of a room's ticks. Each tick starts at its scheduled time, regardless of the
//! duration of earlier ticks, so the tick rate cannot drift.
//!
//! A *late* tick starts more than half a period after its scheduled time. After a stall, whole
//! missed periods are *skipped*, so that no burst of ticks follows.

use std::time::{Duration, Instant};

/// Scheduled times of a room's ticks.
#[derive(Debug)]
pub struct TickSchedule {
    start: Instant,
    hz: u32,
    periods: u64,
}

/// When to run the next tick.
#[derive(Debug, PartialEq, Eq)]
pub struct NextTick {
    /// Time until the tick starts.
    pub wait: Duration,
    /// Whether the tick is more than half a period late.
    pub is_late: bool,
    /// Whole periods skipped before the tick.
    pub skipped: u64,
}

impl TickSchedule {
    /// Schedules ticks at `hz`, the first one period after `start`.
    pub fn new(start: Instant, hz: u32) -> TickSchedule {
        TickSchedule { start, hz, periods: 0 }
    }

    /// Returns the start of a period. Computed from `start`, so that rounding errors do not
    /// accumulate.
    fn time_of(&self, period: u64) -> Instant {
        self.start + Duration::from_nanos(period * 1_000_000_000 / u64::from(self.hz))
    }

    /// Schedules the next tick. Skips whole periods that have passed by `now`.
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
