//! The server clock: maps the client's time to server ticks, and computes the client's lead.

use std::collections::VecDeque;
use std::time::Duration;

use crate::limits;

/// Number of updates in the offset estimate: half a second at 30 Hz.
const ORIGIN_WINDOW: usize = 16;
/// Number of updates after which their longest delay becomes an offset sample.
const DELAY_WINDOW: usize = 48;
/// A long delay determines the lead for the whole window only if at least this many samples have
/// that delay or a longer one.
const MIN_REPEATS: usize = 3;
/// Divisor for the safety margin of the lead: the margin is the part of the jitter above one tick,
/// divided by this number. It covers a packet loss with a slightly longer delay than earlier
/// losses.
const LEAD_MARGIN_DIVISOR: i64 = 10;
/// Number of updates after which a connection is no longer new: ten seconds at 30 Hz.
const STARTUP_UPDATES: usize = 300;
/// Maximum number of pings that wait for their pong.
const PINGS: usize = 16;
/// The offset grows by at most 1/5 of the elapsed time.
const SPEED_UP_DIVISOR: i64 = 5;
/// The offset shrinks by at most 1/20 of the elapsed time.
const SLOW_DOWN_DIVISOR: i64 = 20;
/// The render offset of remote players changes by at most 1/12 of the elapsed time.
const RENDER_SLEW_DIVISOR: i64 = 12;
/// Maximum difference between an offset and its target that is corrected gradually, in ns. A
/// greater difference is corrected at once.
const SNAP_NS: i64 = 1_000_000_000;

/// A sample of the offset from client time to server time: the smallest offset with which one
/// message would have arrived in time.
#[derive(Debug, Clone, Copy)]
struct OffsetSample {
    sent_ns: i64,
    offset_ns: i64,
    /// Whether the sample comes from a ping or an ack, not from the delays of updates.
    is_measured: bool,
}

/// The server clock of a client, and its lead.
#[derive(Debug, Clone, Default)]
pub struct ServerClock {
    tick_ns: i64,
    update_ns: i64,
    /// The time of tick 0 according to each of the last updates.
    origins: VecDeque<i64>,
    /// The offset samples of recent commands, pings and delays.
    offset_samples: VecDeque<OffsetSample>,
    /// Delays of recent updates compared with the fastest update.
    delays: Vec<i64>,
    target_lead_ns: Option<i64>,
    /// 95th percentile of the last `DELAY_WINDOW` delays.
    jitter_ns: i64,
    pings: VecDeque<(u32, i64)>,
    rtt_ns: Option<i64>,
    /// Offset from the client's time to the time of the predicted world.
    offset_ns: Option<i64>,
    /// Offset from the client's time to the render time of remote players.
    render_offset_ns: Option<i64>,
    /// Number of updates received, up to [`STARTUP_UPDATES`].
    measured: usize,
    /// Whether commands go by datagram.
    pub(super) has_lane: bool,
    advanced_ns: i64,
    last_received_ns: i64,
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX / 4)
}

impl ServerClock {
    /// Creates a clock for a server with these rates per second.
    pub fn new(tick_hz: u32, update_hz: u32) -> ServerClock {
        let period = |hz: u32| 1_000_000_000 / i64::from(hz.max(1));
        let tick_ns = period(tick_hz);
        ServerClock { tick_ns, update_ns: period(update_hz).max(tick_ns), ..ServerClock::default() }
    }

    /// Returns the number of ticks per update.
    pub fn update_ticks(&self) -> u32 {
        u32::try_from(self.update_ns / self.tick_ns.max(1)).unwrap_or(1).max(1)
    }

    /// Records that a packet has arrived.
    pub(super) fn on_received(&mut self, now: Duration) {
        self.last_received_ns = nanos(now);
    }

    /// Records the arrival of an update of this tick.
    pub(super) fn on_update(&mut self, tick: u32, now: Duration) {
        self.measured = (self.measured + 1).min(STARTUP_UPDATES);
        self.origins.push_back(nanos(now) - i64::from(tick) * self.tick_ns);
        if self.origins.len() > ORIGIN_WINDOW {
            self.origins.pop_front();
        }
        let Some(origin) = self.origin_ns() else { return };
        let delay = nanos(now) - i64::from(tick) * self.tick_ns - origin;
        let is_longest = self.delays.iter().all(|other| *other < delay);
        self.delays.push(delay);
        if is_longest {
            self.target_lead_ns = self.required_offset();
        }
        if self.delays.len() >= DELAY_WINDOW {
            self.count_update_delays(nanos(now));
        }
    }

    /// Turns the longest recent delay into an offset sample, because a connection that delays
    /// received packets also delays sent packets.
    fn count_update_delays(&mut self, now: i64) {
        self.delays.sort_unstable();
        self.jitter_ns = self.delays[self.delays.len() * 19 / 20];
        let max_delay = self.delays.last().copied().unwrap_or(0);
        self.delays.clear();
        if let Some(min_delay) = self.min_recent() {
            self.remember(OffsetSample {
                sent_ns: now,
                offset_ns: min_delay + max_delay,
                is_measured: false,
            });
        }
    }

