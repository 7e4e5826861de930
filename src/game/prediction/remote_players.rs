//! The remote players in view of a client, and their rendered positions.

use std::collections::BTreeMap;
use std::time::Duration;

use super::clock::ServerClock;
use super::interpolation::PositionHistory;
use super::position::Position;
use crate::limits;

/// A remote player.
#[derive(Debug, Clone, Default)]
struct RemotePlayer {
    /// The last received position.
    at: Position,
    /// The newest position received by datagram, and its tick.
    by_datagram: Option<(u32, Position)>,
    track: PositionHistory,
    start_blend: ErrorBlend,
}

/// The offset from a player's received position to its rendered position. The offset is the error
/// of the extrapolation, and fades after an update.
#[derive(Debug, Clone, Copy, Default)]
struct ErrorBlend {
    /// The initial offset in 1/65,536 px.
    off: (i64, i64),
    began: Duration,
}

impl ErrorBlend {
    /// Adds the remaining offset to a position.
    fn apply(&self, place: Position, now: Duration) -> Position {
        let whole = limits::EXTRAPOLATION_BLEND_TIME.as_micros() as i64;
        let left = whole - (now.saturating_sub(self.began).as_micros() as i64).min(whole);
        let add = |at: i32, off: i64| i32::try_from(i64::from(at) + off * left / whole).unwrap_or(at);
        (add(place.0, self.off.0), add(place.1, self.off.1))
    }

    /// Starts at the position rendered so far. An offset beyond [`limits::CORRECTION_SMOOTHED_PX`]
    /// is not blended.
    fn start(from: Position, place: Position, now: Duration) -> ErrorBlend {
        let off = [(from.0, place.0), (from.1, place.1)].map(|(a, b)| i64::from(a) - i64::from(b));
        let is_jump = off.iter().any(|off| off.abs() > limits::CORRECTION_SMOOTHED_PX << 16);
        ErrorBlend { off: if is_jump { (0, 0) } else { (off[0], off[1]) }, began: now }
    }
}

/// Time and parameters for computing rendered positions.
pub(super) struct RenderTime<'a, F> {
    pub clock: &'a ServerClock,
    pub now: Duration,
    pub tick_hz: u32,
    pub walk_on: F,
}

/// The remote players in view, by number.
#[derive(Debug, Clone, Default)]
pub struct RemotePlayers {
    all: BTreeMap<u32, RemotePlayer>,
    /// Positions by datagram of players that are not in view, according to the stream.
    waiting: BTreeMap<u32, (u32, Position)>,
    /// Whether the current packet was received by datagram.
    pub(super) is_datagram: bool,
    /// Whether positions between two updates are interpolated. On by default.
    pub interpolation_enabled: bool,
    /// Whether positions after the newest update are extrapolated. On by default; needs
    /// [`RemotePlayers::interpolation_enabled`].
    pub extrapolation_enabled: bool,
}

impl RemotePlayers {
    /// Creates an empty set.
    pub fn new() -> RemotePlayers {
        RemotePlayers { interpolation_enabled: true, extrapolation_enabled: true, ..RemotePlayers::default() }
    }

    /// Records the position of a player after a tick.
    pub fn push(&mut self, number: u32, tick: u32, place: Position) {
        let other = self.all.entry(number).or_default();
        other.at = place;
        other.track.push(tick, place);
        if let Some((tick, place)) = self.waiting.remove(&number).filter(|(at, _)| *at >= tick) {
            other.by_datagram = Some((tick, place));
            other.track.push(tick, place);
        }
    }

    /// Records that a player has moved by a vector, as of this tick.
    pub fn apply_delta(&mut self, number: u32, tick: u32, (dx, dy): Position) {
        if let Some(RemotePlayer { at, track, .. }) = self.all.get_mut(&number) {
            *at = (at.0.saturating_add(dx), at.1.saturating_add(dy));
            track.push(tick, *at);
        }
    }

    /// Records the position of a player that is in view. The position of another player waits until
    /// it enters the view, because datagrams may overtake the stream.
    pub fn update(&mut self, number: u32, tick: u32, place: Position) {
        match self.all.get_mut(&number) {
            Some(other) => {
                // Differences in the stream add to the last position in the stream.
                if self.is_datagram {
                    other.by_datagram = Some((tick, place));
                } else {
                    other.at = place;
                }
                other.track.push(tick, place);
            }
            None if self.is_datagram => self.wait(number, (tick, place)),
            None => self.push(number, tick, place),
        }
    }

    fn wait(&mut self, number: u32, position: (u32, Position)) {
        if self.waiting.len() >= limits::LANE_WAITING_PLAYERS {
            self.waiting.pop_first();
        }
        self.waiting.insert(number, position);
    }

    /// Removes a player that has left the view. Stores its newest position by datagram, in case the
    /// stream reports an earlier enter.
    pub fn remove(&mut self, number: u32) {
        if let Some(position) = self.all.remove(&number).and_then(|other| other.by_datagram) {
            self.wait(number, position);
        }
    }

