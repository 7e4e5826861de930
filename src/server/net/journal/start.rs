//! The journals at the start of a server: locks their directory, and recovers the rooms.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use tickwire_sim::WorldParams;
use tracing::{info, warn};

use super::place::{JournalPlace, RoomStorage};
use super::queue::JournalQueue;
use super::{JournalSettings, JournaledRoom, OnRefusedJournal, OpenJournal, RoomJournals};
use crate::server::journal::{
    Inspection, JournalSnapshot, Record, WorldIdentity, inspect, named_world, repair,
};
use crate::server::net::{TcpGameFactory, TcpRoom};
use crate::server::room::RoomConfig;
use crate::util::os;
use crate::util::plural::count_noun;
use crate::util::sync::{Condvar, Mutex};

/// The file whose lock says that a process uses the directory. No room has this name.
const LOCK: &str = "_lock";
/// The journals of a starting server: their place, and the rooms that were recovered so far.
#[derive(Debug)]
pub struct RecoveringJournals {
    place: JournalPlace,
    settings: JournalSettings,
    /// The lock of the directory.
    lock: Option<File>,
    rooms: BTreeMap<String, JournaledRoom>,
    open: Vec<OpenJournal>,
    /// Messages for the log, which starts later.
    reports: Reports,
}

impl RecoveringJournals {
    /// Creates the directory if necessary, and locks it. Processes of a cluster share the lock.
    ///
    /// # Errors
    /// The directory cannot be used, or another process uses it.
    pub fn open(place: JournalPlace, settings: JournalSettings) -> Result<RecoveringJournals, String> {
        let lock = lock(&place, settings.is_shared).map_err(|why| format!("--journal {place}: {why}"))?;
        let (rooms, open, reports) = (BTreeMap::new(), Vec::new(), Vec::new());
        Ok(RecoveringJournals { place, settings, lock, rooms, open, reports })
    }

    /// Recovers a room, or creates it with a new world if it has no journal yet, or by
    /// [`OnRefusedJournal::NewWorld`]. In a cluster, a room of the command line has no lease and no
    /// journal.
    ///
    /// # Errors
    /// The journal is damaged, has another identity, or cannot be read.
    pub fn room(
        &mut self,
        game: &TcpGameFactory,
        params: &WorldParams,
        options: RoomConfig,
    ) -> Result<Box<TcpRoom>, String> {
        if self.settings.is_shared {
            return Ok((game.new_room)(params, options));
        }
        let name = options.name.to_string();
        match self.recover_room(game, params, options.clone()) {
            Err(why) if self.settings.on_refused == OnRefusedJournal::NewWorld => {
                let aside = self.place.set_aside(JournalPlace::room_name(&name))?;
                self.reports.push((true, set_aside_report(&title(&name), &why, &aside)));
                self.recover_room(game, params, options)
            }
            opened => opened,
        }
    }

    fn recover_room(
        &mut self,
        game: &TcpGameFactory,
        params: &WorldParams,
        options: RoomConfig,
    ) -> Result<Box<TcpRoom>, String> {
        let name = options.name.to_string();
        let room_name = JournalPlace::room_name(&name);
        let described = self.place.describe(room_name);
        let refused = |why: &dyn std::fmt::Display| format!("--journal {described}: {why}");
        let rules_hash = (game.info.rules_hash)();
        let identity = WorldIdentity::new(&name, game.info.name, rules_hash, params);
        let mut storage = self.place.create_room(room_name).map_err(|error| refused(&error))?;
        let inspection = inspect(&storage, None).map_err(|error| refused(&error))?;
        // The server's clock is at zero.
        let opened = open_world(
            game,
            (params, &identity),
            (&storage, &inspection),
            options,
            (&title(&name), Duration::ZERO),
        );
        let (room, reports) = opened.map_err(|why| refused(&why))?;
        self.reports.extend(reports);
        let Inspection { next_sequence, last_run, last_fence: fence, .. } = inspection;
        repair(&mut storage, &inspection, fence).map_err(|error| refused(&error))?;
        storage.wait_for_store();
        let journaled = JournaledRoom::new(self.open.len(), None);
        self.rooms.insert(name, journaled.clone());
        self.open.push(OpenJournal { room: journaled, storage, identity, next_sequence, last_run, fence });
        Ok(room)
    }

    /// Logs the results of the recovery. Returns the journals of the recovered rooms.
    pub fn begin(self) -> Arc<RoomJournals> {
        log_reports(&self.reports);
        Arc::new(RoomJournals {
            settings: self.settings,
            place: self.place,
            queue: JournalQueue::default(),
            rooms: Mutex::new(self.rooms),
            room_ended: Condvar::new(),
            next_number: AtomicUsize::new(self.open.len()),
            open: Mutex::new(self.open),
            error: Mutex::default(),
            lock: Mutex::new(self.lock),
        })
    }
}

/// Locks the directory of journals.
fn lock(place: &JournalPlace, is_shared: bool) -> Result<Option<File>, String> {
    let JournalPlace::Directory(directory) = place else { return Ok(None) };
    fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    let lock = os::open_private(&directory.join(LOCK)).map_err(|error| error.to_string())?;
    match if is_shared { lock.try_lock_shared() } else { lock.try_lock() } {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => {
            Err("another process uses this directory; stop it, or choose another directory".to_owned())
        }
        Err(TryLockError::Error(error)) => Err(format!("cannot be locked: {error}")),
    }
}

