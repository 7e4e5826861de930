//! The [`Driver`] of a client's [`Receiver`]: executes what the client's packets request from its
//! server and room.
//!
//! Rate limits per address prefix apply here, outside the receiver, so that a replay of the bytes
//! does not depend on them.

use std::time::Duration;

use tickwire_sim::state_tree::FieldDiff;
use tickwire_sim::{PlayerId, RawCommand};

use super::client::{Client, Transport};
use crate::connection::receiver::{ConnectionEvents, Denial, ReadTime};
use crate::connection::resume_key::ResumeKey;
use crate::connection::sender::Frames;
use crate::connection::session::ReportedField;
use crate::connection::{DisconnectReason, Driver, Receiver};
use crate::game::{CloseReason, JoinRequest, PLAYER_GONE, SharedRateLimit};
use crate::server::admission::address_rate_limits::{AddressRateLimits, LimitedAction};
use crate::server::admission::tokens::{Authenticator, OfferedToken, Permission};
use crate::server::room::lockstep::LockstepAccess;
use crate::server::room::{JoinAttempt, JoinOutcome, SeatKey};

/// Error text when a spectator tries to join.
const SPECTATOR_ONLY_TEXT: &str =
    "to play, connect with a token from the operator of this server; without one you watch";

/// Error text when a resumed player no longer exists.
const PLAYER_GONE_TEXT: &str = "the player that you had has left the world: you begin anew";

/// Driver for one batch of received bytes of a client.
pub struct ClientDriver<'a, L> {
    /// The client.
    pub client: &'a Client<L>,
    /// Rate limits per address prefix.
    pub budgets: &'a AddressRateLimits,
    /// Checks tokens.
    pub guard: &'a Authenticator,
    /// Observer of the connection's events.
    pub books: &'a dyn ConnectionEvents,
    /// When the bytes were received.
    pub at: ReadTime,
}

/// Passes received bytes to the client's receiver. Bytes of a closing client are ignored.
///
/// # Errors
/// The connection is closing, or must close for this reason.
pub fn receive<L: Transport>(
    client: &Client<L>,
    bytes: &[u8],
    at: ReadTime,
    driver: &mut dyn Driver,
) -> Result<(), DisconnectReason> {
    receive_locked(client, &mut client.receiver.lock(), bytes, at, driver)
}

fn receive_locked<L: Transport>(
    client: &Client<L>,
    receiver: &mut Receiver,
    bytes: &[u8],
    at: ReadTime,
    driver: &mut dyn Driver,
) -> Result<(), DisconnectReason> {
    let sender = &client.sender;
    if let Some(ending) = sender.ending() {
        receiver.observe_ignored(bytes, at, driver.books());
        return Err(ending);
    }
    let messages = receiver.receive(bytes, at, driver)?;
    if messages > 0 {
        sender.life.alive(at.now);
    }
    sender.ending().map_or(Ok(()), Err)
}

/// Injects bytes into a client's input, unchanged, for an inspector that has proved that the client
/// is its own. Possible only between messages, so that the client's own messages stay whole.
///
/// # Errors
/// The reason why the bytes were not injected.
pub fn inject<L: Transport>(
    client: &Client<L>,
    bytes: &[u8],
    at: ReadTime,
    driver: &mut dyn Driver,
) -> Result<(), &'static str> {
    if client.sender.ending().is_some() {
        return Err("the connection is closing");
    }
    let mut receiver = client.receiver.lock();
    if !receiver.is_between_messages() {
        return Err("the client has sent half of a message: try again");
    }
    receiver.mark_injected();
    if let Err(ending) = receive_locked(client, &mut receiver, bytes, at, driver) {
        client.close(ending, at.now);
    }
    Ok(())
}

impl<L: Transport> ClientDriver<'_, L> {
    /// Returns the key of the client's seat, if it has one: the token's key or, without player
    /// tokens, the page's key.
    fn resume_key(&self) -> Result<Option<SeatKey>, Denial> {
        match self.client.pass() {
            Some(Permission::Holder(holder)) => Ok(Some(holder.seat)),
            Some(Permission::Anyone) => {
                let outlives = self.client.room.options.resume_time > Duration::ZERO;
                Ok(self.client.resume_key.map(ResumeKey::bytes).filter(|_| outlives))
            }
            Some(Permission::Spectator) | None => {
                self.books.on_command_rejected(CloseReason::TokenMissing.name());
                Err(Denial::Rejected(CloseReason::TokenMissing.name(), SPECTATOR_ONLY_TEXT))
            }
        }
    }

    /// Returns whether this permission allows lockstep, which reveals the whole world.
    fn may_use_lockstep(&self, pass: &Permission) -> bool {
        match self.client.room.lockstep.rules().access {
            LockstepAccess::Off => false,
            LockstepAccess::Token => self.client.is_local || matches!(pass, Permission::Holder(_)),
            LockstepAccess::Open => true,
        }
    }

    /// Sends an error to a client that tried to resume but got a new player.
    fn send_player_gone(&self) {
        let (endpoint, mut frames) = (&self.client.endpoint, Vec::new());
        let values = [("rule", PLAYER_GONE.into()), ("detail", PLAYER_GONE_TEXT.into())];
        endpoint.write_packet(&mut frames, "error", &values);
        self.client.send(Frames::Borrowed(&frames), self.at.now);
    }

    /// Takes a token of the address prefix's rate limit.
    fn charge(&self, spending: LimitedAction) -> Result<(), Denial> {
        self.budgets.take_late(self.client.household(), spending, self.at.now, self.at.slack).map_err(|_| {
            self.books.on_command_rejected(spending.rule());
            Denial::Rejected(spending.rule(), spending.detail())
        })
    }
}

