//! The [`Driver`] of a client's [`Receiver`]: carries out what the client's packets ask of its host
//! and room.
//!
//! Rate limits per address apply here, outside the receiver, so that a replay of the bytes gives the
//! same result without them.

use std::time::Duration;

use tickwire_sim::{PlayerId, Raw};

use super::client::{Client, Line};
use crate::connection::receiver::{At, Books, Denied};
use crate::connection::resume_key::InspectKey;
use crate::connection::sender::Frames;
use crate::connection::session::Differing;
use crate::connection::{Driver, Ending, Receiver};
use crate::game::{Breach, PLAYER_GONE, Profile, Shared};
use crate::server::admission::address_rate_limits::{Budgets, Spending};
use crate::server::admission::tokens::{Guard, Pass, Said};
use crate::server::room::lockstep::{Access, Field};
use crate::server::room::{Entered, Entering, SeatKey};

/// What a spectator is told that asks for a body.
const ONLY_WATCHES: &str =
    "to play, connect with a token from the operator of this server; without one you watch";

/// What a client is told whose player has left.
const GONE: &str = "the player that you had has left the world: you begin anew";

/// See the [module](self).
pub struct Asked<'a, L> {
    /// The client that asks.
    pub client: &'a Client<L>,
    /// Rate limits per address.
    pub budgets: &'a Budgets,
    /// Knows who may play.
    pub guard: &'a Guard,
    /// Where it is noted.
    pub books: &'a dyn Books,
    /// When the bytes at hand were read.
    pub at: At,
}

/// Passes bytes of a client on to its receiver. Bytes of a closing client are ignored, whoever is
/// closing it.
///
/// # Errors
/// The connection ends, or is ending.
pub fn hear<L: Line>(
    client: &Client<L>,
    bytes: &[u8],
    at: At,
    driver: &mut dyn Driver,
) -> Result<(), Ending> {
    hear_locked(client, &mut client.receiver.lock(), bytes, at, driver)
}

fn hear_locked<L: Line>(
    client: &Client<L>,
    receiver: &mut Receiver,
    bytes: &[u8],
    at: At,
    driver: &mut dyn Driver,
) -> Result<(), Ending> {
    let sender = &client.sender;
    if let Some(ending) = sender.ending() {
        receiver.ignore(bytes, at, driver.books());
        return Err(ending);
    }
    let messages = receiver.receive(bytes, at, driver)?;
    if messages > 0 {
        sender.life.alive(at.now);
    }
    sender.ending().map_or(Ok(()), Err)
}

/// Passes bytes on as those of a client, exactly as they are, for a watcher that proved that the
/// client is its own. Only where a message may begin, so that the client's own messages stay whole.
///
/// # Errors
/// Why the bytes were not passed on.
pub fn inject<L: Line>(
    client: &Client<L>,
    bytes: &[u8],
    at: At,
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
    if let Err(ending) = hear_locked(client, &mut receiver, bytes, at, driver) {
        client.close(ending, at.now);
    }
    Ok(())
}

impl<L: Line> Asked<'_, L> {
    /// The key of the client's seat, if it has one: that of its token or, where everyone plays, of its
    /// page.
    fn seat_key(&self) -> Result<Option<SeatKey>, Denied> {
        match self.client.pass() {
            Some(Pass::Holder(holder)) => Ok(Some(holder.seat)),
            Some(Pass::Anyone) => {
                let outlives = self.client.room.options.seat_time > Duration::ZERO;
                Ok(self.client.inspect_key.map(InspectKey::bytes).filter(|_| outlives))
            }
            Some(Pass::Spectator) | None => {
                self.books.rejected(Breach::TokenMissing.name());
                Err(Denied::Rejected(Breach::TokenMissing.name(), ONLY_WATCHES))
            }
        }
    }

    /// Whether a client with this pass may follow in lockstep, which shows it the whole world.
    fn may_lockstep(&self, pass: &Pass) -> bool {
        match self.client.room.lockstep.rules().access {
            Access::Off => false,
            Access::Token => self.client.is_local || matches!(pass, Pass::Holder(_)),
            Access::Open => true,
        }
    }

    /// Tells a client that would have come back why its player is a new one.
    fn tell_gone(&self) {
        let (endpoint, mut frames) = (&self.client.endpoint, Vec::new());
        let values = [("rule", PLAYER_GONE.into()), ("detail", GONE.into())];
        endpoint.write_named(&mut frames, "error", &values);
        self.client.send(Frames::Lent(&frames), self.at.now);
    }

    /// Takes a token of the budget of this address.
    fn spend(&self, spending: Spending) -> Result<(), Denied> {
        self.budgets.take_late(self.client.household(), spending, self.at.now, self.at.slack).map_err(|_| {
            self.books.rejected(spending.rule());
            Denied::Rejected(spending.rule(), spending.detail())
        })
    }
}

