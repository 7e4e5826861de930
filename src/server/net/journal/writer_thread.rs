//! The writer thread: appends the queued ticks of all rooms, and syncs.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;
use std::time::Instant;

use tracing::{info, warn};

use super::queue::{JournalEnd, JournalEntry, JournaledTick, NamedWorld, TakenEntries};
use super::room_writer::RoomWriter;
use super::{Durability, OnJournalError, OpenJournal, RoomJournals};
use crate::limits;
use crate::server::journal::JournalError;
use crate::server::net::server_state::{ServerState, ShutdownStage};

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

/// The journals of the rooms, by their numbers.
type RoomWriters = BTreeMap<usize, RoomWriter>;

fn write_all(host: &ServerState, journals: &RoomJournals) -> Result<(), JournalError> {
    let mut rooms = RoomWriters::new();
    let durability = journals.settings.durability;
    // With `Durability::Second`: the time of the next sync, if a record waits for one.
    let mut sync_at: Option<Instant> = None;
    loop {
        let TakenEntries { entries, last_ticket, is_closed } = journals.queue.take(sync_at);
        if journals.queue.has_failed() {
            return Err(JournalError::Failed);
        }
        let opened = std::mem::take(&mut *journals.open.lock());
        let begin = |open: OpenJournal| (open.room.number, RoomWriter::new(open, journals.retention()));
        rooms.extend(opened.into_iter().map(begin));
        let has_entries = !entries.is_empty();
        for entry in entries {
            match entry {
                JournalEntry::Tick(tick) => write_tick(host, &mut rooms, tick)?,
                JournalEntry::Named(named) => write_named(&mut rooms, named)?,
                JournalEntry::End(end) => end_room(&mut rooms, end)?,
            }
        }
        if has_entries && durability == Durability::Second {
            sync_at = sync_at.or_else(|| Some(Instant::now() + limits::JOURNAL_SYNC_INTERVAL));
        }
        let is_due = match durability {
            Durability::Tick => has_entries,
            Durability::Second => sync_at.is_some_and(|at| Instant::now() >= at),
            Durability::None => false,
        };
        finish_batches(host, &mut rooms, is_due || is_closed)?;
        if is_due || is_closed {
            sync_at = None;
            journals.queue.set_durable(last_ticket);
            rooms.values_mut().for_each(|room| room.confirm(host, last_ticket));
        }
        if is_closed {
            return Ok(());
        }
    }
}

/// Appends the records of a tick.
fn write_tick(host: &ServerState, rooms: &mut RoomWriters, tick: JournaledTick) -> Result<(), JournalError> {
    let Some(room) = rooms.get_mut(&tick.room) else { return Ok(()) };
    match room.write_tick(tick, host.lease_time()) {
        Err(error) => return room.check_superseded(error),
        Ok(Some(bytes)) => {
            host.metrics.journal_bytes.inc_by(bytes);
            host.metrics.journal_ticks.inc();
        }
        Ok(None) => {}
    }
    Ok(())
}

/// Writes the world with which a room stops.
fn write_named(rooms: &mut RoomWriters, named: NamedWorld) -> Result<(), JournalError> {
    let Some(room) = rooms.get_mut(&named.room) else { return Ok(()) };
    room.write_named(named).or_else(|error| room.check_superseded(error))
}

/// Writes the appended records of all rooms, and syncs them if `is_sync_due`: several rooms at the
/// same time, because the storage executes their syncs together.
fn finish_batches(
    host: &ServerState,
    rooms: &mut RoomWriters,
    is_sync_due: bool,
) -> Result<(), JournalError> {
    let mut unsynced: Vec<&mut RoomWriter> = rooms.values_mut().filter(|room| room.is_unsynced()).collect();
    let finish = |rooms: &mut [&mut RoomWriter]| {
        rooms.iter_mut().try_for_each(|room| finish_batch(host, room, is_sync_due))
    };
    if !is_sync_due || unsynced.len() < 2 {
        return finish(&mut unsynced);
    }
    let rooms_per_thread = unsynced.len().div_ceil(limits::JOURNAL_SYNC_THREADS);
    thread::scope(|scope| {
        let parts = unsynced.chunks_mut(rooms_per_thread);
        let threads = parts.map(|rooms| thread::Builder::new().spawn_scoped(scope, || finish(rooms)));
        let threads: Vec<_> = threads.filter_map(Result::ok).collect();
        let finished =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        finished.collect::<Vec<_>>().into_iter().collect::<Result<(), _>>()
    })?;
    // The rooms of threads that could not be started: a server with many clients has many threads.
    finish(&mut unsynced)
}

/// Writes the appended records of a room, and syncs them if `is_sync_due`.
fn finish_batch(host: &ServerState, room: &mut RoomWriter, is_sync_due: bool) -> Result<(), JournalError> {
    let began = Instant::now();
    match room.finish_batch(is_sync_due) {
        Err(error) => room.check_superseded(error),
        Ok(is_synced) => {
            if is_synced {
                host.metrics.observe_journal_sync(began.elapsed());
            }
            Ok(())
        }
    }
}

/// Ends the journal of a room.
fn end_room(rooms: &mut RoomWriters, end: JournalEnd) -> Result<(), JournalError> {
    let Some(mut room) = rooms.remove(&end.room) else { return Ok(()) };
    let name = room.name().to_owned();
    if let Err(error) = room.finish_batch(true) {
        room.check_superseded(error)?;
    }
    if end.removes {
        match room.remove_files() {
            Ok(()) => info!(room = name, "the journal of the ended room is removed"),
            Err(error) => warn!(room = name, %error, "the journal of the ended room remains"),
        }
    }
    drop(end.done);
    Ok(())
}
