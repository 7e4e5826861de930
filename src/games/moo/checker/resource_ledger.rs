//! Checks that a player's resources rise only as a result of its own actions.
//!
//! Swings are sent when they happen, resources once per update, and an update reports its resources
//! before the swings of the same tick. The swings that earn a rise may therefore be sent before or
//! after the update that reports the rise. In the native dialect an `object_hits` packet does not
//! name the attacker, so every object in it may be the target of a simultaneous hit by the player.
//! Other sources of gold are theft (a hit on a player), windmills (each pays at most at the rate of
//! the best kind), kills and hunts. Other sources of food are removed animals, and animals that the
//! player's spikes and turrets kill outside its view. While the player is dead, and in the first
//! update of a life, no rise is a fault, because the server does not send a player the swings in
//! the tick of its death.

use std::time::Duration;

use super::common::CheckState;
use super::food_income::{claim_carcass_food, is_food_of_animals, max_gathered, max_meal};
use super::gold_income::{GoldIncome, take_bounty};
use super::rule::CheckRule;
use super::stats::MooBotStats;
use super::upgrades;
use crate::games::moo::bot::received::{MoomooValue, ServerPacket, Swing};
use crate::games::moo::world::rules;

/// The amount of one resource, and the rises that are not yet explained.
#[derive(Debug, Clone, Copy, Default)]
struct Account {
    amount: u32,
    /// Rise of the amount in the current update.
    risen: u32,
    /// Amount that swings since the last update have earned.
    earned: u32,
    /// Part of the rise in the last update that earlier packets do not explain.
    owed: u32,
    /// Maximum part of the rise that swings explain. They may have earned less.
    explained: u32,
}

/// Number of updates in which a resumed client may still receive its possessions. One complete
/// update contains all of them, but an update may be interrupted. In the MooMoo dialects, the
/// packets after the first `update_players` count as a further update.
const RESUME_GRACE_UPDATES: u8 = 3;
/// Number of updates after a spawn in which a client of a MooMoo dialect receives its possessions.
const FIRST_TURNS: u8 = 2;

/// Attributes rises of resources to their sources; see the module documentation.
#[derive(Debug, Default)]
pub(super) struct ResourceLedger {
    accounts: [Account; 4],
    income: GoldIncome,
    /// Food of the animals that were removed in the last update, and in the current update.
    carcasses: [Vec<u32>; 2],
    /// Number of updates for which the player's spikes and turrets may have killed an animal
    /// outside its view.
    guard_kill_turns: u8,
    /// Maximum gold from kills and hunts: in the last update, and in the current update.
    bounty: [u64; 2],
    kills: u32,
    /// Whether the last packet was a hit by the player. The next shaking object is then the target
    /// of this hit.
    is_own_swing: bool,
    /// Number of updates after a spawn in which the client still receives its possessions.
    first: u8,
    died: bool,
    /// Number of updates until a resumed client has received its possessions.
    returning: u8,
    stats: MooBotStats,
}

impl ResourceLedger {
    /// See [`PacketChecker::on_resumed`](super::PacketChecker::on_resumed).
    pub(super) fn on_resumed(&mut self) {
        self.returning = RESUME_GRACE_UPDATES;
    }

    /// Returns the statistics since the last call.
    pub(super) fn take(&mut self) -> MooBotStats {
        std::mem::take(&mut self.stats)
    }

    /// Processes a packet's inventory and upgrades before the packet is applied to the world model.
    pub(super) fn record_income(&mut self, packet: &ServerPacket, now: Duration, common: &mut CheckState) {
        let mills =
            common.world_model.inventory.counts.get(&(rules::Group::Mill as u8)).copied().unwrap_or(0);
        self.income.earn(mills, now);
        if GUARDS.iter().any(|group| {
            common.world_model.inventory.counts.get(&(*group as u8)).is_some_and(|count| *count > 0)
        }) {
            self.guard_kill_turns = GUARD_GRACE_UPDATES;
        }
        upgrades::check_packet(packet, (self.first > 0, self.returning > 0), common, &mut self.stats);
    }

