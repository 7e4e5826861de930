//! The rooms of a server: which there are, who is in them, and when their threads may sleep.
//!
//! A room has a name, and one or more *runs*: a room that panicked begins anew, with another epoch
//! and world. A [`RunningRoom`] is one run; its clients stay with it until they are closed. The room's
//! thread sleeps while no client is in the room and no tick is due; absent players do not keep it
//! awake. Code that brings something wakes it with [`RunningRoom::rouse`].
//!
//! ```text
//!  begin_making ─► the name is taken, nobody waits for a lock ─► finish: listed, its maker is in
//!  listed ─► enter, enter, … ─► everybody has left ─► end: not listed any more, which frees the name
//! ```
//!
//! Clients are counted in under the lock of the list, under which a room on demand is also taken off
//! it: no client enters a room that has ended.

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
    /// Unique among the runs of all rooms.
    pub number: u64,
    /// The half of the room that other threads use.
    pub handle: Arc<RoomHandle>,
    /// The room's metrics, the same in all of its runs.
    pub metrics: RoomMetrics,
    /// The name in its paths: for a private room not that of the handle, which everybody may see.
    pub path_name: Arc<str>,
    /// The address that made it on demand.
    created_by: Option<AddressPrefix>,
    is_ending: AtomicBool,
    /// It was taken off the list.
    has_ended: AtomicBool,
    max_clients: usize,
    clients: AtomicUsize,
    /// Players after the last tick.
    players: AtomicUsize,
    /// Somebody has brought something since the thread slept last.
    is_wake_requested: Mutex<bool>,
    rung: Condvar,
    is_asleep: AtomicBool,
    /// What of lockstep the metrics have.
    lockstep: Mutex<LockstepCounts>,
    /// When the last tick began, in milliseconds of the host's clock.
    ticked_ms: AtomicU64,
}

impl RunningRoom {
    /// `path_name` and `made_by` as their fields.
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

    /// The name of the game that is played in it.
    pub fn game(&self) -> &'static str {
        self.handle.about.name
    }

    /// The room's name, empty for the default room; of a private room, what logs call it.
    pub fn name(&self) -> &str {
        &self.handle.options.name
    }

    /// The run as the tap lists it.
    pub fn run(&self) -> Run {
        Run { room: Arc::clone(&self.handle.options.name), number: self.number }
    }

    /// The name in sentences.
    pub fn title(&self) -> String {
        if self.name().is_empty() { "the default room".to_owned() } else { format!("room {}", self.name()) }
    }

    /// The name for the log, which leaves out that of the default room.
    pub fn label(&self) -> Option<&str> {
        Some(self.name()).filter(|name| !name.is_empty())
    }

    /// Whether a path has made it, so that it ends when it has been empty for long enough.
    pub fn is_on_demand(&self) -> bool {
        self.created_by.is_some()
    }

    /// Whether no list shows the room.
    pub fn is_private(&self) -> bool {
        self.is_on_demand() && routes::is_private(&self.path_name)
    }

    /// Lets the room end with its present tick.
    pub fn request_end(&self) {
        self.is_ending.store(true, Ordering::Release);
        self.wake();
    }

    /// Whether the room ends, or has ended, because nobody needs it or the operator wants it so.
    pub fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Whether nobody is in the room, and no seat waits for its player.
    pub fn is_empty(&self) -> bool {
        self.clients() == 0 && self.has_no_seat()
    }

    /// Whether no seat is taken, by a client or for an absent player.
    pub fn has_no_seat(&self) -> bool {
        let ([taken, ..], _) = self.handle.seat_counts_and_queue();
        taken == 0
    }

    /// Overwrites a private room's name in bytes that others may see.
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

    /// Counts a client in, unless the room is full.
    fn enter(self: &Arc<RunningRoom>) -> Option<RoomPermit> {
        let more = |count: usize| (count < self.max_clients).then_some(count + 1);
        self.clients.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(RoomPermit { room: Arc::clone(self) })
    }

    /// Clients in the room, those that only watch included.
    pub fn clients(&self) -> usize {
        self.clients.load(Ordering::Acquire)
    }

    /// Players in the world after the last tick.
    pub fn players(&self) -> usize {
        self.players.load(Ordering::Relaxed)
    }

    /// Wakes the room's thread: a client has come, or something waits for a tick.
    pub fn wake(&self) {
        *self.is_wake_requested.lock() = true;
        self.rung.notify_one();
    }

    /// Sleeps until `until` at most, while no client is in the room and no tick is due: until the first
    /// absent player leaves, at this time of the host's clock (`now`). Does not sleep if the room must stop.
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
            // `None` for a time that no clock reaches.
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

    /// Whether the room does not tick because nobody is there.
    pub fn is_asleep(&self) -> bool {
        self.is_asleep.load(Ordering::Acquire)
    }

    /// Waits until this time, or until something rouses the room.
    pub fn sleep_until(&self, deadline: Instant) {
        let mut roused = self.is_wake_requested.lock();
        if !*roused {
            let _ = self.rung.wait_until(&mut roused, deadline);
        }
        *roused = false;
    }

    /// A tick begins now.
    pub fn on_tick_start(&self, now: Duration) {
        self.ticked_ms.store(now.as_millis() as u64, Ordering::Relaxed);
        self.is_asleep.store(false, Ordering::Release);
    }

    /// A tick has left this many players in the world.
    pub fn set_players(&self, players: usize) {
        self.players.store(players, Ordering::Relaxed);
        self.metrics.players.set(players as i64);
        self.count_lockstep();
    }

    /// Brings the metrics of lockstep up to date.
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

    /// Why the room does not serve its clients, if so: in words that follow its title.
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

