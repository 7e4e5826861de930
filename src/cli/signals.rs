//! The signals that stop the program.

use std::sync::mpsc::{self, Receiver};

use super::output::CliError;
use crate::util::os;

/// Receives a value for each Ctrl-C, SIGTERM and SIGHUP. A signal that the parent of this program
/// ignores, as `nohup` does SIGHUP, stays ignored.
///
/// # Errors
/// The signals cannot be handled.
pub fn stopped() -> Result<Receiver<()>, CliError> {
    let (stop, stopped) = mpsc::channel();
    on_stop(move || {
        // Fails only if the receiver is gone, because the program is already stopping.
        let _ = stop.send(());
    })?;
    Ok(stopped)
}

/// Calls `handler` for each of these signals, in its own thread.
///
/// # Errors
/// The signals cannot be handled.
pub fn on_stop(handler: impl FnMut() + Send + 'static) -> Result<(), CliError> {
    os::on_stop(handler).map_err(|error| format!("cannot handle signals: {error}"))
}