    /// Records a sent ping.
    pub(super) fn ping(&mut self, nonce: Option<u32>, now: Duration) {
        let Some(nonce) = nonce else { return };
        self.pings.push_back((nonce, nanos(now)));
        if self.pings.len() > PINGS {
            self.pings.pop_front();
        }
    }

    /// Processes a pong. `tick` is the number of ticks that the server had completed.
    pub(super) fn pong(&mut self, nonce: Option<u32>, tick: Option<u32>, now: Duration) {
        let Some(at) = self.pings.iter().position(|(own, _)| Some(*own) == nonce) else { return };
        let Some((_, sent)) = self.pings.remove(at) else { return };
        self.rtt_ns = Some(nanos(now) - sent);
        let Some(tick) = tick else { return };
        if self.origins.is_empty() {
            self.on_update(tick, now);
        }
        self.add_sample(i64::from(tick) + 1, sent);
    }

    /// Processes an ack: a command for this tick arrived `margin_ticks` early.
    pub(super) fn on_ack(&mut self, tick: u32, margin_ticks: i16, sent: Duration) {
        if margin_ticks != i16::MIN && margin_ticks != i16::MAX {
            self.add_sample(i64::from(tick) - i64::from(margin_ticks), nanos(sent));
        }
    }

    /// Adds a sample. `tick` is the earliest tick that a message sent at `sent_ns` could have
    /// named.
    fn add_sample(&mut self, tick: i64, sent_ns: i64) {
        self.remember(OffsetSample { sent_ns, offset_ns: tick * self.tick_ns - sent_ns, is_measured: true });
    }

    fn remember(&mut self, need: OffsetSample) {
        self.offset_samples.push_back(need);
        let window = limits::LEAD_WINDOW.as_nanos() as i64;
        while self.offset_samples.len() > limits::LEAD_SAMPLES
            || self.offset_samples.front().is_some_and(|first| need.sent_ns - first.sent_ns > window)
        {
            self.offset_samples.pop_front();
        }
        self.target_lead_ns = self.required_offset();
    }

    /// Returns the samples of the last [`limits::LEAD_RECENT`].
    fn recent(&self) -> impl Iterator<Item = &OffsetSample> {
        let newest = self.offset_samples.back().map_or(0, |newest| newest.sent_ns);
        let recent = newest - limits::LEAD_RECENT.as_nanos() as i64;
        self.offset_samples.iter().filter(move |need| need.sent_ns >= recent)
    }

    fn min_recent(&self) -> Option<i64> {
        self.recent().filter(|need| need.is_measured).map(|need| need.offset_ns).min()
    }

    fn origin_ns(&self) -> Option<i64> {
        self.origins.iter().copied().min()
    }

    /// Returns the target offset. The target covers all recent samples. It covers an older sample
    /// only if at least `MIN_REPEATS` samples are as large, so that a single pause of the client
    /// has no lasting effect.
    fn required_offset(&self) -> Option<i64> {
        let min_delay = self.min_recent()?;
        let delay = self.delays.iter().copied().max().unwrap_or(0);
        let fresh = self.recent().map(|need| need.offset_ns).max()?.max(min_delay + delay);
        let mut sorted: Vec<i64> = self.offset_samples.iter().map(|need| need.offset_ns).collect();
        sorted.sort_unstable();
        let repeated = sorted.iter().rev().nth(MIN_REPEATS - 1).copied().unwrap_or(fresh);
        let longer = fresh.max(repeated) - min_delay;
        let margin = (longer - self.tick_ns).max(0) / LEAD_MARGIN_DIVISOR;
        let jitter = (longer + margin).max(self.startup_margin_ns());
        Some(min_delay + jitter.min(limits::MAX_LEAD_JITTER.as_nanos() as i64))
    }

    /// Returns the delay of a packet loss on a new connection, on which perhaps no loss has been
    /// measured yet; 0 later, and with a lane, whose next datagram repeats what was lost. The delay
    /// is TCP's retransmission timeout: the round trip plus four times its variation (RFC 6298,
    /// section 2), which is assumed to be 1/8 round trip.
    fn startup_margin_ns(&self) -> i64 {
        let is_new = self.measured < STARTUP_UPDATES && !self.has_lane;
        self.rtt_ns.filter(|_| is_new).map_or(0, |rtt| rtt * 3 / 2)
    }

    /// Moves the offsets towards their targets.
    pub(super) fn advance(&mut self, now: Duration) {
        let (now, before) = (nanos(now), self.advanced_ns);
        self.advanced_ns = now;
        let elapsed = (now - before).max(0);
        self.render_offset_ns = self.target_render_offset().map(|wanted| match self.render_offset_ns {
            Some(displayed) if (wanted - displayed).abs() <= SNAP_NS => {
                displayed
                    + (wanted - displayed)
                        .clamp(-elapsed / RENDER_SLEW_DIVISOR, elapsed / RENDER_SLEW_DIVISOR)
            }
            _ => wanted,
        });
        let Some(target) = self.target_lead_ns else { return };
        let Some(offset) = self.offset_ns.filter(|offset| (target - offset).abs() <= SNAP_NS) else {
            self.offset_ns = Some(target);
            return;
        };
        self.offset_ns =
            Some(offset + (target - offset).clamp(-elapsed / SLOW_DOWN_DIVISOR, elapsed / SPEED_UP_DIVISOR));
    }