    /// Checks a packet that was applied to the world model. `killed` is the food of the animals
    /// that it removed, regardless of the killer.
    pub(super) fn check_packet(
        &mut self,
        server_packet: &ServerPacket,
        killed: &[u32],
        common: &mut CheckState,
    ) {
        self.carcasses[1].extend_from_slice(killed);
        if let ServerPacket::ObjectHits(objects) = server_packet {
            return objects.iter().for_each(|object| self.shake(*object, common));
        }
        self.is_own_swing = false;
        match server_packet {
            ServerPacket::Swings(swings) => swings.iter().for_each(|swing| self.swing(swing, common)),
            ServerPacket::Stats { resources, kills, .. } => {
                for (kind, amount) in resources.iter().enumerate() {
                    self.has(kind, *amount);
                }
                self.killed(*kills, common);
                // In the native dialect this packet contains all possessions.
                self.first = self.first.min(1);
                self.end_update(common);
            }
            ServerPacket::Value { what: MoomooValue::Resource(kind), amount } => self.has(*kind, *amount),
            ServerPacket::Value { what: MoomooValue::Kills, amount } => self.killed(*amount, common),
            ServerPacket::Players(_) => self.end_update(common),
            // In the native dialect this packet starts an update, so all rises of the previous
            // update must be explained by now.
            ServerPacket::Update(_) => self.settle(common),
            ServerPacket::Died => {
                self.stats.deaths += 1;
                self.died = true;
            }
            _ => {}
        }
        if common.is_alive {
            let died = std::mem::take(&mut self.died);
            self.stats.respawns += u64::from(died);
            self.first = if died { FIRST_TURNS } else { self.first };
        }
    }

    fn swing(&mut self, swing: &Swing, common: &mut CheckState) {
        let Swing { player, weapon, hit } = *swing;
        if !common.world_model.players.contains_key(&player) {
            common.fault(CheckRule::SwingUnknown, format!("player {player}"));
        }
        if hit && common.world_model.own_player_id == Some(player) {
            self.is_own_swing = true;
            self.stats.hits += 1;
            // The packet does not name the players that were hit, so gold may have been stolen from
            // each player in view.
            let steals = rules::weapon(weapon).map_or(0, |weapon| weapon.steals);
            let from = common.world_model.others_in_view as u32;
            self.accounts[rules::Resource::Gold as usize].earned += steals * from;
        }
    }

    fn shake(&mut self, object: u32, common: &mut CheckState) {
        let Some(known) = common.world_model.objects.get(&object) else {
            return common.fault(CheckRule::HitUnknown, format!("object {object}"));
        };
        // An unexplained rise may be the food of a hunt. If so, the gain of this swing has not been
        // reported yet.
        let hunts = self.carcasses.iter().any(|food| !food.is_empty());
        let account = known.kind.and_then(|kind| self.accounts.get_mut(usize::from(kind)));
        if let Some(account) = account.filter(|_| self.is_own_swing) {
            let gold = known.kind == Some(rules::Resource::Gold as u8);
            let gain = max_gathered() + if gold { rules::GOLD_EXTRA } else { 0 };
            let spare = if hunts { gain } else { gain.saturating_sub(account.owed) };
            account.explained += gain.min(account.owed);
            account.owed = account.owed.saturating_sub(gain);
            // A rise is reported before its swing, so it may have been attributed to windmills.
            let back = if gold { self.income.take_back(spare) } else { 0 };
            account.earned += spare - back;
        }
    }

    fn has(&mut self, kind: usize, amount: u32) {
        let account = &mut self.accounts[kind];
        let rise = amount.saturating_sub(account.amount);
        account.amount = amount;
        account.risen += rise;
    }

    fn killed(&mut self, kills: u32, common: &mut CheckState) {
        if kills < self.kills {
            common.fault(CheckRule::KillsDecreased, format!("{} then {kills}", self.kills));
        }
        let more = kills.saturating_sub(self.kills);
        self.stats.kills += u64::from(more);
        self.bounty[1] += u64::from(more) * MAX_KILL_GOLD;
        self.kills = kills;
    }