impl<L: Line> Driver for Asked<'_, L> {
    fn answer(&mut self, frames: &[u8]) {
        self.client.send(Frames::Lent(frames), self.at.now);
    }

    fn has_tokens(&self) -> bool {
        self.guard.has_tokens()
    }

    /// A token in the hello goes before one in the request.
    fn admit(&mut self, token: Option<&str>, lockstep: bool) -> Result<(), Denied> {
        let of_request = self.client.token.as_ref().map(|Said(said)| said.as_str());
        let said = token.filter(|said| !said.is_empty()).or(of_request);
        match self.guard.admit(self.client.address.ip(), said, self.at.now) {
            Ok(pass) => {
                if lockstep && !self.may_lockstep(&pass) {
                    self.client.sender.life.turn_away(Breach::LockstepOff, self.at.now);
                    return Err(Denied::Unanswered);
                }
                if let Pass::Holder(holder) = &pass {
                    self.books.admitted(&holder.name);
                }
                self.client.set_pass(pass);
                Ok(())
            }
            Err(Breach::TokenMissing) => Err(Denied::Closed(Breach::TokenMissing)),
            Err(breach) => {
                self.client.sender.life.turn_away(breach, self.at.now);
                Err(Denied::Unanswered)
            }
        }
    }

    fn follow(&mut self, lockstep: bool) {
        self.client.sender.life.greeted();
        self.client.follow(lockstep);
    }

    fn sync(&mut self) {
        self.client.room.lockstep.ask(self.client.id);
    }

    fn checksum(&mut self, tick: u32, checksum: u64) {
        let Client { id, room, .. } = self.client;
        let label = || match self.client.player() {
            Some(player) => format!("player {}", player.0),
            None => format!("spectator {id}"),
        };
        room.lockstep.checksum(*id, label, tick, checksum);
    }

    fn details(&mut self, tick: u32, fields: Vec<Differing>) {
        let field = |Differing { entity, field, server, own }| Field { entity, field, room: server, own };
        self.client.room.lockstep.details(self.client.id, tick, fields.into_iter().map(field).collect());
    }

    /// A client whose address joins too often goes on watching, and may try again.
    fn join(&mut self, profile: Profile, since: Option<u32>) -> Result<PlayerId, Denied> {
        let key = self.seat_key()?;
        self.spend(Spending::Join)?;
        let Client { id, room, .. } = self.client;
        let entering = Entering { key, connection: *id, from: self.client.household() };
        let entered = room.enter(entering, self.at.now, |entered| {
            self.client.set_player(entered, &profile.name, since);
            (room.about.join)(entered.player, &profile)
        });
        let Entered { player, is_back, .. } = entered.ok_or(Denied::Closed(Breach::Full))?;
        if since.is_some() && !is_back {
            self.tell_gone();
        }
        self.books.enters(player, &profile.name, self.at.tick);
        Ok(player)
    }

    fn command(
        &mut self,
        command: Raw,
        intended: Option<u32>,
        shared: Option<&'static Shared>,
    ) -> Result<(), Denied> {
        if let Some(shared) = shared {
            self.spend(Spending::Shared(shared))?;
        }
        let from = (self.client.household(), self.client.id);
        if let Err(dropped) = self.client.room.push(from, command, intended, self.at.slack) {
            self.books.rejected(dropped.name());
        }
        Ok(())
    }

    fn reject(&mut self, sequence: u64, rule: &'static str) {
        self.client.room.reject((self.client.household(), self.client.id), sequence, rule);
    }

    fn watch(&mut self, player: Option<PlayerId>) {
        self.client.set_watched(player);
    }

    fn books(&self) -> &dyn Books {
        self.books
    }
}
