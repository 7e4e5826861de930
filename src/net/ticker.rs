//! The world thread: drains the inbox, steps the world, and publishes, each tick at its intended
//! time whatever the duration of the ticks before.
//!
//! The operator's questions are answered after the tick is published, in the time left before the
//! next.
//!
//! The world thread never sends, never waits for a client or a disk, and never drifts. A *late*
//! tick begins more than half a period after its time; periods that have passed before their tick
//! could begin are *skipped* and counted, so that a stall is not followed by a burst of ticks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use tracing::{debug, info, warn};

use super::host::Host;
use super::metrics::Metrics;
use crate::feed::Publisher;
use crate::limits;
use crate::world::command::encode_frame;
use crate::world::{Action, Command, Event, PlayerId, Refusal, World};

/// The schedule of the ticks.
#[derive(Debug)]
struct Schedule {
    start: Instant,
    hz: u32,
    periods: u64,
}

/// What to do about the next tick.
#[derive(Debug, PartialEq, Eq)]
struct Due {
    wait: Duration,
    late: bool,
    skipped: u64,
}

impl Schedule {
    fn new(start: Instant, hz: u32) -> Schedule {
        Schedule { start, hz, periods: 0 }
    }

    /// Periods are counted from the start, so rounding never adds up.
    fn time_of(&self, period: u64) -> Instant {
        self.start + Duration::from_nanos(period * 1_000_000_000 / u64::from(self.hz))
    }

    /// The next tick, seen at `now`. Whole periods that have passed are left out.
    fn next(&mut self, now: Instant) -> Due {
        self.periods += 1;
        let behind = now.saturating_duration_since(self.time_of(self.periods));
        let period = Duration::from_secs(1) / self.hz;
        let skipped = (behind.as_nanos() / period.as_nanos()) as u64;
        self.periods += skipped;
        let wait = self.time_of(self.periods).saturating_duration_since(now);
        Due { wait, late: behind > period / 2, skipped }
    }
}

/// The loop of the world thread, until the server's workers are told to stop.
pub fn run(host: &Host, mut world: World) {
    let hz = world.identity().tick_hz.get();
    let mut schedule = Schedule::new(Instant::now(), hz);
    let mut publisher = Publisher::new(&world, host.config.rates());
    let (mut commands, mut margins) = (Vec::new(), vec![0i16; usize::from(limits::PLAYERS) + 1]);
    let mut status_at = host.now() + limits::STATUS_EVERY;
    while !host.is_world_stopping() {
        let due = schedule.next(Instant::now());
        thread::sleep(due.wait);
        let began = host.now();
        book(host, &due);
        step(host, &mut world, &mut commands, &mut margins);
        let margin = |player: PlayerId| margins.get(usize::from(player.0)).copied().unwrap_or_default();
        let published = Arc::new(publisher.publish(&world, margin));
        host.publish(&published);
        let now = host.now();
        host.metrics.ticked(now.saturating_sub(began));
        host.inquiries.answer(&world, &published);
        if now >= status_at {
            status_at = now + limits::STATUS_EVERY;
            status(host, &world);
        }
    }
}

fn book(host: &Host, due: &Due) {
    if due.skipped > 0 {
        host.metrics.skipped_ticks.inc_by(due.skipped);
        warn!(
            tick = host.tick.load(Ordering::Relaxed),
            periods = due.skipped,
            "the world fell behind and left periods out"
        );
    } else if due.late {
        host.metrics.late_ticks.inc();
    }
}

fn step(host: &Host, world: &mut World, commands: &mut Vec<Command>, margins: &mut [i16]) {
    host.inbox.drain(world.tick(), commands, |player, ticks| {
        if let Some(margin) = margins.get_mut(usize::from(player.0)) {
            *margin = ticks;
        }
    });
    if host.tap.wants_world() {
        show_tick(host, world, commands);
    }
    let outcome = world.step(commands);
    for (command, refusal) in &outcome.refused {
        refused(host, command, *refusal);
    }
    for event in &outcome.events {
        if let Event::Left { player } = event {
            if let Some(margin) = margins.get_mut(usize::from(player.0)) {
                *margin = 0;
            }
            host.roster.give_back(*player, host.now());
        }
    }
    host.metrics.players.set(world.player_count() as i64);
    host.tick.store(world.tick(), Ordering::Relaxed);
    host.tap.set_tick(world.tick());
}

/// Passes the beginning tick to the tap's listeners. A tick that does not fit a command frame is
/// reported to them as lost.
fn show_tick(host: &Host, world: &World, commands: &[Command]) {
    let (now, tick, mut frame) = (host.now(), world.tick(), Vec::new());
    match encode_frame(tick, commands, &mut frame) {
        Ok(()) => host.tap.tick_begins(now, tick, world.checksum(), frame, || world.snapshot()),
        Err(error) => {
            warn!(tick, %error, "captures lack a tick");
            host.tap.tick_is_lost(now, tick);
        }
    }
}

fn refused(host: &Host, command: &Command, refusal: Refusal) {
    Metrics::count(&host.metrics.refused_commands, "reason", refusal.name());
    debug!(
        tick = host.tick.load(Ordering::Relaxed),
        player = command.player.0,
        reason = refusal.name(),
        "command refused"
    );
    if let Action::Join { player, .. } = &command.action {
        host.roster.give_back(*player, host.now());
    }
}

/// Logs the server's status line.
fn status(host: &Host, world: &World) {
    let metrics = &host.metrics;
    if metrics.clients.get() == 0 {
        return;
    }
    info!(
        tick = world.tick(),
        clients = metrics.clients.get(),
        players = world.player_count(),
        late = metrics.late_ticks.get(),
        skipped = metrics.skipped_ticks.get(),
        sent_bytes = metrics.bytes_out.get(),
        turns = metrics.turns.get(),
        turn_sends = metrics.turn_sends.get(),
        held_back = metrics.turns_held_back.get(),
        "status"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_nanos(33_333_333);

    #[test]
    fn ticks_do_not_drift() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, 30);
        for period in 1..=3_000 {
            // Each tick begins a little after its time; the next one is due by the clock all the same.
            let now = schedule.time_of(period - 1) + Duration::from_millis(3);
            let due = schedule.next(now);
            assert!(!due.late && due.skipped == 0);
        }
        assert_eq!(schedule.time_of(schedule.periods), start + Duration::from_secs(100));
    }

    #[test]
    fn half_a_period_is_late_and_whole_ones_are_skipped() {
        let start = Instant::now();
        let late = Schedule::new(start, 30).next(start + PERIOD + Duration::from_millis(20));
        assert_eq!(late, Due { wait: Duration::ZERO, late: true, skipped: 0 });
        let stalled = Schedule::new(start, 30).next(start + PERIOD * 5);
        assert_eq!(stalled.skipped, 4);
    }
}