/// A client's place in a room; given back when dropped.
#[derive(Debug)]
pub struct RoomPermit {
    room: Arc<RunningRoom>,
}

impl Drop for RoomPermit {
    fn drop(&mut self) {
        self.room.clients.fetch_sub(1, Ordering::AcqRel);
    }
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Rooms {
    listed: Mutex<RoomList>,
    /// A room that was being made is listed now, or will not be.
    made: Condvar,
    next_number: AtomicU64,
}

#[derive(Debug, Default)]
struct RoomList {
    /// The present run of each room, by its name in paths; the default room's name is empty.
    present: BTreeMap<Arc<str>, Arc<RunningRoom>>,
    /// The rooms that are being made, and by whom.
    reserved: BTreeMap<Arc<str>, AddressPrefix>,
}

/// How many rooms on demand there may be.
#[derive(Debug, Clone, Copy)]
pub struct RoomLimits {
    /// In all.
    pub rooms: usize,
    /// Of one address; `None` if one address may have all.
    pub of_address: Option<usize>,
}

/// Why no room is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateRoomError {
    /// There are as many as there may be.
    Full,
    /// The address has as many as it may have: its maximum, or as many as are left for others.
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

/// A room that is being made: its name is taken until this is dropped.
#[derive(Debug)]
pub struct RoomReservation<'a> {
    rooms: &'a Rooms,
    name: Arc<str>,
    by: AddressPrefix,
    number: u64,
}

impl RoomReservation<'_> {
    /// What everybody may call the room.
    pub fn public_name(&self) -> Arc<str> {
        match routes::is_private(&self.name) {
            true => routes::public_alias(&self.name, self.number).into(),
            false => Arc::clone(&self.name),
        }
    }

    /// The run of the room, which is not listed yet, with its maker in it.
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

    /// Lists the room: others may enter.
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

    /// Lists a run of a room in place of the one before it, and returns it.
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

    /// Whether an address may make another room on demand.
    ///
    /// # Errors
    /// The reason if it may not.
    pub fn may_make(&self, by: AddressPrefix, most: RoomLimits) -> Result<(), CreateRoomError> {
        self.listed.lock().check_create(by, most)
    }

    /// Begins to make the room of this name; `None` if it is there. If another client is making it,
    /// waits until it is there.
    ///
    /// # Errors
    /// The reason if the address may make no other room.
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

    /// Takes a room off the list, so that nobody enters it any more and its name is free: one that is
    /// ending, or that is empty and has nothing to do. Returns whether it did.
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
        // Under the lock: a room that begins with this name does so behind this.
        tap.remove_room(&room.run());
        metrics.forget_room(room.name());
        let is_present = listed.present.get(&room.path_name).is_some_and(|other| Arc::ptr_eq(other, room));
        if is_present {
            listed.present.remove(&room.path_name);
        }
        true
    }

    /// The room of this name, and a client's place in it unless it is full.
    pub fn enter(&self, name: &str) -> Option<(Arc<RunningRoom>, Option<RoomPermit>)> {
        let listed = self.listed.lock();
        let hosted = listed.present.get(name)?;
        Some((Arc::clone(hosted), hosted.enter()))
    }

    /// The room of this name.
    pub fn find(&self, name: &str) -> Option<Arc<RunningRoom>> {
        self.listed.lock().present.get(name).map(Arc::clone)
    }

    /// All rooms by name, the default room first.
    pub fn all(&self) -> Vec<Arc<RunningRoom>> {
        self.listed.lock().present.values().map(Arc::clone).collect()
    }

    /// Wakes the threads of all rooms.
    pub fn wake_all(&self) {
        self.all().iter().for_each(|room| room.wake());
    }
}
