//! Many machines (`--cluster`): the leases of this process, and the connections to the rooms of
//! other processes.
//!
//! ```text
//!  upgrade to /r/NAME/… ─┬─ NAME runs here ────────────► entered
//!                        ├─ another process has it ────► relay ─► its address
//!                        └─ no process has it ─► lease ─► journal recovered ─► created here
//!
//!  renewal thread ─ every half second ─► all leases renewed; rooms of lost leases end
//! ```
//!
//! [`crate::server::cluster`] has the rules of leases, and the reason why no acknowledged command is
//! lost. A room without clients, and one that the operator ends, ends in the whole cluster: its
//! journal is removed and its lease is released. A process that stops releases its leases after the
//! last sync, and the next process recovers the rooms.

pub mod placement;
#[cfg_attr(not(feature = "cluster"), path = "no_redis.rs")]
mod redis_store;
pub mod relay;
mod renewal;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tracing::{info, warn};

use self::redis_store::RedisStore;
pub use self::redis_store::check_url;
pub use self::renewal::run as run_renewals;
use super::server_state::{ServerState, ShutdownStage};
use crate::limits;
use crate::server::admission::secret::Secret;
use crate::server::cluster::{AcquireReply, Holder, LeaseGuard, LeaseStore as _, Leases, StoreError};
use crate::util::os;
use crate::util::sync::{Condvar, Mutex};

/// The settings of a cluster.
#[derive(Debug, Clone)]
pub struct ClusterConfig {
    /// The URL of the lease store, which may contain a password.
    pub url: String,
    /// The address at which other processes and browsers reach this one. `None`: the bound address.
    pub address: Option<ClusterAddress>,
}

impl ClusterConfig {
    /// Creates the settings of a server with this number of rooms on demand, and with other rooms
    /// if `has_other_rooms`.
    ///
    /// # Errors
    /// The setting that breaks a rule, and the rule.
    pub fn new(
        url: &str,
        address: Option<&str>,
        rooms_on_demand: usize,
        has_other_rooms: bool,
    ) -> Result<ClusterConfig, (&'static str, String)> {
        check_url(url).map_err(|rule| ("cluster", rule))?;
        if rooms_on_demand == 0 {
            return Err(("cluster", "needs rooms on demand: only they have leases".to_owned()));
        }
        if has_other_rooms {
            let rule =
                "cannot be combined with other rooms than the default room: each process would have them";
            return Err(("cluster", rule.to_owned()));
        }
        let address = address.map(str::parse).transpose();
        let address = address.map_err(|rule| ("cluster_address", rule))?;
        Ok(ClusterConfig { url: url.to_owned(), address })
    }
}

/// An advertised address: `http://HOST` or `http://HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterAddress {
    host: String,
    /// `None`: the bound port.
    port: Option<u16>,
}

impl std::str::FromStr for ClusterAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<ClusterAddress, String> {
        let rule = || "must be http://HOST or http://HOST:PORT, without a path".to_owned();
        let rest = text.strip_prefix("http://").ok_or_else(rule)?.trim_end_matches('/');
        let is_v6_without_port = rest.ends_with(']');
        let (host, port) = match rest.rsplit_once(':').filter(|_| !is_v6_without_port) {
            None => (rest, None),
            Some((host, port)) => (host, Some(port.parse().map_err(|_| rule())?)),
        };
        let is_host_byte = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
        if host.is_empty() || !host.bytes().all(is_host_byte) {
            return Err(rule());
        }
        Ok(ClusterAddress { host: host.to_owned(), port })
    }
}

/// A lease that this process has acquired.
#[derive(Debug)]
pub struct RoomLease {
    /// The fence.
    pub fence: u64,
    /// The validity.
    pub guard: Arc<LeaseGuard>,
}

/// The result of a request for a lease.
#[derive(Debug)]
pub enum LeaseOutcome {
    /// This process has the lease.
    Acquired(RoomLease),
    /// Another process has it.
    Held(Holder),
    /// The request can be repeated after a short time: the connection to the store is too young, or
    /// the room of this name still ends here.
    Later,
}

/// The part of one process in a cluster.
#[derive(Debug)]
pub struct Cluster {
    holder: Holder,
    /// The key in relayed requests for this process.
    relay_key: Secret,
    /// The store for the threads of connections.
    store: Mutex<SharedStore>,
    /// The store of the renewal thread.
    renewal_store: Mutex<RedisStore>,
    leases: Mutex<Leases>,
    /// Number of requests that wait for their rooms.
    waiting: AtomicUsize,
    /// Whether the last request to the store has failed.
    is_store_away: AtomicBool,
    is_stopped: Mutex<bool>,
    stopped: Condvar,
}

#[derive(Debug)]
struct SharedStore {
    store: RedisStore,
    /// Time of the last error. Requests fail until [`limits::CLUSTER_STORE_RETRY_DELAY`] later.
    failed_at: Option<Duration>,
}

