//! The thread of a room: runs its ticks on schedule, wakes the workers, and counts the results of
//! each tick. It never sends, and never waits for a client or a disk. A panic ends only this room.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tracing::{debug, error, info, warn};

use super::clock::{Due, Schedule};
use super::host::{Host, Stage};
use super::metrics::Metrics;
use crate::limits;
use crate::peer::Ending;
use crate::room::{Core, Handle, Ticked};
use crate::session::Breach;

/// The thread's loop, until the host's rooms are stopped. The room has place `at` in the host's list.
pub fn run(host: &Host, at: usize, mut core: Box<dyn Core>) {
    let (room, mut players) = (&host.rooms[at], 0);
    let lived = catch_unwind(AssertUnwindSafe(|| tick_until_stop(host, at, &mut *core, &mut players)));
    host.metrics.players.dec_by(players);
    room.set_over();
    host.tap.room_ends(&room.options.name);
    if lived.is_err() {
        host.metrics.panics.inc();
        error!(room = name(room), tick = room.tick(), "a panic ended this room; this is a bug in the server");
        for client in host.clients.all().iter().filter(|client| Arc::ptr_eq(&client.room, room)) {
            client.close(Ending::Breach(Breach::InternalError), host.now());
        }
    }
}

/// `players` is how many of the host's players are this room's.
fn tick_until_stop(host: &Host, at: usize, core: &mut dyn Core, players: &mut i64) {
    let room = &host.rooms[at];
    let mut schedule = Schedule::new(Instant::now(), room.options.rates.tick_hz);
    let mut status_at = host.now() + limits::STATUS_EVERY;
    while !host.has_reached(Stage::RoomsStopping) {
        let due = schedule.next(Instant::now());
        thread::sleep(due.wait);
        let began = host.now();
        book_schedule(host, room, &due);
        let wants = host.tap.wants_of_world(&room.options.name);
        let ticked = core.tick(began, wants);
        if wants.frame {
            show(host, room, began, &ticked);
        }
        book(host, room, &ticked);
        let count = ticked.published.state.players.len() as i64;
        host.metrics.players.inc_by(count - std::mem::replace(players, count));
        host.bells.iter().for_each(|bell| bell.ring(at, Arc::clone(&ticked.published)));
        let now = host.now();
        host.metrics.ticked(now.saturating_sub(began));
        if now >= status_at {
            status_at = now + limits::STATUS_EVERY;
            status(host, room, count);
        }
    }
}

fn book_schedule(host: &Host, room: &Handle, due: &Due) {
    if due.skipped > 0 {
        host.metrics.skipped_ticks.inc_by(due.skipped);
        warn!(
            room = name(room),
            tick = room.tick(),
            periods = due.skipped,
            "the world fell behind and skipped ticks"
        );
    } else if due.late {
        host.metrics.late_ticks.inc();
    }
}

/// Passes the tick to the tap's listeners. A tick that does not fit a command frame is reported to
/// them as lost.
fn show(host: &Host, room: &Handle, began: Duration, ticked: &Ticked) {
    let snapshot = ticked.snapshot.as_ref().map(|snapshot| Arc::clone(&snapshot.bytes));
    let about = (&room.options.name, began, ticked.tick);
    if let (Some(frame), Some(checksum)) = (&ticked.frame, ticked.checksum) {
        host.tap.ticked(about, checksum, Arc::clone(frame), snapshot);
    } else {
        warn!(room = name(room), tick = ticked.tick, "a tick is missing from the captures");
        host.tap.tick_is_lost(about);
    }
}

fn book(host: &Host, room: &Handle, ticked: &Ticked) {
    for (player, rejection) in &ticked.rejected {
        let reason = rejection.name();
        Metrics::count(&host.metrics.rejected_commands, "reason", reason);
        debug!(room = name(room), tick = room.tick(), player = player.0, reason, "command rejected");
    }
}

/// The room's name for the log, which leaves out the default room's.
fn name(room: &Handle) -> Option<&str> {
    Some(&*room.options.name).filter(|name| !name.is_empty())
}

/// Logs the room's status line.
fn status(host: &Host, room: &Handle, players: i64) {
    let metrics = &host.metrics;
    if metrics.clients.get() == 0 {
        return;
    }
    info!(
        room = name(room),
        tick = room.tick(),
        clients = metrics.clients.get(),
        players,
        late = metrics.late_ticks.get(),
        skipped = metrics.skipped_ticks.get(),
        sent_bytes = metrics.bytes_out.get(),
        turns = metrics.turns.get(),
        turn_sends = metrics.turn_sends.get(),
        held_back = metrics.turns_held_back.get(),
        "status"
    );
}
