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
use super::food_income::{claim_carcass_food, is_food_of_animals, max_gathered};
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
                if self.guard_kill_turns > 0 && is_food_of_animals(owed) {
                    (owed, self.stats.animals) = (0, self.stats.animals + 1);
                }
                self.bounty[0] += (self.stats.animals - before) * MAX_ANIMAL_GOLD;
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
mod tests {
    use super::*;
    use crate::games::moo::bot::received::{AddedPlayer, Animal, Object, Pose};
    use crate::games::moo::checker::PacketChecker;

    const TREE: u32 = 70;
    const GOLD: u32 = 71;

    fn pose(player: u32) -> Pose {
        Pose { player, x_px: 500.0, y_px: 500.0, heading: 0 }
    }

    fn born() -> Vec<ServerPacket> {
        let added = AddedPlayer {
            id: "1".into(),
            pose: pose(1),
            name: String::new(),
            health: 100,
            max_health: 100,
            is_you: true,
        };
        let thing = |id, kind| {
            let kind = Some(kind);
            Object { id, kind, x_px: 600.0, y_px: 500.0, scale_px: 80.0, structure: None }
        };
        let things = vec![thing(TREE, 0), thing(GOLD, 3)];
        vec![
            ServerPacket::Setup { player: 1 },
            ServerPacket::AddPlayer(added),
            ServerPacket::Objects(things),
            turn(),
        ]
    }

    fn turn() -> ServerPacket {
        ServerPacket::Players(vec![pose(1).into()])
    }

    fn swing(player: u32) -> ServerPacket {
        ServerPacket::Swings(vec![Swing { player, weapon: 0, hit: true }])
    }

    fn has(kind: usize, amount: u32) -> ServerPacket {
        ServerPacket::Value { what: MoomooValue::Resource(kind), amount }
    }

    /// Spawns a player, and checks `more` without delay. Returns the broken rules and the
    /// statistics.
    fn run_checks(more: &[ServerPacket]) -> (Vec<CheckRule>, MooBotStats) {
        run_checks_every(Duration::ZERO, more)
    }

    /// Like `run_checks`, but each packet arrives `time` after the previous one.
    fn run_checks_every(time: Duration, more: &[ServerPacket]) -> (Vec<CheckRule>, MooBotStats) {
        let mut check = PacketChecker::new(false);
        let packets = [ServerPacket::IoInit, ServerPacket::InitData]
            .into_iter()
            .chain(born())
            .chain(more.iter().cloned());
        let faults = packets
            .enumerate()
            .flat_map(|(number, packet)| check.check_packet(&packet, time * number as u32));
        (faults.map(|fault| fault.rule).collect(), check.take_stats())
    }

    #[test]
    fn a_rise_is_earned_before_its_turn_or_right_after_it() {
        let shake = |object| ServerPacket::ObjectHits(vec![object]);
        let before = [swing(1), shake(TREE), has(0, 1), turn(), turn()];
        assert_eq!(
            run_checks(&before),
            (vec![], MooBotStats { hits: 1, gathered: 1, ..MooBotStats::default() })
        );
        assert_eq!(run_checks(&[has(0, 1), turn(), swing(1), shake(TREE), turn()]).0, []);
        assert_eq!(run_checks(&[swing(1), shake(GOLD), has(3, 5), turn(), turn()]).0, []);
    }

    #[test]
    fn resources_without_a_cause_are_a_fault() {
        let shake = |object| ServerPacket::ObjectHits(vec![object]);
        let unearned = [CheckRule::GainUnearned];
        assert_eq!(run_checks(&[has(0, 1), turn(), turn()]).0, unearned);
        assert_eq!(run_checks(&[swing(1), shake(GOLD), has(0, 1), turn(), turn()]).0, unearned);
        let too_much = has(0, max_gathered() + 1);
        assert_eq!(run_checks(&[swing(1), shake(TREE), too_much, turn(), turn()]).0, unearned);
        let long_ago = [swing(1), shake(TREE), turn(), has(0, 1), turn(), turn()];
        assert_eq!(run_checks(&long_ago).0, unearned);
        let by_another = [swing(1), has(3, 0), shake(TREE), has(0, 1), turn(), turn()];
        assert_eq!(run_checks(&by_another).0, unearned);
    }

