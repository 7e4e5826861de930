//! The journal of a room as its thread sees it. It queues ticks, and holds acks until their ticks
//! are durable. It never waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tracing::warn;

use super::queue::{JournaledTick, NamedWorld};
use super::{Durability, JournaledRoom, OnJournalError, RoomJournals};
use crate::limits;
use crate::server::net::rooms::RunningRoom;
use crate::server::room::{CommandAcks, TickRequest, TickResult};

/// The journal of one run of a room.
#[derive(Debug)]
pub struct RoomJournal {
    journals: Arc<RoomJournals>,
    room: JournaledRoom,
    epoch: u64,
    /// Time of the next snapshot on the server's clock. The first tick of a run has one.
    snapshot_at: Duration,
    /// Time from which a snapshot is taken if the writer thread wants one.
    repeat_at: Duration,
    /// Tickets of ticks that are not durable yet, and their acks.
    held: VecDeque<(u64, Option<Arc<CommandAcks>>)>,
    /// Bytes of these acks.
    held_bytes: usize,
}

impl RoomJournal {
    /// Begins the journal of this run. Returns `None` if the room has no journal.
    pub fn begin(journals: Option<&Arc<RoomJournals>>, room: &RunningRoom) -> Option<RoomJournal> {
        let journals = Arc::clone(journals?);
        let journaled = journals.find(&room.path_name)?;
        room.handle.record_seat_changes();
        let epoch = u64::from_str_radix(&room.handle.options.epoch, 16).unwrap_or_default();
        Some(RoomJournal {
            journals,
            room: journaled,
            epoch,
            snapshot_at: Duration::ZERO,
            repeat_at: Duration::ZERO,
            held: VecDeque::new(),
            held_bytes: 0,
        })
    }

    /// Adds the outputs of a tick that the journal needs.
    pub fn request(&self, tick: u32, now: Duration, wants: TickRequest) -> TickRequest {
        let snapshot = self.is_snapshot_due(now);
        let checksum = snapshot || tick.is_multiple_of(limits::JOURNAL_CHECKSUM_TICKS);
        TickRequest {
            frame: true,
            checksum: wants.checksum || checksum,
            snapshot: wants.snapshot || snapshot,
            ..wants
        }
    }

    fn is_snapshot_due(&self, now: Duration) -> bool {
        let is_wanted = || self.room.wants_snapshot.load(Ordering::Acquire);
        now >= self.snapshot_at || now >= self.repeat_at && is_wanted()
    }

    /// Queues a tick. Returns the acks that clients may receive now, and the number of newest ticks
    /// that are not durable: lockstep clients wait for them. The times are of the server's clock
    /// and of the clock of leases.
    pub fn record(
        &mut self,
        room: &RunningRoom,
        (now, lease_now): (Duration, Duration),
        ticked: &TickResult,
    ) -> (Vec<Arc<CommandAcks>>, u32) {
        let queue = &self.journals.queue;
        let seats = room.handle.take_seat_changes();
        let is_due = self.is_snapshot_due(now);
        let snapshot = ticked.snapshot.as_ref().zip(ticked.checksum).filter(|_| is_due);
        if is_due {
            self.snapshot_at = now + limits::JOURNAL_SNAPSHOT_INTERVAL;
            self.repeat_at = now + limits::JOURNAL_REPEATED_SNAPSHOT_INTERVAL;
        }
        let entry = ticked.frame.as_ref().map(|frame| JournaledTick {
            room: self.room.number,
            epoch: self.epoch,
            tick: ticked.tick,
            snapshot: snapshot
                .map(|(snapshot, checksum)| (Arc::clone(snapshot), checksum, room.handle.hashed_seats())),
            checksum: ticked.checksum.filter(|_| ticked.tick.is_multiple_of(limits::JOURNAL_CHECKSUM_TICKS)),
            seats,
            frame: Arc::clone(frame),
        });
        let ticket = entry.and_then(|entry| queue.push(entry));
        if ticket.is_none() && !queue.has_failed() {
            self.journals
                .fail("a room has more records than the disk writes, or a tick does not fit a record");
        }
        self.hold(ticket.unwrap_or(u64::MAX), ticked.acks.clone());
        let released = self.release(lease_now);
        let durable = self.durable();
        let not_durable = self.held.len() - self.held.partition_point(|(ticket, _)| *ticket <= durable);
        (released, not_durable as u32)
    }

    /// Adds the acks of a tick, unless they exceed [`limits::JOURNAL_HELD_ACK_BYTES`]: then their
    /// commands are never acknowledged.
    fn hold(&mut self, ticket: u64, acks: Option<Arc<CommandAcks>>) {
        let max_bytes = limits::JOURNAL_HELD_ACK_BYTES.saturating_sub(self.held_bytes);
        let acks = acks.filter(|acks| acks.bytes() <= max_bytes);
        self.held_bytes += acks.as_ref().map_or(0, |acks| acks.bytes());
        self.held.push_back((ticket, acks));
    }

    /// Returns the ticket up to which records are as durable as the settings require.
    fn durable(&self) -> u64 {
        let settings = self.journals.settings;
        match (self.journals.queue.has_failed(), settings.durability) {
            (true, _) if settings.on_error == OnJournalError::Continue => u64::MAX,
            (false, Durability::Second | Durability::None) => u64::MAX,
            _ => self.journals.queue.durable(),
        }
    }

    /// Queues the world after the last tick, by the names of its fields, with which a program with
    /// other rules continues.
    pub fn finish(self, room: &RunningRoom, state: Vec<u8>) {
        let (tick, seats) = (room.handle.tick(), room.handle.hashed_seats());
        let named = NamedWorld { room: self.room.number, tick, state, seats };
        if self.journals.queue.push_named(named).is_none() {
            warn!(room = room.label(), "the journal ends without a world for a program with other rules");
        }
    }

    /// Removes the acks that clients may receive. After an error with [`OnJournalError::Stop`],
    /// there are none: their commands may be lost. In a cluster, there are none either while the
    /// lease of the room is over.
    fn release(&mut self, lease_now: Duration) -> Vec<Arc<CommandAcks>> {
        let durable = self.durable();
        let confirmed = match (&self.room.guard, durable) {
            (None, _) => u64::MAX,
            // Without a sync, the lease alone decides.
            (Some(guard), u64::MAX) => {
                if guard.is_valid(lease_now) {
                    u64::MAX
                } else {
                    0
                }
            }
            (Some(_), _) => self.room.confirmed.load(Ordering::Acquire),
        };
        let mut released = Vec::new();
        while let Some((_, acks)) = self.held.pop_front_if(|(ticket, _)| *ticket <= durable.min(confirmed)) {
            self.held_bytes -= acks.as_ref().map_or(0, |acks| acks.bytes());
            released.extend(acks);
        }
        released
    }
}
