//! Pauses of the server, such as a stopped process, a paused container or a suspended laptop.
//!
//! ```text
//!   note note note ·········· pause ·········· note note note note
//!                  the client keeps sending    └─ PAUSE_SLACK_TIME ─┘
//! ```
//!
//! Messages sent during a pause arrive together after it, and deadlines pass meanwhile. The length
//! of the pause is the **slack** for [`limits::PAUSE_SLACK_TIME`] after it: rate limits add the
//! tokens of the pause, and deadlines are extended by the slack.
//!
//! A suspended machine also pauses its server, but the clocks of some systems stop meanwhile. The
//! driver measures the suspended time and adds it with [`Pauses::note_suspended`]. No deadline
//! passes during this time. The fields are atomic, because one thread calls [`Pauses::note`] while
//! another reads the slack.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::limits;

/// The pauses of one driver.
#[derive(Debug, Default)]
pub struct Pauses {
    /// Last time the driver ran, in ms of its clock plus the suspended time; 0 before the first.
    ran: AtomicU64,
    /// End of the last pause, in ms of the driver's clock.
    ended: AtomicU64,
    /// Total suspended time, in ms.
    suspended: AtomicU64,
    /// Slack after the last pause, in ms; 0 before the first pause.
    length: AtomicU64,
}

impl Pauses {
    /// Records the total time in which the machine was suspended and the driver's clock stopped,
    /// measured from before the first [`Pauses::note`]. Call it before [`Pauses::note`] and
    /// [`Pauses::slack`].
    pub fn note_suspended(&self, in_all: Duration) {
        // Only after a suspension, because each write takes the cache line from the other threads.
        if ms(in_all) > self.suspended.load(Ordering::Relaxed) {
            self.suspended.fetch_max(ms(in_all), Ordering::Relaxed);
        }
    }

    /// Records that the driver runs at `now`. A gap of at least [`limits::PAUSE_LEAST`] between two
    /// calls is a pause, so a driver calls it several times within that time.
    pub fn note(&self, now: Duration) {
        if self.is_pause(now) {
            let slack = self.slack(now);
            self.length.store(ms(slack), Ordering::Relaxed);
            self.ended.store(ms(now), Ordering::Relaxed);
        }
        // Stored last: a thread that reads this time also finds the pause before it.
        self.ran.fetch_max(ms(self.with_suspended(now)), Ordering::Release);
    }

    /// The slack at `now` in whole milliseconds, up to [`limits::PAUSE_SLACK_MOST`]. It includes a
    /// pause that is not recorded yet, because a reader may run before the driver.
    pub fn slack(&self, now: Duration) -> Duration {
        let pause = if self.is_pause(now) { self.gap(now) } else { Duration::ZERO };
        Duration::from_millis(ms((self.recorded_slack(now) + pause).min(limits::PAUSE_SLACK_MOST)))
    }

    /// The slack at `now` of the recorded pauses.
    pub fn recorded_slack(&self, now: Duration) -> Duration {
        let length = self.length.load(Ordering::Relaxed);
        let ended = Duration::from_millis(self.ended.load(Ordering::Relaxed));
        let is_recent = length > 0 && now.saturating_sub(ended) <= limits::PAUSE_SLACK_TIME;
        if is_recent { Duration::from_millis(length) } else { Duration::ZERO }
    }

    fn is_pause(&self, now: Duration) -> bool {
        self.gap(now) >= limits::PAUSE_LEAST
    }

    fn gap(&self, now: Duration) -> Duration {
        match self.ran.load(Ordering::Acquire) {
            0 => Duration::ZERO,
            ran => self.with_suspended(now).saturating_sub(Duration::from_millis(ran)),
        }
    }

    fn with_suspended(&self, now: Duration) -> Duration {
        now + Duration::from_millis(self.suspended.load(Ordering::Relaxed))
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
