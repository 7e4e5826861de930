//! Journals of rooms on demand: recovered when a client requests the room, in a cluster after this
//! process has acquired its lease.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tickwire_sim::WorldParams;

use super::place::JournalPlace;
use super::start::{log_reports, open_world, set_aside_report};
use super::{JournaledRoom, OnRefusedJournal, OpenJournal, RoomJournals};
use crate::packet::routes::redact_room_name;
use crate::server::cluster::LeaseGuard;
use crate::server::journal::{
    FilePosition, Inspection, JournalStorage as _, RecoveryError, WorldIdentity, claim, highest_fence,
    inspect, repair,
};
use crate::server::net::{TcpGameFactory, TcpRoom};
use crate::server::room::RoomConfig;

impl RoomJournals {
    /// Returns the description of a room's journal for the log, without the whole name of a private
    /// room.
    fn describe(&self, path_name: &str) -> String {
        redact_room_name(&self.place.describe(path_name)).into_owned()
    }

    /// Returns the highest fence of a room's files; 0 without files. A new lease must have a higher
    /// one.
    ///
    /// # Errors
    /// The files cannot be listed.
    pub fn room_fence(&self, path_name: &str) -> io::Result<u64> {
        match highest_fence(&self.place.room(JournalPlace::room_name(path_name))) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
            fence => fence.map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", self.describe(path_name)))
            }),
        }
    }

    /// Returns whether a room has a journal from which it continues.
    pub fn has_world(&self, path_name: &str) -> bool {
        let storage = self.place.room(JournalPlace::room_name(path_name));
        storage.names().is_ok_and(|names| names.iter().any(|name| FilePosition::of(name).is_some()))
    }

    /// Recovers a room from its journal, or creates it with a new world if it has none, or by
    /// [`OnRefusedJournal::NewWorld`]. `params` are the parameters of a new world; a journal may
    /// have another seed. `lease` is the fence and the validity of the room's lease, in a cluster.
    /// `now` is the time of the server's clock. Also returns whether the room had a journal.
    ///
    /// # Errors
    /// Another process has a higher fence, the journal cannot be recovered, or its place cannot be
    /// reached (`NotConnected`).
    pub fn open_room(
        &self,
        game: &TcpGameFactory,
        params: &WorldParams,
        (path_name, options): (&str, RoomConfig),
        lease: Option<(u64, Arc<LeaseGuard>)>,
        now: Duration,
    ) -> io::Result<(Box<TcpRoom>, bool)> {
        let room_name = JournalPlace::room_name(path_name);
        let described =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", self.describe(room_name)));
        if !self.wait_for_end(path_name) {
            return Err(described(io::Error::other("an earlier room of this name still uses the files")));
        }
        let recover = |options| self.recover_room(game, params, (path_name, options), lease.clone(), now);
        let recovered = match recover(options.clone()) {
            Err(RoomError::Refused(why)) if self.settings.on_refused == OnRefusedJournal::NewWorld => {
                let title = format!("room {}", options.name);
                let aside = self.place.set_aside(room_name).map_err(io::Error::other)?;
                log_reports(&[(true, set_aside_report(&title, &why, &redact_room_name(&aside)))]);
                recover(options)
            }
            recovered => recovered,
        };
        recovered.map_err(|error| match error {
            RoomError::Refused(why) => described(io::Error::other(why)),
            RoomError::Failed(error) => described(error),
        })
    }

    fn recover_room(
        &self,
        game: &TcpGameFactory,
        params: &WorldParams,
        (path_name, options): (&str, RoomConfig),
        lease: Option<(u64, Arc<LeaseGuard>)>,
        now: Duration,
    ) -> Result<(Box<TcpRoom>, bool), RoomError> {
        let created = self.place.create_room(JournalPlace::room_name(path_name));
        let mut storage = created.map_err(RoomError::Failed)?;
        if let Some((fence, _)) = &lease
            && !claim(&mut storage, *fence).map_err(RoomError::Failed)?
        {
            return Err(RoomError::Failed(io::Error::other("another process has acquired the room")));
        }
        let inspection = inspect(&storage, None).map_err(|error| match error {
            // A file that is listed and cannot be found is lost.
            RecoveryError::Io { error, .. } if error.kind() != io::ErrorKind::NotFound => {
                RoomError::Failed(error)
            }
            error => RoomError::Refused(error.to_string()),
        })?;
        let mut params = params.clone();
        params.seed = inspection.snapshot.as_ref().map_or(params.seed, |snapshot| snapshot.identity.seed);
        let identity = WorldIdentity::new(path_name, game.info.name, (game.info.rules_hash)(), &params);
        let title = format!("room {}", options.name);
        let opened = open_world(game, (&params, &identity), (&storage, &inspection), options, (&title, now));
        let (room, reports) = opened.map_err(RoomError::Refused)?;
        log_reports(&reports);
        let (fence, guard) = lease.unzip();
        let fence = fence.unwrap_or(inspection.last_fence);
        repair(&mut storage, &inspection, fence)
            .map_err(|error| RoomError::Failed(io::Error::other(error.to_string())))?;
        storage.wait_for_store();
        let Inspection { next_sequence, last_run, .. } = &inspection;
        let number = self.next_number.fetch_add(1, Ordering::Relaxed);
        let journaled = JournaledRoom::new(number, guard);
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

/// The reason why a room cannot be opened.
enum RoomError {
    /// Its journal cannot be recovered.
    Refused(String),
    /// The storage has failed, or another process has the room.
    Failed(io::Error),
}