impl<L: Transport> Driver for ClientDriver<'_, L> {
    fn answer(&mut self, frames: &[u8]) {
        self.client.send(Frames::Borrowed(frames), self.at.now);
    }

    fn requires_tokens(&self) -> bool {
        self.guard.has_tokens()
    }

    /// A token in `hello` takes precedence over one in the upgrade request.
    fn authenticate(&mut self, token: Option<&str>, lockstep: bool) -> Result<(), Denial> {
        let of_request = self.client.token.as_ref().map(|OfferedToken(said)| said.as_str());
        let said = token.filter(|said| !said.is_empty()).or(of_request);
        match self.guard.authenticate(self.client.address.ip(), said, self.at.now) {
            Ok(pass) => {
                if lockstep && !self.may_use_lockstep(&pass) {
                    self.client.sender.life.close_after_delay(CloseReason::LockstepOff, self.at.now);
                    return Err(Denial::Silent);
                }
                if let Permission::Holder(holder) = &pass {
                    self.books.on_authenticated(&holder.name);
                }
                self.client.set_pass(pass);
                Ok(())
            }
            Err(CloseReason::TokenMissing) => Err(Denial::Closed(CloseReason::TokenMissing)),
            Err(breach) => {
                self.client.sender.life.close_after_delay(breach, self.at.now);
                Err(Denial::Silent)
            }
        }
    }

    fn start_updates(&mut self, lockstep: bool) {
        self.client.sender.life.on_hello();
        self.client.start_updates(lockstep);
    }

    fn sync(&mut self) {
        self.client.room.lockstep.request_snapshot(self.client.id);
    }

    fn checksum(&mut self, tick: u32, checksum: u64) {
        let Client { id, room, .. } = self.client;
        let label = || match self.client.player() {
            Some(player) => format!("player {}", player.0),
            None => format!("spectator {id}"),
        };
        room.lockstep.checksum(*id, label, tick, checksum);
    }

    fn report_desync_details(&mut self, tick: u32, fields: Vec<ReportedField>) {
        let field = |ReportedField { entity, field, server, own }| FieldDiff {
            entity,
            field,
            ours: server,
            theirs: own,
        };
        self.client.room.lockstep.add_desync_details(
            self.client.id,
            tick,
            fields.into_iter().map(field).collect(),
        );
    }

    /// A client with an exhausted rate limit of joins remains a spectator and may retry.
    fn join(&mut self, profile: JoinRequest, since: Option<u32>) -> Result<PlayerId, Denial> {
        let key = self.resume_key()?;
        self.charge(LimitedAction::Join)?;
        let Client { id, room, .. } = self.client;
        let entering = JoinAttempt { key, connection: *id, from: self.client.household() };
        let entered = room.join(entering, self.at.now, |entered| {
            self.client.set_player(entered, &profile.name, since);
            (room.about.join)(entered.player, &profile)
        });
        let JoinOutcome { player, is_resumed, .. } = entered.ok_or(Denial::Closed(CloseReason::WorldFull))?;
        if since.is_some() && !is_resumed {
            self.send_player_gone();
        }
        self.books.on_join(player, &profile.name, self.at.tick);
        Ok(player)
    }

    fn command(
        &mut self,
        command: RawCommand,
        intended: Option<u32>,
        shared: Option<&'static SharedRateLimit>,
    ) -> Result<(), Denial> {
        if let Some(shared) = shared {
            self.charge(LimitedAction::Shared(shared))?;
        }
        let from = (self.client.household(), self.client.id);
        if let Err(dropped) = self.client.room.push(from, command, intended, self.at.slack) {
            self.books.on_command_rejected(dropped.name());
        }
        Ok(())
    }

    fn reject_command(&mut self, sequence: u64, rule: &'static str) {
        self.client.room.reject((self.client.household(), self.client.id), sequence, rule);
    }

    fn set_spectated(&mut self, player: Option<PlayerId>) {
        self.client.set_spectated(player);
    }

    fn books(&self) -> &dyn ConnectionEvents {
        self.books
    }
}
