//! The expected state of the seats of clients with a key: a model of the room's rules.
//!
//! ```text
//!     playing ──connection ends──► suspended ──timeout──► removed
//!        ▲  └─another connection─┐   │ ▲                    ▲
//!        └───────────◄───────────┴───┘ └─ 32 per address ───┘
//! ```
//!
//! A client with a key that resumes in time receives its own player. While the seat is suspended,
//! the player stays in the world and has no commands. After the timeout, or after a kick, the
//! player is removed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tickwire_sim::{Command, EncodedAction, MembershipChange, PlayerId};

use super::counts::SimulationCounts;
use super::failure::InvariantFailure;
use crate::connection::DisconnectReason;
use crate::game::DynTick;
use crate::game::bots::CompareAbsence;
use crate::limits;
use crate::server::room::{KeyedSeat, SeatKey};
use crate::util::address_prefix::AddressPrefix;

/// Maximum number of ticks until a queued join or leave is executed.
const QUEUED_TICKS: u32 = 2;
/// Maximum number of suspended seats per address. The limit is small, so that the simulation
/// reaches it.
pub const ABSENT_PER_ADDRESS: usize = 32;
const RESUMES_OWN_PLAYER: &str = "a client that resumes in time gets its own player";
const ABSENT_STAYS: &str = "an absent player stays in the world until its time is over";
const EXPIRED_IS_REMOVED: &str = "a player whose time is over is gone";
const ABSENT_IS_IDLE: &str = "an absent player does nothing";

/// The time of an event, and the newest state at that time.
#[derive(Clone)]
pub struct EventTime {
    /// Time on the server's clock.
    pub now: Duration,
    /// Number of completed ticks.
    pub tick: u32,
    /// The newest published state.
    pub published: Option<Arc<dyn DynTick>>,
}

/// A connection of a client with a key.
#[derive(Debug, Clone, Copy)]
pub struct SeatHolder {
    /// The key.
    pub key: SeatKey,
    /// ID of the connection.
    pub connection: u64,
    /// Address prefix of the connection.
    pub from: AddressPrefix,
}

struct ExpectedSeat {
    player: PlayerId,
    /// The current connection; `None` while the seat is suspended.
    connection: Option<u64>,
    /// Address prefix of the last connection.
    from: AddressPrefix,
    /// While the seat is suspended: the time at which it expires.
    until: Duration,
    /// Whether the room has been restarted since the last connection.
    is_restarted: bool,
    /// Tick in which the join was queued.
    joined: u32,
    /// The state at the end of the connection. `None` if the operator has granted resources since
    /// then.
    before: Option<Arc<dyn DynTick>>,
}

/// The expected state of all seats with a key.
pub struct SeatModel {
    time: Duration,
    compare_absence: CompareAbsence,
    seats: BTreeMap<SeatKey, ExpectedSeat>,
    /// Players that must leave, and the tick in which their removal was queued.
    released: BTreeMap<PlayerId, u32>,
}

impl SeatModel {
    /// Creates an empty model. Suspended players expire after `time`.
    pub fn new(time: Duration, keeps: CompareAbsence) -> SeatModel {
        SeatModel { time, compare_absence: keeps, seats: BTreeMap::new(), released: BTreeMap::new() }
    }

    /// Records that a client received a player.
    ///
    /// # Errors
    /// The player is not the expected player.
    pub fn joined(
        &mut self,
        holder: SeatHolder,
        player: PlayerId,
        moment: &EventTime,
        counts: &mut SimulationCounts,
    ) -> Result<(), InvariantFailure> {
        if let Some(seat) = self.seats.get_mut(&holder.key) {
            if seat.player != player {
                let detail = format!("player {} instead of {}", player.0, seat.player.0);
                return Err(InvariantFailure::new(RESUMES_OWN_PLAYER, detail));
            }
            let before = seat.before.take();
            let is_elsewhere = std::mem::replace(&mut seat.from, holder.from) != holder.from;
            let is_restarted = std::mem::take(&mut seat.is_restarted);
            counts.add(match seat.connection.replace(holder.connection) {
                Some(_) => "resume: took its player over",
                None if is_restarted => "resume: came back after a restart",
                None if is_elsewhere => "resume: came back from another address",
                None => "resume: came back",
            });
            return match before.zip(moment.published.as_ref()) {
                Some((before, after)) => self.compare(player, &*before, &**after, counts),
                None => Ok(()),
            };
        }
        if self.seats.values().any(|seat| seat.player == player) {
            let detail = format!("player {} belongs to another key", player.0);
            return Err(InvariantFailure::new("a player has one client", detail));
        }
        let (connection, joined) = (Some(holder.connection), moment.tick);
        let (from, until) = (holder.from, Duration::ZERO);
        let seat =
            ExpectedSeat { player, connection, from, until, is_restarted: false, joined, before: None };
        self.seats.insert(holder.key, seat);
        counts.add("resume: began with a key");
        Ok(())
    }

    fn compare(
        &self,
        player: PlayerId,
        before: &dyn DynTick,
        after: &dyn DynTick,
        counts: &mut SimulationCounts,
    ) -> Result<(), InvariantFailure> {
        let kept = (self.compare_absence)(before, after, player);
        if kept.map_err(|mismatch| InvariantFailure::new("an absent player keeps what it has", mismatch.0))? {
            counts.add("resume: things compared");
        }
        Ok(())
    }

