//! Where somebody else was at which tick, and where it is in between (interpolation) and behind the
//! last news (dead reckoning).

use std::collections::VecDeque;

use super::position::Position;
use crate::limits;

/// Samples of one other player, or of anything else that moves.
#[derive(Debug, Clone, Default)]
pub struct PositionHistory {
    /// Ticks and places, oldest first.
    samples: VecDeque<(u32, Position)>,
}

/// A part of the way from one place to another, in 1/65,536.
fn lerp(from: Position, to: Position, part: i64) -> Position {
    let one = |a: i32, b: i32| {
        (i64::from(a) + ((i128::from(b) - i128::from(a)) * i128::from(part) / 65_536) as i64) as i32
    };
    (one(from.0, to.0), one(from.1, to.1))
}

impl PositionHistory {
    /// Adds where it was after a tick. An older tick than the newest one has no effect.
    pub fn push(&mut self, tick: u32, place: Position) {
        if self.samples.back().is_some_and(|(last, _)| *last >= tick) {
            return;
        }
        self.samples.push_back((tick, place));
        if self.samples.len() > limits::TRACK_SAMPLES {
            self.samples.pop_front();
        }
    }

    /// There was news of a tick that did not name it: it stands where it was. Without a sample just before
    /// that, it would seem to begin its next step long before.
    pub fn hold_until(&mut self, tick: u32) {
        if let Some((_, place)) = self.samples.back().copied() {
            self.push(tick, place);
        }
    }

    /// Whether a tick, in 1/65,536 tick, is behind the newest sample.
    pub(super) fn is_past_newest(&self, tick: i64) -> bool {
        self.samples.back().is_some_and(|(last, _)| tick > i64::from(*last) << 16)
    }

    /// Where it was at a tick, in 1/65,536 tick; the newest place behind the newest sample. `None`
    /// without samples.
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

    /// The same, but behind the newest sample it is run on by its controller, for at most
    /// [`limits::MAX_EXTRAPOLATION`].
    ///
    /// `walk_on` is that of [`LocalWorld`](super::LocalWorld), and there are so many ticks in a second
    /// and between two updates.
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
        let most = i64::from(tick_hz) * limits::MAX_EXTRAPOLATION.as_millis() as i64 * 65_536 / 1000;
        let beyond = beyond.min(most);
        let whole = (beyond >> 16) as u32;
        let from = walk_on(place, velocity, whole);
        let to = walk_on(place, velocity, whole + 1);
        Some(lerp(from, to, beyond & 0xffff))
    }
}
