//! Budgets per address: rate limits on actions that reach other clients, independent of reconnects.
//!
//! Reconnecting gives a client a new session with fresh limits, so these actions are also limited
//! per address. Sessions are unaware of these budgets: if a command was rejected here, a replay
//! decodes it, but no recorded tick contains it.
//!
//! Each kind of spending has a token bucket, stored as the time at which the bucket is full again:
//! taking a token moves that time forward. The buckets count the driver's clock plus the suspended
//! time so far, because the clock stands still while the machine is suspended: see
//! [`AddressRateLimits::note_suspended`]. An address whose buckets are full is forgotten. If
//! [`limits::MAX_TRACKED_ADDRESSES`] are known and none of them has only full buckets, the addresses
//! whose buckets would be full soonest are forgotten: they have spent the least.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::sync_scheduler::{SyncRequest, SyncScheduler};
use crate::game::SharedRateLimit;
use crate::limits;
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::Mutex;

/// The actions on which an address spends tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedAction {
    /// Opening a connection, whatever it requests.
    Connection,
    /// A handshake that turns a connection into a client.
    Client,
    /// Joining the world.
    Join,
    /// Making a room on demand.
    Room,
    /// Being sent a snapshot, in lockstep.
    Snapshot,
    /// An action of a game that reaches other players.
    Shared(&'static SharedRateLimit),
}

/// How many kinds of spending there are that no game declares.
const OWN_KINDS: usize = 5;
/// How many kinds of spending there are.
const KINDS: usize = OWN_KINDS + limits::GAME_RATE_LIMITS;

/// A token bucket: one token every `every`, at most `burst` tokens.
#[derive(Debug, Clone, Copy)]
pub struct RateLimit {
    /// Time between two tokens.
    pub every: Duration,
    /// Tokens in a full bucket.
    pub burst: u32,
}

impl RateLimit {
    /// Takes a token from the bucket that is full again at `full_at`.
    ///
    /// # Errors
    /// There is none; the time until there is one.
    pub fn take(self, full_at: &mut Duration, now: Duration) -> Result<(), Duration> {
        self.take_late(full_at, now, Duration::ZERO)
    }

    /// The same for a request that may have waited for so long: the tokens of that time count besides the
    /// burst.
    fn take_late(self, full_at: &mut Duration, now: Duration, slack: Duration) -> Result<(), Duration> {
        let taken_at = (*full_at).max(now.saturating_sub(slack)) + self.every;
        let most = now + self.every * self.burst;
        if taken_at > most {
            return Err(taken_at - most);
        }
        *full_at = taken_at;
        Ok(())
    }

    /// So many a second.
    fn per_second(count: u32, burst: u32) -> RateLimit {
        RateLimit { every: Duration::from_secs(1) / count, burst }
    }
}

impl LimitedAction {
    /// Its bucket. Games declare theirs by numbers, and those of two games with the same number are
    /// one: an address that plays both waits for both.
    fn slot(self) -> usize {
        match self {
            LimitedAction::Connection => 0,
            LimitedAction::Client => 1,
            LimitedAction::Join => 2,
            LimitedAction::Room => 3,
            LimitedAction::Snapshot => 4,
            LimitedAction::Shared(shared) => OWN_KINDS + shared.slot.min(limits::GAME_RATE_LIMITS - 1),
        }
    }

    /// The rule's name in answers, metrics and the log.
    pub fn rule(self) -> &'static str {
        match self {
            LimitedAction::Connection => "address_connection_rate",
            LimitedAction::Client => "address_client_rate",
            LimitedAction::Join => "address_join_rate",
            LimitedAction::Room => "address_room_rate",
            LimitedAction::Snapshot => "address_snapshot_rate",
            LimitedAction::Shared(shared) => shared.rule,
        }
    }

    /// The problem and its remedy, for the `error` packet.
    pub fn detail(self) -> &'static str {
        match self {
            LimitedAction::Connection | LimitedAction::Client => {
                "too many connections from your address: wait a few seconds"
            }
            LimitedAction::Join => "too many joins from your address: wait a few seconds and enter again",
            LimitedAction::Room => "too many new rooms from your address: wait a few seconds",
            LimitedAction::Snapshot => "too many snapshots for your address: the next one comes by itself",
            LimitedAction::Shared(shared) => shared.detail,
        }
    }

    /// How often an address may do it.
    pub fn rate(self) -> RateLimit {
        match self {
            LimitedAction::Connection => RateLimit::per_second(
                limits::ADDRESS_CONNECTIONS_PER_SECOND,
                limits::ADDRESS_CONNECTIONS_BURST,
            ),
            LimitedAction::Client => {
                RateLimit::per_second(limits::ADDRESS_CLIENTS_PER_SECOND, limits::ADDRESS_CLIENTS_BURST)
            }
            LimitedAction::Join => {
                RateLimit::per_second(limits::ADDRESS_JOINS_PER_SECOND, limits::ADDRESS_JOINS_BURST)
            }
            LimitedAction::Room => {
                RateLimit { every: limits::ADDRESS_ROOM_EVERY, burst: limits::ADDRESS_ROOMS_BURST }
            }
            LimitedAction::Snapshot => {
                RateLimit { every: limits::ADDRESS_SNAPSHOT_EVERY, burst: limits::ADDRESS_SNAPSHOTS_BURST }
            }
            LimitedAction::Shared(shared) => RateLimit { every: shared.every, burst: shared.burst },
        }
    }
}

