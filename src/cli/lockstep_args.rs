//! Lockstep: `--lockstep`, `--snapshot-interval-ticks`, `--checksum-interval-ticks` and
//! `--self-check`.

use clap::{Args, ValueEnum};

use crate::limits;
use crate::server::room::lockstep::{LockstepAccess, LockstepConfig};

/// The options of `serve` for lockstep clients.
#[derive(Debug, Args)]
pub struct LockstepArgs {
    /// Clients that may use lockstep, which reveals the whole world of a room: off; token, clients
    /// with a player token and clients on this machine; open, all.
    #[arg(long, value_name = "WHO", default_value = "token", env = "TICKWIRE_LOCKSTEP")]
    lockstep: LockstepArg,
    /// Ticks between two snapshots for lockstep clients. A client that joins runs the ticks since
    /// the last snapshot.
    #[arg(long, value_name = "TICKS", default_value_t = limits::LOCKSTEP_SNAPSHOT_TICKS, env = "TICKWIRE_SNAPSHOT_INTERVAL_TICKS",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::LOCKSTEP_MAX_INTERVAL_TICKS)))]
    snapshot_interval_ticks: u32,
    /// Ticks between two checksums of lockstep clients.
    #[arg(long, value_name = "TICKS", default_value_t = limits::LOCKSTEP_CHECKSUM_TICKS, env = "TICKWIRE_CHECKSUM_INTERVAL_TICKS",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::LOCKSTEP_MAX_INTERVAL_TICKS)))]
    checksum_interval_ticks: u32,
    /// Compare what this server sends to its clients with a second world in lockstep. Differences
    /// are logged, with the client, the tick and the field.
    #[arg(long, env = "TICKWIRE_SELF_CHECK")]
    pub self_check: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LockstepArg {
    Off,
    Token,
    Open,
}

impl LockstepArgs {
    /// The lockstep settings of every room.
    pub fn config(&self) -> LockstepConfig {
        let access = match self.lockstep {
            LockstepArg::Off => LockstepAccess::Off,
            LockstepArg::Token => LockstepAccess::Token,
            LockstepArg::Open => LockstepAccess::Open,
        };
        LockstepConfig {
            access,
            snapshot_ticks: self.snapshot_interval_ticks,
            checksum_ticks: self.checksum_interval_ticks,
        }
    }
}
