//! A model of the lease store, with the rules of the scripts that run in Redis.

use std::collections::BTreeMap;
use std::time::Duration;

use super::store::{AcquireReply, Holder, RenewReply};
use crate::limits;

/// A fault of the store that tests and simulations must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreFault {
    /// A lease is renewed after its end, although another process has had the room.
    RenewsAfterEnd,
}

/// The store. Times are of the store's clock.
#[derive(Debug, Default)]
pub struct ModelStore {
    records: BTreeMap<String, LeaseRecord>,
    /// The planted fault.
    pub fault: Option<StoreFault>,
}

#[derive(Debug)]
struct LeaseRecord {
    holder: Holder,
    fence: u64,
    until: Duration,
}

impl ModelStore {
    /// See [`LeaseStore::acquire`](super::LeaseStore::acquire).
    pub fn acquire(&mut self, process: &Holder, room: &str, above: u64, now: Duration) -> AcquireReply {
        let record = self.records.get(room);
        if let Some(record) = record.filter(|record| record.until > now && record.holder != *process) {
            return AcquireReply::Held { holder: record.holder.clone(), left: record.until - now };
        }
        let fence = record.map_or(0, |record| record.fence).max(above) + 1;
        self.write(process, room, fence, now);
        AcquireReply::Acquired { fence }
    }

    /// See [`LeaseStore::renew`](super::LeaseStore::renew).
    pub fn renew(&mut self, process: &Holder, room: &str, fence: u64, now: Duration) -> RenewReply {
        let record = self.records.get(room);
        let is_over = record.is_some_and(|record| record.until <= now);
        let is_untaken = record
            .is_none_or(|record| record.fence < fence || record.fence == fence && record.holder == *process);
        if is_untaken || is_over && self.fault == Some(StoreFault::RenewsAfterEnd) {
            self.write(process, room, fence, now);
            return RenewReply::Renewed;
        }
        RenewReply::Taken
    }

    /// See [`LeaseStore::release`](super::LeaseStore::release).
    pub fn release(&mut self, process: &Holder, room: &str, fence: u64) {
        if let Some(record) = self.records.get_mut(room)
            && record.fence == fence
            && record.holder == *process
        {
            record.until = Duration::ZERO;
        }
    }

    /// See [`LeaseStore::look_up`](super::LeaseStore::look_up).
    pub fn look_up(&self, room: &str, now: Duration) -> Option<Holder> {
        let record = self.records.get(room).filter(|record| record.until > now);
        record.map(|record| record.holder.clone())
    }

    /// Returns the process and the fence of the last lease of a room.
    pub fn last_lease(&self, room: &str) -> Option<(Holder, u64)> {
        self.records.get(room).map(|record| (record.holder.clone(), record.fence))
    }

    /// Loses all records.
    pub fn wipe(&mut self) {
        self.records.clear();
    }

    fn write(&mut self, process: &Holder, room: &str, fence: u64, now: Duration) {
        let until = now + limits::CLUSTER_LEASE;
        self.records.insert(room.to_owned(), LeaseRecord { holder: process.clone(), fence, until });
    }
}
