//! Calls of the operating system that `std` lacks, with one interface for all systems.
//!
//! `linux.rs` makes them with `rustix`. `portable.rs` uses `std` alone, for macOS, Windows and any
//! other system with threads and sockets; its documentation lists what it lacks. No other file
//! depends on the system, which `tests/tidy` checks. The functions take and return sockets, plain
//! values and `io::Error`. They contain no decisions about the protocol.
//!
//! A server built with `RUSTFLAGS="--cfg tickwire_plain"` uses `portable.rs` on Linux too, for
//! tests. The unit tests of `portable.rs` always run on Linux.

mod capacity;
mod readiness;
#[cfg(unix)]
mod signals;
mod suspended;
pub mod threads;

#[cfg(all(target_os = "linux", not(tickwire_plain)))]
mod linux;
#[cfg(any(test, tickwire_plain, not(target_os = "linux")))]
#[cfg_attr(test, allow(dead_code, reason = "what only the program uses has no test here"))]
mod portable;

#[cfg(test)]
mod tests;

#[cfg(all(target_os = "linux", not(tickwire_plain)))]
use linux as system;
#[cfg(any(tickwire_plain, not(target_os = "linux")))]
use portable as system;

pub use capacity::MachineCapacity;
pub use readiness::{PollInterest, Readiness};
pub use suspended::Suspended;
pub use system::{
    CAN_BIND_SOURCE, PollableStdin, Poller, TerminalMode, ceilings, configure_accepted, connect,
    create_private, enable_ansi, is_at, is_foreground, is_named_pipe, is_world_readable, on_stop,
    open_private, poll, prefetch, random, read, resident_bytes, set_reset_on_close, thread_cpu_time,
    try_send, wait_until_closed, wake_acceptor, widen_backlog,
};

use std::fs::File;
use std::io;
use std::path::Path;

/// Writes a directory's entries to the disk, so that a renamed file survives a power failure.
/// Errors are ignored, because the file exists in any case, and not every system supports this.
pub fn sync_directory(directory: &Path) {
    let _ = try_sync_directory(directory);
}

/// Writes a directory's entries to the disk. Does nothing on systems that cannot open a directory.
///
/// # Errors
/// Any error of the disk.
pub fn try_sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}