    /// Records that the connection of a client ended.
    pub fn left(
        &mut self,
        holder: SeatHolder,
        player: PlayerId,
        reason: &DisconnectReason,
        moment: &EventTime,
        counts: &mut SimulationCounts,
    ) {
        let is_full = self.is_full(holder.from);
        let Some(seat) = self.seats.get_mut(&holder.key) else { return };
        if seat.connection != Some(holder.connection) || seat.player != player {
            return;
        }
        if !reason.allows_resume() {
            self.release(holder.key, moment.tick);
        } else if is_full {
            counts.add("resume: too many absent players of an address");
            self.release(holder.key, moment.tick);
        } else {
            seat.connection = None;
            seat.until = moment.now + self.time;
            seat.before.clone_from(&moment.published);
        }
    }

    /// Whether no further player of an address may be suspended.
    fn is_full(&self, from: AddressPrefix) -> bool {
        let absent = || self.seats.values().filter(|seat| seat.connection.is_none());
        let of_address = absent().filter(|seat| seat.from == from).count();
        let free = limits::MAX_SUSPENDED_SEATS.saturating_sub(absent().count());
        free == 0 || of_address >= ABSENT_PER_ADDRESS || of_address > 0 && of_address >= free
    }

    fn release(&mut self, key: SeatKey, tick: u32) {
        if let Some(seat) = self.seats.remove(&key) {
            self.released.insert(seat.player, tick);
        }
    }

    fn release_where(&mut self, tick: u32, is_over: impl Fn(&ExpectedSeat) -> bool) -> u64 {
        let over: Vec<SeatKey> =
            self.seats.iter().filter(|(_, seat)| is_over(seat)).map(|(key, _)| *key).collect();
        over.iter().for_each(|key| self.release(*key, tick));
        over.len() as u64
    }

    /// Records that the operator removed a player.
    pub fn record_removal(&mut self, player: PlayerId, tick: u32) {
        self.release_where(tick, |seat| seat.player == player);
    }

    /// Records that the operator removed the suspended players of an address.
    pub fn record_absent_removal(&mut self, from: AddressPrefix, tick: u32) {
        self.release_where(tick, |seat| seat.connection.is_none() && seat.from == from);
    }

    /// Records that the operator granted resources to a player. The possessions of a suspended
    /// player may therefore change.
    pub fn on_gift(&mut self, player: PlayerId) {
        self.seats.values_mut().filter(|seat| seat.player == player).for_each(|seat| seat.before = None);
    }

    /// Removes the seats that have expired before a tick.
    pub fn expire(&mut self, now: Duration, tick: u32, counts: &mut SimulationCounts) {
        let over = self.release_where(tick, |seat| seat.connection.is_none() && seat.until <= now);
        counts.add_many("resume: its time was over", over);
    }

    /// Records that the room was restarted after a tick, with these players. All clients of the
    /// previous run are closed. Returns the keyed seats of these players, in the order in which the
    /// room suspends them.
    pub fn on_room_restart(&mut self, players: &[PlayerId], now: Duration, tick: u32) -> Vec<KeyedSeat> {
        self.released.clear();
        let mut before = std::mem::take(&mut self.seats);
        before.retain(|_, seat| players.contains(&seat.player));
        let keyed = |(key, seat): (&SeatKey, &ExpectedSeat)| KeyedSeat {
            key: *key,
            player: seat.player,
            from: seat.from,
        };
        let keys = before.iter().map(keyed).collect();
        for (key, mut seat) in before {
            if self.is_full(seat.from) {
                self.released.insert(seat.player, tick);
                continue;
            }
            (seat.connection, seat.before, seat.is_restarted) = (None, None, true);
            seat.until = now + self.time;
            self.seats.insert(key, seat);
        }
        keys
    }

    /// Checks a tick: its commands, its membership changes, and the players after it.
    ///
    /// # Errors
    /// A player is missing, was not removed, or had a command while it was suspended.
    pub fn check(
        &mut self,
        commands: &[Command<EncodedAction>],
        changes: &[MembershipChange],
        players: &[PlayerId],
        tick: u32,
    ) -> Result<(), InvariantFailure> {
        let is_in = |player: PlayerId| players.binary_search(&player).is_ok();
        for seat in self.seats.values() {
            let player = seat.player;
            if tick > seat.joined + QUEUED_TICKS && !is_in(player) {
                return Err(InvariantFailure::new(
                    ABSENT_STAYS,
                    format!("player {} is not in tick {tick}", player.0),
                ));
            }
            let joins = |change: &MembershipChange| matches!(change, MembershipChange::Joined(who, _) if *who == player);
            if tick > seat.joined + QUEUED_TICKS && changes.iter().any(joins) {
                let detail = format!("player {} joins again in tick {tick}", player.0);
                return Err(InvariantFailure::new("a player that stays joins once", detail));
            }
            if seat.connection.is_none() && commands.iter().any(|command| command.player == player) {
                return Err(InvariantFailure::new(
                    ABSENT_IS_IDLE,
                    format!("player {} in tick {tick}", player.0),
                ));
            }
        }
        let late = |(player, since): (&PlayerId, &u32)| {
            (tick > since + QUEUED_TICKS && is_in(*player)).then_some(player.0)
        };
        if let Some(player) = self.released.iter().find_map(late) {
            return Err(InvariantFailure::new(
                EXPIRED_IS_REMOVED,
                format!("player {player} is in tick {tick}"),
            ));
        }
        self.released.retain(|player, _| is_in(*player));
        Ok(())
    }
}
