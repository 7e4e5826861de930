//! The signals that request a program to stop, on Unix: Ctrl-C (SIGINT), SIGTERM and SIGHUP.
//!
//! A program inherits the set of ignored signals from its parent, and these stay ignored. `nohup`
//! ignores SIGHUP, so that the program survives its terminal. A shell without job control ignores
//! SIGINT for a background job, because Ctrl-C is for the foreground job.

use std::io;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::threads;

const STOPPING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Calls `handler`, in a thread of its own, for each stop signal that is not in the mask `ignored`.
///
/// # Errors
/// A signal cannot be handled, or the thread cannot be started.
pub fn on_stop(ignored: u64, mut handler: impl FnMut() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new(handled(ignored))?;
    // Without any signal, the thread waits forever, so that `handler` is not dropped.
    let run = move || signals.forever().for_each(|_| handler());
    threads::spawn("signals", run).map(drop)
}

fn handled(ignored: u64) -> Vec<i32> {
    STOPPING.into_iter().filter(|signal| ignored & mask(*signal) == 0).collect()
}

/// The bit of a signal in a mask of signals.
const fn mask(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Parses the mask of ignored signals from `/proc/self/status`. Returns 0 if the text has no such
/// line.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "other systems have no such file"))]
pub fn ignored(status: &str) -> u64 {
    let digits = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    digits.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_the_parent_ignores_is_not_handled() {
        let status =
            |mask: &str| format!("SigBlk:\t0000000000000000\nSigIgn:\t{mask}\nSigCgt:\t0000000000000440\n");
        for (mask, expected) in [
            ("0000000000001000", vec![SIGINT, SIGTERM, SIGHUP]),
            ("0000000000000001", vec![SIGINT, SIGTERM]),
            ("0000000000000006", vec![SIGTERM, SIGHUP]),
            ("0000000000004003", vec![]),
        ] {
            assert_eq!(handled(ignored(&status(mask))), expected, "{mask}");
        }
        assert_eq!(handled(ignored("Name:\ttickwire\n")), STOPPING, "no line about it");
    }
}