    /// Ends an update after its resources have been reported.
    fn end_update(&mut self, common: &mut CheckState) {
        self.settle(common);
        let is_first = self.first > 0;
        self.first -= u8::from(is_first);
        let returned = self.returning > 0;
        self.returning -= u8::from(returned && common.is_alive);
        let forgiven = common.world_model.is_dead || is_first || returned;
        for (kind, account) in self.accounts.iter_mut().enumerate() {
            let (risen, earned) = (std::mem::take(&mut account.risen), std::mem::take(&mut account.earned));
            // A resumed player had these resources before, so no windmill, kill or hunt paid them.
            let (mut risen, mut bounty) = (if returned { 0 } else { risen }, 0);
            if kind == rules::Resource::Gold as usize {
                // Kills are claimed first, because their gold is due now. The income of windmills
                // may be due later.
                bounty = take_bounty(&mut self.bounty[1], risen.saturating_sub(earned));
                self.income.paid = self.income.pay(risen.saturating_sub(earned + bounty));
                risen -= self.income.paid;
            }
            self.stats.gathered += u64::from(risen);
            risen -= bounty;
            if kind == rules::Resource::Food as usize {
                let before = self.stats.animals;
                let is_hunt = self.carcasses.iter().flatten().any(|food| *food <= risen);
                risen -=
                    claim_carcass_food(&mut self.carcasses, risen.saturating_sub(earned), &mut self.stats);
                // Swings at bushes may explain the food of a hunt, but they do not explain its
                // gold.
                let hunts = (self.stats.animals - before).max(u64::from(is_hunt));
                self.bounty[1] += hunts * MAX_ANIMAL_GOLD;
            }
            account.owed = if forgiven { 0 } else { risen.saturating_sub(earned) };
            account.explained = earned.min(risen);
        }
        self.guard_kill_turns = self.guard_kill_turns.saturating_sub(1);
        self.carcasses[0] = std::mem::take(&mut self.carcasses[1]);
        self.bounty[0] = std::mem::take(&mut self.bounty[1]);
    }

    /// Reports the rises that are still unexplained, unless the player has died.
    fn settle(&mut self, common: &mut CheckState) {
        for (kind, account) in self.accounts.iter_mut().enumerate() {
            let mut owed = std::mem::take(&mut account.owed);
            if kind == rules::Resource::Food as usize {
                let before = self.stats.animals;
                owed -= claim_carcass_food(&mut self.carcasses, owed, &mut self.stats);
                // Swings may explain all the food of a hunt, but they do not explain its gold.
                let may_be_hunt = self.guard_kill_turns > 0
                    && owed + account.explained > 0
                    && is_food_of_animals(owed..=owed + account.explained + max_meal());
                let hunts = (self.stats.animals - before) + u64::from(may_be_hunt);
                self.bounty[0] += hunts * MAX_ANIMAL_GOLD;
                if may_be_hunt {
                    self.stats.animals += u64::from(owed > 0);
                    owed = 0;
                }
            }
            if kind == rules::Resource::Gold as usize {
                owed -= take_bounty(&mut self.bounty[0], owed);
                // Resources are reported before structure counts.
                owed -= self.income.pay(owed);
                self.income.refund(&mut self.bounty[0]);
            }
            if owed > 0 && !common.world_model.is_dead {
                let has = account.amount;
                common.fault(
                    CheckRule::GainUnearned,
                    format!("has {has} of resource {kind}, {owed} not earned"),
                );
            }
        }
    }
}

/// Structures that kill animals for their owner, wherever the owner is.
const GUARDS: [rules::Group; 2] = [rules::Group::Spikes, rules::Group::Turret];
/// Number of updates for which a destroyed spike or turret still explains food. A structure may be
/// destroyed in the tick in which it kills, and the destruction may be reported before the food.
const GUARD_GRACE_UPDATES: u8 = 3;

/// Maximum gold for a kill, because the victim's age is unknown.
const MAX_KILL_GOLD: u64 = rules::KILL_GOLD as u64 * rules::MAX_AGE as u64;
/// Maximum gold for an animal, because the killed animal is unknown.
const MAX_ANIMAL_GOLD: u64 = 1_000;

#[cfg(test)]
mod tests;
