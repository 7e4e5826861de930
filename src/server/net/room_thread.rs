//! The thread of a room: runs its ticks on schedule, wakes the update workers, and records the
//! results of each tick. It never sends, and never waits for a client or a disk.
//!
//! ```text
//!  sleep without viewers ─► ticks ─► no viewers left ─► sleep
//!     │                       └─ panic ─► clients closed with 1011 ─► pause ─► restart
//!     └─ empty for long, or ended by the operator ─► clients closed with 1001, thread ends
//! ```
//!
//! A room without viewers and without queued work does not tick, so its world
//! and its suspended players do not change. It ticks again when a suspended seat expires, so that
//! the player leaves.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tracing::{debug, error, info, warn};

use super::TcpRoom;
use super::config::new_epoch;
use super::journal::RoomJournal;
use super::metrics::Metrics;
use super::rooms::RunningRoom;
use super::server_events::ServerEventKind;
use super::server_state::{ServerState, ShutdownStage};
use super::tcp_client::TcpClient;
use super::tick_schedule::{NextTick, TickSchedule};
use crate::connection::DisconnectReason;
use crate::game::{CloseReason, DynTick};
use crate::limits;
use crate::server::admission::tokens::Permission;
use crate::server::room::seats::Seat;
use crate::server::room::{TickRequest, TickResult};

/// Runs the thread of a listed room until the rooms of the server are stopped.
pub fn run(host: &ServerState, core: Box<TcpRoom>) {
    let Some(room) = host.rooms.find(&core.handle().options.name) else { return };
    run_instance(host, room, core);
}

/// Reports that a room begins, before a client can connect to it.
pub fn report_start(host: &ServerState, room: &Arc<RunningRoom>) {
    host.events.push(room, ServerEventKind::Started, &host.metrics);
}

/// Runs the thread, starting with this run of the room, whose start was reported.
pub fn run_instance(host: &ServerState, mut room: Arc<RunningRoom>, mut core: Box<TcpRoom>) {
    loop {
        let began = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| tick_until_stop(host, &room, &mut *core)));
        end_run(host, &room);
        if room.is_ending() {
            host.rooms.end(&room, &host.metrics, &host.tap);
            return close_all(host, &room, &CloseReason::GoingAway);
        }
        if outcome.is_ok() {
            return;
        }
        host.metrics.panics.inc();
        let tick = room.handle.tick();
        error!(
            room = room.label(),
            tick, "a panic ended this room, which begins anew; this is a bug in the server"
        );
        close_all(host, &room, &CloseReason::InternalError);
        let Some(next) = restart_room(host, &room, core, began + limits::ROOM_RESTART_EVERY) else { return };
        core = next;
        room = host.rooms.replace(&room, Arc::clone(core.handle()), &host.metrics, host.now());
        room.metrics.restarts.inc();
        info!(room = room.label(), epoch = room.handle.options.epoch, "the room begins anew");
        host.tap.add_room(&room.run());
        report_start(host, &room);
    }
}

/// Closes the connections of a run's clients. A client that is not registered yet checks by itself
/// whether its room has ended.
fn close_all(host: &ServerState, room: &RunningRoom, close_reason: &CloseReason) {
    for client in host.clients.all().iter().filter(|client| client.transport.room.number == room.number) {
        client.close(DisconnectReason::Closed(*close_reason), host.now());
    }
}

/// Marks the run as ended: no tick follows, and queued queries get no result.
pub fn end_run(host: &ServerState, room: &Arc<RunningRoom>) {
    room.set_players(0);
    room.handle.mark_ended();
    host.events.push(room, ServerEventKind::Ended, &host.metrics);
    // `Rooms::end` removes an ending room from the list and from the tap.
    if !room.is_ending() {
        host.tap.remove_room(&room.run());
    }
}

/// Restarts the room at `not_before` or later. Returns `None` if the room must stop first.
fn restart_room(
    host: &ServerState,
    room: &Arc<RunningRoom>,
    core: Box<TcpRoom>,
    mut not_before: Instant,
) -> Option<Box<TcpRoom>> {
    loop {
        while Instant::now() < not_before && !must_stop(host, room) {
            room.sleep_until(not_before);
        }
        if must_stop(host, room) {
            return None;
        }
        match catch_unwind(AssertUnwindSafe(|| core.restarted(new_epoch()))) {
            Ok(next) => return Some(next),
            Err(_) => {
                host.metrics.panics.inc();
                error!(room = room.label(), "a panic prevented this room from beginning anew");
                not_before = Instant::now() + limits::ROOM_RESTART_EVERY;
            }
        }
    }
}

