//! The leases of one process, and how long each is valid by the process's own clock.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use super::store::RenewReply;
use crate::limits;

/// The validity of one lease. Threads that acknowledge commands check it.
#[derive(Debug, Default)]
pub struct LeaseGuard {
    /// End of the validity on the process's clock, in microseconds.
    valid_until_us: AtomicU64,
    is_lost: AtomicBool,
}

impl LeaseGuard {
    /// Returns whether the lease is valid at this time of the process's clock.
    pub fn is_valid(&self, now: Duration) -> bool {
        !self.is_lost() && (now.as_micros() as u64) < self.valid_until_us.load(Ordering::Acquire)
    }

    /// Returns whether another process may have acquired the room.
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Acquire)
    }

    /// Records that another process has acquired the room. The lease is never valid again.
    pub fn set_lost(&self) {
        self.is_lost.store(true, Ordering::Release);
    }

    /// Extends the validity by a lease that was requested at this time.
    fn extend(&self, sent_at: Duration) {
        let valid_until = sent_at + limits::CLUSTER_LEASE - limits::CLUSTER_LEASE_MARGIN;
        self.valid_until_us.fetch_max(valid_until.as_micros() as u64, Ordering::AcqRel);
    }
}

/// The leases of one process. All times are of the process's clock, which must also count the time
/// for which the machine is suspended.
#[derive(Debug, Default)]
pub struct Leases {
    held: BTreeMap<String, HeldLease>,
    /// The number of the current connection to the store, and the time at which it was first seen.
    connection: Option<(u64, Duration)>,
}

#[derive(Debug)]
struct HeldLease {
    fence: u64,
    guard: Arc<LeaseGuard>,
    /// Time before the last successful request.
    renewed_at: Duration,
}

impl Leases {
    /// Records the connection that the next request uses. `now` is a time after it was opened.
    pub fn on_connection(&mut self, number: u64, now: Duration) {
        if self.connection.is_none_or(|(known, _)| known != number) {
            self.connection = Some((number, now));
        }
    }

    /// Returns how long the process must wait before it may acquire a lease: until its connection
    /// is as old as a lease. `None` without a connection.
    pub fn acquire_wait(&self, now: Duration) -> Option<Duration> {
        let (_, since) = self.connection?;
        Some((since + limits::CLUSTER_LEASE).saturating_sub(now))
    }

    /// Records an acquired lease. `sent_at` is a time before the request was sent.
    pub fn on_acquired(&mut self, room: &str, fence: u64, sent_at: Duration) -> Arc<LeaseGuard> {
        let guard = Arc::<LeaseGuard>::default();
        guard.extend(sent_at);
        let lease = HeldLease { fence, guard: Arc::clone(&guard), renewed_at: sent_at };
        if let Some(earlier) = self.held.insert(room.to_owned(), lease) {
            earlier.guard.set_lost();
        }
        guard
    }

    /// Returns the rooms and fences of all leases, for a renewal.
    pub fn held(&self) -> Vec<(String, u64)> {
        self.held.iter().map(|(room, lease)| (room.clone(), lease.fence)).collect()
    }

    /// Returns whether the process has a lease of this room, valid or not.
    pub fn holds(&self, room: &str) -> bool {
        self.held.contains_key(room)
    }

    /// Records the result of a renewal. `sent_at` is a time before the request was sent.
    pub fn on_renewed(&mut self, room: &str, fence: u64, reply: RenewReply, sent_at: Duration) {
        let Some(lease) = self.held.get_mut(room).filter(|lease| lease.fence == fence) else { return };
        match reply {
            RenewReply::Renewed => {
                lease.renewed_at = lease.renewed_at.max(sent_at);
                lease.guard.extend(sent_at);
            }
            RenewReply::Taken => lease.guard.set_lost(),
        }
    }

    /// Gives up all leases whose last renewal is too long ago.
    pub fn give_up_old(&mut self, now: Duration) {
        for lease in self.held.values() {
            if now.saturating_sub(lease.renewed_at) >= limits::CLUSTER_MAX_OUTAGE {
                lease.guard.set_lost();
            }
        }
    }

    /// Returns the rooms whose leases are lost.
    pub fn lost(&self) -> Vec<String> {
        let lost = self.held.iter().filter(|(_, lease)| lease.guard.is_lost());
        lost.map(|(room, _)| room.clone()).collect()
    }

    /// Removes a lease of a room that has ended. Returns its fence, and whether it is to be
    /// released: not if it is lost.
    pub fn remove(&mut self, room: &str) -> Option<(u64, bool)> {
        let lease = self.held.remove(room)?;
        Some((lease.fence, !lease.guard.is_lost()))
    }

    /// Returns the number of leases that are valid.
    pub fn valid_count(&self, now: Duration) -> usize {
        self.held.values().filter(|lease| lease.guard.is_valid(now)).count()
    }
}