    /// Removes the players for which `is_retained` returns false.
    pub fn retain(&mut self, mut is_retained: impl FnMut(u32) -> bool) {
        self.all.retain(|number, _| is_retained(*number));
    }

    /// Removes all players.
    pub fn clear(&mut self) {
        self.all.clear();
        self.waiting.clear();
    }

    /// Records that players without a position in the update of this tick have not moved.
    pub(super) fn on_update(&mut self, tick: u32) {
        self.all.values_mut().for_each(|other| other.track.hold_until(tick));
    }

    /// Returns the numbers and rendered positions of all players in view.
    pub(super) fn positions(
        &self,
        at: &RenderTime<'_, impl Fn(Position, Position, u32) -> Position>,
    ) -> Vec<(u32, Position)> {
        let Some(tick) = at.clock.render_tick(at.now) else { return Vec::new() };
        let tick = if self.interpolation_enabled { tick } else { i64::MAX };
        let place = |other: &RemotePlayer| match self.extrapolates() {
            true => Some(other.start_blend.apply(other.run_on(tick, at)?, at.now)),
            false => other.track.interpolate(tick),
        };
        self.all.iter().filter_map(|(number, other)| Some((*number, place(other)?))).collect()
    }

    fn extrapolates(&self) -> bool {
        self.extrapolation_enabled && self.interpolation_enabled
    }

    /// Returns the rendered positions of the players that are currently extrapolated. Call it
    /// before a packet is applied, and [`start_blend`](Self::start_blend) afterwards.
    pub(super) fn extrapolate(
        &self,
        at: &RenderTime<'_, impl Fn(Position, Position, u32) -> Position>,
    ) -> Vec<(u32, Position)> {
        let Some(tick) = at.clock.render_tick(at.now).filter(|_| self.extrapolates()) else {
            return Vec::new();
        };
        let behind = self.all.iter().filter(|(_, other)| other.track.is_past_newest(tick));
        let rendered = |other: &RemotePlayer| Some(other.start_blend.apply(other.run_on(tick, at)?, at.now));
        behind.filter_map(|(number, other)| Some((*number, rendered(other)?))).collect()
    }

    /// Starts the error blends from the positions rendered before the packet.
    pub(super) fn start_blend(
        &mut self,
        rendered: &[(u32, Position)],
        at: &RenderTime<'_, impl Fn(Position, Position, u32) -> Position>,
    ) {
        let Some(tick) = at.clock.render_tick(at.now) else { return };
        for (number, position) in rendered {
            let Some(other) = self.all.get_mut(number) else { continue };
            if let Some(place) = other.run_on(tick, at) {
                other.start_blend = ErrorBlend::start(*position, place, at.now);
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

    #[test]
    fn a_position_by_datagram_replaces_only_the_position_of_an_earlier_enter() {
        let mut others = RemotePlayers::new();
        let newest = |others: &RemotePlayers| others.all[&1].track.interpolate(i64::MAX);
        others.push(1, 10, (PX, 0));
        others.is_datagram = true;
        others.update(1, 15, (5 * PX, 0));
        others.is_datagram = false;
        // The stream is late: the player died, and respawned in tick 14.
        others.remove(1);
        others.push(1, 14, (4 * PX, 0));
        assert_eq!(newest(&others), Some((5 * PX, 0)));
        others.remove(1);
        others.push(1, 16, (6 * PX, 0));
        assert_eq!(newest(&others), Some((6 * PX, 0)), "the stored position is older than the enter");
    }

    /// A player walks to the right at 4 px per tick and 20 ticks per second. After the first
    /// second, no update contains the player. Half a second later, an update reports that the
    /// player turned back.
    #[test]
    fn an_extrapolated_player_glides_to_its_position() {
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
        let rendered = others.extrapolate(&moment(1_400));
        assert_eq!(rendered.len(), 1, "it is run on");
        (20..30).for_each(|tick| others.push(1, tick, ((19 * 8 - tick as i32 * 4) * PX, 0)));
        others.start_blend(&rendered, &moment(1_400));
        assert_eq!(x(&others, 1_400), before, "no jump in the frame of the news");
        let steps: Vec<f64> = (0..20).map(|frame| x(&others, 1_400 + frame * 16)).collect();
        let farthest = steps.windows(2).map(|two| (two[0] - two[1]).abs()).fold(0.0, f64::max);
        assert!(farthest < 10.0, "{farthest} px from one frame to the next: {steps:?}");
        let mut clean = others.clone();
        clean.all.values_mut().for_each(|other| other.start_blend = ErrorBlend::default());
        assert!((before - x(&clean, 1_400)).abs() > 30.0, "the guess was wrong");
        assert_eq!(x(&others, 1_600), x(&clean, 1_600), "nothing is left of it");
    }
}
