//! Calls of the operating system that `std` does not offer, behind one interface.
//!
//! `linux.rs` makes them, with `rustix`. `plain.rs` does without them, for macOS, Windows and any
//! other system that has threads and sockets; each of its functions says what it lacks. No other
//! file depends on the system, which `tests/tidy` checks. The functions take and return sockets,
//! plain values and `io::Error`. They decide nothing about the protocol.
//!
//! A server built with `RUSTFLAGS="--cfg tickwire_plain"` uses `plain.rs` on Linux too, so that it
//! can be tried there; its unit tests always run there.

mod capacity;
mod readiness;
#[cfg(unix)]
mod signals;
mod suspended;

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
    CAN_BIND_SOURCE, PollableStdin, Poller, ceilings, configure_accepted, connect, create_private,
    enable_ansi, is_at, is_foreground, is_named_pipe, is_world_readable, on_stop, open_private, poll,
    poll_with_input, random, read, set_reset_on_close, thread_cpu_time, try_send, wait_until_closed,
    wake_acceptor, widen_backlog,
};

use std::fs::File;
use std::path::Path;

/// Writes a directory's names to the disk, so that a renamed file survives a power failure. Without an
/// error: the file exists all the same, and not every system can do this.
pub fn sync_directory(directory: &Path) {
    let _ = File::open(directory).and_then(|directory| directory.sync_all());
}
