//! Operational settings of a [`Server`]: journals, the database, drain, Agones and clusters.

use std::path::PathBuf;
use std::time::Duration;

use super::{Durability, OnJournalError, OnRefusedJournal, Server};
#[cfg(doc)]
use super::{RoomSpec, RunningServer};
use crate::server::net::journal::JournalSettings;

impl Server {
    /// Stores bans, the operator's notice and the best player of the day in this file. By default,
    /// they last until the server stops.
    #[must_use]
    pub fn database(self, file: impl Into<PathBuf>) -> Server {
        Server { database: Some(file.into()), ..self }
    }

    /// Sets the directory in which the rooms write journals, from which they continue after a crash
    /// or a stop; after a stop also with other rules. Clients have at least a minute to resume.
    /// Rooms on demand continue when a client requests them; with [`Server::cluster`], only they
    /// have journals. One process at a time uses a directory, or the processes of one cluster. With
    /// `redis`, the Redis of [`Server::cluster`] has the journals. Not possible together with
    /// [`RoomSpec::restore`].
    #[must_use]
    pub fn journal(self, directory: impl Into<PathBuf>) -> Server {
        Server { journal: Some(directory.into()), ..self }
    }

    /// Sets when the commands of a tick are on the disk; [`Durability::Second`] by default.
    #[must_use]
    pub fn durability(self, durability: Durability) -> Server {
        Server { journal_settings: JournalSettings { durability, ..self.journal_settings }, ..self }
    }

    /// Sets what happens at the start if the journal of a room cannot be recovered;
    /// [`OnRefusedJournal::Stop`] by default.
    #[must_use]
    pub fn on_refused_journal(self, on_refused: OnRefusedJournal) -> Server {
        Server { journal_settings: JournalSettings { on_refused, ..self.journal_settings }, ..self }
    }

    /// Sets the effect of an error of the journal; [`OnJournalError::Stop`] by default. The program
    /// then stops the server: see [`RunningServer::is_stop_requested`].
    #[must_use]
    pub fn on_journal_error(self, on_error: OnJournalError) -> Server {
        Server { journal_settings: JournalSettings { on_error, ..self.journal_settings }, ..self }
    }

    /// Sets the maximum bytes of the files of each room's journal; 10^9 by default, and 0 in Redis.
    /// The oldest are removed, but never those that a recovery needs.
    #[must_use]
    pub fn journal_bytes(mut self, bytes: u64) -> Server {
        self.journal_settings.retained_bytes = Some(bytes);
        self
    }

    /// Sets the maximum age of the files of each room's journal, with the same exception; a week by
    /// default.
    #[must_use]
    pub fn journal_age(mut self, age: Duration) -> Server {
        self.journal_settings.retained_age = Some(age);
        self
    }

    /// Sets the time of the operator command `drain` without an argument, with which the server
    /// accepts no new clients and waits for its players; at most a day. The program then stops the
    /// server: see [`RunningServer::is_stop_requested`]. By default, the command needs its time.
    #[must_use]
    pub fn drain_time(self, time: Duration) -> Server {
        Server { drain_time: time, ..self }
    }

    /// Reports the server's state to the sidecar of Agones at this URL, such as `http://localhost`.
    /// Without a port, it has the port of the variable `AGONES_SDK_HTTP_PORT`, or 9358.
    #[must_use]
    pub fn agones(self, url: &str) -> Server {
        Server { agones: Some(url.to_owned()), ..self }
    }

    /// Sets whether the server allocates itself at the sidecar of [`Server::agones`] while it has
    /// players, so that Agones does not remove it. Off by default.
    #[must_use]
    pub fn agones_allocate(self, on: bool) -> Server {
        Server { agones_allocate: on, ..self }
    }

    /// Shares the rooms on demand with other processes: each room runs in one of them, and clients
    /// reach it through any. The URL is `redis://HOST:PORT[/DB]`, a Redis or Valkey server that
    /// holds the leases of rooms. Needs [`Server::rooms_on_demand`], and the feature `cluster`.
    #[must_use]
    pub fn cluster(self, url: impl Into<String>) -> Server {
        Server { cluster: Some(url.into()), ..self }
    }

    /// Sets the address at which the other processes of the cluster reach this one,
    /// `http://HOST[:PORT]`; the bound address by default.
    #[must_use]
    pub fn cluster_address(self, url: impl Into<String>) -> Server {
        Server { cluster_address: Some(url.into()), ..self }
    }

    /// Sets the URL at which browsers reach this process itself, `https://HOST[:PORT]`. Pages then
    /// connect directly to the process that has their room; otherwise they are relayed.
    #[must_use]
    pub fn cluster_public(self, url: impl Into<String>) -> Server {
        Server { cluster_public: Some(url.into()), ..self }
    }
}