    #[test]
    fn windmills_pay_gold_and_no_more_than_they_can() {
        let mill = ServerPacket::Count { group: rules::Group::Mill as u8, count: 1 };
        let second = Duration::from_secs(1);
        let paid = [mill.clone(), turn(), has(3, 2), turn(), has(3, 4), turn(), turn()];
        let built = MooBotStats { builds: 1, ..MooBotStats::default() };
        assert_eq!(run_checks_every(second, &paid), (vec![], built));
        assert_eq!(run_checks_every(second, &paid[1..]).0, [CheckRule::GainUnearned; 2], "without one");
        let late_packets = [has(3, 2), turn(), mill.clone(), turn(), turn()];
        assert_eq!(run_checks(&late_packets), (vec![], MooBotStats { gathered: 2, ..built }));
        let wood = [mill.clone(), turn(), has(0, 1), turn(), turn()];
        assert_eq!(run_checks_every(second, &wood).0, [CheckRule::GainUnearned]);
        let too_much = [mill, turn(), has(3, 40), turn(), turn()];
        assert_eq!(run_checks_every(second, &too_much).0, [CheckRule::GainUnearned]);
    }

    #[test]
    fn what_a_player_had_when_its_client_came_back_is_not_paid_by_its_windmills() {
        let mill = ServerPacket::Count { group: rules::Group::Mill as u8, count: 1 };
        let mut check = PacketChecker::new(false);
        let begin = [ServerPacket::IoInit, ServerPacket::InitData].into_iter().chain(born());
        assert_eq!(begin.map(|packet| check.check_packet(&packet, Duration::ZERO).len()).sum::<usize>(), 0);
        check.on_resumed();
        let mut check_all = |packets: &[ServerPacket]| {
            let faults = packets
                .iter()
                .flat_map(|packet| check.check_packet(packet, Duration::ZERO))
                .collect::<Vec<_>>();
            faults.iter().map(|fault| fault.rule).collect::<Vec<_>>()
        };
        assert_eq!(check_all(&[mill, has(0, 90), has(3, 504), turn(), turn()]), [], "it had it before");
        assert_eq!(check_all(&[has(3, 505), turn(), turn()]), [], "the windmill pays");
        assert_eq!(check_all(&[has(0, 91), turn(), turn()]), [CheckRule::GainUnearned]);
    }

    #[test]
    fn the_gold_of_a_kill_leaves_the_pay_of_windmills_for_the_next_turn() {
        let mill = ServerPacket::Count { group: rules::Group::Mill as u8, count: 1 };
        let kill = ServerPacket::Value { what: MoomooValue::Kills, amount: 1 };
        let tick = Duration::from_millis(33);
        let paid = [mill, turn(), kill, has(3, 100), turn(), has(3, 101), turn(), turn()];
        assert_eq!(run_checks_every(tick, &paid).0, []);
        assert_eq!(run_checks_every(tick, &paid[1..]).0, [CheckRule::GainUnearned], "without a windmill");
    }

    #[test]
    fn the_gold_of_a_hunt_sent_before_its_animal_is_removed_leaves_the_pay_of_windmills() {
        let mill = ServerPacket::Count { group: rules::Group::Mill as u8, count: 1 };
        let cow = &rules::ANIMALS[0];
        let animal = Animal { id: 9, kind: 0, x_px: 550.0, y_px: 500.0, health: 25 };
        let begin = [mill, ServerPacket::Animals(vec![animal]), turn(), turn()];
        let paid = [has(1, cow.food), has(3, cow.gold), turn()];
        let hunt = [ServerPacket::AnimalsRemoved(vec![9]), turn()];
        let pay = [has(3, cow.gold + 1), turn(), turn()];
        let tick = Duration::from_millis(33);
        assert_eq!(run_checks_every(tick, &[&begin[..], &paid, &hunt, &pay].concat()).0, []);
        let without = run_checks_every(tick, &[&begin[1..], &paid, &hunt, &pay].concat()).0;
        assert_eq!(without, [CheckRule::GainUnearned], "without a windmill");
    }

