//! Corrections: distances between predicted and received positions, counted and blended.

use std::collections::VecDeque;
use std::time::Duration;

use super::position::Position;
use crate::limits;

/// Corrections of the local player: statistics, and the offset that is still to be blended.
#[derive(Debug, Clone, Default)]
pub struct Corrections {
    /// Remaining offset in 1/65,536 px.
    offset: (i64, i64),
    decayed: Duration,
    /// Number of updates that moved the local player.
    pub count: u64,
    /// Number of updates compared.
    pub compared: u64,
    /// Recent corrections in 1/65,536 px, newest last. 0 if the prediction was right.
    recent: VecDeque<u32>,
    /// The largest correction since the last [`Corrections::take_max`].
    max: Option<u32>,
}

impl Corrections {
    /// Counts an update that moved the local player from `before` to `after`, or confirmed its
    /// position.
    pub(super) fn correct(&mut self, before: Position, after: Position) {
        let off = |a: i32, b: i32| i64::from(a) - i64::from(b);
        let (dx, dy) = (off(before.0, after.0), off(before.1, after.1));
        let far = u32::try_from(dx.unsigned_abs().pow(2).saturating_add(dy.unsigned_abs().pow(2)).isqrt());
        let far = far.unwrap_or(u32::MAX);
        if far > (limits::CORRECTION_SMOOTHED_PX << 16) as u32 {
            // A new player or a teleport, which no prediction covers.
            return self.reset();
        }
        self.compared += 1;
        self.count += u64::from(far > 0);
        self.max = self.max.max(Some(far));
        self.recent.push_back(far);
        if self.recent.len() > limits::CORRECTION_SAMPLES {
            self.recent.pop_front();
        }
        self.offset = (self.offset.0 + dx, self.offset.1 + dy);
        if self.offset.0.abs().max(self.offset.1.abs()) > limits::CORRECTION_SMOOTHED_PX << 16 {
            self.offset = (0, 0);
        }
    }

    /// As [`Corrections::correct`], for a packet between two updates. Not counted if nothing moved.
    pub(super) fn correct_between_updates(&mut self, before: Position, after: Position) {
        if before != after {
            self.correct(before, after);
        }
    }

    /// Returns the largest correction since the last call, in 1/65,536 px, or `None` if nothing was
    /// compared. [`last`](Self::last) is not enough, because after a stall many updates arrive in
    /// one frame, and the last update may correct nothing.
    pub fn take_max(&mut self) -> Option<u32> {
        self.max.take()
    }

    /// Reduces the remaining offset by the elapsed time.
    pub(super) fn decay(&mut self, now: Duration) {
        let whole = limits::CORRECTION_TIME.as_micros() as i64;
        let passed = (now.saturating_sub(self.decayed).as_micros() as i64).min(whole);
        self.decayed = now;
        let less = |part: i64| part - (part * passed).div_euclid(whole);
        let near = |part: i64| if part.abs() < 1 << 10 { 0 } else { part };
        self.offset = (near(less(self.offset.0)), near(less(self.offset.1)));
    }

    /// Drops the remaining offset, because the local player was replaced or has left.
    pub(super) fn reset(&mut self) {
        self.offset = (0, 0);
    }

    /// Returns the rendered position.
    pub(super) fn smoothed(&self, at: Position) -> Position {
        let add = |a: i32, b: i64| i32::try_from(i64::from(a) + b).unwrap_or(a);
        (add(at.0, self.offset.0), add(at.1, self.offset.1))
    }

    /// The last correction in 1/65,536 px. 0 if the prediction was right.
    pub fn last(&self) -> u32 {
        self.recent.back().copied().unwrap_or(0)
    }

    /// Returns a percentile of the recent corrections, in 1/65,536 px.
    pub fn percentile(&self, percent: usize) -> u32 {
        let mut sorted: Vec<u32> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1))).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_correction_of_updates_that_arrive_together_is_not_lost() {
        let mut corrections = Corrections::default();
        assert_eq!(corrections.take_max(), None);
        for (before, after) in [((0, 0), (3 << 16, 4 << 16)), ((0, 0), (1 << 16, 0)), ((7, 7), (7, 7))] {
            corrections.correct(before, after);
        }
        assert_eq!((corrections.last(), corrections.compared, corrections.count), (0, 3, 2));
        assert_eq!(corrections.take_max(), Some(5 << 16));
        assert_eq!(corrections.take_max(), None);
    }

    #[test]
    fn news_between_two_updates_counts_if_it_moves_the_player() {
        let mut corrections = Corrections::default();
        corrections.correct_between_updates((5, 5), (5, 5));
        assert_eq!((corrections.compared, corrections.count), (0, 0));
        corrections.correct_between_updates((0, 0), (2 << 16, 0));
        assert_eq!((corrections.compared, corrections.count, corrections.last()), (1, 1, 2 << 16));
        assert_eq!(corrections.smoothed((2 << 16, 0)), (0, 0), "it is made up over the next frames");
    }
}
