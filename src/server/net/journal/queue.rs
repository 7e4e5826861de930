//! The bounded queue between the rooms and the writer thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

use crate::limits;
use crate::server::room::{HashedSeat, SeatChange, WorldSnapshot};
use crate::util::sync::{Condvar, Mutex};

/// Bytes that an entry takes besides its frame and its snapshot.
const ENTRY_BYTES: usize = 128;

/// A tick that the writer thread writes.
#[derive(Debug)]
pub struct JournaledTick {
    /// The index of the room among the journaled rooms.
    pub room: usize,
    /// The epoch of the room's run.
    pub epoch: u64,
    /// Ticks completed before the tick.
    pub tick: u32,
    /// The world before the tick, if a snapshot is due: its checksum and its seats.
    pub snapshot: Option<(Arc<WorldSnapshot>, u64, Vec<HashedSeat>)>,
    /// The checksum of the world before the tick, if one is due.
    pub checksum: Option<u64>,
    /// The changes of seats.
    pub seats: Vec<SeatChange>,
    /// The command frame.
    pub frame: Arc<[u8]>,
}

impl JournaledTick {
    fn bytes(&self) -> usize {
        let snapshot = self.snapshot.as_ref().map_or(0, |(snapshot, ..)| snapshot.bytes.len());
        ENTRY_BYTES + self.frame.len() + snapshot
    }
}

/// The world with which a room stops.
#[derive(Debug)]
pub struct NamedWorld {
    /// The number of the room.
    pub room: usize,
    /// Ticks completed.
    pub tick: u32,
    /// The world by the names of its fields.
    pub state: Vec<u8>,
    /// The seats that clients can resume.
    pub seats: Vec<HashedSeat>,
}

/// The end of a room's journal.
#[derive(Debug)]
pub struct JournalEnd {
    /// The number of the room.
    pub room: usize,
    /// Whether the world has ended, so that its files are removed.
    pub removes: bool,
    /// Is dropped when the writer thread no longer uses the files.
    pub done: Sender<()>,
}

/// An entry of the queue.
#[derive(Debug)]
pub enum JournalEntry {
    /// A tick.
    Tick(JournaledTick),
    /// The world with which a room stops, after its last tick.
    Named(NamedWorld),
    /// The end of a room.
    End(JournalEnd),
}

/// The queue. Each entry has a ticket, from 1 on.
#[derive(Debug, Default)]
pub struct JournalQueue {
    state: Mutex<QueueState>,
    filled: Condvar,
    /// The ticket of the last durable entry.
    durable: AtomicU64,
    has_failed: AtomicBool,
}

#[derive(Debug, Default)]
struct QueueState {
    entries: Vec<JournalEntry>,
    bytes: usize,
    last_ticket: u64,
    is_closed: bool,
}

/// The entries that the writer thread takes at once.
#[derive(Debug)]
pub struct TakenEntries {
    /// The entries, in order.
    pub entries: Vec<JournalEntry>,
    /// The ticket of the last entry so far.
    pub last_ticket: u64,
    /// Whether no further entries follow.
    pub is_closed: bool,
}

impl JournalQueue {
    /// Queues a tick. Returns its ticket, or `None` if the journal has failed or is closed, or the
    /// queue is full.
    pub fn push(&self, tick: JournaledTick) -> Option<u64> {
        let bytes = tick.bytes();
        self.push_entry(JournalEntry::Tick(tick), bytes)
    }

    /// Queues the world with which a room stops. Returns `None` as for a tick.
    pub fn push_named(&self, named: NamedWorld) -> Option<u64> {
        let bytes = ENTRY_BYTES + named.state.len();
        self.push_entry(JournalEntry::Named(named), bytes)
    }

    /// Queues the end of a room. Returns `None` as for a tick.
    pub fn push_end(&self, end: JournalEnd) -> Option<u64> {
        self.push_entry(JournalEntry::End(end), ENTRY_BYTES)
    }

    fn push_entry(&self, entry: JournalEntry, bytes: usize) -> Option<u64> {
        let mut state = self.state.lock();
        let bytes = state.bytes + bytes;
        if self.has_failed() || state.is_closed || bytes > limits::JOURNAL_QUEUE_BYTES {
            return None;
        }
        state.bytes = bytes;
        state.last_ticket += 1;
        state.entries.push(entry);
        let ticket = state.last_ticket;
        drop(state);
        self.filled.notify_one();
        Some(ticket)
    }

    /// Waits for entries, at most until this time, and takes all of them.
    pub fn take(&self, until: Option<Instant>) -> TakenEntries {
        let mut state = self.state.lock();
        while state.entries.is_empty() && !state.is_closed && !self.has_failed() {
            match until {
                Some(until) if self.filled.wait_until(&mut state, until).timed_out() => break,
                Some(_) => {}
                None => self.filled.wait(&mut state),
            }
        }
        state.bytes = 0;
        let entries = std::mem::take(&mut state.entries);
        TakenEntries { entries, last_ticket: state.last_ticket, is_closed: state.is_closed }
    }

    /// Makes the writer thread end after the queued entries.
    pub fn close(&self) {
        self.state.lock().is_closed = true;
        self.filled.notify_one();
    }

    /// Records that all entries up to this ticket are durable.
    pub fn set_durable(&self, ticket: u64) {
        self.durable.store(ticket, Ordering::Release);
    }

    /// Returns the ticket of the last durable entry.
    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::Acquire)
    }

    /// Records that the journal has failed. Returns whether it had not failed before.
    pub fn fail(&self) -> bool {
        let is_first = !self.has_failed.swap(true, Ordering::AcqRel);
        self.state.lock().entries.clear();
        self.filled.notify_one();
        is_first
    }

    /// Returns whether the journal has failed.
    pub fn has_failed(&self) -> bool {
        self.has_failed.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tick(bytes: usize) -> JournaledTick {
        let frame = vec![0; bytes].into();
        let (snapshot, checksum, seats) = (None, None, Vec::new());
        JournaledTick { room: 0, epoch: 1, tick: 1, snapshot, checksum, seats, frame }
    }

    #[test]
    fn entries_have_tickets_and_a_full_or_failed_queue_refuses_them() {
        let queue = JournalQueue::default();
        assert_eq!([queue.push(tick(1)), queue.push(tick(1))], [Some(1), Some(2)]);
        assert_eq!(queue.push(tick(limits::JOURNAL_QUEUE_BYTES)), None);
        let taken = queue.take(None);
        assert_eq!((taken.entries.len(), taken.last_ticket, taken.is_closed), (2, 2, false));
        assert_eq!(queue.push(tick(limits::JOURNAL_QUEUE_BYTES / 2)), Some(3));
        assert!(queue.fail() && !queue.fail());
        assert_eq!(queue.push(tick(1)), None);
        queue.close();
        let taken = queue.take(None);
        assert_eq!((taken.entries.len(), taken.is_closed), (0, true));
    }
}
