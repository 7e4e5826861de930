//! The others that a client sees: where each is shown.

use std::collections::BTreeMap;
use std::time::Duration;

use super::clock::Clock;
use super::place::Place;
use super::track::Track;

/// The others in view, by number.
#[derive(Debug, Clone, Default)]
pub struct Others {
    /// For each the newest place heard, and its track.
    tracks: BTreeMap<u32, (Place, Track)>,
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
        let (at, track) = self.tracks.entry(number).or_default();
        *at = place;
        track.push(tick, place);
    }

    /// Somebody has moved by a vector, as of this tick.
    pub fn shift(&mut self, number: u32, tick: u32, (dx, dy): Place) {
        if let Some(((x, y), track)) = self.tracks.get_mut(&number) {
            (*x, *y) = (x.saturating_add(dx), y.saturating_add(dy));
            track.push(tick, (*x, *y));
        }
    }

    /// Somebody is out of view.
    pub fn remove(&mut self, number: u32) {
        self.tracks.remove(&number);
    }

    /// Only these are in view.
    pub fn retain(&mut self, mut keeps: impl FnMut(u32) -> bool) {
        self.tracks.retain(|number, _| keeps(*number));
    }

    /// Nobody is in view.
    pub fn clear(&mut self) {
        self.tracks.clear();
    }

    /// There was news of a tick: whoever was not named stands where it was.
    pub(super) fn news(&mut self, tick: u32) {
        self.tracks.values_mut().for_each(|(_, track)| track.hold(tick));
    }

    /// The numbers of those in view, and where each is shown.
    pub(super) fn shown(
        &self,
        tick_hz: u32,
        walk_on: impl Fn(Place, Place, u32) -> Place,
        clock: &Clock,
        now: Duration,
    ) -> Vec<(u32, Place)> {
        let Some(tick) = clock.others(now) else { return Vec::new() };
        let tick = if self.is_interpolated { tick } else { i64::MAX };
        let place = |track: &Track| match self.is_reckoned && self.is_interpolated {
            true => track.reckon(tick, (tick_hz, clock.update_ticks()), &walk_on),
            false => track.at(tick),
        };
        self.tracks.iter().filter_map(|(number, (_, track))| Some((*number, place(track)?))).collect()
    }
}
