//! The journal of one room in the writer thread.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tracing::{info, warn};

use super::queue::{JournaledTick, NamedWorld};
use super::{JournaledRoom, OpenJournal, RoomStorage, now_ms};
use crate::limits;
use crate::packet::routes::redact_room_name;
use crate::server::journal::{
    JournalError, JournalRun, JournalSnapshot, JournalWriter, RecordBody, Retention, WorldIdentity, claim,
    highest_fence, remove_journal,
};
use crate::server::net::server_state::ServerState;
use crate::server::room::HashedSeat;
use crate::util::os;

/// Creates a snapshot without the run and the sequence, which the writer sets.
fn unplaced(
    identity: WorldIdentity,
    (tick, checksum): (u32, u64),
    seats: Vec<HashedSeat>,
    world: Arc<[u8]>,
) -> JournalSnapshot {
    JournalSnapshot { run: 0, epoch: 0, fence: 0, sequence: 0, tick, checksum, identity, seats, world }
}

/// The journal of a room in the writer thread.
#[derive(Debug)]
pub struct RoomWriter {
    room: JournaledRoom,
    /// The name of the room in the log.
    name: String,
    fence: u64,
    retention: Retention,
    /// Whether records were synced that are not confirmed yet.
    is_unconfirmed: bool,
    state: WriterState,
}

#[derive(Debug)]
enum WriterState {
    /// The room has not ticked yet.
    Open(OpenJournal),
    /// The run has begun. The flag is set while records are not synced.
    Running(JournalWriter<RoomStorage>, bool),
    /// The storage of the cluster has lost files: the journal begins again with the next snapshot.
    Lost(OpenJournal),
    /// A call has failed, or another process has the room.
    Ended,
}

impl RoomWriter {
    /// Creates the writer of a room that has not ticked yet.
    pub fn new(open: OpenJournal, retention: Retention) -> RoomWriter {
        let name = redact_room_name(&open.identity.room).into_owned();
        let (room, fence) = (open.room.clone(), open.fence);
        RoomWriter { room, name, fence, retention, is_unconfirmed: false, state: WriterState::Open(open) }
    }

    /// Returns the name of the room for the log.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns whether records are not synced.
    pub fn is_unsynced(&self) -> bool {
        matches!(self.state, WriterState::Running(_, true))
    }

    fn is_lost(&self) -> bool {
        self.room.guard.as_ref().is_some_and(|guard| guard.is_lost())
    }

    fn storage(&self) -> Option<&RoomStorage> {
        match &self.state {
            WriterState::Open(open) | WriterState::Lost(open) => Some(&open.storage),
            WriterState::Running(writer, _) => Some(writer.storage()),
            WriterState::Ended => None,
        }
    }

    /// Appends the records of a tick. Returns the bytes of its frame, or `None` if the tick is
    /// dropped: another process has the room, or the journal has not begun again. `lease_now` is
    /// the time of the clock of leases.
    ///
    /// # Errors
    /// The storage has failed.
    pub fn write_tick(
        &mut self,
        tick: JournaledTick,
        lease_now: Duration,
    ) -> Result<Option<u64>, JournalError> {
        if self.is_lost()
            || matches!(self.state, WriterState::Lost(_)) && !self.begin_again(&tick, lease_now)?
        {
            return Ok(None);
        }
        if let Some((world, checksum, seats)) = tick.snapshot {
            let world_bytes = Arc::clone(&world.bytes);
            let snapshot = |identity| unplaced(identity, (world.tick, checksum), seats, world_bytes);
            self.write_snapshot(tick.epoch, snapshot)?;
        }
        let WriterState::Running(writer, is_unsynced) = &mut self.state else {
            return Err(JournalError::Failed);
        };
        *is_unsynced = true;
        let now = now_ms();
        for change in tick.seats {
            writer.append(tick.tick, RecordBody::Seat(change), now)?;
        }
        if let Some(checksum) = tick.checksum {
            writer.append(tick.tick, RecordBody::Checksum(checksum), now)?;
        }
        let bytes = tick.frame.len() as u64;
        writer.append(tick.tick, RecordBody::Frame(tick.frame), now)?;
        Ok(Some(bytes))
    }

    /// Prepares the journal to begin again with the snapshot of this tick. Returns false if it must
    /// wait: the tick has no snapshot, or the lease is over, so that another process may have the
    /// room.
    fn begin_again(&mut self, tick: &JournaledTick, lease_now: Duration) -> Result<bool, JournalError> {
        let is_valid = self.room.guard.iter().all(|guard| guard.is_valid(lease_now));
        if tick.snapshot.is_none() || !is_valid {
            return Ok(false);
        }
        let WriterState::Lost(mut open) = std::mem::replace(&mut self.state, WriterState::Ended) else {
            return Ok(false);
        };
        let claimed = claim(&mut open.storage, self.fence);
        let failed = |error| JournalError::Io { operation: "claim", file: "the room".to_owned(), error };
        if !claimed.map_err(failed)? {
            self.lose();
            return Ok(false);
        }
        self.room.wants_snapshot.store(false, Ordering::Release);
        self.state = WriterState::Open(open);
        Ok(true)
    }

