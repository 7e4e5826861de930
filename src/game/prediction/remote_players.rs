//! The others that a client sees: where each is shown.

use std::collections::BTreeMap;
use std::time::Duration;

use super::clock::Clock;
use super::interpolation::Track;
use super::position::Place;
use crate::limits;

/// One of the others.
#[derive(Debug, Clone, Default)]
struct Other {
    /// The newest place heard.
    at: Place,
    track: Track,
    glide: Glide,
}

/// How far somebody was shown, when news came, from where it is: what dead reckoning got wrong, and what the
/// screen makes up for little by little.
#[derive(Debug, Clone, Copy, Default)]
struct Glide {
    /// In 1/65,536 px, when the news came.
    off: (i64, i64),
    began: Duration,
}

impl Glide {
    /// A place as it is shown.
    fn apply(&self, place: Place, now: Duration) -> Place {
        let whole = limits::EXTRAPOLATION_BLEND_TIME.as_micros() as i64;
        let left = whole - (now.saturating_sub(self.began).as_micros() as i64).min(whole);
        let add = |at: i32, off: i64| i32::try_from(i64::from(at) + off * left / whole).unwrap_or(at);
        (add(place.0, self.off.0), add(place.1, self.off.1))
    }

    /// From where somebody was shown until now to where it is; a jump is shown as one.
    fn between(shown: Place, place: Place, now: Duration) -> Glide {
        let off = [(shown.0, place.0), (shown.1, place.1)].map(|(a, b)| i64::from(a) - i64::from(b));
        let is_jump = off.iter().any(|off| off.abs() > limits::CORRECTION_SMOOTHED_PX << 16);
        Glide { off: if is_jump { (0, 0) } else { (off[0], off[1]) }, began: now }
    }
}

/// When others are shown, and how they are run on.
pub(super) struct Moment<'a, F> {
    pub clock: &'a Clock,
    pub now: Duration,
    pub tick_hz: u32,
    pub walk_on: F,
}

/// The others in view, by number.
#[derive(Debug, Clone, Default)]
pub struct Others {
    all: BTreeMap<u32, Other>,
    /// Whether they move between two updates, and whether they are run on without news. Both at first.
    pub is_interpolated: bool,
    /// See [`Others::is_interpolated`].
    pub is_reckoned: bool,
}

impl Others {
    /// Nobody yet.
    pub fn new() -> Others {
        Others { is_interpolated: true, is_reckoned: true, ..Others::default() }
    }

    /// Somebody is at a place after a tick.
    pub fn push(&mut self, number: u32, tick: u32, place: Place) {
        let other = self.all.entry(number).or_default();
        other.at = place;
        other.track.push(tick, place);
    }

    /// Somebody has moved by a vector, as of this tick.
    pub fn shift(&mut self, number: u32, tick: u32, (dx, dy): Place) {
        if let Some(Other { at, track, .. }) = self.all.get_mut(&number) {
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
    pub(super) fn news(&mut self, tick: u32) {
        self.all.values_mut().for_each(|other| other.track.hold(tick));
    }

    /// The numbers of those in view, and where each is shown.
    pub(super) fn shown(&self, at: &Moment<'_, impl Fn(Place, Place, u32) -> Place>) -> Vec<(u32, Place)> {
        let Some(tick) = at.clock.others(at.now) else { return Vec::new() };
        let tick = if self.is_interpolated { tick } else { i64::MAX };
        let place = |other: &Other| match self.runs_on() {
            true => Some(other.glide.apply(other.run_on(tick, at)?, at.now)),
            false => other.track.at(tick),
        };
        self.all.iter().filter_map(|(number, other)| Some((*number, place(other)?))).collect()
    }

    fn runs_on(&self) -> bool {
        self.is_reckoned && self.is_interpolated
    }

    /// Where those are shown of whom the newest news is older than what is shown: what they are told now may
    /// be elsewhere.
    pub(super) fn run_on(&self, at: &Moment<'_, impl Fn(Place, Place, u32) -> Place>) -> Vec<(u32, Place)> {
        let Some(tick) = at.clock.others(at.now).filter(|_| self.runs_on()) else { return Vec::new() };
        let behind = self.all.iter().filter(|(_, other)| other.track.is_behind(tick));
        let shown = |other: &Other| Some(other.glide.apply(other.run_on(tick, at)?, at.now));
        behind.filter_map(|(number, other)| Some((*number, shown(other)?))).collect()
    }

    /// There was news: whoever was run on until now glides from where it was shown.
    pub(super) fn glide(
        &mut self,
        shown: &[(u32, Place)],
        at: &Moment<'_, impl Fn(Place, Place, u32) -> Place>,
    ) {
        let Some(tick) = at.clock.others(at.now) else { return };
        for (number, shown) in shown {
            let Some(other) = self.all.get_mut(number) else { continue };
            if let Some(place) = other.run_on(tick, at) {
                other.glide = Glide::between(*shown, place, at.now);
            }
        }
    }
}

impl Other {
    fn run_on(&self, tick: i64, at: &Moment<'_, impl Fn(Place, Place, u32) -> Place>) -> Option<Place> {
        self.track.reckon(tick, (at.tick_hz, at.clock.update_ticks()), &at.walk_on)
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
        let (mut others, mut clock) = (Others::new(), Clock::new(20, 20));
        let at = |ms: u64| Duration::from_millis(ms);
        for tick in 0..20 {
            clock.heard(tick, at(u64::from(tick) * 50));
            clock.advance(at(u64::from(tick) * 50));
            others.push(1, tick, (tick as i32 * 4 * PX, 0));
        }
        let straight =
            |(x, y): Place, (vx, vy): Place, ticks: u32| (x + vx * ticks as i32, y + vy * ticks as i32);
        let moment = |now: u64| Moment { clock: &clock, now: at(now), tick_hz: 20, walk_on: straight };
        let x = |others: &Others, now| f64::from(others.shown(&moment(now))[0].1.0) / f64::from(PX);
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
        clean.all.values_mut().for_each(|other| other.glide = Glide::default());
        assert!((before - x(&clean, 1_400)).abs() > 30.0, "the guess was wrong");
        assert_eq!(x(&others, 1_600), x(&clean, 1_600), "nothing is left of it");
    }
}