/// When the buckets of one address are full again, by the number of each.
type Buckets = [Duration; KINDS];

/// See the [module](self).
#[derive(Debug)]
pub struct AddressRateLimits {
    are_in_force: bool,
    addresses: Mutex<HashMap<AddressPrefix, Buckets>>,
    snapshots: Mutex<SyncScheduler>,
    /// The suspended time so far, in ms.
    suspended_ms: AtomicU64,
}

impl AddressRateLimits {
    /// Unspent budgets. If `are_in_force` is false, nothing is ever limited.
    pub fn new(are_in_force: bool) -> AddressRateLimits {
        AddressRateLimits {
            are_in_force,
            addresses: Mutex::default(),
            snapshots: Mutex::default(),
            suspended_ms: AtomicU64::new(0),
        }
    }

    /// Notes the time in which the machine was suspended since the start of the driver's clock, and
    /// which that clock does not count. Call it before each use: the buckets fill meanwhile. Whole
    /// milliseconds; a shorter time than before changes nothing.
    pub fn note_suspended(&self, in_all: Duration) {
        let ms = u64::try_from(in_all.as_millis()).unwrap_or(u64::MAX);
        self.suspended_ms.fetch_max(ms, Ordering::Relaxed);
    }

    /// The time of the buckets at this time of the driver's clock.
    fn bucket_time(&self, now: Duration) -> Duration {
        now + Duration::from_millis(self.suspended_ms.load(Ordering::Relaxed))
    }

    /// Takes a token from this address.
    ///
    /// # Errors
    /// There is none; the time until there is one.
    pub fn take(
        &self,
        address: AddressPrefix,
        spending: LimitedAction,
        now: Duration,
    ) -> Result<(), Duration> {
        self.take_late(address, spending, now, Duration::ZERO)
    }

    /// The same for a request that may have waited for so long, because the server did not run: the address
    /// may spend what that time has brought, besides its burst.
    ///
    /// # Errors
    /// There is none; the time until there is one.
    pub fn take_late(
        &self,
        address: AddressPrefix,
        spending: LimitedAction,
        now: Duration,
        slack: Duration,
    ) -> Result<(), Duration> {
        self.take_at(address, spending, self.bucket_time(now), slack)
    }

    fn take_at(
        &self,
        address: AddressPrefix,
        spending: LimitedAction,
        now: Duration,
        slack: Duration,
    ) -> Result<(), Duration> {
        if !self.are_in_force {
            return Ok(());
        }
        let mut addresses = self.addresses.lock();
        if addresses.len() >= limits::MAX_TRACKED_ADDRESSES && !addresses.contains_key(&address) {
            forget(&mut addresses, now);
        }
        let buckets = addresses.entry(address).or_default();
        spending.rate().take_late(&mut buckets[spending.slot()], now, slack)
    }

    /// Whether a client in lockstep is sent a snapshot now; if so, its tokens are taken. If not, it asks
    /// again at its next turn.
    pub fn may_sync(&self, asks: &SyncRequest, now: Duration) -> bool {
        let now = self.bucket_time(now);
        let mut snapshots = self.snapshots.lock();
        let is_turn = !self.are_in_force || snapshots.is_turn_of(asks, now);
        let may = is_turn
            && snapshots.has_room(asks, now)
            && self.take_at(asks.household, LimitedAction::Snapshot, now, Duration::ZERO).is_ok();
        snapshots.answered(asks, may, now);
        may
    }

    /// When the bucket of this address is full again, suspended time included; zero for one that was
    /// never used.
    pub fn full_at(&self, address: AddressPrefix, spending: LimitedAction) -> Duration {
        self.addresses.lock().get(&address).map_or(Duration::ZERO, |buckets| buckets[spending.slot()])
    }

    /// How many addresses are remembered.
    pub fn addresses(&self) -> usize {
        self.addresses.lock().len()
    }

    /// Gives a token back, because the action did not take place.
    pub fn give_back(&self, address: AddressPrefix, spending: LimitedAction) {
        if let Some(buckets) = self.addresses.lock().get_mut(&address) {
            let full_at = &mut buckets[spending.slot()];
            *full_at = full_at.saturating_sub(spending.rate().every);
        }
    }
}

/// When all buckets of an address are full.
fn all_full_at(buckets: &Buckets) -> Duration {
    buckets.iter().copied().max().unwrap_or_default()
}

/// Makes room for at least an eighth of all addresses, so that it is seldom done.
fn forget(addresses: &mut HashMap<AddressPrefix, Buckets>, now: Duration) {
    addresses.retain(|_, buckets| all_full_at(buckets) > now);
    let kept = limits::MAX_TRACKED_ADDRESSES - limits::MAX_TRACKED_ADDRESSES / 8;
    let Some(surplus @ 1..) = addresses.len().checked_sub(kept) else { return };
    let mut by_time: Vec<(Duration, AddressPrefix)> =
        addresses.iter().map(|(address, buckets)| (all_full_at(buckets), *address)).collect();
    let (soonest, last, _) = by_time.select_nth_unstable(surplus - 1);
    for (_, address) in soonest.iter().chain([&*last]) {
        addresses.remove(address);
    }
}
