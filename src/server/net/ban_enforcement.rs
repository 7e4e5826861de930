//! Closes the clients of a banned address.

use super::server_state::ServerState;
use crate::connection::DisconnectReason;
use crate::game::CloseReason;
use crate::util::address_prefix::AddressPrefix;

/// Closes the clients of a banned address prefix, and removes its players and seats. Returns the
/// number of clients.
pub fn close_clients(host: &ServerState, prefix: AddressPrefix) -> usize {
    let mut theirs = host.clients.all();
    theirs.retain(|client| AddressPrefix::from_ip(client.address.ip()) == prefix);
    let now = host.now();
    for client in &theirs {
        client.player().map(|player| client.room.remove_player_of(client.id, player, now));
        client.close(DisconnectReason::Closed(CloseReason::Banned), now);
    }
    for room in host.rooms.all() {
        room.handle.remove_suspended(prefix, now);
        room.wake();
    }
    theirs.len()
}
