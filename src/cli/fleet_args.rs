//! A server as one of a fleet: `--drain-seconds`.

use std::time::Duration;

use clap::Args;

use crate::limits;

/// The options of `serve` for the operation of several servers.
#[derive(Debug, Args)]
pub struct FleetArgs {
    /// Seconds for which a stopping server waits for its players: after SIGTERM, Ctrl-C or SIGHUP
    /// it accepts no new clients and rooms, and stops when no player is left, or after this time. A
    /// second signal stops it at once. 0: it stops at once.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, env = "TICKWIRE_DRAIN_SECONDS",
          value_parser = clap::value_parser!(u64).range(0..=limits::MAX_DRAIN_TIME.as_secs()))]
    drain_seconds: u64,
}

impl FleetArgs {
    /// Time for which the server drains after a signal to stop.
    pub fn drain_time(&self) -> Duration {
        Duration::from_secs(self.drain_seconds)
    }
}
