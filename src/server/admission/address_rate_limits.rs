//! Rate limits per address prefix on actions that affect the server or other clients.
//!
//! A reconnect gives a client a new session with fresh limits, so these actions are also limited
//! per address prefix. Sessions do not know these limits, so a replay also decodes commands that
//! were rejected here; no recorded tick contains them.
//!
//! Each limited action has a token bucket, stored as the time at which the bucket is full again;
//! taking a token moves that time forward. The time of the buckets is the driver's clock plus the
//! suspended time, because the clock stops while the machine is suspended: see
//! [`AddressRateLimits::note_suspended`]. At [`limits::MAX_TRACKED_ADDRESSES`], a new address first
//! evicts the addresses with only full buckets. Then it evicts the addresses with buckets that fill
//! soonest, because they have used the fewest tokens.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::sync_scheduler::{SyncRequest, SyncScheduler};
use crate::game::SharedRateLimit;
use crate::limits;
use crate::util::address_prefix::AddressPrefix;
use crate::util::sync::Mutex;

/// Actions limited per address prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitedAction {
    /// Opening a connection, for any request.
    Connection,
    /// A handshake that turns a connection into a client.
    Client,
    /// Joining the world.
    Join,
    /// Creating a room on demand.
    Room,
    /// Receiving a snapshot in lockstep.
    Snapshot,
    /// Being granted a lane.
    Lane,
    /// An action of a game that affects other players.
    Shared(&'static SharedRateLimit),
}

/// Number of actions that are not declared by games.
const BUILT_IN_ACTIONS: usize = 6;
/// Number of all actions.
const ACTIONS: usize = BUILT_IN_ACTIONS + limits::GAME_RATE_LIMITS;

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
    /// The time until a token is available.
    pub fn take(self, full_at: &mut Duration, now: Duration) -> Result<(), Duration> {
        self.take_late(full_at, now, Duration::ZERO)
    }

    /// Like [`RateLimit::take`], for a request that may have been delayed by up to `slack`. The
    /// tokens of that time are available in addition to the burst.
    fn take_late(self, full_at: &mut Duration, now: Duration, slack: Duration) -> Result<(), Duration> {
        let taken_at = (*full_at).max(now.saturating_sub(slack)) + self.every;
        let most = now + self.every * self.burst;
        if taken_at > most {
            return Err(taken_at - most);
        }
        *full_at = taken_at;
        Ok(())
    }

    /// Returns a limit of `count` tokens per second.
    fn per_second(count: u32, burst: u32) -> RateLimit {
        RateLimit { every: Duration::from_secs(1) / count, burst }
    }
}

impl LimitedAction {
    /// Returns the index of the action's bucket. A game numbers its own actions. Actions of two
    /// games with the same number share a bucket, so an action in one game also takes a token of
    /// the other game's action.
    fn bucket_index(self) -> usize {
        match self {
            LimitedAction::Connection => 0,
            LimitedAction::Client => 1,
            LimitedAction::Join => 2,
            LimitedAction::Room => 3,
            LimitedAction::Snapshot => 4,
            LimitedAction::Lane => 5,
            LimitedAction::Shared(shared) => BUILT_IN_ACTIONS + shared.slot.min(limits::GAME_RATE_LIMITS - 1),
        }
    }

    /// Returns the rule's name in responses, metrics and the log.
    pub fn rule(self) -> &'static str {
        match self {
            LimitedAction::Connection => "address_connection_rate",
            LimitedAction::Client => "address_client_rate",
            LimitedAction::Join => "address_join_rate",
            LimitedAction::Room => "address_room_rate",
            LimitedAction::Snapshot => "address_snapshot_rate",
            LimitedAction::Lane => "address_lane_rate",
            LimitedAction::Shared(shared) => shared.rule,
        }
    }

    /// Returns the problem and its remedy, for the `error` packet.
    pub fn detail(self) -> &'static str {
        match self {
            LimitedAction::Connection | LimitedAction::Client => {
                "too many connections from your address: wait a few seconds"
            }
            LimitedAction::Join => "too many joins from your address: wait a few seconds and enter again",
            LimitedAction::Room => "too many new rooms from your address: wait a few seconds",
            LimitedAction::Snapshot => "too many snapshots for your address: the next one comes by itself",
            LimitedAction::Lane => "too many lanes for your address: play on, and request one later",
            LimitedAction::Shared(shared) => shared.detail,
        }
    }

    /// Returns the rate limit per address prefix.
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
            LimitedAction::Lane => {
                RateLimit::per_second(limits::ADDRESS_LANES_PER_SECOND, limits::ADDRESS_LANES_BURST)
            }
            LimitedAction::Shared(shared) => RateLimit { every: shared.every, burst: shared.burst },
        }
    }
}

