//! Recent positions of a remote entity: interpolation between two positions, and extrapolation
//! (dead reckoning) after the newest position.

use std::collections::VecDeque;

use super::position::Position;
use crate::limits;

/// Position samples of a remote player or another moving entity.
#[derive(Debug, Clone, Default)]
pub struct PositionHistory {
    /// Ticks and positions, oldest first.
    samples: VecDeque<(u32, Position)>,
}

/// Interpolates between two positions. `part` is in 1/65,536.
fn lerp(from: Position, to: Position, part: i64) -> Position {
    let one = |a: i32, b: i32| {
        (i64::from(a) + ((i128::from(b) - i128::from(a)) * i128::from(part) / 65_536) as i64) as i32
    };
    (one(from.0, to.0), one(from.1, to.1))
}

impl PositionHistory {
    /// Adds the position after a tick. Drops the position unless the tick is newer than the newest
    /// sample.
    pub fn push(&mut self, tick: u32, place: Position) {
        if self.samples.back().is_some_and(|(last, _)| *last >= tick) {
            return;
        }
        self.samples.push_back((tick, place));
        if self.samples.len() > limits::TRACK_SAMPLES {
            self.samples.pop_front();
        }
    }

    /// Records that an update of `tick` did not mention the entity, so it has not moved. Without
    /// this sample, its next movement would be interpolated from a much older tick.
    pub fn hold_until(&mut self, tick: u32) {
        if let Some((_, place)) = self.samples.back().copied() {
            self.push(tick, place);
        }
    }

    /// Returns whether a tick, in 1/65,536 tick, is newer than the newest sample.
    pub(super) fn is_past_newest(&self, tick: i64) -> bool {
        self.samples.back().is_some_and(|(last, _)| tick > i64::from(*last) << 16)
    }

    /// Returns the position at a tick, in 1/65,536 tick. After the newest sample it is the newest
    /// position. Returns `None` without samples.
    pub fn interpolate(&self, tick: i64) -> Option<Position> {
        let fixed = |tick: u32| i64::from(tick) << 16;
        let next = self.samples.iter().position(|(at, _)| fixed(*at) > tick);
        match next {
            None => self.samples.back().map(|(_, place)| *place),
            Some(0) => self.samples.front().map(|(_, place)| *place),
            Some(next) => {
                let ((from_tick, from), (to_tick, to)) = (self.samples[next - 1], self.samples[next]);
                Some(lerp(from, to, (tick - fixed(from_tick)) / i64::from(to_tick - from_tick)))
            }
        }
    }

    /// As [`interpolate`](Self::interpolate), but extrapolates after the newest sample, for at most
    /// 500 ms.
    ///
    /// `walk_on` is the function `extrapolate` of [`LocalWorld`](super::LocalWorld). `tick_hz` is
    /// in ticks per second, `update_ticks` in ticks per update.
    pub fn extrapolate(
        &self,
        tick: i64,
        (tick_hz, update_ticks): (u32, u32),
        walk_on: impl Fn(Position, Position, u32) -> Position,
    ) -> Option<Position> {
        let (last, place) = *self.samples.back()?;
        let beyond = tick - (i64::from(last) << 16);
        if beyond <= 0 {
            return self.interpolate(tick);
        }
        let before = self.samples.iter().rev().nth(1);
        let Some((before, from)) = before.filter(|(before, _)| last - before <= 3 * update_ticks) else {
            return Some(place);
        };
        let span = (last - before) as i32;
        let velocity = ((place.0 - from.0) / span, (place.1 - from.1) / span);
        let max_ticks = i64::from(tick_hz) * limits::MAX_EXTRAPOLATION.as_millis() as i64 * 65_536 / 1000;
        let beyond = beyond.min(max_ticks);
        let whole = (beyond >> 16) as u32;
        let from = walk_on(place, velocity, whole);
        let to = walk_on(place, velocity, whole + 1);
        Some(lerp(from, to, beyond & 0xffff))
    }
}
