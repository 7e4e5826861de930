//! What the connections of an embedded server share.

use core::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use super::clients::Clients;
use crate::packet::PacketTables;
use crate::server::admission::Admission;
use crate::server::admission::address_rate_limits::AddressRateLimits;
use crate::server::admission::tokens::Authenticator;
use crate::server::room::RoomHandle;

/// The address of the program's own connections, and of the server.
pub const LOCAL_ADDRESS: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// The port that the server seems to have.
pub const PORT: u16 = 3000;

/// See the [module](self).
pub struct EmbeddedState {
    /// The clock.
    pub now: Duration,
    /// The room.
    pub room: Arc<RoomHandle>,
    /// The packet tables.
    pub codes: Arc<PacketTables>,
    /// The places.
    pub admission: Arc<Admission>,
    /// Rate limits per address.
    pub budgets: AddressRateLimits,
    /// Knows who may play: everyone.
    pub guard: Authenticator,
    /// The clients.
    pub clients: Clients,
    /// The time of day at which the clock stood at zero, in microseconds since 1970.
    pub began_us: u64,
}

impl EmbeddedState {
    /// Sets the clock, which never goes back.
    pub fn set_now(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }
}