/// Describes that a journal was set aside, for the log.
pub fn set_aside_report(title: &str, why: &str, aside: &str) -> String {
    format!("{title}: {why}; the world is new, and the old journal is {aside}")
}

fn title(room: &str) -> String {
    if room.is_empty() { "the default room".to_owned() } else { format!("room {room}") }
}

/// Messages for the log. Each has a flag, true for a warning, and a text.
pub type Reports = Vec<(bool, String)>;

/// The remedy for a journal of another world.
const OTHER_WORLD: &str = "start the server with the options of this journal, or choose another directory";
/// The remedy for a journal of other rules without a named world.
const OTHER_RULES: &str = "the last run of those rules did not stop, but was killed: start and stop the program that \
     has them, or choose another directory";

/// Creates a room with the world of a journal. If the last run has stopped, this is its named
/// world, also for a program with other rules; otherwise the world of its records. Without a
/// journal, the world is new. `now` is the time of the server's clock.
///
/// # Errors
/// The world cannot continue.
pub fn open_world(
    game: &TcpGameFactory,
    (params, identity): (&WorldParams, &WorldIdentity),
    (storage, inspection): (&RoomStorage, &Inspection),
    options: RoomConfig,
    (title, now): (&str, Duration),
) -> Result<(Box<TcpRoom>, Reports), String> {
    let Some(snapshot) = &inspection.snapshot else {
        return Ok(((game.new_room)(params, options), Reports::new()));
    };
    let difference = identity.difference(&snapshot.identity);
    let other = |remedy| {
        let (field, own, found) = difference.clone().unwrap_or_default();
        format!("the journal is of another world: {field} is {found}, not {own}; {remedy}")
    };
    let with_its_rules = WorldIdentity { rules_hash: snapshot.identity.rules_hash, ..identity.clone() };
    if with_its_rules != snapshot.identity {
        return Err(other(OTHER_WORLD));
    }
    let mut reports = Reports::new();
    match named_world(storage, inspection) {
        Ok(Some(named)) => {
            return migrate(game, params, (&named, difference.is_some()), options, (title, now));
        }
        Ok(None) if difference.is_some() => return Err(other(OTHER_RULES)),
        Err(error) if difference.is_some() => return Err(error.to_string()),
        Ok(None) => {}
        Err(error) => reports.push((true, format!("{title}: its records are used instead: {error}"))),
    }
    let room = recover(game, snapshot, &inspection.records, options, now)?;
    reports.extend(recovery_reports(title, &*room, inspection));
    Ok((room, reports))
}

/// Creates a room with a named world. The flag says whether it is of other rules.
fn migrate(
    game: &TcpGameFactory,
    params: &WorldParams,
    (named, has_other_rules): (&JournalSnapshot, bool),
    options: RoomConfig,
    (title, now): (&str, Duration),
) -> Result<(Box<TcpRoom>, Reports), String> {
    let migrated = (game.migrate_room)(params, &named.world, options);
    let (room, notes) = migrated.map_err(|why| format!("the world cannot continue: {why}"))?;
    room.handle().restore_hashed_seats(&named.seats, now);
    let (tick, players) = (named.tick, count_noun(named.seats.len(), "player"));
    let rules = if has_other_rules { " with other rules" } else { "" };
    let mut reports =
        vec![(false, format!("{title} continues after tick {tick}{rules}: {players} may resume"))];
    reports.extend(notes.into_iter().map(|note| (false, format!("{title}: {note}"))));
    Ok((room, reports))
}

/// Restores a room from its journal. `now` is the time of the server's clock.
fn recover(
    game: &TcpGameFactory,
    snapshot: &JournalSnapshot,
    records: &[Record],
    options: RoomConfig,
    now: Duration,
) -> Result<Box<TcpRoom>, String> {
    let recover = || (game.recover_room)(snapshot, records, options, now);
    let recovered = catch_unwind(AssertUnwindSafe(recover));
    let recovered = recovered.unwrap_or_else(|_| Err("a tick of the journal panics".to_owned()));
    recovered.map_err(|why| format!("the world cannot be recovered: {why}"))
}

/// Describes a recovery for the log.
fn recovery_reports(title: &str, room: &TcpRoom, inspection: &Inspection) -> Reports {
    let mut reports = Reports::new();
    for damage in &inspection.damaged_snapshots {
        reports.push((true, format!("{title}: an older snapshot is used: {damage}")));
    }
    if let Some(torn) = &inspection.torn {
        let (bytes, file, offset, rule) =
            (count_noun(torn.bytes, "byte"), &torn.file, torn.offset, torn.rule);
        reports
            .push((true, format!("{title}: {bytes} of {file} from byte {offset} on are truncated: {rule}")));
    }
    if inspection.snapshot.is_some() {
        let (tick, records) = (room.handle().tick(), count_noun(inspection.records.len(), "record"));
        let players = count_noun(room.handle().hashed_seats().len(), "player");
        reports.push((
            false,
            format!("{title} continues after tick {tick}: {records} replayed, {players} may resume"),
        ));
    }
    reports
}

/// Logs the results of a recovery.
pub fn log_reports(reports: &[(bool, String)]) {
    for (is_warning, text) in reports {
        if *is_warning { warn!("{text}") } else { info!("{text}") }
    }
}
