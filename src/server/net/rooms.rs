//! The running rooms of a server: their list, their clients, and when their threads sleep.
//!
//! A room has a name and one or more *runs*: after a panic it restarts with another epoch and
//! world. A [`RunningRoom`] is one run; its clients stay with it until they are closed. The room's
//! thread sleeps while no client is in the room and no tick is due; suspended seats do not keep it
//! awake. Code that queues something for the room wakes it with [`RunningRoom::wake`].
//!
//! ```text
//!  begin_making ─► name reserved, lock released ─► finish: listed, the requesting client is in it
//!  listed ─► enter, enter, … ─► all clients have left ─► end: removed from the list, name is free
//! ```
//!
//! Clients are added under the lock of the list, and rooms on demand are removed from the list
//! under the same lock. So no client enters a room that has ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tracing::{info, warn};

use super::metrics::{Metrics, RoomMetrics};
use super::tap::{Run, Tap};
use crate::limits;
use crate::packet::routes;
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
    /// The name in its paths. For a private room it differs from the handle's name, which is
    /// public.
    pub path_name: Arc<str>,
    /// Address prefix of the client that requested the room; `None` if it is not on demand.
    created_by: Option<AddressPrefix>,
    is_ending: AtomicBool,
    /// Whether the room was removed from the list.
    has_ended: AtomicBool,
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
    fn new(
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
        self.handle.about.name
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

    /// Whether the room is ending or has ended. The cause is an operator command, or that the room
    /// was unused.
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Whether the room has no client and no seat is taken.
    pub fn is_empty(&self) -> bool {
        self.clients() == 0 && self.has_no_seat()
    }

    /// Whether no seat is taken, neither by a client nor by a suspended player.
    pub fn has_no_seat(&self) -> bool {
        let ([taken, ..], _) = self.handle.seat_counts_and_queue();
        taken == 0
    }

    /// Overwrites the path name of a private room in bytes that others may see.
    pub fn redact_name(&self, bytes: &mut [u8]) {
        let (secret, shown) = (self.path_name.as_bytes(), self.name().as_bytes());
        if self.is_private() {
            let last = (bytes.len() + 1).saturating_sub(secret.len());
            for at in 0..last {
                if bytes[at..].starts_with(secret) {
                    bytes[at..at + secret.len()].copy_from_slice(shown);
                }
            }
        }
    }

    /// Adds a client. Returns `None` if the room is full.
    fn enter(self: &Arc<RunningRoom>) -> Option<RoomPermit> {
        let more = |count: usize| (count < self.max_clients).then_some(count + 1);
        self.clients.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(RoomPermit { room: Arc::clone(self) })
    }

    /// Returns the number of clients in the room, spectators included.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Acquire)
    }

    /// Returns the number of players in the world after the last tick.
    pub fn players(&self) -> usize {
        self.players.load(Ordering::Relaxed)
    }

    /// Wakes the room's thread, because a client has entered or something is queued for a tick.
    pub fn wake(&self) {
        *self.is_wake_requested.lock() = true;
        self.rung.notify_one();
    }

    /// Sleeps while the room has no client, no tick is due and the room need not stop. Wakes at
    /// `until`, and when the first suspended seat expires. `now` returns the server's time.
    /// Returns whether it slept.
    pub fn sleep(
        &self,
        must_stop: impl Fn() -> bool,
        until: Option<Instant>,
        now: impl Fn() -> Duration,
    ) -> bool {
        let mut roused = self.is_wake_requested.lock();
        let idle_until = |roused: bool| {
            let may_sleep = !roused && self.clients() == 0 && !must_stop();
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

    /// Whether the room's thread sleeps because the room has no clients.
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
    }
}

/// The list of all rooms of a server.
#[derive(Debug, Default)]
pub struct Rooms {
    listed: Mutex<RoomList>,
    /// Signaled when a reserved room has been listed or given up.
    made: Condvar,
    next_number: AtomicU64,
}

#[derive(Debug, Default)]
struct RoomList {
    /// The current run of each room, by its name in paths. The default room's name is empty.
    present: BTreeMap<Arc<str>, Arc<RunningRoom>>,
    /// Reserved rooms, with the address prefix of the client that requested each.
    reserved: BTreeMap<Arc<str>, AddressPrefix>,
}

/// Limits on rooms on demand.
#[derive(Debug, Clone, Copy)]
pub struct RoomLimits {
    /// Maximum number in total.
    pub rooms: usize,
    /// Maximum number per address prefix; `None` for no such limit.
    pub of_address: Option<usize>,
}

/// Why a room cannot be created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateRoomError {
    /// The maximum number of rooms exists.
    Full,
    /// The address prefix has its maximum number of rooms, or at least as many rooms as the server
    /// can still create.
    AddressLimit,
}

impl RoomList {
    fn check_create(&self, by: AddressPrefix, most: RoomLimits) -> Result<(), CreateRoomError> {
        let makers = || {
            self.present.values().filter_map(|room| room.created_by).chain(self.reserved.values().copied())
        };
        let (all, own) = (makers().count(), makers().filter(|maker| *maker == by).count());
        let left = most.rooms.saturating_sub(all);
        match most.of_address {
            _ if left == 0 => Err(CreateRoomError::Full),
            Some(of_address) if own > 0 && own >= left.min(of_address) => Err(CreateRoomError::AddressLimit),
            _ => Ok(()),
        }
    }
}