/// Whether the room's thread must end now. Removes a room that the operator has ended from the
/// list.
fn must_stop(host: &ServerState, room: &Arc<RunningRoom>) -> bool {
    let is_ending = room.is_ending();
    if is_ending {
        host.rooms.end(room, &host.metrics, &host.tap);
    }
    is_ending || host.is_at_least(ShutdownStage::RoomsStopping)
}

/// Ticks until the room or the server stops. Then queues the world for the journal by the names of
/// its fields, unless the world has ended.
fn tick_until_stop(host: &ServerState, room: &Arc<RunningRoom>, core: &mut TcpRoom) {
    let mut journal = RoomJournal::begin(host.config.journal.as_ref(), room);
    tick_all(host, room, core, journal.as_mut());
    if let Some(journal) = journal.filter(|_| !room.is_ending()) {
        journal.finish(room, core.save_named());
    }
}

fn tick_all(
    host: &ServerState,
    room: &Arc<RunningRoom>,
    core: &mut TcpRoom,
    mut journal: Option<&mut RoomJournal>,
) {
    let tick_hz = room.handle.options.rates.tick_hz;
    let mut schedule = TickSchedule::new(Instant::now(), tick_hz);
    let mut status_at = host.now() + limits::STATUS_LOG_INTERVAL;
    let (mut empty_since, mut only_spectators, mut next_poll) = (None, false, Duration::ZERO);
    loop {
        if host.now() >= next_poll {
            next_poll = host.now() + limits::ROOM_POLL_INTERVAL;
            only_spectators = has_only_spectators(host, room);
        }
        let is_left = room.is_on_demand() && room.is_empty() || only_spectators;
        empty_since = is_left.then(|| empty_since.unwrap_or_else(Instant::now));
        let last_tick = empty_since.map(|since: Instant| since + host.config.room_empty_time);
        let must_end = || room.is_ending() || host.is_at_least(ShutdownStage::RoomsStopping);
        if room.sleep(must_end, last_tick, || host.now()) {
            schedule = TickSchedule::new(Instant::now(), tick_hz);
            next_poll = Duration::ZERO;
        }
        let is_overdue = last_tick.is_some_and(|at| Instant::now() >= at);
        if is_overdue && host.rooms.end(room, &host.metrics, &host.tap) {
            info!(room = room.label(), tick = room.handle.tick(), "the empty room ends");
            return;
        }
        if is_overdue && has_only_spectators(host, room) {
            let clients = room.clients();
            info!(room = room.label(), clients, "the room ends: none of its clients has a token");
            room.request_end();
        }
        if must_stop(host, room) {
            return;
        }
        let due = schedule.next(Instant::now());
        thread::sleep(due.wait);
        record_schedule(room, &due);
        tick(host, room, core, journal.as_deref_mut());
        let now = host.now();
        if now >= status_at {
            status_at = now + limits::STATUS_LOG_INTERVAL;
            log_status(host, room);
        }
    }
}

/// On a server with tokens: whether a room on demand has neither a taken seat nor a client with a
/// valid token.
fn has_only_spectators(host: &ServerState, room: &RunningRoom) -> bool {
    let may_play = |client: &TcpClient| match client.pass() {
        Some(pass) => matches!(pass, Permission::Holder(_)),
        // The client is not authenticated yet.
        None => client.token.as_ref().is_some_and(|offered| host.authenticator.is_right(offered)),
    };
    if !room.is_on_demand() || !host.authenticator.has_tokens() {
        return false;
    }
    let clients = host.clients.all();
    let (bots, people): (Vec<_>, Vec<_>) = clients
        .iter()
        .filter(|client| client.transport.room.number == room.number)
        .partition(|client| client.transport.is_bot());
    let seats_of_bots = bots.iter().filter(|bot| bot.player().is_some()).count();
    room.taken_seats() <= seats_of_bots && !people.iter().any(|client| may_play(client))
}

