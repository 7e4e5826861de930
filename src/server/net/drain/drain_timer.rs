//! The time of a drain.

use std::sync::OnceLock;
use std::time::Duration;

/// The drain of one server. It begins at most once, and is never cancelled.
#[derive(Debug, Default)]
pub struct DrainTimer {
    /// End of the drain on the server's clock. Unset while the server is not draining.
    deadline: OnceLock<Duration>,
}

impl DrainTimer {
    /// Begins the drain, which ends at `deadline`. Returns false if it has begun already.
    pub fn begin(&self, deadline: Duration) -> bool {
        self.deadline.set(deadline).is_ok()
    }

    /// Whether the drain has begun.
    pub fn has_begun(&self) -> bool {
        self.deadline.get().is_some()
    }

    /// Returns the remaining time. `None` if the server is not draining.
    pub fn time_left(&self, now: Duration) -> Option<Duration> {
        self.deadline.get().map(|deadline| deadline.saturating_sub(now))
    }

    /// Whether the drain has ended: its time is over, or there are no players. `players` counts
    /// them.
    pub fn is_over(&self, now: Duration, players: impl FnOnce() -> usize) -> bool {
        self.time_left(now).is_some_and(|left| left.is_zero() || players() == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_ends_without_players_or_when_its_time_is_over() {
        let (drain, end) = (DrainTimer::default(), Duration::from_secs(60));
        assert!(!drain.is_over(end, || 0), "it has not begun");
        assert!(drain.begin(end) && !drain.begin(end * 2), "it begins once");
        let before = end - Duration::from_millis(1);
        for (now, players, expected) in [(before, 1, false), (before, 0, true), (end, 1, true)] {
            assert_eq!(drain.is_over(now, || players), expected, "{now:?} {players}");
        }
        assert_eq!(drain.time_left(before), Some(Duration::from_millis(1)));
    }
}
