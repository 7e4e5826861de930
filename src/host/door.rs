//! Decides which requests become clients: all checks of an upgrade. The check for a free place
//! comes last, because places are scarce.

use std::sync::Arc;
use std::time::Duration;

use super::admission::{Permit, RefusedBy};
use super::budgets::{Budgets, Spending};
use crate::household::Household;
use crate::packet::Codes;
use crate::packet::endpoint::{NoEndpoint, room_of};
use crate::peer::Endpoint;
use crate::room::Handle;
use crate::ws::http::{Refusal, RequestHead};
use crate::ws::upgrade;

/// The subprotocols we speak: that of the native dialect.
pub const SUBPROTOCOLS: [&str; 1] = ["tickwire.v1"];

/// What a request is checked against.
#[derive(Debug, Clone, Copy)]
pub struct Door<'a> {
    /// Origins whose pages may connect; empty allows any.
    pub origins: &'a [String],
    /// The packet tables.
    pub codes: &'a Codes,
    /// The rooms.
    pub rooms: &'a [Arc<Handle>],
    /// Rate limits per address.
    pub budgets: &'a Budgets,
    /// Whether the host takes no more clients.
    pub is_stopping: bool,
}

/// Why a request does not become a client.
#[derive(Debug)]
pub enum UpgradeRefused {
    /// The request breaks a rule of the upgrade.
    Refused(Refusal),
    /// There is nothing at its path.
    NoEndpoint(NoEndpoint),
    /// Its room has ended.
    RoomOver,
    /// The host is stopping.
    Stopping,
    /// Its address has spent a budget: the time until there is a token.
    TooOften(Spending, Duration),
    /// There is no place.
    RefusedBy(RefusedBy),
}

/// A request that becomes a client.
#[derive(Debug)]
pub struct Entry {
    /// The room of its path.
    pub room: Arc<Handle>,
    /// The dialect and format of its path and query.
    pub endpoint: Endpoint,
    /// The response.
    pub response: Vec<u8>,
}

impl Door<'_> {
    /// Checks a request, and turns its permit into that of a client.
    ///
    /// # Errors
    /// [`UpgradeRefused`]; the permit stays what it was, and no token is spent.
    pub fn enter(
        &self,
        head: &RequestHead,
        address: Household,
        permit: &mut Permit,
        now: Duration,
    ) -> Result<Entry, UpgradeRefused> {
        let accepted = upgrade::accept(head, &SUBPROTOCOLS).map_err(UpgradeRefused::Refused)?;
        upgrade::check_origin(head, self.origins).map_err(UpgradeRefused::Refused)?;
        let endpoint = Endpoint::find(self.codes, head).map_err(UpgradeRefused::NoEndpoint)?;
        let name = room_of(head.path()).0;
        let room = self.rooms.iter().find(|room| *room.options.name == *name);
        let room = room.ok_or(UpgradeRefused::NoEndpoint(NoEndpoint::Path))?;
        if room.is_over() {
            return Err(UpgradeRefused::RoomOver);
        }
        if self.is_stopping {
            return Err(UpgradeRefused::Stopping);
        }
        let taken = self.budgets.take(address, Spending::Client, now);
        taken.map_err(|wait| UpgradeRefused::TooOften(Spending::Client, wait))?;
        if let Err(cap) = permit.become_client() {
            self.budgets.give_back(address, Spending::Client);
            return Err(UpgradeRefused::RefusedBy(cap));
        }
        Ok(Entry { room: Arc::clone(room), endpoint, response: accepted.response })
    }
}
