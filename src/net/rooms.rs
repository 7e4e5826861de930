//! The rooms of a server: which there are, who is in them, and when their threads may sleep.
//!
//! A room has a name for as long as the server runs, and one or more *runs*: a room that panicked
//! begins anew, with another epoch and world. A [`Hosted`] is one run; its clients stay with it until
//! they are closed. The room's thread sleeps while nobody is in the room and nothing waits for it;
//! whoever brings something wakes it with [`Hosted::rouse`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::metrics::{Figures, Metrics};
use crate::limits;
use crate::room::Handle;
use crate::sync::{Condvar, Mutex};

/// One run of a room.
#[derive(Debug)]
pub struct Hosted {
    /// Unique among the runs of all rooms.
    pub number: u64,
    /// The half of the room that other threads use.
    pub handle: Arc<Handle>,
    /// The room's metrics, the same in all of its runs.
    pub figures: Figures,
    most_clients: usize,
    clients: AtomicUsize,
    /// Players after the last tick.
    players: AtomicUsize,
    /// Somebody has brought something since the thread slept last.
    roused: Mutex<bool>,
    rung: Condvar,
    is_asleep: AtomicBool,
    /// When the last tick began, in milliseconds of the host's clock.
    ticked_ms: AtomicU64,
}

impl Hosted {
    /// The room's name, empty for the default room.
    pub fn name(&self) -> &str {
        &self.handle.options.name
    }

    /// The name in sentences.
    pub fn title(&self) -> String {
        if self.name().is_empty() { "the default room".to_owned() } else { format!("room {}", self.name()) }
    }

    /// The name for the log, which leaves out that of the default room.
    pub fn label(&self) -> Option<&str> {
        Some(self.name()).filter(|name| !name.is_empty())
    }

    /// Counts a client in, unless the room is full.
    pub fn enter(self: &Arc<Hosted>) -> Option<Presence> {
        let more = |count: usize| (count < self.most_clients).then_some(count + 1);
        self.clients.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok()?;
        Some(Presence { room: Arc::clone(self) })
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
    pub fn rouse(&self) {
        *self.roused.lock() = true;
        self.rung.notify_one();
    }

    /// Sleeps while nobody is in the room and nothing waits for a tick, unless the room must stop.
    /// Returns whether it slept.
    pub fn sleep(&self, must_stop: impl Fn() -> bool) -> bool {
        let mut roused = self.roused.lock();
        let is_idle = || self.clients() == 0 && self.handle.is_idle() && !must_stop();
        let may_sleep = |roused: bool| !roused && is_idle();
        let sleeps = may_sleep(*roused);
        if sleeps {
            self.is_asleep.store(true, Ordering::Relaxed);
            while may_sleep(*roused) {
                self.rung.wait(&mut roused);
            }
        }
        *roused = false;
        sleeps
    }

    /// Whether the room does not tick because nobody is there.
    pub fn is_asleep(&self) -> bool {
        self.is_asleep.load(Ordering::Acquire)
    }

    /// Waits until this time, or until somebody rouses the room.
    pub fn rest_until(&self, deadline: Instant) {
        let mut roused = self.roused.lock();
        if !*roused {
            let _ = self.rung.wait_until(&mut roused, deadline);
        }
        *roused = false;
    }

    /// A tick begins now.
    pub fn begins_tick(&self, now: Duration) {
        self.ticked_ms.store(now.as_millis() as u64, Ordering::Relaxed);
        self.is_asleep.store(false, Ordering::Release);
    }

    /// A tick has left this many players in the world.
    pub fn has_players(&self, players: usize) {
        self.players.store(players, Ordering::Relaxed);
        self.figures.players.set(players as i64);
    }

    /// Why the room does not serve its clients, if so: in words that follow its title.
    pub fn ails(&self, now: Duration) -> Option<String> {
        if self.handle.is_over() {
            return Some("has ended by a panic and begins anew soon".to_owned());
        }
        let is_awake = !self.is_asleep();
        let silence = now.saturating_sub(Duration::from_millis(self.ticked_ms.load(Ordering::Relaxed)));
        let is_late = is_awake && silence > limits::HEARTBEAT;
        is_late.then(|| format!("has not ticked for {} s", silence.as_secs()))
    }
}

/// A client's place in a room; given back when dropped.
#[derive(Debug)]
pub struct Presence {
    room: Arc<Hosted>,
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.room.clients.fetch_sub(1, Ordering::AcqRel);
    }
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Rooms {
    /// The present run of each room, by name; the default room's name is empty.
    present: Mutex<BTreeMap<Arc<str>, Arc<Hosted>>>,
    next_number: AtomicU64,
}

impl Rooms {
    /// Lists a run of a room, in place of the one before it, and returns it.
    pub fn begin(&self, handle: Arc<Handle>, metrics: &Metrics, now: Duration) -> Arc<Hosted> {
        let name = Arc::clone(&handle.options.name);
        let hosted = Arc::new(Hosted {
            number: self.next_number.fetch_add(1, Ordering::Relaxed),
            figures: metrics.of_room(&name),
            most_clients: handle.options.max_clients,
            handle,
            clients: AtomicUsize::new(0),
            players: AtomicUsize::new(0),
            roused: Mutex::new(false),
            rung: Condvar::default(),
            is_asleep: AtomicBool::new(false),
            ticked_ms: AtomicU64::new(now.as_millis() as u64),
        });
        self.present.lock().insert(name, Arc::clone(&hosted));
        hosted
    }

    /// The room of this name.
    pub fn find(&self, name: &str) -> Option<Arc<Hosted>> {
        self.present.lock().get(name).map(Arc::clone)
    }

    /// All rooms by name, the default room first.
    pub fn all(&self) -> Vec<Arc<Hosted>> {
        self.present.lock().values().map(Arc::clone).collect()
    }

    /// The number of rooms.
    pub fn count(&self) -> usize {
        self.present.lock().len()
    }

    /// Wakes the threads of all rooms.
    pub fn rouse_all(&self) {
        self.all().iter().for_each(|room| room.rouse());
    }
}