/// Runs one tick now and distributes its results. With a journal, the acks may be of earlier ticks.
pub fn tick(
    host: &ServerState,
    room: &Arc<RunningRoom>,
    core: &mut TcpRoom,
    mut journal: Option<&mut RoomJournal>,
) {
    let began = host.now();
    room.on_tick_start(began);
    let wants = host.tap.world_request(room.number);
    let wants = TickRequest { player_events: host.events.is_on(), ..wants };
    let is_tapped = wants.frame;
    let wants = match &journal {
        Some(journal) => journal.request(room.handle.tick(), began, wants),
        None => wants,
    };
    let mut stepped = began;
    let ticked = core.tick_with(began, wants, &mut || stepped = host.now());
    if is_tapped {
        publish_to_tap(host, room, began, &ticked);
    }
    record_tick(host, room, &ticked);
    host.events.push_tick(room, &ticked, &host.authenticator, &host.metrics);
    log_properties(host, room);
    room.set_players(ticked.published.players());
    if room.handle.tick().is_multiple_of(room.handle.options.rates.tick_hz) {
        note_scores(host, room, &*ticked.published);
    }
    if let Some(journal) = &mut journal {
        let (released, held) = journal.record(room, (began, host.lease_time()), &ticked);
        for queue in &host.worker_queues {
            let acks = (released.iter().cloned(), held);
            queue.push_tick(room.number, Arc::clone(&ticked.published), acks);
        }
    } else {
        for queue in &host.worker_queues {
            queue.push_tick(room.number, Arc::clone(&ticked.published), (ticked.acks.clone(), 0));
        }
    }
    room.metrics.ticks.inc();
    let ended = host.now();
    host.metrics.observe_publication(ended.saturating_sub(stepped));
    host.metrics.observe_tick(ended.saturating_sub(began));
}

/// Records the best score of a room's players. Bots and players of private rooms do not count.
fn note_scores(host: &ServerState, room: &Arc<RunningRoom>, ticked: &dyn DynTick) {
    if room.is_private() {
        return;
    }
    let min = host.data().best_of_day(room.game()).map_or(0, |best| best.score);
    let is_bot = |player| match room.handle.seat(player) {
        Some(Seat::Connected(client)) => {
            host.clients.get(client).is_some_and(|client| client.transport.is_bot())
        }
        _ => false,
    };
    let better = ticked.scores().into_iter().filter(|(.., score)| *score > min);
    let best = better.filter(|(player, ..)| !is_bot(*player)).max_by_key(|(.., score)| *score);
    if let Some((_, name, score)) = best {
        host.data().note_score(room.game(), &name, score);
    }
}

/// Logs a property that the game has set against the rules.
fn log_properties(host: &ServerState, room: &RunningRoom) {
    let properties = room.handle.properties.get();
    if let Some(rule) = properties.misfit()
        && host.misfits.is_due("room properties", host.now()).is_some()
    {
        warn!(room = room.label(), rule, "the game left out a property of the room");
    }
}

fn record_schedule(room: &RunningRoom, due: &NextTick) {
    if due.skipped > 0 {
        room.metrics.skipped_ticks.inc_by(due.skipped);
        warn!(
            room = room.label(),
            tick = room.handle.tick(),
            periods = due.skipped,
            "the world fell behind and skipped ticks"
        );
    } else if due.is_late {
        room.metrics.late_ticks.inc();
    }
}

/// Publishes the tick to the tap. A tick that does not fit a command frame is reported as lost.
fn publish_to_tap(host: &ServerState, room: &RunningRoom, began: Duration, ticked: &TickResult) {
    let run = room.run();
    let tick_meta = (&run, began, ticked.tick);
    if let (Some(frame), Some(checksum)) = (&ticked.frame, ticked.checksum) {
        let frame = (Arc::clone(frame), ticked.membership_changes.clone());
        host.tap.record_tick(tick_meta, checksum, frame, ticked.snapshot.clone());
    } else {
        warn!(room = room.label(), tick = ticked.tick, "a tick is missing from the captures");
        host.tap.record_lost_tick(tick_meta);
    }
}

fn record_tick(host: &ServerState, room: &RunningRoom, ticked: &TickResult) {
    for (player, rejection) in &ticked.rejected {
        let (reason, tick) = (*rejection, room.handle.tick());
        Metrics::count(&host.metrics.rejected_commands, "reason", reason);
        debug!(room = room.label(), tick, player = player.0, reason, "command rejected");
    }
}

/// Logs the status line of a room with clients: the room's metrics, then the server's.
fn log_status(host: &ServerState, room: &RunningRoom) {
    let (metrics, room_metrics) = (&host.metrics, &room.metrics);
    if room_metrics.clients.get() == 0 {
        return;
    }
    info!(
        room = room.label(),
        tick = room.handle.tick(),
        clients = room_metrics.clients.get(),
        players = room.players(),
        late = room_metrics.late_ticks.get(),
        skipped = room_metrics.skipped_ticks.get(),
        merged = room_metrics.merged_ticks.get(),
        sent_bytes = metrics.sent_bytes(),
        client_updates = metrics.client_updates.get(),
        update_sends = metrics.update_sends.get(),
        updates_deferred = metrics.updates_deferred.get(),
        "status"
    );
}
