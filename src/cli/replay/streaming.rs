//! Replays a file in one pass, on two threads: one reads the file and decodes its clients' bytes,
//! the other runs the worlds.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;

use crate::game::GameInfo;
use crate::limits;
use crate::packet::PacketTables;
use crate::tools::capture::Untrusted;
use crate::tools::replay::{NeedsFullReplay, Report, StoredRecord, StreamingReplay, WorldRunner};

/// Bytes of one read. They stay in the core's cache while they are decoded.
const CHUNK_BYTES: usize = 256 * 1024;

/// The reports of a file, if all results are the same.
///
/// # Errors
/// [`NeedsFullReplay`]: the file is not a regular file, or it needs a replay of the whole file.
pub(super) fn streaming_reports(
    file: &Path,
    games: &[&'static GameInfo],
    given: Option<Arc<PacketTables>>,
) -> Result<Vec<(Untrusted, Report)>, NeedsFullReplay> {
    let is_file = |about: &fs::Metadata| about.is_file() && about.len() <= limits::CAPTURE_READ_BYTES;
    if !fs::metadata(file).is_ok_and(|about| is_file(&about)) {
        return Err(NeedsFullReplay);
    }
    let source = File::open(file).map_err(|_| NeedsFullReplay)?;
    let (send, records) = mpsc::channel::<Vec<Arc<StoredRecord>>>();
    thread::scope(|scope| {
        let worlds = scope.spawn(move || {
            let mut worlds = WorldRunner::new(games);
            records.iter().try_for_each(|records| worlds.run(&records))?;
            Ok(worlds.results())
        });
        let (pass, rest) = read(source, StreamingReplay::new(games, given), send)?;
        pass.finish(rest, || worlds.join().unwrap_or(Err(NeedsFullReplay)))
    })
}

/// Reads the whole file. Returns the number of unused bytes at its end.
fn read(
    source: File,
    mut pass: StreamingReplay,
    records: mpsc::Sender<Vec<Arc<StoredRecord>>>,
) -> Result<(StreamingReplay, usize), NeedsFullReplay> {
    let mut source = source.take(limits::CAPTURE_READ_BYTES + 1);
    let (mut bytes, mut filled) = (vec![0; CHUNK_BYTES], 0);
    loop {
        // The block is longer than the buffer.
        if filled == bytes.len() {
            bytes.resize(2 * filled, 0);
        }
        match source.read(&mut bytes[filled..]) {
            Ok(0) if source.limit() == 0 => return Err(NeedsFullReplay),
            Ok(0) => return Ok((pass, filled)),
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return Err(NeedsFullReplay),
        }
        let used = pass.receive(&bytes[..filled])?;
        bytes.copy_within(used..filled, 0);
        filled -= used;
        records.send(pass.records()).map_err(|_| NeedsFullReplay)?;
    }
}
