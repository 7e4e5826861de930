//! The writer thread: appends the queued ticks of all rooms, and syncs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use tracing::{info, warn};

use super::queue::{JournaledTick, TakenEntries};
use super::{Durability, FileStorage, OnJournalError, OpenJournal, RoomJournals, now_ms};
use crate::limits;
use crate::server::journal::{
    JournalError, JournalRun, JournalSnapshot, JournalWriter, RecordBody, Retention, WorldIdentity,
};
use crate::server::net::server_state::{ServerState, ShutdownStage};
use crate::util::os;

/// The journal of a room in the writer thread.
#[derive(Debug)]
enum WriterState {
    /// The room has not ticked yet.
    Open(OpenJournal),
    /// The run has begun. The flag is set while records are not synced.
    Running(JournalWriter<FileStorage>, bool),
    /// A call has failed.
    Ended,
}

/// Runs the writer thread until the queue is closed, or the journal has failed.
pub fn run(host: &ServerState) {
    let Some(journals) = &host.config.journal else { return };
    let written = catch_unwind(AssertUnwindSafe(|| write_all(host, journals)));
    *journals.lock.lock() = None;
    let error = match written {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error.to_string(),
        Err(_) => {
            host.metrics.panics.inc();
            "a panic of the writer thread, which is a bug in the server".to_owned()
        }
    };
    host.metrics.journal_errors.inc();
    journals.fail(&error);
    if journals.settings.on_error == OnJournalError::Stop {
        host.advance_to(ShutdownStage::StopRequested);
    }
}

fn write_all(host: &ServerState, journals: &RoomJournals) -> Result<(), JournalError> {
    let open = std::mem::take(&mut *journals.open.lock());
    let mut rooms: Vec<WriterState> = open.into_iter().map(WriterState::Open).collect();
    let durability = journals.settings.durability;
    // With `Durability::Second`: the time of the next sync, if a record waits for one.
    let mut sync_at: Option<Instant> = None;
    loop {
        let TakenEntries { entries, last_ticket, is_closed } = journals.queue.take(sync_at);
        if journals.queue.has_failed() {
            return Err(JournalError::Failed);
        }
        let has_entries = !entries.is_empty();
        for entry in entries {
            host.metrics.journal_bytes.inc_by(write_tick(&mut rooms, entry)?);
            host.metrics.journal_ticks.inc();
        }
        if has_entries && durability == Durability::Second {
            sync_at = sync_at.or_else(|| Some(Instant::now() + limits::JOURNAL_SYNC_INTERVAL));
        }
        let is_due = match durability {
            Durability::Tick => has_entries,
            Durability::Second => sync_at.is_some_and(|at| Instant::now() >= at),
            Durability::None => false,
        };
        for room in &mut rooms {
            room.finish_batch(host, is_due || is_closed)?;
        }
        if is_due || is_closed {
            sync_at = None;
            journals.queue.set_durable(last_ticket);
        }
        if is_closed {
            return Ok(());
        }
    }
}

/// Appends the records of a tick. Returns their payload bytes.
fn write_tick(rooms: &mut [WriterState], tick: JournaledTick) -> Result<u64, JournalError> {
    let Some(room) = rooms.get_mut(tick.room) else { return Ok(0) };
    if let Some((world, checksum, seats)) = tick.snapshot {
        let snapshot = |identity| JournalSnapshot {
            run: 0,
            epoch: 0,
            sequence: 0,
            tick: world.tick,
            checksum,
            identity,
            seats,
            world: world.bytes.clone(),
        };
        room.write_snapshot(tick.epoch, snapshot)?;
    }
    let WriterState::Running(writer, is_unsynced) = room else { return Err(JournalError::Failed) };
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
    Ok(bytes)
}

impl WriterState {
    /// Writes a snapshot. Begins a run if this is the first snapshot of the epoch.
    fn write_snapshot(
        &mut self,
        epoch: u64,
        snapshot: impl FnOnce(WorldIdentity) -> JournalSnapshot,
    ) -> Result<(), JournalError> {
        match std::mem::replace(self, WriterState::Ended) {
            WriterState::Open(OpenJournal { storage, identity, next_sequence, last_run }) => {
                let run = JournalRun {
                    identity: identity.clone(),
                    run: last_run + 1,
                    epoch,
                    salt: u32::from_le_bytes(os::random()),
                    segment_bytes: limits::JOURNAL_SEGMENT_BYTES,
                };
                let snapshot = snapshot(identity);
                let (room, tick) = (run.identity.room.clone(), snapshot.tick);
                let writer = JournalWriter::begin(storage, run, next_sequence, &snapshot, now_ms())?;
                let room = Some(room).filter(|room| !room.is_empty());
                info!(room, tick, record = next_sequence, run = last_run + 1, "the journal begins a run");
                *self = WriterState::Running(writer, false);
            }
            WriterState::Running(mut writer, _) => {
                writer.set_epoch(epoch);
                let snapshot = snapshot(writer.run().identity.clone());
                writer.snapshot(&snapshot, now_ms())?;
                let retention = Retention {
                    bytes: limits::JOURNAL_RETAINED_BYTES,
                    age_ms: limits::JOURNAL_RETAINED_AGE.as_millis() as u64,
                };
                if let Err(error) = writer.retain(retention, now_ms()) {
                    warn!("old files of the journal remain: {error}");
                }
                *self = WriterState::Running(writer, false);
            }
            WriterState::Ended => return Err(JournalError::Failed),
        }
        Ok(())
    }

    /// Writes the appended records, and syncs them if `is_sync_due`.
    fn finish_batch(&mut self, host: &ServerState, is_sync_due: bool) -> Result<(), JournalError> {
        let WriterState::Running(writer, is_unsynced) = self else { return Ok(()) };
        if !*is_unsynced {
            return Ok(());
        }
        writer.flush()?;
        if is_sync_due {
            let began = Instant::now();
            writer.sync()?;
            *is_unsynced = false;
            host.metrics.observe_journal_sync(began.elapsed());
        }
        Ok(())
    }
}
