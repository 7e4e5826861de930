//! The rooms of the simulated server, and the models of its clients: seats, worlds, messages and
//! rate limits.

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::{PlayerId, RawCommand};

use super::command_model::COMMANDS_RUN_ONCE;
use super::counts::SimulationCounts;
use super::desync_model::DesyncModel;
use super::failure::{InjectedBug, InvariantFailure};
use super::seat_model::SeatHolder;
use super::sim_room::SimRoom;
use super::virtual_tcp::ServerTransport;
use crate::game::DynTick;
use crate::server::admission::address_rate_limits::{AddressRateLimits, LimitedAction};
use crate::server::clients::client::Client;
use crate::util::address_prefix::AddressPrefix;

/// The rooms and the models.
pub struct ServerModels {
    /// The rooms.
    pub games: Vec<SimRoom>,
    /// Hashes of the reliable messages that each client must receive, by client ID.
    pub marks: BTreeMap<u64, Vec<u32>>,
    /// IDs of the clients to which the operator granted resources.
    pub granted: BTreeSet<u64>,
    /// The expected worlds of lockstep clients.
    pub worlds: DesyncModel,
    /// Sequence number of the last command of each client's player.
    sequences: BTreeMap<(u64, PlayerId), u64>,
    /// The injected bug.
    pub injected_bug: Option<InjectedBug>,
    /// Time at which each token bucket becomes full again, computed from the observed requests.
    spent: BTreeMap<(AddressPrefix, &'static str), (LimitedAction, Duration)>,
}

impl ServerModels {
    /// Creates the models of new rooms.
    pub fn new(games: Vec<SimRoom>, injected_bug: Option<InjectedBug>) -> ServerModels {
        ServerModels {
            games,
            marks: BTreeMap::new(),
            granted: BTreeSet::new(),
            worlds: DesyncModel::default(),
            sequences: BTreeMap::new(),
            injected_bug,
            spent: BTreeMap::new(),
        }
    }

    /// The room of a client; `None` after the room was restarted.
    pub fn room_of(&mut self, client: &Client<ServerTransport>) -> Option<&mut SimRoom> {
        self.games.iter_mut().find(|game| Arc::ptr_eq(&game.handle, &client.room))
    }

    /// Records a token that was consumed.
    pub fn on_charged(&mut self, address: SocketAddr, action: LimitedAction, now: Duration) {
        let key = (AddressPrefix::from_ip(address.ip()), action.rule());
        let (_, full_at) = self.spent.entry(key).or_insert((action, Duration::ZERO));
        *full_at = (*full_at).max(now) + action.rate().every;
    }

    /// Compares rate limits with the recorded tokens. A bucket that is full now counts as full,
    /// regardless of when it became full.
    ///
    /// # Errors
    /// A rate limit differs from the recorded tokens.
    pub fn check_charged(
        &self,
        address_limits: &AddressRateLimits,
        now: Duration,
    ) -> Result<(), InvariantFailure> {
        for ((prefix, rule), (action, full_at)) in &self.spent {
            let has = address_limits.full_at(*prefix, *action);
            if has.max(now) != (*full_at).max(now) {
                let detail =
                    format!("the bucket for {rule} of {prefix} is full at {has:?} instead of {full_at:?}");
                return Err(InvariantFailure::new(
                    "each rate limit has charged exactly what was spent",
                    detail,
                ));
            }
        }
        Ok(())
    }

    /// Records that a client received a player.
    ///
    /// # Errors
    /// The player is not the expected player.
    pub fn on_joined(
        &mut self,
        client: &Client<ServerTransport>,
        player: PlayerId,
        now: Duration,
        counts: &mut SimulationCounts,
    ) -> Result<(), InvariantFailure> {
        let Some((game, holder)) = self.room_of(client).zip(seat_holder(client)) else { return Ok(()) };
        let moment = game.now(now);
        game.seats.joined(holder, player, &moment, counts)
    }

    /// Records that the room queued a command of a client.
    ///
    /// # Errors
    /// The room has already queued this command or a later one.
    pub fn on_command(
        &mut self,
        client: &Client<ServerTransport>,
        command: &RawCommand,
    ) -> Result<(), InvariantFailure> {
        let last = self.sequences.insert((client.id, command.player), command.sequence);
        if last.is_some_and(|last| last >= command.sequence) {
            let detail = format!("{} of player {} after {last:?}", command.sequence, command.player.0);
            return Err(InvariantFailure::new(COMMANDS_RUN_ONCE, detail));
        }
        self.room_of(client).into_iter().for_each(|game| game.commands.on_queued(command));
        Ok(())
    }

    /// Handles the end of a client's connection: its player is suspended or leaves.
    pub fn leave_world(
        &mut self,
        client: &Client<ServerTransport>,
        now: Duration,
        counts: &mut SimulationCounts,
    ) {
        if self.injected_bug == Some(InjectedBug::SeatLeaked) && client.id.is_multiple_of(3) {
            return;
        }
        let loses_body = self.injected_bug == Some(InjectedBug::BodyLost);
        if let (Some(game), Some(player)) = (self.room_of(client), client.player()) {
            if loses_body {
                client.room.forget_key(player, client.id);
            }
            let moment = game.now(now);
            if let Some((holder, reason)) = seat_holder(client).zip(client.sender.disconnect_reason()) {
                game.seats.left(holder, player, &reason, &moment, counts);
            }
        }
        client.leave_world(now);
    }

    /// Records the hashes of the messages that a client must receive for these ticks of its room.
    pub fn expect(&mut self, client: &Client<ServerTransport>, ticks: &[Arc<dyn DynTick>], room: usize) {
        let game = &self.games[room];
        let Some(expected) = self.marks.get_mut(&client.id) else { return };
        if client.format.dialect.name() != game.dialect() {
            return;
        }
        let from = client.updates_from_tick().unwrap_or_default();
        for tick in ticks.iter().filter(|tick| tick.tick() > from) {
            expected.extend(game.marks(&**tick, client.player(), &client.format.dialect));
        }
    }
}

/// The seat holder of a client; `None` if the client has no key.
fn seat_holder(client: &Client<ServerTransport>) -> Option<SeatHolder> {
    let key = crate::server::room::SeatKey(client.resume_key?.bytes());
    Some(SeatHolder { key, connection: client.id, from: client.prefix() })
}