    #[test]
    fn spikes_and_turrets_feed_their_owner_from_afar() {
        let counted = |group, count| ServerPacket::Count { group: group as u8, count };
        let food = rules::ANIMALS[0].food;
        for group in GUARDS {
            let fed = [counted(group, 1), turn(), counted(group, 0), has(1, food), turn(), turn()];
            assert_eq!(run_checks(&fed).0, []);
            assert_eq!(run_checks(&fed[2..]).0, [CheckRule::GainUnearned], "without one");
            let [first, .., last] = fed;
            assert_eq!(run_checks(&[first, has(1, food + 1), turn(), last]).0, [CheckRule::GainUnearned]);
        }
    }

    #[test]
    fn a_hunt_pays_gold_though_strokes_may_have_earned_its_food() {
        const BUSH: u32 = 72;
        let cow = &rules::ANIMALS[0];
        let object =
            Object { id: BUSH, kind: Some(1), x_px: 600.0, y_px: 500.0, scale_px: 80.0, structure: None };
        let mut course = vec![ServerPacket::Objects(vec![object])];
        for _ in 0..cow.food {
            course.extend([swing(1), ServerPacket::ObjectHits(vec![BUSH])]);
        }
        let animal = Animal { id: 9, kind: 0, x_px: 550.0, y_px: 500.0, health: 25 };
        let paid = [has(1, cow.food), has(3, cow.gold), turn(), turn(), turn()];
        let hunt = [ServerPacket::Animals(vec![animal]), ServerPacket::AnimalsRemoved(vec![9])];
        assert_eq!(run_checks(&[&course[..], &hunt, &paid].concat()).0, []);
        assert_eq!(run_checks(&[&course[..], &paid].concat()).0, [CheckRule::GainUnearned]);
    }

    #[test]
    fn a_thief_takes_gold_and_nothing_else() {
        let victim = AddedPlayer {
            id: "2".into(),
            pose: pose(2),
            name: String::new(),
            health: 100,
            max_health: 100,
            is_you: false,
        };
        let both = || ServerPacket::Players(vec![pose(1).into(), pose(2).into()]);
        let steal = || ServerPacket::Swings(vec![Swing { player: 1, weapon: 14, hit: true }]);
        let steal =
            |kind| [ServerPacket::AddPlayer(victim.clone()), both(), steal(), has(kind, 250), both(), both()];
        assert_eq!(run_checks(&steal(3)).0, []);
        assert_eq!(run_checks(&steal(2)).0, [CheckRule::GainUnearned]);
    }

    #[test]
    fn only_the_known_swing_and_shake() {
        assert_eq!(run_checks(&[swing(9)]).0, [CheckRule::SwingUnknown]);
        assert_eq!(run_checks(&[ServerPacket::ObjectHits(vec![9])]).0, [CheckRule::HitUnknown]);
    }

    #[test]
    fn kills_deaths_and_births_are_counted() {
        let kills = |amount| ServerPacket::Value { what: MoomooValue::Kills, amount };
        let mut course = vec![kills(2), kills(1), ServerPacket::Died];
        course.extend(born());
        let (faults, stats) = run_checks(&course);
        assert_eq!(faults, [CheckRule::KillsDecreased, CheckRule::ObjectTwice, CheckRule::ObjectTwice]);
        assert_eq!(stats, MooBotStats { kills: 2, deaths: 1, respawns: 1, ..MooBotStats::default() });
    }
}
