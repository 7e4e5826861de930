//! The journals of a server's rooms (`--journal`): files, the writer thread, and recovery at start.
//!
//! ```text
//!  room thread ─ tick ─► queue (bounded) ─► writer thread ─ append, sync ─► DIR/ROOM/….segment
//!       ▲                                        │
//!       └─────── ticket of the last durable tick ┘  acks are held until then
//! ```
//!
//! [`crate::server::journal`] has the format. A room thread never waits: it queues each tick, and
//! with [`Durability::Tick`] it holds the acks of a tick until the writer has synced it. One sync
//! covers all ticks that are queued meanwhile, and the rooms are synced in several threads. After
//! an error, nothing more is written.
//!
//! A room on demand is recovered when a client requests it: see [`rooms_on_demand`]. In a cluster,
//! the writer confirms a sync only if the process still has the room after it.

mod file_storage;
mod place;
mod queue;
#[cfg_attr(not(feature = "cluster"), path = "no_redis_storage.rs")]
mod redis_storage;
mod room_journal;
mod room_writer;
mod rooms_on_demand;
mod start;
mod writer_thread;

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime};

pub use place::{JournalPlace, RoomStorage};
pub use room_journal::RoomJournal;
pub use start::RecoveringJournals;
use tracing::error;
pub use writer_thread::run;

use self::queue::{JournalEnd, JournalQueue};
use crate::limits;
use crate::server::cluster::LeaseGuard;
use crate::server::journal::{Retention, WorldIdentity};
use crate::util::sync::{Condvar, Mutex};

/// When the records of a tick are durable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// Before the acks of the tick's commands are sent.
    Tick,
    /// At most a second later. A power failure can lose a second, the end of the process nothing.
    #[default]
    Second,
    /// When the system decides. The end of the process loses nothing.
    None,
}

/// The effect of an error of the journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnJournalError {
    /// The server stops.
    #[default]
    Stop,
    /// The server continues without a journal.
    Continue,
}

/// The reaction of a starting server to a journal that cannot be recovered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnRefusedJournal {
    /// The server does not start.
    #[default]
    Stop,
    /// The journal is set aside, and the room begins with a new world.
    NewWorld,
}

/// The settings of the journals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalSettings {
    /// When records are durable.
    pub durability: Durability,
    /// The effect of an error.
    pub on_error: OnJournalError,
    /// The reaction to a journal that cannot be recovered.
    pub on_refused: OnRefusedJournal,
    /// Maximum bytes of a room's files, except those that a recovery needs; `None` selects the
    /// default for the place.
    pub retained_bytes: Option<u64>,
    /// Maximum age of a room's files, with the same exception; `None` for the default.
    pub retained_age: Option<Duration>,
    /// Whether the processes of a cluster share the place. Then only rooms on demand, which
    /// have leases, have a journal.
    pub is_shared: bool,
}

/// A room with a journal.
#[derive(Debug, Clone)]
struct JournaledRoom {
    /// The number of the room, unique in this run of the server.
    number: usize,
    /// The lease of the room, in a cluster.
    guard: Option<Arc<LeaseGuard>>,
    /// The ticket up to which acks may be sent: the records were synced, and the process still had
    /// the room after the sync. The maximum outside a cluster.
    confirmed: Arc<AtomicU64>,
    /// Whether the journal must begin again with a snapshot: the storage has lost files.
    wants_snapshot: Arc<AtomicBool>,
}

impl JournaledRoom {
    fn new(number: usize, guard: Option<Arc<LeaseGuard>>) -> JournaledRoom {
        let confirmed = Arc::new(AtomicU64::new(if guard.is_some() { 0 } else { u64::MAX }));
        JournaledRoom { number, guard, confirmed, wants_snapshot: Arc::default() }
    }
}

/// A journal whose room has been recovered, and that waits for the room's first tick.
#[derive(Debug)]
struct OpenJournal {
    room: JournaledRoom,
    storage: RoomStorage,
    identity: WorldIdentity,
    next_sequence: u64,
    last_run: u32,
    fence: u64,
}

/// The journals of a running server.
#[derive(Debug)]
pub struct RoomJournals {
    settings: JournalSettings,
    place: JournalPlace,
    queue: JournalQueue,
    /// The rooms, by their names in paths.
    rooms: Mutex<BTreeMap<String, JournaledRoom>>,
    /// Signaled when a room has been removed.
    room_ended: Condvar,
    next_number: AtomicUsize,
    /// The journals, until the writer thread takes them.
    open: Mutex<Vec<OpenJournal>>,
    /// The first error.
    error: Mutex<Option<String>>,
    /// The lock of the directory, held until the writer thread ends.
    lock: Mutex<Option<File>>,
}

impl RoomJournals {
    /// Returns a room by its name in paths, if it has a journal.
    fn find(&self, path_name: &str) -> Option<JournaledRoom> {
        self.rooms.lock().get(path_name).cloned()
    }

    /// Ends the journal of a room, and waits until its files are no longer used. Removes the files
    /// if the world has ended.
    pub fn end_room(&self, path_name: &str, removes: bool) {
        let Some(room) = self.find(path_name) else { return };
        let (done, is_done) = mpsc::channel();
        if self.queue.push_end(JournalEnd { room: room.number, removes, done }).is_some() {
            let _ = is_done.recv_timeout(limits::JOURNAL_END_TIMEOUT);
        }
        self.rooms.lock().remove(path_name);
        self.room_ended.notify_all();
    }

    /// Waits until an earlier room of this name no longer uses its files. Returns whether it has
    /// ended.
    fn wait_for_end(&self, path_name: &str) -> bool {
        let deadline = Instant::now() + limits::JOURNAL_END_TIMEOUT;
        let mut rooms = self.rooms.lock();
        while rooms.contains_key(path_name) {
            if self.room_ended.wait_until(&mut rooms, deadline).timed_out() {
                return false;
            }
        }
        true
    }

    /// Ends the journals because of an error.
    fn fail(&self, reason: &str) {
        if self.queue.fail() {
            let effect = match self.settings.on_error {
                OnJournalError::Stop => "the server stops",
                OnJournalError::Continue => "the server continues without a journal",
            };
            error!("the journal has failed: {reason}; {effect}");
            self.place.give_up_after(Duration::ZERO);
            *self.error.lock() = Some(reason.to_owned());
        }
    }

    /// The files that a room retains besides those needed for a recovery.
    fn retention(&self) -> Retention {
        let age = self.settings.retained_age.unwrap_or(limits::JOURNAL_RETAINED_AGE);
        let bytes = self.settings.retained_bytes.unwrap_or_else(|| self.place.default_retained_bytes());
        Retention { bytes, age_ms: u64::try_from(age.as_millis()).unwrap_or(u64::MAX) }
    }

    /// Makes the writer thread end after the queued ticks.
    pub fn close(&self) {
        self.queue.close();
        self.place.give_up_after(limits::JOURNAL_STORE_STOP_TIMEOUT);
    }

    /// Returns the error that stops the server.
    pub fn stop_error(&self) -> Option<String> {
        let error = self.error.lock();
        error.clone().filter(|_| self.settings.on_error == OnJournalError::Stop)
    }
}

/// The time in milliseconds since 1970.
fn now_ms() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().unwrap_or(Duration::ZERO).as_millis() as u64
}
