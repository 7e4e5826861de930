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
//! covers all ticks that are queued meanwhile. After an error, nothing more is written.

mod file_storage;
mod queue;
mod room_journal;
mod start;
mod writer_thread;

use std::fs::File;
use std::time::{Duration, SystemTime};

pub use file_storage::FileStorage;
pub use room_journal::RoomJournal;
pub use start::{JournalDirectory, room_directory_name};
use tracing::error;
pub use writer_thread::run;

use self::queue::JournalQueue;
use super::rooms::RunningRoom;
use crate::server::journal::WorldIdentity;
use crate::util::sync::Mutex;

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

/// The settings of the journals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalSettings {
    /// When records are durable.
    pub durability: Durability,
    /// The effect of an error.
    pub on_error: OnJournalError,
}

/// A journal whose room has been recovered, and that waits for the room's first tick.
#[derive(Debug)]
struct OpenJournal {
    storage: FileStorage,
    identity: WorldIdentity,
    next_sequence: u64,
    last_run: u32,
}

/// The journals of a running server.
#[derive(Debug)]
pub struct RoomJournals {
    settings: JournalSettings,
    queue: JournalQueue,
    /// Names of the rooms, in the order of their numbers.
    names: Vec<String>,
    /// The journals, until the writer thread takes them.
    open: Mutex<Vec<OpenJournal>>,
    /// The first error.
    error: Mutex<Option<String>>,
    /// The lock of the directory, held until the writer thread ends.
    lock: Mutex<Option<File>>,
}

impl RoomJournals {
    /// Returns the number of a room; `None` for rooms on demand.
    fn number_of(&self, room: &RunningRoom) -> Option<usize> {
        if room.is_on_demand() {
            return None;
        }
        self.names.iter().position(|name| name == room.name())
    }

    /// Ends the journals because of an error.
    fn fail(&self, reason: &str) {
        if self.queue.fail() {
            let effect = match self.settings.on_error {
                OnJournalError::Stop => "the server stops",
                OnJournalError::Continue => "the server continues without a journal",
            };
            error!("the journal has failed: {reason}; {effect}");
            *self.error.lock() = Some(reason.to_owned());
        }
    }

    /// Makes the writer thread end after the queued ticks.
    pub fn close(&self) {
        self.queue.close();
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
