//! State that the connections of an embedded server share.

use core::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use super::clients::Clients;
use crate::packet::PacketTables;
use crate::server::admission::Admission;
use crate::server::admission::address_rate_limits::AddressRateLimits;
use crate::server::admission::tokens::Authenticator;
use crate::server::room::RoomHandle;

/// The address of the program's own connections and of the server.
pub const LOCAL_ADDRESS: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// The port that the server reports. It does not listen.
pub const PORT: u16 = 3000;

/// The state of an embedded server, except its connections.
pub struct EmbeddedState {
    /// The current time.
    pub now: Duration,
    /// The room.
    pub room: Arc<RoomHandle>,
    /// The packet tables.
    pub codes: Arc<PacketTables>,
    /// The slots for connections.
    pub admission: Arc<Admission>,
    /// Rate limits per address prefix.
    pub budgets: AddressRateLimits,
    /// Permits all clients, because it has no tokens.
    pub guard: Authenticator,
    /// The clients.
    pub clients: Clients,
    /// The time of day at time zero of the clock, in microseconds since 1970.
    pub began_us: u64,
}

impl EmbeddedState {
    /// Sets the clock. An earlier time is ignored.
    pub fn set_now(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }
}
