//! Decides which requests become clients. The check for a free place comes last, because places are
//! scarce.

use std::sync::Arc;
use std::time::Duration;

use super::address_rate_limits::{AddressRateLimits, LimitedAction};
use super::refusal::Refusal;
use super::tokens::OfferedToken;
use super::{Permit, SlotKind};
use crate::connection::WireFormat;
use crate::connection::resume_key::ResumeKey;
use crate::packet::PacketTables;
use crate::packet::routes::RouteError;
use crate::server::room::RoomHandle;
use crate::util::address_prefix::AddressPrefix;
use crate::ws::handshake::{self, AcceptedUpgrade};
use crate::ws::http::RequestHead;

/// The subprotocols we speak: that of the native dialect.
pub const SUBPROTOCOLS: [&str; 1] = ["tickwire.v1"];

/// The settings and state against which a request is checked.
#[derive(Debug, Clone, Copy)]
pub struct UpgradeCheck<'a> {
    /// Origins whose pages may connect; empty allows any.
    pub origins: &'a [String],
    /// The packet tables.
    pub codes: &'a PacketTables,
    /// The room of the request's path, if there is one.
    pub room: Option<&'a Arc<RoomHandle>>,
    /// Whether the room has all the clients that it may have.
    pub is_room_full: bool,
    /// Rate limits per address.
    pub budgets: &'a AddressRateLimits,
    /// Whether the host takes no more clients.
    pub is_stopping: bool,
}

/// A request that becomes a client.
#[derive(Debug)]
pub struct AcceptedClient {
    /// The room of its path.
    pub room: Arc<RoomHandle>,
    /// The dialect and format of its path and query.
    pub endpoint: WireFormat,
    /// The key by which a page proves at `/wire` that the client is its own.
    pub resume_key: Option<ResumeKey>,
    /// The player's token in the request, which applies unless its hello has one.
    pub token: Option<OfferedToken>,
    /// Whether the request comes from the server's own machine, as the driver judges it.
    pub is_local: bool,
    /// The response.
    pub response: Vec<u8>,
    /// The offered subprotocols, if none is known: see [`AcceptedUpgrade::declined`].
    pub declined: Vec<String>,
}

impl UpgradeCheck<'_> {
    /// Checks what a request says, whether or not there is a place.
    ///
    /// # Errors
    /// The refusal.
    pub fn check(&self, head: &RequestHead) -> Result<(AcceptedUpgrade, WireFormat), Refusal> {
        let accepted = handshake::accept(head, &SUBPROTOCOLS)?;
        handshake::check_origin(head, self.origins)?;
        let room = self.room.ok_or(RouteError::Room)?;
        Ok((accepted, WireFormat::find(self.codes, room.about.paths, head)?))
    }

    /// Checks a request, and turns its permit into that of a client.
    ///
    /// # Errors
    /// The refusal; the permit stays what it was, and no token is spent.
    pub fn accept(
        &self,
        head: &RequestHead,
        address: AddressPrefix,
        permit: &mut Permit,
        now: Duration,
    ) -> Result<AcceptedClient, Refusal> {
        let (accepted, endpoint) = self.check(head)?;
        let room = self.room.ok_or(RouteError::Room)?;
        if room.is_over() {
            return Err(Refusal::from_rule(503, "room_over"));
        }
        if self.is_room_full {
            return Err(Refusal { is_capacity: true, ..Refusal::from_rule(503, "room_full") });
        }
        if self.is_stopping {
            return Err(Refusal::from_rule(503, "stopping"));
        }
        let taken = self.budgets.take(address, LimitedAction::Client, now);
        taken.map_err(|wait| Refusal::rate_limited(LimitedAction::Client, wait))?;
        permit
            .convert_to(SlotKind::Client)
            .inspect_err(|_| self.budgets.refund(address, LimitedAction::Client))?;
        let (room, resume_key) = (Arc::clone(room), ResumeKey::of(head));
        let token = OfferedToken::of(head);
        Ok(AcceptedClient {
            room,
            endpoint,
            resume_key,
            token,
            is_local: false,
            response: accepted.response,
            declined: accepted.declined,
        })
    }
}
