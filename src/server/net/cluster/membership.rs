//! The part of one process in a cluster: its leases, and its connections to the store.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tracing::{debug, info, warn};

use super::lease_clock::LeaseClock;
use super::redis_store::RedisStore;
use super::room_reports::{ProcessReport, ReportCache};
use super::settings::ClusterConfig;
use crate::limits;
use crate::server::admission::secret::Secret;
use crate::server::cluster::reports::ReportStore as _;
use crate::server::cluster::{AcquireReply, Holder, LeaseGuard, LeaseStore as _, Leases, StoreError};
use crate::util::address_prefix::AddressPrefix;
use crate::util::os;
use crate::util::sync::{Condvar, Mutex};

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
    pub relay_key: Secret,
    /// The clock of the leases.
    pub clock: LeaseClock,
    /// The store for the threads of connections.
    store: Mutex<SharedStore>,
    /// The store of the renewal thread.
    pub renewal_store: Mutex<RedisStore>,
    /// The leases of this process.
    pub leases: Mutex<Leases>,
    /// Number of requests that wait for their rooms.
    pub waiting: AtomicUsize,
    /// Relayed clients, by the numbers of their connections.
    relays: Mutex<BTreeMap<u64, RelayedClient>>,
    /// The reports of the other processes.
    reports: Mutex<ReportCache>,
    /// Whether the last renewal has failed.
    is_store_away: AtomicBool,
    is_stopped: Mutex<bool>,
    stopped: Condvar,
}

/// A client that this process relays.
#[derive(Debug)]
struct RelayedClient {
    prefix: AddressPrefix,
    /// Time at which its ban was found.
    banned_at: Option<Duration>,
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
    pub fn new(config: &ClusterConfig, bound: SocketAddr, clock: LeaseClock) -> Result<Cluster, String> {
        let address = config.advertised(bound)?;
        let random = || format!("{:032x}", u128::from_le_bytes(os::random()));
        let relay_key = Secret::new(&random())?;
        let public_url = config.public.as_ref().map_or(String::new(), |public| public.url(bound));
        let (process, key) = (random(), relay_key.expose().to_owned());
        let holder = Holder { process, address, relay_key: key, public_url };
        let store = || RedisStore::new(&config.url, holder.clone());
        Ok(Cluster {
            store: Mutex::new(SharedStore { store: store()?, failed_at: None }),
            renewal_store: Mutex::new(store()?),
            holder,
            relay_key,
            clock,
            leases: Mutex::default(),
            waiting: AtomicUsize::new(0),
            relays: Mutex::default(),
            reports: Mutex::default(),
            is_store_away: AtomicBool::new(false),
            is_stopped: Mutex::new(false),
            stopped: Condvar::new(),
        })
    }

    /// Returns how other processes know this one.
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// The address at which other processes reach this one: `HOST:PORT`.
    pub fn address(&self) -> &str {
        &self.holder.address
    }

    /// The URL at which browsers reach this process; empty without one.
    pub fn public_url(&self) -> &str {
        &self.holder.public_url
    }

    /// Returns the other process that has a room, or `None` if no process or this one has it.
    ///
    /// # Errors
    /// The store does not respond.
    pub fn look_up(&self, room: &str) -> Result<Option<Holder>, StoreError> {
        let found = self.with_store(|store| store.look_up(room))?;
        Ok(found.filter(|holder| holder.process != self.holder.process))
    }

    /// Returns the reports of the other processes. Reads them from the store at most once per
    /// [`limits::CLUSTER_REPORT_READ_INTERVAL`]. Without the store, the last ones remain until its
    /// records would have ended.
    pub fn others(&self) -> ReportCache {
        let (mut cache, now) = (self.reports.lock(), self.clock.now());
        let is_due = |at: Duration| now.saturating_sub(at) >= limits::CLUSTER_REPORT_READ_INTERVAL;
        if cache.tried_at.is_none_or(is_due) {
            cache.tried_at = Some(now);
            // Other requests use the last reports meanwhile.
            drop(cache);
            let read = self.with_store(|store| store.reports());
            cache = self.reports.lock();
            cache.is_fresh = read.is_ok();
            match read {
                Ok(texts) => {
                    cache.reports = Arc::new(self.decode_reports(&texts));
                    cache.read_at = Some(now);
                }
                Err(error) => debug!(%error, "the rooms of other processes are unknown"),
            }
        }
        if cache.read_at.is_some_and(|at| now.saturating_sub(at) >= limits::CLUSTER_REPORT_TIME) {
            cache.reports = Arc::default();
        }
        cache.clone()
    }

