//! Admits connections, and checks the upgrade requests of clients. The check for a free slot comes
//! last, because slots are scarce.

use std::sync::Arc;
use std::time::Duration;

use super::address_rate_limits::{AddressRateLimits, LimitedAction};
use super::refusal::Refusal;
use super::tokens::OfferedToken;
use super::{Admission, Admitted, Permit, SlotKind};
use crate::connection::message_compression;
use crate::connection::resume_key::ResumeKey;
use crate::connection::{DeflaterPool, MessageCompression, WireFormat};
use crate::packet::PacketTables;
use crate::packet::credentials;
use crate::packet::routes::RouteError;
use crate::server::room::RoomHandle;
use crate::util::address_prefix::AddressPrefix;
use crate::ws::handshake::{self, AcceptedUpgrade};
use crate::ws::http::RequestHead;

/// Supported subprotocols: only the one of the native dialect.
pub const SUBPROTOCOLS: [&str; 1] = ["tickwire.v1"];

/// Charges a new connection to the rate limit of its address prefix, and then admits it. A
/// connection without an address prefix is not charged.
///
/// # Errors
/// The rate limit is exhausted, or [`Admission::admit`] fails.
pub fn admit_connection(
    admission: &Arc<Admission>,
    address_limits: &AddressRateLimits,
    prefix: Option<AddressPrefix>,
    now: Duration,
) -> Result<Admitted, Refusal> {
    if let Some(prefix) = prefix {
        let taken = address_limits.take(prefix, LimitedAction::Connection, now);
        taken.map_err(|wait| Refusal::rate_limited(LimitedAction::Connection, wait))?;
    }
    Ok(admission.admit(prefix)?)
}

/// The settings and state against which a request is checked.
#[derive(Debug, Clone, Copy)]
pub struct UpgradeCheck<'a> {
    /// Origins of pages that may connect; empty allows any.
    pub origins: &'a [String],
    /// Packet tables of all games.
    pub codes: &'a PacketTables,
    /// Accepts offers of compression, with these deflaters.
    pub compression: Option<&'a Arc<DeflaterPool>>,
    /// The room of the request's path, if it exists.
    pub room: Option<&'a Arc<RoomHandle>>,
    /// Whether the room has its maximum number of clients.
    pub is_room_full: bool,
    /// Rate limits per address prefix.
    pub address_limits: &'a AddressRateLimits,
    /// Whether the server accepts no more clients.
    pub is_stopping: bool,
}

/// An upgrade request that has passed all checks.
#[derive(Debug)]
pub struct AcceptedClient {
    /// The room of the request's path.
    pub room: Arc<RoomHandle>,
    /// The wire format selected by path and query.
    pub format: WireFormat,
    /// The resume key, which identifies the page's own client at `/wire`.
    pub resume_key: Option<ResumeKey>,
    /// The player token in the request.
    pub token: Option<OfferedToken>,
    /// Whether the request comes from the server's own machine, set by the caller.
    pub is_local: bool,
    /// The response that accepts the upgrade.
    pub response: Vec<u8>,
    /// Offered subprotocols without their secrets, if none of them is supported: see
    /// [`AcceptedUpgrade::declined`]. Otherwise empty.
    pub declined: String,
}

impl UpgradeCheck<'_> {
    /// Checks the request itself: handshake, origin, room and wire format.
    ///
    /// # Errors
    /// The refusal.
    pub fn check(&self, head: &RequestHead) -> Result<(AcceptedUpgrade, WireFormat), Refusal> {
        let options = self.compression.map(|_| message_compression::OPTIONS);
        let accepted = handshake::accept_with(head, &SUBPROTOCOLS, options)?;
        handshake::check_origin(head, self.origins)?;
        let room = self.room.ok_or(RouteError::Room)?;
        let mut format = WireFormat::find(self.codes, room.game.paths, head)?;
        let agreed = accepted.deflate.zip(self.compression);
        format.compression =
            agreed.map(|(parameters, pool)| MessageCompression::new(parameters, Arc::clone(pool)));
        Ok((accepted, format))
    }

    /// Turns a permit into a client's.
    ///
    /// # Errors
    /// As for [`UpgradeCheck::accept`].
    pub fn admit_client(
        &self,
        address: AddressPrefix,
        permit: &mut Permit,
        now: Duration,
    ) -> Result<(), Refusal> {
        let taken = self.address_limits.take(address, LimitedAction::Client, now);
        taken.map_err(|wait| Refusal::rate_limited(LimitedAction::Client, wait))?;
        permit
            .convert_to(SlotKind::Client)
            .inspect_err(|_| self.address_limits.refund(address, LimitedAction::Client))?;
        Ok(())
    }

    /// Checks a request and turns its permit into a client's.
    ///
    /// # Errors
    /// The refusal. The permit is then unchanged, and no rate limit token is consumed.
    pub fn accept(
        &self,
        head: &RequestHead,
        address: AddressPrefix,
        permit: &mut Permit,
        now: Duration,
    ) -> Result<AcceptedClient, Refusal> {
        let (accepted, format) = self.check(head)?;
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
        self.admit_client(address, permit, now)?;
        let (room, resume_key) = (Arc::clone(room), ResumeKey::of(head));
        let token = OfferedToken::of(head);
        Ok(AcceptedClient {
            room,
            format,
            resume_key,
            token,
            is_local: false,
            response: accepted.response,
            declined: credentials::redact_list(&accepted.declined),
        })
    }
}
