//! Files that a starting server reads: saved worlds, journals and player tokens.

use std::fs;
use std::path::Path;

use tickwire_sim::WorldParams;

use super::journal::RecoveringJournals;
use super::{TcpGameFactory, TcpRoom, Tokens};
use crate::limits;
use crate::server::room::RoomConfig;

/// Creates a room with the world of its journal, or with a new one.
///
/// # Errors
/// The journal of the room cannot be recovered.
pub fn journaled_room(
    journal: &mut Option<RecoveringJournals>,
    game: &TcpGameFactory,
    params: &WorldParams,
    options: RoomConfig,
) -> Result<Box<TcpRoom>, String> {
    match journal {
        Some(journal) => journal.room(game, params, options),
        None => Ok((game.new_room)(params, options)),
    }
}

/// Creates a room with the world of a file that the operator command `save` has written.
///
/// # Errors
/// Names the file, and why the room cannot have its world.
pub fn restore_room(
    game: &TcpGameFactory,
    file: &Path,
    options: &dyn Fn(&WorldParams) -> RoomConfig,
) -> Result<Box<TcpRoom>, String> {
    let metadata = fs::metadata(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let bytes = read(file, metadata.is_file(), limits::MAX_RESTORE_BYTES, "a regular file")?;
    (game.resume_room)(&bytes, options).map_err(|reason| format!("{}: {reason}", file.display()))
}

/// Reads a token file.
///
/// # Errors
/// Names the file, and the line with the broken rule. The message contains no token.
pub fn read_tokens(file: &Path) -> Result<Tokens, String> {
    // Also a pipe, which has a length of 0.
    let bytes = read(file, !file.is_dir(), limits::TOKEN_FILE_BYTES, "a file")?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{}: is not UTF-8", file.display()))?;
    Tokens::read(&text).map_err(|bad| format!("{}: {bad}", file.display()))
}

fn read(file: &Path, is_allowed: bool, max_bytes: u64, kind: &str) -> Result<Vec<u8>, String> {
    let failure = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let metadata = fs::metadata(file).map_err(|error| failure(&error))?;
    if !is_allowed || metadata.len() > max_bytes {
        return Err(failure(&format!("must be {kind} of at most {max_bytes} bytes")));
    }
    fs::read(file).map_err(|error| failure(&error))
}
