//! Who is sent a snapshot next, of the clients in lockstep of all rooms.
//!
//! An address has a budget of its own ([`LimitedAction::Snapshot`](super::address_rate_limits::LimitedAction)). Here is what
//! keeps its clients, and all addresses, from taking each other's share: of the clients of an address
//! that wait, the one goes first that has had none, or had its last one before the others; and a server
//! sends so many bytes of snapshots in a second, the last of which are for clients without a world.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::limits;
use crate::util::address_prefix::AddressPrefix;

/// A client that asks for a snapshot.
#[derive(Debug, Clone, Copy)]
pub struct SyncRequest {
    /// Its address.
    pub household: AddressPrefix,
    /// Its number.
    pub connection: u64,
    /// When it had its last one; `None` without a world.
    pub last_sync: Option<Duration>,
    /// The bytes of the snapshot.
    pub bytes: usize,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub struct SyncScheduler {
    /// When the budget of the server is full again.
    full_at: Duration,
    /// The clients that were not sent one when they asked: when they had their last one, and when they asked.
    waiting: BTreeMap<(AddressPrefix, u64), (Option<Duration>, Duration)>,
}

impl SyncScheduler {
    /// Whether no other client of its address goes before it.
    pub fn is_next_of_address(&self, asks: &SyncRequest, now: Duration) -> bool {
        let of_address = (asks.household, 0)..=(asks.household, u64::MAX);
        let mut others = self.waiting.range(of_address).map(|(_, waits)| waits);
        !others.any(|(synced, asked)| *synced < asks.last_sync && is_present(*asked, now))
    }

    /// Whether the budget of the server has room for it.
    pub fn has_bandwidth(&self, asks: &SyncRequest, now: Duration) -> bool {
        let spent = self.full_at.saturating_sub(now);
        let share = if asks.last_sync.is_none() { 1 } else { 2 };
        spent < limits::LOCKSTEP_SYNC_BURST / share
    }

    /// It was sent one, or not.
    pub fn on_decided(&mut self, asks: &SyncRequest, is_sent: bool, now: Duration) {
        let key = (asks.household, asks.connection);
        if is_sent {
            let time = Duration::from_secs(asks.bytes as u64) / limits::LOCKSTEP_SYNC_BYTES_PER_SECOND;
            self.full_at = self.full_at.max(now) + time;
            self.waiting.remove(&key);
            return;
        }
        if !self.waiting.contains_key(&key) {
            self.waiting.retain(|_, (_, asked)| is_present(*asked, now));
        }
        self.waiting.insert(key, (asks.last_sync, now));
    }
}

/// Whether a client that asked then still waits.
fn is_present(asked: Duration, now: Duration) -> bool {
    now.saturating_sub(asked) <= limits::LOCKSTEP_SYNC_WAIT
}
