//! The others that a client sees: where each is shown.

use std::collections::BTreeMap;
use std::time::Duration;

use super::clock::ServerClock;
use super::interpolation::PositionHistory;
use super::position::Position;
use crate::limits;

/// One of the others.
#[derive(Debug, Clone, Default)]
struct RemotePlayer {
    /// The newest place heard.
    at: Position,
    track: PositionHistory,
    glide: ErrorBlend,
}

/// How far somebody was shown, when news came, from where it is: what dead reckoning got wrong, and what the
/// screen makes up for little by little.
#[derive(Debug, Clone, Copy, Default)]
struct ErrorBlend {
    /// In 1/65,536 px, when the news came.
    off: (i64, i64),
    began: Duration,
}

impl ErrorBlend {
    /// A place as it is shown.
    fn apply(&self, place: Position, now: Duration) -> Position {
        let whole = limits::EXTRAPOLATION_BLEND_TIME.as_micros() as i64;
        let left = whole - (now.saturating_sub(self.began).as_micros() as i64).min(whole);
        let add = |at: i32, off: i64| i32::try_from(i64::from(at) + off * left / whole).unwrap_or(at);
        (add(place.0, self.off.0), add(place.1, self.off.1))
    }

    /// From where somebody was shown until now to where it is; a jump is shown as one.
    fn between(shown: Position, place: Position, now: Duration) -> ErrorBlend {
        let off = [(shown.0, place.0), (shown.1, place.1)].map(|(a, b)| i64::from(a) - i64::from(b));
        let is_jump = off.iter().any(|off| off.abs() > limits::CORRECTION_SMOOTHED_PX << 16);
        ErrorBlend { off: if is_jump { (0, 0) } else { (off[0], off[1]) }, began: now }
    }
}

/// When others are shown, and how they are run on.
pub(super) struct RenderTime<'a, F> {
    pub clock: &'a ServerClock,
    pub now: Duration,
    pub tick_hz: u32,
    pub walk_on: F,
}

/// The others in view, by number.
#[derive(Debug, Clone, Default)]
pub struct RemotePlayers {
    all: BTreeMap<u32, RemotePlayer>,
    /// Whether they move between two updates, and whether they are run on without news. Both at first.
    pub interpolation_enabled: bool,
    /// See [`RemotePlayers::is_interpolated`].
    pub extrapolation_enabled: bool,
}

impl RemotePlayers {
    /// Nobody yet.
    pub fn new() -> RemotePlayers {
        RemotePlayers { interpolation_enabled: true, extrapolation_enabled: true, ..RemotePlayers::default() }
    }

    /// Somebody is at a place after a tick.
    pub fn push(&mut self, number: u32, tick: u32, place: Position) {
        let other = self.all.entry(number).or_default();
        other.at = place;
        other.track.push(tick, place);
    }

    /// Somebody has moved by a vector, as of this tick.
    pub fn shift(&mut self, number: u32, tick: u32, (dx, dy): Position) {
        if let Some(RemotePlayer { at, track, .. }) = self.all.get_mut(&number) {
            *at = (at.0.saturating_add(dx), at.1.saturating_add(dy));
            track.push(tick, *at);
        }
    }

    /// Somebody is out of view.
    pub fn remove(&mut self, number: u32) {
        self.all.remove(&number);
    }

    /// Only these are in view.
    pub fn retain(&mut self, mut keeps: impl FnMut(u32) -> bool) {
        self.all.retain(|number, _| keeps(*number));
    }

    /// Nobody is in view.
    pub fn clear(&mut self) {
        self.all.clear();
    }

    /// There was news of a tick: whoever was not named stands where it was.
    pub(super) fn on_update(&mut self, tick: u32) {
        self.all.values_mut().for_each(|other| other.track.hold(tick));
    }

    /// The numbers of those in view, and where each is shown.
    pub(super) fn positions(
        &self,
        at: &RenderTime<'_, impl Fn(Position, Position, u32) -> Position>,
    ) -> Vec<(u32, Position)> {
        let Some(tick) = at.clock.others(at.now) else { return Vec::new() };
        let tick = if self.interpolation_enabled { tick } else { i64::MAX };
        let place = |other: &RemotePlayer| match self.extrapolates() {
            true => Some(other.glide.apply(other.run_on(tick, at)?, at.now)),
            false => other.track.interpolate(tick),
        };
        self.all.iter().filter_map(|(number, other)| Some((*number, place(other)?))).collect()
    }

