//! Schedules snapshots for the lockstep clients of all rooms.
//!
//! Each address has its own rate limit
//! ([`LimitedAction::Snapshot`](super::address_rate_limits::LimitedAction)). Within an address,
//! clients without a world go first, then the client with the oldest snapshot. The server also
//! limits snapshot bytes per second and reserves half of the burst for clients without a world.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limits;
use crate::util::address_prefix::AddressPrefix;

/// A client's request for a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct SyncRequest {
    /// Address prefix of the client.
    pub prefix: AddressPrefix,
    /// Id of the client's connection.
    pub connection: u64,
    /// Time of the client's last snapshot; `None` without a world.
    pub last_sync: Option<Duration>,
    /// Size of the requested snapshot in bytes.
    pub bytes: usize,
}

/// The waiting clients and the server's rate limit.
#[derive(Debug, Default)]
pub struct SyncScheduler {
    /// Time at which the server's token bucket is full again.
    full_at: Duration,
    /// Clients with a deferred request: the time of the last snapshot, and the time of the request.
    waiting: BTreeMap<(AddressPrefix, u64), (Option<Duration>, Duration)>,
}

impl SyncScheduler {
    /// Whether this client is the next of its address to get a snapshot.
    pub fn is_next_of_address(&self, request: &SyncRequest, now: Duration) -> bool {
        let of_address = (request.prefix, 0)..=(request.prefix, u64::MAX);
        let mut others = self.waiting.range(of_address).map(|(_, waits)| waits);
        !others.any(|(synced, requests)| *synced < request.last_sync && is_present(*requests, now))
    }

    /// Whether the server's rate limit allows this snapshot.
    pub fn has_bandwidth(&self, request: &SyncRequest, now: Duration) -> bool {
        let spent = self.full_at.saturating_sub(now);
        let share = if request.last_sync.is_none() { 1 } else { 2 };
        spent < limits::LOCKSTEP_SYNC_BURST / share
    }

    /// Records whether the snapshot was sent.
    pub fn on_decided(&mut self, request: &SyncRequest, is_sent: bool, now: Duration) {
        let key = (request.prefix, request.connection);
        if is_sent {
            let time = Duration::from_secs(request.bytes as u64) / limits::LOCKSTEP_SYNC_BYTES_PER_SECOND;
            self.full_at = self.full_at.max(now) + time;
            self.waiting.remove(&key);
            return;
        }
        if !self.waiting.contains_key(&key) {
            self.waiting.retain(|_, (_, requests)| is_present(*requests, now));
        }
        self.waiting.insert(key, (request.last_sync, now));
    }
}

/// Whether a client that sent its request at the time `requests` still waits.
fn is_present(requests: Duration, now: Duration) -> bool {
    now.saturating_sub(requests) <= limits::LOCKSTEP_SYNC_WAIT
}
