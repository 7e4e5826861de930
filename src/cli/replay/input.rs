//! Reads a capture in parts, from a file, a pipe or standard input, while another thread runs its
//! worlds.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

use super::super::output::CliError;
use crate::game::GameInfo;
use crate::limits;
use crate::packet::PacketTables;
use crate::tools::capture::{self, Untrusted};
use crate::tools::explain::input;
use crate::tools::replay::{
    self, ReplayError, ReplayInput, ReplayOptions, Report, StoredRecord, WorldResults, WorldRunner,
};

/// The file name that means standard input.
pub(super) const STDIN_ARG: &str = "-";
/// Length of the magic bytes of a capture or a compressed file.
const MAGIC_BYTES: u64 = capture::compressed_file::MAGIC_BYTES as u64;
/// Bytes of one read. They stay in the core's cache while they are decoded.
const CHUNK_BYTES: usize = 256 * 1024;

/// The reason for a missing report.
pub(super) enum ReplayReportError {
    Unreadable(CliError),
    NotReplayable(ReplayError),
}

/// Replays a capture on two threads: one reads it and decodes its clients' bytes, the other runs
/// the worlds.
pub(super) fn replay_file(
    file: &Path,
    games: &[&'static GameInfo],
    given: Option<Arc<PacketTables>>,
    options: ReplayOptions,
) -> Result<Vec<(Untrusted, Report)>, ReplayReportError> {
    let (send, records) = mpsc::channel::<Vec<Arc<StoredRecord>>>();
    thread::scope(|scope| {
        let worlds = scope.spawn(move || {
            let mut worlds = WorldRunner::new(games, options);
            records.iter().for_each(|records| worlds.run(&records));
            worlds.results()
        });
        let mut input = ReplayInput::new(given);
        // Sending fails only if the runner has panicked. Then there are no results.
        let read = receive(file, &mut input, &mut |input| _ = send.send(input.new_records()));
        drop(send);
        read.map_err(ReplayReportError::Unreadable)?;
        let results = || worlds.join().unwrap_or_else(|_| WorldResults::default());
        replay::replay(&input, games, options, results).map_err(ReplayReportError::NotReplayable)
    })
}

/// Reads a capture in parts, without running its worlds.
pub(super) fn read_input(file: &Path) -> Result<ReplayInput, CliError> {
    let mut input = ReplayInput::new(None);
    receive(file, &mut input, &mut |_| {})?;
    Ok(input)
}

/// Reads a whole file, pipe or standard input, up to [`limits::CAPTURE_READ_BYTES`].
pub(super) fn read_bytes(file: &Path) -> Result<Vec<u8>, CliError> {
    let mut source = Source::open(file)?;
    let length = fs::metadata(file).map_or(0, |metadata| if metadata.is_file() { metadata.len() } else { 0 });
    let mut bytes = vec![0; usize::try_from(length).unwrap_or_default().max(CHUNK_BYTES)];
    let mut filled = 0;
    loop {
        match source.read(&mut bytes[filled..])? {
            0 => break,
            read => filled += read,
        }
        if filled == bytes.len() {
            bytes.resize(2 * filled, 0);
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Passes a capture to `input` in parts, and calls `each` after each part.
fn receive(
    file: &Path,
    input: &mut ReplayInput,
    each: &mut dyn FnMut(&mut ReplayInput),
) -> Result<(), CliError> {
    let mut source = Source::open(file)?;
    let damaged = |error| format!("{}: {error}", name(file));
    let (mut bytes, mut filled) = (vec![0; CHUNK_BYTES], 0);
    loop {
        // The block is longer than the buffer.
        if filled == bytes.len() {
            bytes.resize(2 * filled, 0);
        }
        match source.read(&mut bytes[filled..])? {
            0 => break,
            read => filled += read,
        }
        let used = input.receive(&bytes[..filled]).map_err(damaged)?;
        bytes.copy_within(used..filled, 0);
        filled -= used;
        each(input);
    }
    input.finish(&bytes[..filled]).map_err(damaged)
}

/// The bytes of a capture, at most [`limits::CAPTURE_READ_BYTES`].
struct Source<'a> {
    file: &'a Path,
    /// The first bytes, which show whether the file is a capture, then the others.
    bytes: io::Take<Box<dyn Read>>,
}

impl<'a> Source<'a> {
    /// Opens a file, and reads its magic bytes. If the file is not a capture, the rest is not read,
    /// because a device may produce bytes forever.
    fn open(file: &'a Path) -> Result<Source<'a>, CliError> {
        let failure = |reason: &dyn std::fmt::Display| format!("{}: {reason}", name(file));
        let mut source: Box<dyn Read> = if file.as_os_str() == STDIN_ARG {
            Box::new(io::stdin().lock())
        } else {
            Box::new(File::open(file).map_err(|error| failure(&error))?)
        };
        // Checks the length of a regular file before reading it.
        if fs::metadata(file).is_ok_and(|metadata| metadata.len() > limits::CAPTURE_READ_BYTES) {
            return Err(too_long(file));
        }
        let mut magic = Vec::new();
        source.as_mut().take(MAGIC_BYTES).read_to_end(&mut magic).map_err(|error| failure(&error))?;
        if let Some(packed) = capture::compressed_file::format(&magic) {
            return Err(failure(&packed));
        }
        let rest = if input::is_capture(&magic) { source } else { Box::new(io::empty()) };
        let bytes: Box<dyn Read> = Box::new(io::Cursor::new(magic).chain(rest));
        Ok(Source { file, bytes: bytes.take(limits::CAPTURE_READ_BYTES + 1) })
    }

    /// Reads the next bytes; 0 at the end.
    fn read(&mut self, bytes: &mut [u8]) -> Result<usize, CliError> {
        loop {
            match self.bytes.read(bytes) {
                Ok(0) if self.bytes.limit() == 0 => return Err(too_long(self.file)),
                Ok(read) => return Ok(read),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(format!("{}: {error}", name(self.file))),
            }
        }
    }
}

fn too_long(file: &Path) -> CliError {
    format!("{}: more than {} bytes", name(file), limits::CAPTURE_READ_BYTES)
}

/// The name of the file in messages.
pub(super) fn name(file: &Path) -> String {
    if file.as_os_str() == STDIN_ARG { "standard input".to_owned() } else { file.display().to_string() }
}
