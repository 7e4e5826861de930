//! Pauses of the server, such as a stopped process, a paused container or a suspended laptop.
//!
//! ```text
//!   note note note ·········· pause ·········· note note note note
//!                  the client goes on sending  └─ PAUSE_SLACK_TIME ─┘
//! ```
//!
//! Messages that a client sent during a pause arrive together after it, and the server's own
//! deadlines have passed meanwhile. The length of the pause is the **slack** of the time after it:
//! rate limits allow what the slack would have allowed, and deadlines end later by it. A suspended
//! machine pauses its server too, but on some systems its clocks do not count that time: the driver
//! measures it, and adds it with [`Pauses::note_suspended`]. No deadline passes meanwhile. The fields
//! are atomic, because one thread notes that it runs while another asks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::limits;

/// See the [module](self).
#[derive(Debug)]
pub struct Pauses {
    /// When the driver ran last, in ms of its clock plus the suspended time then.
    ran: AtomicU64,
    /// When the last pause ended, in ms of the driver's clock.
    ended: AtomicU64,
    /// The suspended time so far, in ms.
    suspended: AtomicU64,
    /// The slack after the last pause in ms; 0 before the first pause.
    length: AtomicU64,
}

impl Pauses {
    /// No pauses until `now`.
    pub fn new(now: Duration) -> Pauses {
        let ran = AtomicU64::new(ms(now));
        let (ended, suspended, length) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Pauses { ran, ended, suspended, length }
    }

    /// Notes the time in which the machine was suspended since [`Pauses::new`], and which the driver's
    /// clock does not count. Call it before [`Pauses::note`] and [`Pauses::slack`].
    pub fn note_suspended(&self, in_all: Duration) {
        self.suspended.fetch_max(ms(in_all), Ordering::Relaxed);
    }

    /// Notes that the driver runs `now`. A driver calls it several times within
    /// [`limits::PAUSE_LEAST`]: a longer gap between two calls is a pause.
    pub fn note(&self, now: Duration) {
        if self.is_pause(now) {
            let slack = self.slack(now);
            self.length.store(ms(slack), Ordering::Relaxed);
            self.ended.store(ms(now), Ordering::Relaxed);
        }
        // A thread that finds this time finds the pause before it.
        self.ran.fetch_max(ms(self.with_suspended(now)), Ordering::Release);
    }

    /// The slack `now`, also of a pause that was not noted yet: a reader may run before the driver.
    /// Whole milliseconds.
    pub fn slack(&self, now: Duration) -> Duration {
        let pause = if self.is_pause(now) { self.gap(now) } else { Duration::ZERO };
        Duration::from_millis(ms((self.noted(now) + pause).min(limits::PAUSE_SLACK_MOST)))
    }

    /// The slack `now` of the pauses that were noted.
    pub fn noted(&self, now: Duration) -> Duration {
        let length = self.length.load(Ordering::Relaxed);
        let ended = Duration::from_millis(self.ended.load(Ordering::Relaxed));
        let is_recent = length > 0 && now.saturating_sub(ended) <= limits::PAUSE_SLACK_TIME;
        if is_recent { Duration::from_millis(length) } else { Duration::ZERO }
    }

    fn is_pause(&self, now: Duration) -> bool {
        self.gap(now) >= limits::PAUSE_LEAST
    }

    fn gap(&self, now: Duration) -> Duration {
        let ran = Duration::from_millis(self.ran.load(Ordering::Acquire));
        self.with_suspended(now).saturating_sub(ran)
    }

    fn with_suspended(&self, now: Duration) -> Duration {
        now + Duration::from_millis(self.suspended.load(Ordering::Relaxed))
    }
}

fn ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
