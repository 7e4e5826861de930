//! Ends the journals and leases of rooms.

use crate::server::net::server_state::{ServerState, ShutdownStage};

/// Ends the journal of a room on demand whose thread has ended, and in a cluster its lease. The
/// journal is removed unless another process has the room. Does nothing while the server stops:
/// then the journals remain, and all leases are released after the last sync.
pub fn end_room(host: &ServerState, room: &str) {
    if host.is_at_least(ShutdownStage::RoomsStopping) {
        return;
    }
    let is_lost = host.cluster.as_ref().is_some_and(|cluster| cluster.is_lost(room));
    host.config.journal.iter().for_each(|journal| journal.end_room(room, !is_lost));
    host.cluster.iter().for_each(|cluster| cluster.release(room));
}

/// Ends the journal and the lease of a room that could not be created. Its files remain.
pub fn abandon_room(host: &ServerState, room: &str) {
    host.config.journal.iter().for_each(|journal| journal.end_room(room, false));
    host.cluster.iter().for_each(|cluster| cluster.release(room));
}
