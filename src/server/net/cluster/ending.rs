//! Ends the journals and leases of rooms.

use crate::server::net::server_state::{ServerState, ShutdownStage};

/// Ends the lease of a room whose thread has ended, and its journal. The journal is removed unless
/// another process has the room. Does nothing while the server stops: then all leases are released
/// after the last sync.
pub fn end_room(host: &ServerState, room: &str) {
    let Some(cluster) = &host.cluster else { return };
    if host.is_at_least(ShutdownStage::RoomsStopping) {
        return;
    }
    let is_lost = cluster.is_lost(room);
    host.config.journal.iter().for_each(|journal| journal.end_room(room, !is_lost));
    cluster.release(room);
}

/// Ends the lease of a room that could not be created. Its journal remains.
pub fn abandon_room(host: &ServerState, room: &str) {
    let Some(cluster) = &host.cluster else { return };
    host.config.journal.iter().for_each(|journal| journal.end_room(room, false));
    cluster.release(room);
}
