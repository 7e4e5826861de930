//! `tickwire journal`: checks, truncates or exports the journals of a server.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};

use super::game_list::GameList;
use super::output::{CliError, print};
use crate::limits;
use crate::server::journal::{
    FileKind, Inspection, JournalSnapshot, JournalStorage, check, inspect, truncate,
};
use crate::server::net::journal::{FileStorage, JournalDirectory, JournalSettings, room_directory_name};
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
        /// The directory of --journal.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Give up everything from the first damage on, so that a server can recover the rest.
    Truncate {
        /// The directory of --journal.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Write a room's ticks since its newest snapshot as a capture, which `tickwire replay` reads.
    Export {
        /// The directory of --journal.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// The capture to write. An existing file is not overwritten.
        #[arg(value_name = "OUT")]
        out: PathBuf,
        /// The name of the room. Default: the default room.
        #[arg(long, value_name = "NAME", default_value = "")]
        room: String,
    },
}

/// Runs the command and prints the result.
pub fn run(command: &JournalCommand, games: &GameList) -> Result<(), CliError> {
    match &command.action {
        Action::Check { directory } => run_check(directory),
        Action::Truncate { directory } => run_truncate(directory),
        Action::Export { directory, out, room } => {
            export(&directory.join(room_directory_name(room)), out, games)
        }
    }
}

/// Returns the directories of the rooms.
fn rooms(directory: &Path) -> Result<Vec<PathBuf>, CliError> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let entries = fs::read_dir(directory).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let mut rooms: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    rooms.retain(|path| path.is_dir());
    rooms.sort_unstable();
    if rooms.is_empty() {
        return Err(format!(
            "{}: there is no journal of a room; give the DIR of --journal",
            directory.display()
        ));
    }
    Ok(rooms)
}

fn run_check(directory: &Path) -> Result<(), CliError> {
    let mut refused = 0;
    for room in rooms(directory)? {
        let storage = FileStorage::new(room.clone());
        let faults = check(&storage).map_err(|error| format!("{}: {error}", room.display()))?;
        let mut text = String::new();
        for fault in faults {
            let _ =
                writeln!(text, "{}/{}, byte {}: {}", room.display(), fault.file, fault.offset, fault.rule);
        }
        match inspect(&storage, None) {
            Ok(inspection) => drop(writeln!(text, "{}: {}", room.display(), summary(&inspection))),
            Err(error) => {
                refused += 1;
                let _ = writeln!(text, "{}: refused: {error}", room.display());
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

fn run_truncate(directory: &Path) -> Result<(), CliError> {
    // Holds the lock, so that no server uses the directory meanwhile.
    let _lock = JournalDirectory::open(directory, JournalSettings::default())?;
    for room in rooms(directory)? {
        let mut storage = FileStorage::new(room.clone());
        let given_up = truncate(&mut storage).map_err(|error| format!("{}: {error}", room.display()))?;
        let mut text = String::new();
        for damage in &given_up {
            let (file, offset, rule) = (&damage.file, damage.offset, &damage.rule);
            let _ = writeln!(text, "{}/{file}: truncated at byte {offset}: {rule}", room.display());
        }
        let inspection = inspect(&storage, None).map_err(|error| format!("{}: {error}", room.display()))?;
        let _ = writeln!(text, "{}: {}", room.display(), summary(&inspection));
        print(&text);
    }
    Ok(())
}

/// Writes the ticks of a room as a capture.
fn export(room: &Path, out: &Path, games: &GameList) -> Result<(), CliError> {
    let (blocks, ticks) = capture(&[room.to_owned()], games)?;
    let written = File::create_new(out).and_then(|mut file| file.write_all(&blocks));
    written.map_err(|error| format!("{}: {error}", out.display()))?;
    print(&format!("{}: {} from tick {}\n", out.display(), count_noun(ticks.len(), "tick"), ticks.start));
    Ok(())
}

/// A capture of a journal in a temporary file, which is removed at the end.
#[derive(Debug)]
pub struct JournalCapture {
    path: PathBuf,
}

impl JournalCapture {
    /// Writes the ticks of all rooms in the directory of `--journal`, or of one room, if the
    /// directory is its own.
    pub fn write(directory: &Path, games: &GameList) -> Result<JournalCapture, CliError> {
        let names = FileStorage::new(directory.to_owned()).names().unwrap_or_default();
        let is_room = names.iter().any(|name| FileKind::Snapshot.position_of(name).is_some());
        let rooms = if is_room { vec![directory.to_owned()] } else { rooms(directory)? };
        let (blocks, _) = capture(&rooms, games)?;
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

/// Returns a capture of the ticks of these rooms since their newest snapshots, and the ticks of the
/// last room.
fn capture(rooms: &[PathBuf], games: &GameList) -> Result<(Vec<u8>, Range<u32>), CliError> {
    let read = |room: &PathBuf| {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", room.display());
        let inspection = inspect(&FileStorage::new(room.clone()), None).map_err(|error| failed(&error))?;
        if inspection.snapshot.is_none() { Err(failed(&"the journal is empty")) } else { Ok(inspection) }
    };
    let inspections = rooms.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let created = inspections.iter().filter_map(|room| room.segments.first()).map(|first| first.created_ms);
    let mut writer = CaptureWriter::new(Duration::from_millis(created.min().unwrap_or_default()));
    writer.begin(true);
    writer.tables(Duration::ZERO, &games.codes.texts());
    let mut ticks = 0..0;
    for (room, inspection) in rooms.iter().zip(&inspections) {
        let written = write_room(&mut writer, inspection, games);
        ticks = written.map_err(|error| format!("{}: {error}", room.display()))?;
    }
    Ok((writer.blocks, ticks))
}

/// Writes the world of a room's snapshot and the ticks after it. Returns the ticks.
fn write_room(
    writer: &mut CaptureWriter,
    inspection: &Inspection,
    games: &GameList,
) -> Result<Range<u32>, String> {
    let Some(snapshot) = &inspection.snapshot else { return Ok(0..0) };
    let game = games.named(&snapshot.identity.game).map_err(|error| error.to_string())?;
    let name = &*snapshot.identity.room;
    let paths =
        game.about.paths.iter().map(|(path, dialect)| (Untrusted::new(*path), Untrusted::new(*dialect)));
    let record = WorldRecord::Room { game: Untrusted::new(game.about.name), paths: paths.collect() };
    writer.record(name, Duration::ZERO, &record);
    write_world(writer, snapshot);
    let (mut ticks, tick_hz) = (0_u32, snapshot.identity.tick_hz.max(1));
    let replayed = (game.replay_journal)(snapshot, &inspection.records, &mut |checksum, frame| {
        let at = Duration::from_secs(1) * ticks / tick_hz;
        writer.record(name, at, &WorldRecord::Tick { checksum, frame });
        ticks += 1;
    });
    replayed.map_err(|error| error.to_string())?;
    Ok(snapshot.tick..snapshot.tick + ticks)
}

fn write_world(writer: &mut CaptureWriter, snapshot: &JournalSnapshot) {
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
        writer.record(&identity.room, Duration::ZERO, &record);
    }
}
