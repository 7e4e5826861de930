//! Many machines (`--cluster`): the leases of this process, and the connections to the rooms of
//! other processes.
//!
//! ```text
//!  upgrade to /r/NAME/… ─┬─ NAME runs here ────────────► entered
//!                        ├─ another process has it ────► relay ─► its address
//!                        └─ no process has it ─► lease ─► journal recovered ─► created here
//!
//!  renewal thread ─ every half second ─► all leases renewed; rooms of lost leases end;
//!                                        bans and notice of other processes received;
//!                                        public rooms reported to other processes
//! ```
//!
//! [`crate::server::cluster`] has the rules of leases, and the reason why no acknowledged command
//! is lost. A room without clients, and one that the operator ends, ends in the whole cluster: its
//! journal is removed and its lease is released. A process that stops releases its leases after the
//! last sync, and the next process recovers the rooms.

pub mod acquisition;
pub mod ending;
pub mod lease_clock;
pub mod membership;
pub mod placement;
#[cfg(feature = "cluster")]
mod redis_reports;
#[cfg(feature = "cluster")]
mod redis_settings;
#[cfg_attr(not(feature = "cluster"), path = "no_redis.rs")]
mod redis_store;
pub mod relay;
pub mod renewal;
pub mod reporting;
pub mod room_reports;
mod setting_exchange;
pub mod settings;
#[cfg(test)]
mod tests;
