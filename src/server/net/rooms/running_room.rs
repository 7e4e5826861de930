//! One run of a room: its clients, its metrics, and the sleep of its thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tracing::{info, warn};

use crate::game::RoomConditions;
use crate::limits;
use crate::packet::routes;
use crate::server::net::metrics::{Metrics, RoomMetrics};
use crate::server::net::tap::Run;
use crate::server::room::RoomHandle;
use crate::server::room::lockstep::LockstepCounts;
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::{Condvar, Mutex};

/// One run of a room.
#[derive(Debug)]
pub struct RunningRoom {
    /// Number of the run, unique among the runs of all rooms.
    pub number: u64,
    /// The part of the room that other threads use.
    pub handle: Arc<RoomHandle>,
    /// The room's metrics, shared by all of its runs.
    pub metrics: RoomMetrics,
    /// The room's name in paths. For a private room it differs from the handle's name, which is
    /// public.
    pub path_name: Arc<str>,
    /// Address prefix of the client that requested the room; `None` if it is not on demand.
    pub(super) created_by: Option<AddressPrefix>,
    pub(super) is_ending: AtomicBool,
    /// Whether the room was removed from the list.
    pub(super) has_ended: AtomicBool,
    max_clients: usize,
    clients: AtomicUsize,
    /// Players in the world after the last tick.
    players: AtomicUsize,
    /// Whether `wake` was called since the thread last slept.
    is_wake_requested: Mutex<bool>,
    rung: Condvar,
    is_asleep: AtomicBool,
    /// The lockstep counts already added to the metrics.
    lockstep: Mutex<LockstepCounts>,
    /// Start of the last tick, in milliseconds on the server's clock.
    ticked_ms: AtomicU64,
}

impl RunningRoom {
    /// Creates a run that is not listed yet. `path_name` and `created_by` are as in the fields.
    pub(super) fn new(
        number: u64,
        (path_name, created_by): (Arc<str>, Option<AddressPrefix>),
        handle: Arc<RoomHandle>,
        metrics: &Metrics,
        now: Duration,
    ) -> RunningRoom {
        RunningRoom {
            number,
            metrics: metrics.for_room(&handle.options.name),
            path_name,
            created_by,
            lockstep: Mutex::default(),
            is_ending: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
            max_clients: handle.options.max_clients,
            handle,
            clients: AtomicUsize::new(0),
            players: AtomicUsize::new(0),
            is_wake_requested: Mutex::new(false),
            rung: Condvar::default(),
            is_asleep: AtomicBool::new(false),
            ticked_ms: AtomicU64::new(now.as_millis() as u64),
        }
    }