    fn extrapolates(&self) -> bool {
        self.extrapolation_enabled && self.interpolation_enabled
    }

    /// Where those are shown of whom the newest news is older than what is shown: what they are told now may
    /// be elsewhere.
    pub(super) fn run_on(
        &self,
        at: &RenderTime<'_, impl Fn(Position, Position, u32) -> Position>,
    ) -> Vec<(u32, Position)> {
        let Some(tick) = at.clock.others(at.now).filter(|_| self.extrapolates()) else { return Vec::new() };
        let behind = self.all.iter().filter(|(_, other)| other.track.is_behind(tick));
        let shown = |other: &RemotePlayer| Some(other.glide.apply(other.run_on(tick, at)?, at.now));
        behind.filter_map(|(number, other)| Some((*number, shown(other)?))).collect()
    }

    /// There was news: whoever was run on until now glides from where it was shown.
    pub(super) fn glide(
        &mut self,
        shown: &[(u32, Position)],
        at: &RenderTime<'_, impl Fn(Position, Position, u32) -> Position>,
    ) {
        let Some(tick) = at.clock.others(at.now) else { return };
        for (number, shown) in shown {
            let Some(other) = self.all.get_mut(number) else { continue };
            if let Some(place) = other.run_on(tick, at) {
                other.glide = ErrorBlend::between(*shown, place, at.now);
            }
        }
    }
}

impl RemotePlayer {
    fn run_on(
        &self,
        tick: i64,
        at: &RenderTime<'_, impl Fn(Position, Position, u32) -> Position>,
    ) -> Option<Position> {
        self.track.extrapolate(tick, (at.tick_hz, at.clock.update_ticks()), &at.walk_on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PX: i32 = 1 << 16;

    /// Somebody who walks to the right by 4 px a tick, 20 ticks a second, of whom there is no news after the
    /// first second; half a second later it is heard that it has turned back.
    #[test]
    fn whoever_was_run_on_glides_to_where_it_is() {
        let (mut others, mut clock) = (RemotePlayers::new(), ServerClock::new(20, 20));
        let at = |ms: u64| Duration::from_millis(ms);
        for tick in 0..20 {
            clock.on_update(tick, at(u64::from(tick) * 50));
            clock.advance(at(u64::from(tick) * 50));
            others.push(1, tick, (tick as i32 * 4 * PX, 0));
        }
        let straight =
            |(x, y): Position, (vx, vy): Position, ticks: u32| (x + vx * ticks as i32, y + vy * ticks as i32);
        let moment = |now: u64| RenderTime { clock: &clock, now: at(now), tick_hz: 20, walk_on: straight };
        let x =
            |others: &RemotePlayers, now| f64::from(others.positions(&moment(now))[0].1.0) / f64::from(PX);
        let before = x(&others, 1_400);
        let shown = others.run_on(&moment(1_400));
        assert_eq!(shown.len(), 1, "it is run on");
        (20..30).for_each(|tick| others.push(1, tick, ((19 * 8 - tick as i32 * 4) * PX, 0)));
        others.glide(&shown, &moment(1_400));
        assert_eq!(x(&others, 1_400), before, "no jump in the frame of the news");
        let steps: Vec<f64> = (0..20).map(|frame| x(&others, 1_400 + frame * 16)).collect();
        let farthest = steps.windows(2).map(|two| (two[0] - two[1]).abs()).fold(0.0, f64::max);
        assert!(farthest < 10.0, "{farthest} px from one frame to the next: {steps:?}");
        let mut clean = others.clone();
        clean.all.values_mut().for_each(|other| other.glide = ErrorBlend::default());
        assert!((before - x(&clean, 1_400)).abs() > 30.0, "the guess was wrong");
        assert_eq!(x(&others, 1_600), x(&clean, 1_600), "nothing is left of it");
    }
}
