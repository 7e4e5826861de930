//! The options for storage: `--journal` and its settings, and `--database`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::output::CliError;
use crate::limits;
use crate::server::net::journal::{
    Durability, JournalPlace, JournalSettings, OnJournalError, OnRefusedJournal, RecoveringJournals,
};
use crate::server::net::server_data::ServerData;

/// The options of `serve` for the journal and the database.
#[derive(Debug, Args)]
pub struct StorageArgs {
    /// Directory in which the rooms write journals, from which they continue after a crash or a
    /// stop; after a stop also in a program with other rules. Clients have a minute to resume. With
    /// --cluster, only rooms on demand have journals; then it is a directory that all processes
    /// share, or `redis` for journals in the Redis of the cluster.
    #[arg(long, value_name = "DIR", env = "TICKWIRE_JOURNAL", conflicts_with = "restore")]
    journal: Option<PathBuf>,
    /// When the commands of a tick are on the disk: tick, before they are acknowledged; second, at
    /// most a second later; none, when the system decides. Only a power failure loses more with
    /// the last two, not the end of the process.
    #[arg(long, value_name = "TIME", default_value = "second", env = "TICKWIRE_DURABILITY")]
    durability: DurabilityArg,
    /// After an error of the journal: stop the server, or continue without a journal.
    #[arg(long, value_name = "ACTION", default_value = "stop", env = "TICKWIRE_ON_JOURNAL_ERROR")]
    on_journal_error: OnErrorArg,
    /// If the journal of a room cannot be recovered: stop, or set it aside and begin a new world.
    #[arg(long, value_name = "ACTION", default_value = "stop", env = "TICKWIRE_ON_REFUSED_JOURNAL")]
    on_refused_journal: OnRefusedArg,
    /// Maximum size of the files of each room in megabytes (10^6 bytes). The oldest are removed,
    /// but never those that a recovery needs: the last two snapshots and the records after them.
    /// Default: 1000, and 0 in Redis.
    #[arg(long, value_name = "N", env = "TICKWIRE_JOURNAL_MEGABYTES")]
    journal_megabytes: Option<u64>,
    /// Maximum age of the files of each room in hours, with the same exception.
    #[arg(long, value_name = "N", default_value_t = limits::JOURNAL_RETAINED_AGE.as_secs() / 3_600, env = "TICKWIRE_JOURNAL_HOURS")]
    journal_hours: u64,
    /// Store bans, the operator's notice and the best player of the day in this file. Without it,
    /// they last until the server stops.
    #[arg(long, value_name = "FILE", env = "TICKWIRE_DATABASE")]
    database: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum DurabilityArg {
    Tick,
    Second,
    None,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OnErrorArg {
    Stop,
    Continue,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OnRefusedArg {
    Stop,
    NewWorld,
}

impl StorageArgs {
    /// Whether the rooms have journals.
    pub fn is_on(&self) -> bool {
        self.journal.is_some()
    }

    /// Opens the database, if there is one.
    pub fn open_data(&self) -> Result<ServerData, CliError> {
        self.database.as_deref().map_or(Ok(ServerData::default()), ServerData::open)
    }

    /// Opens and locks the directory, which the processes of a cluster share.
    pub fn open(&self, cluster: Option<&str>) -> Result<Option<RecoveringJournals>, CliError> {
        let settings = JournalSettings {
            durability: match self.durability {
                DurabilityArg::Tick => Durability::Tick,
                DurabilityArg::Second => Durability::Second,
                DurabilityArg::None => Durability::None,
            },
            on_error: match self.on_journal_error {
                OnErrorArg::Stop => OnJournalError::Stop,
                OnErrorArg::Continue => OnJournalError::Continue,
            },
            on_refused: match self.on_refused_journal {
                OnRefusedArg::Stop => OnRefusedJournal::Stop,
                OnRefusedArg::NewWorld => OnRefusedJournal::NewWorld,
            },
            retained_bytes: self.journal_megabytes.map(|megabytes| megabytes.saturating_mul(1_000_000)),
            retained_age: Some(Duration::from_secs(self.journal_hours.saturating_mul(3_600))),
            is_shared: cluster.is_some(),
        };
        let place = |text| JournalPlace::of_server(text, cluster).map_err(|rule| format!("--journal {rule}"));
        self.journal.as_deref().map(|text| RecoveringJournals::open(place(text)?, settings)).transpose()
    }
}