    /// Returns the name of the room's game.
    pub fn game(&self) -> &'static str {
        self.handle.game.name
    }

    /// Returns the room's public name: empty for the default room, an alias for a private room.
    pub fn name(&self) -> &str {
        &self.handle.options.name
    }

    /// Returns the run's identity at the tap.
    pub fn run(&self) -> Run {
        Run { room: Arc::clone(&self.handle.options.name), number: self.number }
    }

    /// Returns the name as text for sentences.
    pub fn title(&self) -> String {
        if self.name().is_empty() { "the default room".to_owned() } else { format!("room {}", self.name()) }
    }

    /// Returns the name for log fields; `None` for the default room.
    pub fn label(&self) -> Option<&str> {
        Some(self.name()).filter(|name| !name.is_empty())
    }

    /// Whether the room was created by an upgrade request. Such a room ends once it has been empty
    /// for a while.
    pub fn is_on_demand(&self) -> bool {
        self.created_by.is_some()
    }

    /// Whether the room is omitted from lists.
    pub fn is_private(&self) -> bool {
        self.is_on_demand() && routes::is_private(&self.path_name)
    }

    /// Makes the room end after its current tick.
    pub fn request_end(&self) {
        self.is_ending.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether the room is ending or has ended, by an operator command or because it was unused.
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Whether the room has no client and no seat is taken.
    pub fn is_empty(&self) -> bool {
        self.clients() == 0 && self.taken_seats() == 0
    }

    /// Returns the number of seats of clients, bots and suspended players.
    pub fn taken_seats(&self) -> usize {
        let ([taken, ..], _) = self.handle.seat_counts_and_queue();
        taken
    }

    /// Overwrites the path name of a private room in bytes that others may see.
    pub fn redact_name(&self, bytes: &mut [u8]) {
        let (secret, visible) = (self.path_name.as_bytes(), self.name().as_bytes());
        if self.is_private() {
            let last = (bytes.len() + 1).saturating_sub(secret.len());
            for at in 0..last {
                if bytes[at..].starts_with(secret) {
                    bytes[at..at + secret.len()].copy_from_slice(visible);
                }
            }
        }
    }

    /// Adds a client. Returns `None` if the room is full.
    pub(super) fn enter(self: &Arc<RunningRoom>) -> Option<RoomPermit> {
        let more = |count: usize| (count < self.max_clients).then_some(count + 1);
        self.clients.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(RoomPermit { room: Arc::clone(self) })
    }

    /// Returns whether a client that wants any room of this game may enter: the room is public,
    /// runs, meets the conditions, and is not full by its property `max_players`.
    pub(super) fn is_open_to(&self, game: &str, wanted: &RoomConditions) -> bool {
        if self.game() != game || self.is_private() || self.is_ending() || self.handle.is_over() {
            return false;
        }
        let properties = self.handle.properties.get();
        wanted.fit(&properties) && properties.max_players().is_none_or(|max| self.occupied() < max)
    }

    /// Returns whether a client that wants any room finds a place: the room runs, has a free client
    /// slot, and is not full by its property `max_players`.
    pub fn has_free_place(&self) -> bool {
        self.is_open_to(self.game(), &RoomConditions::default()) && self.clients() < self.max_clients
    }

    /// Returns the number of clients and suspended players.
    pub fn occupied(&self) -> usize {
        self.clients() + self.handle.suspended_seats()
    }

    /// Returns the number of clients in the room, spectators included. Bots of the server are not
    /// counted, so a room is never full of them.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Acquire)
    }

    /// Returns the number of players in the world after the last tick, bots included.
    pub fn players(&self) -> usize {
        self.players.load(Ordering::Relaxed)
    }

    /// Wakes the room's thread, because a client has entered or left, updates of a client start, or
    /// something is queued for a tick.
    pub fn wake(&self) {
        *self.is_wake_requested.lock() = true;
        self.rung.notify_one();
    }

    /// Sleeps while the room has no viewer, no tick is due and the room need not stop. Wakes at
    /// `until`, and when the first suspended seat expires. `now` returns the server's time. Returns
    /// whether the thread slept.
    pub fn sleep(
        &self,
        must_stop: impl Fn() -> bool,
        until: Option<Instant>,
        now: impl Fn() -> Duration,
    ) -> bool {
        let mut roused = self.is_wake_requested.lock();
        let idle_until = |roused: bool| {
            let may_sleep = !roused && self.handle.viewers() == 0 && !must_stop();
            may_sleep.then(|| self.handle.idle_until()).flatten()
        };
        let mut sleeps = false;
        while let Some(idle_until) = idle_until(*roused) {
            if !sleeps {
                self.count_lockstep();
                self.is_asleep.store(true, Ordering::Relaxed);
            }
            sleeps = true;
            // `None` if no suspended seat expires.
            let due = Instant::now().checked_add(idle_until.saturating_sub(now()));
            let due = due.filter(|_| idle_until < Duration::MAX);
            let is_late = match due.into_iter().chain(until).min() {
                Some(until) => self.rung.wait_until(&mut roused, until).timed_out(),
                None => {
                    self.rung.wait(&mut roused);
                    false
                }
            };
            if is_late {
                break;
            }
        }
        *roused = false;
        sleeps
    }

    /// Whether the room's thread sleeps because it has no viewer.
    pub fn is_asleep(&self) -> bool {
        self.is_asleep.load(Ordering::Acquire)
    }

    /// Waits until this time, or until `wake` is called.
    pub fn sleep_until(&self, deadline: Instant) {
        let mut roused = self.is_wake_requested.lock();
        if !*roused {
            let _ = self.rung.wait_until(&mut roused, deadline);
        }
        *roused = false;
    }

    /// Records the start of a tick.
    pub fn on_tick_start(&self, now: Duration) {
        self.ticked_ms.store(now.as_millis() as u64, Ordering::Relaxed);
        self.is_asleep.store(false, Ordering::Release);
    }

    /// Records the number of players in the world after a tick.
    pub fn set_players(&self, players: usize) {
        self.players.store(players, Ordering::Relaxed);
        self.metrics.players.set(players as i64);
        self.count_lockstep();
    }

    /// Updates the lockstep metrics.
    fn count_lockstep(&self) {
        let counts = self.handle.lockstep.counts();
        let mut before = self.lockstep.lock();
        if counts != *before {
            let RoomMetrics { lockstep_clients, snapshots, checksums, desyncs, .. } = &self.metrics;
            lockstep_clients.set(counts.followers as i64);
            snapshots.inc_by(counts.syncs - before.syncs);
            checksums.inc_by(counts.checksums - before.checksums);
            desyncs.inc_by(counts.desyncs - before.desyncs);
            if counts.desyncs > before.desyncs {
                let (tick, clients) = (self.handle.tick(), counts.desyncs - before.desyncs);
                info!(
                    room = self.label(),
                    tick, clients, "worlds of clients in lockstep differ from the room's"
                );
            }
            if counts.too_large > before.too_large {
                warn!(
                    room = self.label(),
                    most_bytes = limits::SNAPSHOT_MOST_BYTES,
                    "a snapshot of the world is too large to be sent, so no client can follow in lockstep"
                );
            }
            *before = counts;
        }
    }

    /// Returns why the room does not serve its clients, as text to append to its title. `None` if
    /// the room serves them.
    pub fn health_problem(&self, now: Duration) -> Option<String> {
        if self.handle.is_over() {
            return Some("has ended by a panic and begins anew soon".to_owned());
        }
        let is_awake = !self.is_asleep();
        let silence = now.saturating_sub(Duration::from_millis(self.ticked_ms.load(Ordering::Relaxed)));
        let is_late = is_awake && silence > limits::TICK_WATCHDOG_TIME;
        is_late.then(|| format!("has not ticked for {} s", silence.as_secs()))
    }
}

/// A client's slot in a room, released on drop.
#[derive(Debug)]
pub struct RoomPermit {
    room: Arc<RunningRoom>,
}

impl Drop for RoomPermit {
    fn drop(&mut self) {
        self.room.clients.fetch_sub(1, Ordering::AcqRel);
        self.room.wake();
    }
}