/// A reserved room: its name is taken until this is dropped.
#[derive(Debug)]
pub struct RoomReservation<'a> {
    rooms: &'a Rooms,
    name: Arc<str>,
    by: AddressPrefix,
    number: u64,
}

impl RoomReservation<'_> {
    /// Returns the room's public name: an alias for a private room.
    pub fn public_name(&self) -> Arc<str> {
        match routes::is_private(&self.name) {
            true => routes::public_alias(&self.name, self.number).into(),
            false => Arc::clone(&self.name),
        }
    }

    /// Creates the run of the room, not listed yet, and a slot in it for the requesting client.
    pub fn begin(
        &self,
        handle: Arc<RoomHandle>,
        metrics: &Metrics,
        now: Duration,
    ) -> (Arc<RunningRoom>, Option<RoomPermit>) {
        let names = (Arc::clone(&self.name), Some(self.by));
        let hosted = Arc::new(RunningRoom::new(self.number, names, handle, metrics, now));
        let presence = hosted.enter();
        (hosted, presence)
    }

    /// Lists the room, so that other clients can enter.
    pub fn publish(self, hosted: &Arc<RunningRoom>) {
        self.rooms.listed.lock().present.insert(Arc::clone(&self.name), Arc::clone(hosted));
    }
}

impl Drop for RoomReservation<'_> {
    fn drop(&mut self) {
        self.rooms.listed.lock().reserved.remove(&self.name);
        self.rooms.made.notify_all();
    }
}

impl Rooms {
    /// Lists a room that is not on demand, and returns its run.
    pub fn begin(&self, handle: Arc<RoomHandle>, metrics: &Metrics, now: Duration) -> Arc<RunningRoom> {
        let names = (Arc::clone(&handle.options.name), None);
        self.list(RunningRoom::new(self.next_number(), names, handle, metrics, now))
    }

    /// Replaces a room's current run in the list by a new run, and returns the new run.
    pub fn replace(
        &self,
        room: &RunningRoom,
        handle: Arc<RoomHandle>,
        metrics: &Metrics,
        now: Duration,
    ) -> Arc<RunningRoom> {
        let names = (Arc::clone(&room.path_name), room.created_by);
        self.list(RunningRoom::new(self.next_number(), names, handle, metrics, now))
    }

    fn list(&self, hosted: RunningRoom) -> Arc<RunningRoom> {
        let hosted = Arc::new(hosted);
        self.listed.lock().present.insert(Arc::clone(&hosted.path_name), Arc::clone(&hosted));
        hosted
    }

    fn next_number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Checks whether an address prefix may create another room on demand.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn may_make(&self, by: AddressPrefix, most: RoomLimits) -> Result<(), CreateRoomError> {
        self.listed.lock().check_create(by, most)
    }

    /// Reserves the name of a new room. Returns `None` if the room exists. While another client's
    /// reservation of the name exists, waits for its end.
    ///
    /// # Errors
    /// The limit that is reached.
    pub fn reserve(
        &self,
        name: &str,
        by: AddressPrefix,
        most: RoomLimits,
    ) -> Result<Option<RoomReservation<'_>>, CreateRoomError> {
        let mut listed = self.listed.lock();
        while listed.reserved.contains_key(name) {
            self.made.wait(&mut listed);
        }
        if listed.present.contains_key(name) {
            return Ok(None);
        }
        listed.check_create(by, most)?;
        let name: Arc<str> = name.into();
        listed.reserved.insert(Arc::clone(&name), by);
        Ok(Some(RoomReservation { rooms: self, name, by, number: self.next_number() }))
    }

    /// Removes a room from the list, which frees its name. The room must be ending, or have no
    /// clients and nothing to do in its next tick. Returns whether the room has ended.
    pub fn end(&self, room: &Arc<RunningRoom>, metrics: &Metrics, tap: &Tap) -> bool {
        let mut listed = self.listed.lock();
        let is_unused = || room.clients() == 0 && room.handle.is_idle();
        if !room.is_ending() && !is_unused() {
            return false;
        }
        room.is_ending.store(true, Ordering::Release);
        if room.has_ended.swap(true, Ordering::Relaxed) {
            return true;
        }
        // Under the lock, so that the tap receives this end before the start of the next room with
        // this name.
        tap.remove_room(&room.run());
        metrics.forget_room(room.name());
        let is_present = listed.present.get(&room.path_name).is_some_and(|other| Arc::ptr_eq(other, room));
        if is_present {
            listed.present.remove(&room.path_name);
        }
        true
    }

    /// Returns the room of this name, and a slot in it unless the room is full.
    pub fn enter(&self, name: &str) -> Option<(Arc<RunningRoom>, Option<RoomPermit>)> {
        let listed = self.listed.lock();
        let hosted = listed.present.get(name)?;
        Some((Arc::clone(hosted), hosted.enter()))
    }

    /// Returns the room of this name.
    pub fn find(&self, name: &str) -> Option<Arc<RunningRoom>> {
        self.listed.lock().present.get(name).map(Arc::clone)
    }

    /// Returns all rooms ordered by name, the default room first.
    pub fn all(&self) -> Vec<Arc<RunningRoom>> {
        self.listed.lock().present.values().map(Arc::clone).collect()
    }

    /// Wakes the threads of all rooms.
    pub fn wake_all(&self) {
        self.all().iter().for_each(|room| room.wake());
    }
}