impl Cluster {
    /// Creates the part of this process, which listens at `bound`, without a connection.
    ///
    /// # Errors
    /// The URL breaks a rule, or the advertised address is missing.
    pub fn new(config: &ClusterConfig, bound: SocketAddr) -> Result<Cluster, String> {
        let address = match &config.address {
            Some(ClusterAddress { host, port }) => format!("{host}:{}", port.unwrap_or(bound.port())),
            None if bound.ip().is_unspecified() => {
                return Err(format!("{} is no address that other processes reach: set one", bound.ip()));
            }
            None => bound.to_string(),
        };
        let random = || format!("{:032x}", u128::from_le_bytes(os::random()));
        let relay_key = Secret::new(&random())?;
        let holder = Holder { process: random(), address, relay_key: relay_key.expose().to_owned() };
        let store = || RedisStore::new(&config.url, holder.clone());
        Ok(Cluster {
            store: Mutex::new(SharedStore { store: store()?, failed_at: None }),
            renewal_store: Mutex::new(store()?),
            holder,
            relay_key,
            leases: Mutex::default(),
            waiting: AtomicUsize::new(0),
            is_store_away: AtomicBool::new(false),
            is_stopped: Mutex::new(false),
            stopped: Condvar::new(),
        })
    }

    /// The address at which other processes reach this one: `HOST:PORT`.
    pub fn address(&self) -> &str {
        &self.holder.address
    }

    /// Whether the last request to the store has failed.
    pub fn is_store_away(&self) -> bool {
        self.is_store_away.load(Ordering::Relaxed)
    }

    /// Returns the other process that has a room, or `None` if no process or this one has it.
    ///
    /// # Errors
    /// The store does not respond.
    pub fn look_up(&self, host: &ServerState, room: &str) -> Result<Option<Holder>, StoreError> {
        let found = self.with_store(host, |store| store.look_up(room))?;
        Ok(found.filter(|holder| holder.process != self.holder.process))
    }

    /// Requests the lease of a room that does not run here, with a fence greater than `above`.
    ///
    /// # Errors
    /// The store does not respond.
    pub fn acquire(&self, host: &ServerState, room: &str, above: u64) -> Result<LeaseOutcome, StoreError> {
        if self.leases.lock().holds(room) {
            return Ok(LeaseOutcome::Later);
        }
        self.with_store(host, |store| {
            let sent_at = host.lease_clock();
            if self.leases.lock().acquire_wait(sent_at) != Some(Duration::ZERO) {
                return Ok(LeaseOutcome::Later);
            }
            Ok(match store.acquire(room, above)? {
                AcquireReply::Acquired { fence } => {
                    let guard = self.leases.lock().on_acquired(room, fence, sent_at);
                    LeaseOutcome::Acquired(RoomLease { fence, guard })
                }
                AcquireReply::Held { holder, .. } => LeaseOutcome::Held(holder),
            })
        })
    }

    /// Sends a request, connecting if necessary.
    fn with_store<T>(
        &self,
        host: &ServerState,
        request: impl FnOnce(&mut RedisStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut shared = self.store.lock();
        let retry_at = shared.failed_at.map(|at| at + limits::CLUSTER_STORE_RETRY_DELAY);
        if retry_at.is_some_and(|at| host.lease_clock() < at) {
            return Err(StoreError("the last request has just failed".to_owned()));
        }
        let connected = shared.store.connect();
        let replied = connected.and_then(|number| {
            self.leases.lock().on_connection(number, host.lease_clock());
            request(&mut shared.store)
        });
        shared.failed_at = replied.is_err().then(|| host.lease_clock());
        replied
    }

    /// Records whether the store responds, and logs a change.
    fn set_store_away(&self, error: Option<&StoreError>) {
        let was_away = self.is_store_away.swap(error.is_some(), Ordering::Relaxed);
        match error {
            Some(error) if !was_away => warn!(
                %error,
                "the lease store does not respond: rooms continue without acks, and new rooms wait"
            ),
            None if was_away => info!("the lease store responds again"),
            _ => {}
        }
    }

    /// Ends the lease of a room whose thread has ended, and its journal. The journal is removed
    /// unless another process has the room. Does nothing while the server stops, see
    /// [`Cluster::release_all`].
    pub fn end_room(&self, host: &ServerState, room: &str) {
        if host.is_at_least(ShutdownStage::RoomsStopping) {
            return;
        }
        let is_lost = self.leases.lock().lost().iter().any(|lost| lost == room);
        host.config.journal.iter().for_each(|journal| journal.end_room(room, !is_lost));
        self.release(host, room);
    }

    /// Ends the lease of a room that could not be created. Its journal remains.
    pub fn abandon_room(&self, host: &ServerState, room: &str) {
        host.config.journal.iter().for_each(|journal| journal.end_room(room, false));
        self.release(host, room);
    }

    /// Releases the lease of a room, unless it is lost.
    fn release(&self, host: &ServerState, room: &str) {
        let Some((fence, is_to_release)) = self.leases.lock().remove(room) else { return };
        if is_to_release {
            // Without the store, the lease ends by itself.
            let _ = self.with_store(host, |store| store.release(room, fence));
        }
    }

    /// Ends the renewal thread.
    pub fn stop_renewals(&self) {
        *self.is_stopped.lock() = true;
        self.stopped.notify_all();
    }

    /// Releases all leases, after the last sync of the journals, so that other processes can recover
    /// the rooms at once.
    pub fn release_all(&self, host: &ServerState) {
        let held = self.leases.lock().held();
        if !held.is_empty() {
            info!(rooms = held.len(), "the leases of the rooms are released");
        }
        held.iter().for_each(|(room, _)| self.release(host, room));
    }
}
