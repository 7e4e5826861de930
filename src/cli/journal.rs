//! `tickwire journal`: checks, truncates or exports the journals of a server.

use std::fmt::Display;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};

use super::game_list::GameList;
use super::output::{CliError, print};
use crate::limits;
use crate::server::journal::{
    FileKind, Inspection, JournalHistory, JournalSnapshot, JournalStorage as _, check, history, inspect,
    truncate,
};
use crate::server::net::journal::{JournalPlace, JournalSettings, RecoveringJournals};
use crate::tools::capture::Untrusted;
use crate::tools::capture::world_record::WorldRecord;
use crate::tools::capture::writer::CaptureWriter;
use crate::util::os;
use crate::util::plural::count_noun;

/// Options of `journal`.
#[derive(Debug, Args)]
pub struct JournalCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Check all files, and print what a server would recover. Changes nothing. A server may be
    /// running; the end of its last file then looks like a torn tail.
    Check {
        /// The directory of --journal, or the URL of the Redis that has the journals.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Give up everything from the first damage on, so that a server can recover the rest.
    Truncate {
        /// The directory of --journal, or the URL of the Redis that has the journals.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Write a room's ticks as a capture, which `tickwire replay` reads.
    Export {
        /// The directory of --journal, or the URL of the Redis that has the journals.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// The capture to write. An existing file is not overwritten.
        #[arg(value_name = "OUT")]
        out: PathBuf,
        /// The name of the room. Default: the default room.
        #[arg(long, value_name = "NAME", default_value = "")]
        room: String,
        /// How long before the end of the journal the capture begins, in minutes; earlier to begin
        /// with a snapshot, which there is each minute, and later if less is retained. Default:
        /// since the newest snapshot.
        #[arg(long, value_name = "N", default_value_t = 0)]
        minutes: u64,
    },
}

/// Runs the command and prints the result.
pub fn run(command: &JournalCommand, games: &GameList) -> Result<(), CliError> {
    match &command.action {
        Action::Check { directory } => run_check(&JournalPlace::of_tool(directory)?),
        Action::Truncate { directory } => run_truncate(&JournalPlace::of_tool(directory)?),
        Action::Export { directory, out, room, minutes } => {
            let rooms = [JournalPlace::room_name(room).to_owned()];
            export((&JournalPlace::of_tool(directory)?, &rooms), *minutes, out, games)
        }
    }
}

/// Returns the names of the rooms.
fn rooms(place: &JournalPlace) -> Result<Vec<String>, CliError> {
    let rooms = place.rooms().map_err(|error| format!("{place}: {error}"))?;
    if rooms.is_empty() {
        return Err(format!("{place}: there is no journal of a room; give the DIR of --journal"));
    }
    Ok(rooms)
}

fn run_check(place: &JournalPlace) -> Result<(), CliError> {
    let mut refused = 0;
    for room in rooms(place)? {
        let (storage, room) = (place.room(&room), place.describe(&room));
        let mut text = String::new();
        for fault in check(&storage).map_err(|error| format!("{room}: {error}"))? {
            let _ = writeln!(text, "{room}/{}, byte {}: {}", fault.file, fault.offset, fault.rule);
        }
        match inspect(&storage, None) {
            Ok(inspection) => drop(writeln!(text, "{room}: {}", summary(&inspection))),
            Err(error) => {
                refused += 1;
                let _ = writeln!(text, "{room}: refused: {error}");
            }
        }
        print(&text);
    }
    if refused > 0 { Err(format!("{} cannot be recovered", count_noun(refused, "room"))) } else { Ok(()) }
}

/// The state that a server would recover.
fn summary(inspection: &Inspection) -> String {
    let Some(JournalSnapshot { tick, sequence, identity, .. }) = &inspection.snapshot else {
        return "empty".to_owned();
    };
    let records = count_noun(inspection.records.len(), "record");
    let torn = inspection.torn.as_ref().map_or(String::new(), |torn| {
        format!("; a torn tail of {} is truncated", count_noun(torn.bytes, "byte"))
    });
    let run = inspection.last_run;
    format!("{identity}; run {run}, snapshot of tick {tick} before record {sequence}, then {records}{torn}")
}

fn run_truncate(place: &JournalPlace) -> Result<(), CliError> {
    // Holds the lock, so that no server uses the directory meanwhile.
    let _lock = RecoveringJournals::open(place.clone(), JournalSettings::default())?;
    for room in rooms(place)? {
        if place.is_leased(&room).map_err(|error| format!("{place}: {error}"))? {
            return Err(format!("{}: a process has this room; stop it first", place.describe(&room)));
        }
        let (mut storage, room) = (place.room(&room), place.describe(&room));
        let mut text = String::new();
        for damage in truncate(&mut storage).map_err(|error| format!("{room}: {error}"))? {
            let _ = writeln!(
                text,
                "{room}/{}: truncated at byte {}: {}",
                damage.file, damage.offset, damage.rule
            );
        }
        let inspection = inspect(&storage, None).map_err(|error| format!("{room}: {error}"))?;
        let _ = writeln!(text, "{room}: {}", summary(&inspection));
        print(&text);
    }
    Ok(())
}

/// Writes the ticks of a room as a capture.
fn export(
    rooms: (&JournalPlace, &[String]),
    minutes: u64,
    out: &Path,
    games: &GameList,
) -> Result<(), CliError> {
    let (blocks, count, first) = capture(rooms, minutes, games)?;
    let written = File::create_new(out).and_then(|mut file| file.write_all(&blocks));
    written.map_err(|error| format!("{}: {error}", out.display()))?;
    print(&format!("{}: {} from tick {first}\n", out.display(), count_noun(count, "tick")));
    Ok(())
}

/// A capture of a journal in a temporary file, which is removed at the end.
#[derive(Debug)]
pub struct JournalCapture {
    path: PathBuf,
}

impl JournalCapture {
    /// Writes the ticks of all rooms in the directory of `--journal`, or of one room, if the
    /// directory is its own. They begin this number of minutes before the end.
    pub fn write(directory: &Path, minutes: u64, games: &GameList) -> Result<JournalCapture, CliError> {
        let place = JournalPlace::of_tool(directory)?;
        let names = place.room("").names().unwrap_or_default();
        let is_room = names.iter().any(|name| FileKind::Snapshot.position_of(name).is_some());
        let rooms = if is_room { vec![String::new()] } else { rooms(&place)? };
        let (blocks, ..) = capture((&place, &rooms), minutes, games)?;
        let number = u64::from_le_bytes(os::random());
        let path = std::env::temp_dir().join(format!("tickwire-journal-{number:016x}.pcapng"));
        let failed = |error| format!("{}: {error}", path.display());
        let mut file = os::create_private(&path).map_err(failed)?;
        let capture = JournalCapture { path: path.clone() };
        file.write_all(&blocks).map_err(failed)?;
        Ok(capture)
    }

    /// The path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for JournalCapture {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns a capture of the ticks of these rooms, and the number of ticks and the first tick of the
/// last room.
fn capture(
    (place, rooms): (&JournalPlace, &[String]),
    minutes: u64,
    games: &GameList,
) -> Result<(Vec<u8>, u32, u32), CliError> {
    let failed = |room: &str, error: &dyn Display| format!("{}: {error}", place.describe(room));
    let mut histories = Vec::new();
    for room in rooms {
        let found = history(&place.room(room), minutes.saturating_mul(60_000));
        let found = found.map_err(|error| failed(room, &error))?;
        histories.push((room, found.ok_or_else(|| failed(room, &"the journal is empty"))?));
    }
    let created_ms = histories.iter().map(|(_, history)| history.created_ms).min().unwrap_or_default();
    let mut writer = CaptureWriter::new(Duration::from_millis(created_ms));
    writer.begin(true);
    writer.tables(Duration::ZERO, &games.codes.texts());
    let mut written = (0, 0);
    for (room, history) in &histories {
        let began = Duration::from_millis(history.created_ms.saturating_sub(created_ms));
        let count = write_room(&mut writer, (history, began), games).map_err(|error| failed(room, &error))?;
        written = (count, history.snapshot.tick);
    }
    Ok((writer.blocks, written.0, written.1))
}

/// Writes the world and the ticks of a room, which begin at this time of the capture. Returns the
/// number of ticks.
fn write_room(
    writer: &mut CaptureWriter,
    (JournalHistory { snapshot, records, .. }, began): (&JournalHistory, Duration),
    games: &GameList,
) -> Result<u32, String> {
    let game = games.named(&snapshot.identity.game).map_err(|error| error.to_string())?;
    let name = &*snapshot.identity.room;
    let paths =
        game.info.paths.iter().map(|(path, dialect)| (Untrusted::new(*path), Untrusted::new(*dialect)));
    let record = WorldRecord::Room { game: Untrusted::new(game.info.name), paths: paths.collect() };
    writer.record(name, Duration::ZERO, &record);
    write_world(writer, began, snapshot);
    let (mut ticks, tick_hz) = (0_u32, snapshot.identity.tick_hz.max(1));
    let replayed = (game.replay_journal)(snapshot, records, &mut |checksum, frame| {
        let at = began + Duration::from_secs(1) * ticks / tick_hz;
        writer.record(name, at, &WorldRecord::Tick { checksum, frame });
        ticks += 1;
    });
    replayed.map_err(|error| error.to_string())?;
    Ok(ticks)
}

fn write_world(writer: &mut CaptureWriter, at: Duration, snapshot: &JournalSnapshot) {
    let JournalSnapshot { identity, tick, world, .. } = snapshot;
    let parts = world.chunks(limits::CAPTURE_CHUNK_BYTES);
    // The limits on a world keep it below 65,535 parts.
    let count = parts.len() as u16;
    for (part, bytes) in (0..count).zip(parts) {
        let options =
            identity.options.iter().map(|(name, value)| (Untrusted::new(&**name), *value)).collect();
        let record = WorldRecord::World {
            seed: identity.seed,
            tick_hz: identity.tick_hz,
            options,
            rules_hash: identity.rules_hash,
            tick: *tick,
            part,
            parts: count,
            bytes,
        };
        writer.record(&identity.room, at, &record);
    }
}
