//! The file that `save` writes.
//!
//! The world of the default room is written as `tickwire-TICK.world`, another room's as
//! `tickwire-ROOM-TICK.world`, completely or not at all. An existing file is never changed, and no
//! room waits.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use crate::server::room::WorldSnapshot;
use crate::util::os;

/// Writes a snapshot of the default room, or of this room, and returns the name of the file.
///
/// # Errors
/// The file exists or cannot be written. No partial file remains.
pub fn write(directory: &Path, room: Option<&str>, snapshot: &WorldSnapshot) -> io::Result<String> {
    let room = room.map_or(String::new(), |name| format!("{name}-"));
    let name = format!("tickwire-{room}{}.world", snapshot.tick);
    let path = directory.join(&name);
    if path.try_exists()? {
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{name} already exists")));
    }
    let chance = u32::from_le_bytes(os::random());
    let unfinished = directory.join(format!(".{name}.{chance:08x}"));
    let written =
        write_atomically(&unfinished, &snapshot.bytes).and_then(|()| fs::rename(&unfinished, &path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written?;
    os::sync_directory(directory);
    Ok(name)
}

fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = os::create_private(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}
