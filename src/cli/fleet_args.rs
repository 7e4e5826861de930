//! A server as one of a fleet: `--drain-seconds`, `--agones` and `--agones-allocate`.

use std::time::Duration;

use clap::Args;
use clap::builder::FalseyValueParser;

use super::output::CliError;
use crate::limits;
use crate::server::net::agones::settings::AgonesSettings;
use crate::server::net::agones::sidecar_url::SidecarUrl;

/// The options of `serve` for the operation of several servers.
#[derive(Debug, Args)]
pub struct FleetArgs {
    /// Seconds for which a stopping server waits for its players: after SIGTERM, Ctrl-C or SIGHUP
    /// it accepts no new clients and rooms, and stops when no player is left, or after this time. A
    /// second signal stops it at once. 0: it stops at once.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, env = "TICKWIRE_DRAIN_SECONDS",
          value_parser = clap::value_parser!(u64).range(0..=limits::MAX_DRAIN_TIME.as_secs()))]
    drain_seconds: u64,
    /// Report to the sidecar of Agones, over the REST interface of its SDK: ready, health, players,
    /// shutdown. Without a port, the URL has the port of $AGONES_SDK_HTTP_PORT, or 9358.
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "http://localhost", env = "TICKWIRE_AGONES")]
    agones: Option<SidecarUrl>,
    /// Allocate the game server while it has players, so that Agones does not remove it. For fleets
    /// whose servers no matchmaker allocates.
    #[arg(long, env = "TICKWIRE_AGONES_ALLOCATE", value_parser = FalseyValueParser::new())]
    agones_allocate: bool,
}

impl FleetArgs {
    /// Time for which the server drains after a signal to stop.
    pub fn drain_time(&self) -> Duration {
        Duration::from_secs(self.drain_seconds)
    }

    /// The sidecar of Agones.
    pub fn agones(&self) -> Result<Option<AgonesSettings>, CliError> {
        let Some(url) = &self.agones else {
            let why = "--agones-allocate needs --agones: without a sidecar nothing is allocated";
            return if self.agones_allocate { Err(why.to_owned()) } else { Ok(None) };
        };
        let sidecar = url.clone().with_port_of_environment()?;
        Ok(Some(AgonesSettings { sidecar, allocates: self.agones_allocate }))
    }
}
