//! Acquires the leases of rooms that this process creates.

use std::io;

use tracing::{debug, error};

use super::membership::{Cluster, LeaseOutcome, RoomLease};
use crate::server::admission::refusal::Refusal;
use crate::server::net::server_state::ServerState;

/// Rule while the lease store does not respond: rooms of other processes are not found, and no room
/// is created.
pub const STORE_AWAY: &str = "lease_store_away";
/// Rule if the process that has a room cannot be reached until [`limits::CLUSTER_ROOM_WAIT`].
pub const OWNER_AWAY: &str = "room_owner_away";
/// Rule if too many requests wait for their rooms.
pub const TOO_MANY_WAIT: &str = "room_waits_full";
/// Rule if the journal of a room cannot be recovered; the log has the reason.
pub const UNRECOVERABLE: &str = "room_journal_refused";

/// Acquires the lease of a reserved room. Returns a rule if the attempt can be repeated.
///
/// # Errors
/// The refusal.
pub fn acquire(
    host: &ServerState,
    cluster: &Cluster,
    name: &str,
) -> Result<Result<RoomLease, &'static str>, Refusal> {
    let fence = match host.config.journal.as_ref().map_or(Ok(0), |journal| journal.room_fence(name)) {
        Ok(fence) => fence,
        // The journals are in Redis too.
        Err(error) if error.kind() == io::ErrorKind::NotConnected => return Ok(Err(STORE_AWAY)),
        Err(error) => {
            error!("a room cannot be recovered: {error}");
            return Err(Refusal::from_rule(503, UNRECOVERABLE));
        }
    };
    Ok(match cluster.acquire(name, fence) {
        Ok(LeaseOutcome::Acquired(lease)) => Ok(lease),
        Ok(LeaseOutcome::Held(_) | LeaseOutcome::Later) => Err(OWNER_AWAY),
        Err(error) => {
            debug!(%error, "the lease store does not respond");
            Err(STORE_AWAY)
        }
    })
}

/// Acquires the lease of a room that a client does not name, in one attempt. `None` outside a
/// cluster.
///
/// # Errors
/// The refusal.
pub fn acquire_unnamed(host: &ServerState, name: &str) -> Result<Option<RoomLease>, Refusal> {
    let Some(cluster) = &host.cluster else { return Ok(None) };
    let refused = |rule| Refusal::with_headers(503, rule, &[("Retry-After", "1")]);
    acquire(host, cluster, name)?.map(Some).map_err(refused)
}