    /// Writes the world with which the room stops. Does nothing if the room has never ticked, if
    /// another process has it, or if the journal has not begun again.
    ///
    /// # Errors
    /// The storage has failed.
    pub fn write_named(&mut self, named: NamedWorld) -> Result<(), JournalError> {
        match &mut self.state {
            WriterState::Running(writer, is_unsynced)
                if !self.room.guard.iter().any(|guard| guard.is_lost()) =>
            {
                let NamedWorld { tick, state, seats, .. } = named;
                let identity = writer.run().identity.clone();
                *is_unsynced = false;
                self.is_unconfirmed = true;
                writer.write_named(&unplaced(identity, (tick, 0), seats, state.into()))
            }
            WriterState::Lost(_) => {
                let room = &self.name;
                warn!(room, "the room stops before its journal has begun again: its world may be lost");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Writes a snapshot. Begins a run if this is the first snapshot of the epoch.
    fn write_snapshot(
        &mut self,
        epoch: u64,
        snapshot: impl FnOnce(WorldIdentity) -> JournalSnapshot,
    ) -> Result<(), JournalError> {
        match std::mem::replace(&mut self.state, WriterState::Ended) {
            WriterState::Open(OpenJournal { storage, identity, next_sequence, last_run, fence, .. }) => {
                let run = JournalRun {
                    identity: identity.clone(),
                    run: last_run + 1,
                    epoch,
                    fence,
                    salt: u32::from_le_bytes(os::random()),
                    segment_bytes: limits::JOURNAL_SEGMENT_BYTES,
                };
                let snapshot = snapshot(identity);
                let tick = snapshot.tick;
                let writer = JournalWriter::begin(storage, run, next_sequence, &snapshot, now_ms())?;
                let room = Some(&self.name).filter(|room| !room.is_empty());
                info!(room, tick, record = next_sequence, run = last_run + 1, "the journal begins a run");
                self.state = WriterState::Running(writer, false);
            }
            WriterState::Running(mut writer, _) => {
                writer.set_epoch(epoch);
                let snapshot = snapshot(writer.run().identity.clone());
                let written = writer.snapshot(&snapshot, now_ms());
                if written.is_ok()
                    && let Err(error) = writer.retain(self.retention, now_ms())
                {
                    warn!("old files of the journal remain: {error}");
                }
                self.state = WriterState::Running(writer, false);
                written?;
            }
            WriterState::Lost(_) | WriterState::Ended => return Err(JournalError::Failed),
        }
        Ok(())
    }

    /// Writes the appended records, and syncs them if `is_sync_due`. Returns whether it has synced.
    ///
    /// # Errors
    /// The storage has failed.
    pub fn finish_batch(&mut self, is_sync_due: bool) -> Result<bool, JournalError> {
        let WriterState::Running(writer, is_unsynced) = &mut self.state else { return Ok(false) };
        if !*is_unsynced {
            return Ok(false);
        }
        writer.flush()?;
        if is_sync_due {
            writer.sync()?;
            *is_unsynced = false;
            self.is_unconfirmed = true;
        }
        Ok(is_sync_due)
    }

    /// In a cluster, after a sync: confirms the records up to this ticket if this process still has
    /// the room, and its storage has the records. The order matters: see `crate::server::cluster`.
    pub fn confirm(&mut self, host: &ServerState, ticket: u64) {
        if !self.is_unconfirmed {
            return;
        }
        let Some(guard) = self.room.guard.as_ref().filter(|_| !matches!(self.state, WriterState::Lost(_)))
        else {
            return;
        };
        if guard.is_lost() {
            self.state = WriterState::Ended;
            return;
        }
        match self.has_higher_fence() {
            Ok(true) => self.lose(),
            Ok(false) if guard.is_valid(host.lease_time()) => {
                self.room.confirmed.fetch_max(ticket, Ordering::AcqRel);
                self.is_unconfirmed = false;
            }
            Ok(false) => {}
            Err(error) => warn!(room = self.name, %error, "the fence of the journal cannot be checked"),
        }
    }

    /// Returns whether another process has claimed the directory. If the directory is gone, another
    /// process has had the room until its world ended.
    fn has_higher_fence(&self) -> io::Result<bool> {
        let Some(storage) = self.storage() else { return Ok(false) };
        match highest_fence(storage) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            highest => Ok(highest? > self.fence),
        }
    }

    /// Ends the room here, because another process has it.
    fn lose(&mut self) {
        self.room.guard.iter().for_each(|guard| guard.set_lost());
        self.state = WriterState::Ended;
    }

    /// Returns an error, unless another process has the room, or the storage has lost files in a
    /// cluster: then the journal begins again.
    ///
    /// # Errors
    /// The error of the storage.
    pub fn check_superseded(&mut self, error: JournalError) -> Result<(), JournalError> {
        if self.is_lost() || self.room.guard.is_some() && self.has_higher_fence().unwrap_or(false) {
            self.lose();
            return Ok(());
        }
        let is_missing =
            matches!(&error, JournalError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound);
        match std::mem::replace(&mut self.state, WriterState::Ended) {
            WriterState::Running(writer, _) if is_missing && self.room.guard.is_some() => {
                warn!(room = self.name, %error, "the storage has lost files: the journal begins again");
                let (identity, last_run) = (writer.run().identity.clone(), writer.run().run);
                let (next_sequence, fence, room) = (writer.next_sequence(), self.fence, self.room.clone());
                let storage = writer.into_storage();
                self.state = WriterState::Lost(OpenJournal {
                    room,
                    storage,
                    identity,
                    next_sequence,
                    last_run,
                    fence,
                });
                self.room.wants_snapshot.store(true, Ordering::Release);
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Removes the files of a room whose world has ended, unless another process has it.
    ///
    /// # Errors
    /// The error of the system.
    pub fn remove_files(self) -> io::Result<()> {
        if self.is_lost() {
            return Ok(());
        }
        let mut storage = match self.state {
            WriterState::Open(open) | WriterState::Lost(open) => open.storage,
            WriterState::Running(writer, _) => writer.into_storage(),
            WriterState::Ended => return Ok(()),
        };
        remove_journal(&mut storage, self.fence)?;
        storage.remove_directory();
        Ok(())
    }
}
