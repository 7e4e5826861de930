//! Journals of rooms on demand: recovered when a client requests the room, in a cluster after this
//! process has acquired its lease.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tickwire_sim::WorldParams;

use super::start::{log_reports, open_world};
use super::{FileStorage, JournaledRoom, OpenJournal, RoomJournals, room_directory_name};
use crate::packet::routes::redact_room_name;
use crate::server::cluster::LeaseGuard;
use crate::server::journal::{
    FilePosition, Inspection, JournalStorage as _, WorldIdentity, claim, highest_fence, inspect, repair,
};
use crate::server::net::{TcpGameFactory, TcpRoom};
use crate::server::room::RoomConfig;
use crate::util::os;

/// Returns a directory for the log, without the whole name of a private room.
fn shown(directory: &Path) -> String {
    redact_room_name(&directory.to_string_lossy()).into_owned()
}

impl RoomJournals {
    /// Returns the highest fence in the directory of a room; 0 without a directory. A new lease
    /// must have a higher one.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn room_fence(&self, path_name: &str) -> Result<u64, String> {
        let directory = self.directory.join(room_directory_name(path_name));
        match highest_fence(&FileStorage::new(directory.clone())) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            fence => fence.map_err(|error| format!("{}: {error}", shown(&directory))),
        }
    }

    /// Returns whether a room has a journal from which it continues.
    pub fn has_world(&self, path_name: &str) -> bool {
        let storage = FileStorage::new(self.directory.join(room_directory_name(path_name)));
        storage.names().is_ok_and(|names| names.iter().any(|name| FilePosition::of(name).is_some()))
    }

    /// Recovers a room from its journal, or creates it with a new world if it has none. `params`
    /// are the parameters of a new world; a journal may have another seed. `lease` is the fence and
    /// the validity of the room's lease, in a cluster. `now` is the time of the server's clock.
    /// Also returns whether the room had a journal.
    ///
    /// # Errors
    /// Another process has a higher fence, or the journal cannot be recovered.
    pub fn open_room(
        &self,
        game: &TcpGameFactory,
        params: &WorldParams,
        (path_name, options): (&str, RoomConfig),
        lease: Option<(u64, Arc<LeaseGuard>)>,
        now: Duration,
    ) -> Result<(Box<TcpRoom>, bool), String> {
        let directory = self.directory.join(room_directory_name(path_name));
        let refused = |why: &dyn std::fmt::Display| format!("{}: {why}", shown(&directory));
        if !self.wait_for_end(path_name) {
            return Err(refused(&"an earlier room of this name still uses the files"));
        }
        fs::create_dir_all(&directory).map_err(|error| refused(&error))?;
        os::try_sync_directory(&self.directory).map_err(|error| refused(&error))?;
        let mut storage = FileStorage::new(directory.clone());
        if let Some((fence, _)) = &lease
            && !claim(&mut storage, *fence).map_err(|error| refused(&error))?
        {
            return Err(refused(&"another process has acquired the room"));
        }
        let inspection = inspect(&storage, None).map_err(|error| refused(&error))?;
        let mut params = params.clone();
        params.seed = inspection.snapshot.as_ref().map_or(params.seed, |snapshot| snapshot.identity.seed);
        let identity = WorldIdentity::new(path_name, game.about.name, (game.about.rules_hash)(), &params);
        let title = format!("room {}", options.name);
        let opened = open_world(game, (&params, &identity), (&storage, &inspection), options, (&title, now));
        let (room, reports) = opened.map_err(|why| refused(&why))?;
        log_reports(&reports);
        let confirmed = Arc::new(AtomicU64::new(if lease.is_some() { 0 } else { u64::MAX }));
        let (fence, guard) = lease.unzip();
        let fence = fence.unwrap_or(inspection.last_fence);
        repair(&mut storage, &inspection, fence).map_err(|error| refused(&error))?;
        let Inspection { next_sequence, last_run, .. } = &inspection;
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let journaled = JournaledRoom { number, guard, confirmed };
        self.open.lock().push(OpenJournal {
            room: journaled.clone(),
            storage,
            identity,
            next_sequence: *next_sequence,
            last_run: *last_run,
            fence,
        });
        self.rooms.lock().insert(path_name.to_owned(), journaled);
        Ok((room, inspection.snapshot.is_some()))
    }
}
