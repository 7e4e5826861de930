//! The deadlines of one connection: `hello`, token, ping, idle timeout and close.
//!
//! ```text
//!   connected ──HELLO_TIMEOUT──► closed: hello_late      (until the client has sent hello)
//!   last message ─PING_INTERVAL─► ping ─PING_INTERVAL─► ping …─IDLE_TIMEOUT─► closed: idle_timeout
//!   wrong token ──WRONG_TOKEN_DELAY──► closed: token_wrong or too_many_token_attempts
//!   our close frame ──CLOSE_TIMEOUT──► cut
//! ```
//!
//! Only a whole message or control frame resets the idle timeout. Otherwise a peer could occupy a
//! slot forever with an unfinished frame. All times are times of the driver's clock. The slack
//! after a [pause](super::pauses) of the driver extends `HELLO_TIMEOUT`, `IDLE_TIMEOUT` and
//! `CLOSE_TIMEOUT`. The fields are atomic, because one thread records received messages while
//! another polls.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::game::CloseReason;
use crate::limits;

/// The deadlines of one connection.
#[derive(Debug)]
pub struct Deadlines {
    /// This and the next three fields: times in ms of the driver's clock plus 1; 0 if unset.
    hello_by: AtomicU64,
    on_activity: AtomicU64,
    pinged: AtomicU64,
    closing: AtomicU64,
    /// Time at which a rejected client is closed, shifted left by 8 bits, and the index of the
    /// close reason in the lowest byte.
    rejected_at: AtomicU64,
}

/// The action due on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DueAction {
    /// No action before this time.
    Nothing(Duration),
    /// Send a ping.
    Ping,
    /// Close the connection with this reason.
    Close(CloseReason),
    /// Shut the socket, because the close timeout has passed.
    Abort,
}

impl Deadlines {
    /// Deadlines of a connection that starts at `now`. With `has_hello`, the client must send
    /// `hello` within [`limits::HELLO_TIMEOUT`].
    pub fn new(has_hello: bool, now: Duration) -> Deadlines {
        let hello_by = if has_hello { to_stamp(now + limits::HELLO_TIMEOUT) } else { 0 };
        Deadlines {
            hello_by: AtomicU64::new(hello_by),
            on_activity: AtomicU64::new(to_stamp(now)),
            pinged: AtomicU64::new(0),
            closing: AtomicU64::new(0),
            rejected_at: AtomicU64::new(0),
        }
    }

    /// Records a message or control frame from the client.
    pub fn alive(&self, now: Duration) {
        self.on_activity.store(to_stamp(now), Ordering::Relaxed);
    }

    /// Records the client's `hello`.
    pub fn on_hello(&self) {
        self.hello_by.store(0, Ordering::Relaxed);
    }

    /// Schedules the close for this reason after [`limits::WRONG_TOKEN_DELAY`]. The client then
    /// needs no `hello`.
    pub fn close_after_delay(&self, close_reason: CloseReason, now: Duration) {
        let at = to_stamp(now + limits::WRONG_TOKEN_DELAY);
        self.rejected_at.store(at << 8 | close_reason as u64, Ordering::Relaxed);
        self.on_hello();
    }

    /// Records that our close frame was queued. Only the first call counts.
    pub fn on_close_sent(&self, now: Duration) {
        let _ = self.closing.compare_exchange(0, to_stamp(now), Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether our close frame was queued.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Acquire) != 0
    }

    /// Returns the action due at `now`. `patience` is the idle timeout, usually
    /// [`limits::IDLE_TIMEOUT`], and `slack` the recorded slack of the driver's pauses. A returned
    /// ping counts as sent.
    pub fn poll(&self, now: Duration, patience: Duration, slack: Duration) -> DueAction {
        let of = |field: &AtomicU64| time(field.load(Ordering::Acquire));
        if let Some(since) = of(&self.closing) {
            let end = since + limits::CLOSE_TIMEOUT + slack;
            return if now > end { DueAction::Abort } else { DueAction::Nothing(end) };
        }
        let turned_away = self.rejected_at.load(Ordering::Relaxed);
        let turned_away_at = time(turned_away >> 8).unwrap_or(Duration::MAX);
        if now >= turned_away_at {
            return DueAction::Close(CloseReason::ALL[(turned_away & 0xff) as usize]);
        }
        let hello_by = of(&self.hello_by).unwrap_or(Duration::MAX).saturating_add(slack);
        if now >= hello_by {
            return DueAction::Close(CloseReason::HelloLate);
        }
        let alive = of(&self.on_activity).unwrap_or_default();
        let silent_at = alive + patience + slack;
        if now > silent_at {
            return DueAction::Close(CloseReason::IdleTimeout);
        }
        let ping_at = of(&self.pinged).unwrap_or_default().max(alive) + limits::PING_INTERVAL;
        if now >= ping_at {
            self.pinged.store(to_stamp(now), Ordering::Release);
            return DueAction::Ping;
        }
        DueAction::Nothing(ping_at.min(silent_at).min(hello_by).min(turned_away_at))
    }
}

fn to_stamp(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX - 1) + 1
}

fn time(stamp: u64) -> Option<Duration> {
    stamp.checked_sub(1).map(Duration::from_millis)
}