    /// Decodes the reports of the other processes, ordered by their addresses.
    fn decode_reports(&self, texts: &[String]) -> Vec<ProcessReport> {
        let mut reports: Vec<_> = texts.iter().filter_map(|text| ProcessReport::decode(text)).collect();
        // A report with the address of this process is its own, or of an earlier process.
        reports.retain(|report| report.holder.address != self.holder.address);
        reports.sort_by(|one, other| one.holder.address.cmp(&other.holder.address));
        reports
    }

    /// Requests the lease of a room that does not run here, with a fence greater than `above`.
    ///
    /// # Errors
    /// The store does not respond.
    pub fn acquire(&self, room: &str, above: u64) -> Result<LeaseOutcome, StoreError> {
        if self.leases.lock().holds(room) {
            return Ok(LeaseOutcome::Later);
        }
        self.with_store(|store| {
            let sent_at = self.clock.now();
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
    pub fn with_store<T>(
        &self,
        request: impl FnOnce(&mut RedisStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let mut shared = self.store.lock();
        let retry_at = shared.failed_at.map(|at| at + limits::CLUSTER_STORE_RETRY_DELAY);
        if retry_at.is_some_and(|at| self.clock.now() < at) {
            return Err(StoreError("the last request has just failed".to_owned()));
        }
        let connected = shared.store.connect();
        let replied = connected.and_then(|number| {
            self.leases.lock().on_connection(number, self.clock.now());
            request(&mut shared.store)
        });
        shared.failed_at = replied.is_err().then(|| self.clock.now());
        replied
    }

    /// Records whether the store responds, and logs a change.
    pub fn set_store_away(&self, error: Option<&StoreError>) {
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

    /// Registers the connection of a relayed client.
    pub fn add_relay(&self, number: u64, prefix: AddressPrefix) {
        self.relays.lock().insert(number, RelayedClient { prefix, banned_at: None });
    }

    /// Removes the connection of a relayed client.
    pub fn remove_relay(&self, number: u64) {
        self.relays.lock().remove(&number);
    }

    /// Returns the numbers of the connections of relayed clients.
    pub fn relays(&self) -> Vec<u64> {
        self.relays.lock().keys().copied().collect()
    }

    /// Returns the numbers of the connections of relayed clients that have been banned for
    /// [`limits::CLUSTER_BANNED_RELAY_TIME`].
    pub fn banned_relays(&self, is_banned: impl Fn(AddressPrefix) -> bool) -> Vec<u64> {
        let (now, mut banned) = (self.clock.now(), Vec::new());
        for (number, client) in self.relays.lock().iter_mut() {
            let is_banned = is_banned(client.prefix);
            client.banned_at = is_banned.then(|| client.banned_at.unwrap_or(now));
            if client.banned_at.is_some_and(|at| now - at >= limits::CLUSTER_BANNED_RELAY_TIME) {
                banned.push(*number);
            }
        }
        banned
    }

    /// Whether the store has not responded to the last renewal.
    pub fn is_store_away(&self) -> bool {
        self.is_store_away.load(Ordering::Relaxed)
    }

    /// Returns whether another process has acquired a room of this one.
    pub fn is_lost(&self, room: &str) -> bool {
        self.leases.lock().lost().iter().any(|lost| lost == room)
    }

    /// Releases the lease of a room, unless it is lost.
    pub fn release(&self, room: &str) {
        let Some((fence, is_to_release)) = self.leases.lock().remove(room) else { return };
        if is_to_release {
            // Without the store, the lease ends by itself.
            let _ = self.with_store(|store| store.release(room, fence));
        }
    }

    /// Waits until this time, or until there is a change or the renewal thread must end. Returns
    /// whether it must.
    pub fn wait_for_stop(&self, until: Instant) -> bool {
        let mut is_stopped = self.is_stopped.lock();
        if !*is_stopped {
            self.stopped.wait_until(&mut is_stopped, until);
        }
        *is_stopped
    }

    /// Makes the renewal thread exchange changes with the other processes at once.
    pub fn exchange_now(&self) {
        self.stopped.notify_all();
    }

    /// Ends the renewal thread.
    pub fn stop_renewals(&self) {
        *self.is_stopped.lock() = true;
        self.stopped.notify_all();
    }

    /// Releases all leases, after the last sync of the journals. Other processes can then recover
    /// the rooms at once.
    pub fn release_all(&self) {
        let held = self.leases.lock().held();
        if !held.is_empty() {
            info!(rooms = held.len(), "the leases of the rooms are released");
        }
        held.iter().for_each(|(room, _)| self.release(room));
    }
}
