//! Leases: which process of a cluster has a room.
//!
//! ```text
//!  process A ── acquire, renew, release ──►  store: room ─► process, address, fence, end
//!  process B ── look up ─────────────────►          (Redis; one record per room)
//!       │
//!       └─ relays clients of the room to the address of A
//! ```
//!
//! A room belongs to the process that has its lease. Each lease has a *fence*, a number greater
//! than in all earlier leases of the room. [`Leases`] is the process's side, [`LeaseStore`] the
//! store's. Both are pure: the caller sends the requests and passes the time.
//!
//! [`model_store`] has the rules of the store, for tests and for `testing::simulate::cluster`,
//! which simulates clusters.
//!
//! # Why an acknowledged command is not lost
//!
//! A command is acknowledged if its record is synced, and after the sync both of these hold:
//!
//! 1. The lease is valid by the process's own clock. It is valid for
//!    [`CLUSTER_LEASE`](crate::limits::CLUSTER_LEASE) minus
//!    [`CLUSTER_LEASE_MARGIN`](crate::limits::CLUSTER_LEASE_MARGIN) from the time *before* the
//!    request that granted it was sent. The store grants it from a later time on, so the process
//!    considers it ended before the store does. Until then no other process acquires the room, and
//!    every later owner reads the journal after the sync.
//! 2. The directory of the journal contains no higher fence. An owner creates a file with its fence
//!    *before* it reads the journal. If the file was not there after the sync, the read comes after
//!    the sync.
//!
//! Each of the two suffices alone. The first assumes that clocks run at about the same rate and
//! that the store does not lose a record while an earlier owner still runs. The second assumes that
//! the storage shows a created name to all processes at once, as one file system does, and a
//! network file system with a cache of names may not.
//!
//! Records that an earlier owner writes later carry its fence, in other files. A recovery reads the
//! records of a fence only up to the first record of the next fence.
//!
//! # What happens without the store
//!
//! A process cannot distinguish a store that has stopped from a network that has failed. In both
//! cases it continues its rooms, and acknowledges nothing once a lease is over. Commands are
//! executed and journaled meanwhile. Nothing is lost if the store returns without another owner:
//!
//! - The store retains the record of a lease after its end. A process renews it if the record still
//!   has its fence, because then no other process has had the room. The held acks are then sent.
//! - If another process has taken the room, the renewal fails, the room ends here, and its clients
//!   connect again. Their unacknowledged commands may be lost.
//! - A store that has lost its data has no record. A process then renews by writing its record
//!   again. A process acquires a lease only through a connection that is at least as old as a
//!   lease, so that after a loss of data every earlier owner has either renewed, or its lease is
//!   over. So a restart of the store moves no room.
//! - After [`CLUSTER_MAX_OUTAGE`](crate::limits::CLUSTER_MAX_OUTAGE) a process ends its rooms.
//!
//! Besides leases, processes share bans and the notice by [`shared_settings`], and list their rooms
//! by [`reports`].

mod leases;
#[cfg(test)]
pub mod model_settings;
pub mod model_store;
pub mod reports;
pub mod shared_settings;
mod store;
#[cfg(test)]
mod tests;

pub use leases::{LeaseGuard, Leases};
pub use store::{AcquireReply, Holder, LeaseStore, RenewReply, StoreError};
