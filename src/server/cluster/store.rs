//! The lease store, as an interface.

use std::fmt;
use std::time::Duration;

/// The process that has a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The identity of the process, unique for each start.
    pub process: String,
    /// The address at which other processes reach it: `HOST:PORT`.
    pub address: String,
    /// The key with which it trusts a relayed request.
    pub relay_key: String,
    /// The URL at which browsers reach it, such as `https://a.example.org`; empty without one.
    pub public_url: String,
}

/// The result of a request for a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AcquireReply {
    /// The process has the lease.
    Acquired {
        /// The fence, greater than in all earlier leases of the room.
        fence: u64,
    },
    /// Another process has the lease for this time.
    Held {
        /// The other process.
        holder: Holder,
        /// Time until the lease ends if it is not renewed.
        left: Duration,
    },
}

/// The result of a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenewReply {
    /// The lease is granted again.
    Renewed,
    /// Another process has acquired the room.
    Taken,
}

/// The store did not respond, or its response is unusable. The request may have been executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreError(pub String);

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for StoreError {}

/// The store of leases, as one process uses it.
///
/// A request is executed at once or not at all. The record of a room remains after its lease has
/// ended, with its fence.
pub trait LeaseStore {
    /// Connects if necessary. Returns the number of the connection, which no earlier
    /// connection had. The other requests use this connection, and fail without one.
    ///
    /// # Errors
    /// The store cannot be reached.
    fn connect(&mut self) -> Result<u64, StoreError>;

    /// Grants the lease of a room, unless another process has it. The fence is greater than
    /// `above` and than the fence of the record.
    ///
    /// # Errors
    /// The store does not respond.
    fn acquire(&mut self, room: &str, above: u64) -> Result<AcquireReply, StoreError>;

    /// Grants leases again, if no other process has acquired them since. A room without a record,
    /// or with a record of a lower fence, gets the record of this process.
    ///
    /// # Errors
    /// The store does not respond.
    fn renew(&mut self, leases: &[(String, u64)]) -> Result<Vec<RenewReply>, StoreError>;

    /// Ends a lease. Has no effect if the lease has another fence or another process.
    ///
    /// # Errors
    /// The store does not respond.
    fn release(&mut self, room: &str, fence: u64) -> Result<(), StoreError>;

    /// Returns the process that has the lease of a room.
    ///
    /// # Errors
    /// The store does not respond.
    fn look_up(&mut self, room: &str) -> Result<Option<Holder>, StoreError>;
}