/// Times at which the buckets of one address prefix are full again, by bucket index.
type Buckets = [Duration; ACTIONS];

/// The token buckets of all address prefixes.
#[derive(Debug)]
pub struct AddressRateLimits {
    enabled: bool,
    addresses: Mutex<HashMap<AddressPrefix, Buckets>>,
    snapshots: Mutex<SyncScheduler>,
    /// The suspended time so far, in ms.
    suspended_ms: AtomicU64,
}

impl AddressRateLimits {
    /// Creates full buckets. If `enabled` is false, only the server's limit on snapshots
    /// applies.
    pub fn new(enabled: bool) -> AddressRateLimits {
        AddressRateLimits {
            enabled,
            addresses: Mutex::default(),
            snapshots: Mutex::default(),
            suspended_ms: AtomicU64::new(0),
        }
    }

    /// Records the total time for which the machine was suspended since the driver's clock started.
    /// Call it before each use, because the clock stops meanwhile, but the buckets fill. Counts
    /// whole milliseconds. A time shorter than the recorded one has no effect.
    pub fn note_suspended(&self, in_all: Duration) {
        let ms = u64::try_from(in_all.as_millis()).unwrap_or(u64::MAX);
        self.suspended_ms.fetch_max(ms, Ordering::Relaxed);
    }

    /// The time of the buckets at this time of the driver's clock.
    fn bucket_time(&self, now: Duration) -> Duration {
        now + Duration::from_millis(self.suspended_ms.load(Ordering::Relaxed))
    }

    /// Takes a token of this address prefix.
    ///
    /// # Errors
    /// The time until a token is available.
    pub fn take(
        &self,
        address: AddressPrefix,
        spending: LimitedAction,
        now: Duration,
    ) -> Result<(), Duration> {
        self.take_late(address, spending, now, Duration::ZERO)
    }

    /// Like [`AddressRateLimits::take`], for a request that may have been delayed by up to `slack`
    /// because the server did not run. The tokens of that time are available in addition to the
    /// burst.
    ///
    /// # Errors
    /// The time until a token is available.
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
        if !self.enabled {
            return Ok(());
        }
        let mut addresses = self.addresses.lock();
        if addresses.len() >= limits::MAX_TRACKED_ADDRESSES && !addresses.contains_key(&address) {
            evict(&mut addresses, now);
        }
        let buckets = addresses.entry(address).or_default();
        spending.rate().take_late(&mut buckets[spending.bucket_index()], now, slack)
    }

    /// Decides whether a lockstep client receives a snapshot now, and takes the tokens for it. If
    /// not, the client requests the snapshot again in its next update pass.
    pub fn try_start_sync(&self, try_request: &SyncRequest, now: Duration) -> bool {
        let now = self.bucket_time(now);
        let mut snapshots = self.snapshots.lock();
        let is_turn = !self.enabled || snapshots.is_next_of_address(try_request, now);
        let may = is_turn
            && snapshots.has_bandwidth(try_request, now)
            && self.take_at(try_request.prefix, LimitedAction::Snapshot, now, Duration::ZERO).is_ok();
        snapshots.on_decided(try_request, may, now);
        may
    }

    /// Returns the bucket time at which the bucket of this action is full again; zero for an unused
    /// bucket.
    pub fn full_at(&self, address: AddressPrefix, spending: LimitedAction) -> Duration {
        self.addresses.lock().get(&address).map_or(Duration::ZERO, |buckets| buckets[spending.bucket_index()])
    }

    /// Returns the number of tracked address prefixes.
    pub fn addresses(&self) -> usize {
        self.addresses.lock().len()
    }

    /// Returns a token to its bucket, because the action did not take place.
    pub fn refund(&self, address: AddressPrefix, spending: LimitedAction) {
        if let Some(buckets) = self.addresses.lock().get_mut(&address) {
            let full_at = &mut buckets[spending.bucket_index()];
            *full_at = full_at.saturating_sub(spending.rate().every);
        }
    }
}

/// Returns the time at which all buckets of an address prefix are full.
fn all_full_at(buckets: &Buckets) -> Duration {
    buckets.iter().copied().max().unwrap_or_default()
}

/// Evicts enough entries to free an eighth of the capacity, so that evictions are rare.
fn evict(addresses: &mut HashMap<AddressPrefix, Buckets>, now: Duration) {
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