    /// Returns the current predicted tick with its fraction. `None` before the first offset sample.
    pub(super) fn predicted_tick(&self, now: Duration) -> Option<(u32, u16)> {
        let at = nanos(now) + self.offset_ns?;
        let tick = u32::try_from(at.div_euclid(self.tick_ns.max(1))).ok()?;
        Some((tick, (at.rem_euclid(self.tick_ns.max(1)) * 65_536 / self.tick_ns.max(1)) as u16))
    }

    /// Converts a duration to ticks.
    pub(super) fn ticks(&self, time: Duration) -> u32 {
        u32::try_from(nanos(time) / self.tick_ns.max(1)).unwrap_or(u32::MAX)
    }

    /// Returns the render tick of remote players, in 1/65,536 tick. It lags the newest update by
    /// two and a half update intervals, or by more if the jitter is large.
    pub fn render_tick(&self, now: Duration) -> Option<i64> {
        let at = nanos(now) + self.render_offset_ns?;
        Some((i128::from(at) * 65_536 / i128::from(self.tick_ns.max(1))) as i64)
    }

    /// Returns the target offset for remote players.
    fn target_render_offset(&self) -> Option<i64> {
        let delay = (self.update_ns * 5 / 2).max(self.update_ns * 5 / 4 + self.jitter_ns * 5 / 4);
        Some(-self.origin_ns()? - delay.min(limits::MAX_INTERPOLATION_DELAY.as_nanos() as i64))
    }

    /// Returns whether the lead is known: a ping or a command was acknowledged.
    pub fn is_measured(&self) -> bool {
        self.offset_ns.is_some()
    }

    /// Returns the client's lead over the newest update, on the assumption that this update arrived
    /// as fast as the fastest update.
    pub fn lead(&self) -> Duration {
        let ahead = self.offset_ns.zip(self.origin_ns()).map_or(0, |(offset, origin)| offset + origin);
        Duration::from_nanos(ahead.max(0).unsigned_abs())
    }

    /// Returns the round trip of the last ping.
    pub fn round_trip(&self) -> Option<Duration> {
        self.rtt_ns.map(|rtt| Duration::from_nanos(rtt.max(0).unsigned_abs()))
    }

    /// Returns the time since the last received packet.
    pub fn time_since_received(&self, now: Duration) -> Duration {
        Duration::from_nanos((nanos(now) - self.last_received_ns).max(0).unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_MS: u64 = 50;

    /// Simulates a server with 20 ticks per second. `late_ms` is the delay of its ticks.
    fn pass(clock: &mut ServerClock, from_ms: u64, to_ms: u64, trip_ms: u64, late_ms: u64) {
        for now in (from_ms..to_ms).filter(|now| now % TICK_MS == 0) {
            let at = Duration::from_millis(now);
            let tick_then = |ms: u64| ((ms - late_ms) / TICK_MS) as u32;
            clock.on_update(tick_then(now - trip_ms / 2), at);
            if now % 500 == 0 {
                clock.ping(Some(now as u32), at - Duration::from_millis(trip_ms));
                clock.pong(Some(now as u32), Some(tick_then(now - trip_ms / 2)), at);
            }
            clock.advance(at);
        }
    }

    #[test]
    fn the_lead_follows_a_server_that_stalled_and_a_line_that_became_slow() {
        let mut clock = ServerClock::new(20, 20);
        pass(&mut clock, 5_000, 65_000, 60, 0);
        let calm = clock.lead();
        assert!((60..=160).contains(&calm.as_millis()), "{calm:?}");
        pass(&mut clock, 65_000, 185_000, 60, 1_500);
        let after = clock.lead();
        assert!((60..=160).contains(&after.as_millis()), "the server lost 1.5 s: {after:?}");
        pass(&mut clock, 185_000, 260_000, 800, 1_500);
        let slow = clock.lead();
        assert!((800..=900).contains(&slow.as_millis()), "the round trip is 0.8 s now: {slow:?}");
    }

    #[test]
    fn the_lead_of_a_new_line_covers_a_loss_and_that_of_a_known_one_without_losses_does_not() {
        let mut clock = ServerClock::new(20, 20);
        pass(&mut clock, 5_000, 6_000, 300, 0);
        let new = clock.lead();
        assert!((750..=850).contains(&new.as_millis()), "two and a half round trips: {new:?}");
        pass(&mut clock, 6_000, 90_000, 300, 0);
        let known = clock.lead();
        assert!((300..=400).contains(&known.as_millis()), "a round trip and a tick: {known:?}");
    }
}
