//! Checks kits, upgrades and age, and counts built structures and chosen upgrades.
//!
//! A structure was built if the count of its group rises. An upgrade was chosen if a new weapon or
//! item appears that is not in the initial inventory. In the first update of a life, MooMoo servers
//! report the structures of the previous life, which do not count as built.

use super::common::CheckState;
use super::rule::CheckRule;
use super::stats::MooBotStats;
use crate::games::moo::bot::received::{Inventory, ServerPacket, UpgradeOffers};
use crate::games::moo::bot::world_model::choices;
use crate::games::moo::world::rules::{self, Group};

/// Checks a packet. `is_first` marks the first update of a life, `returns` the first updates after
/// a resume.
pub(super) fn check_packet(
    packet: &ServerPacket,
    (is_first, returns): (bool, bool),
    common: &mut CheckState,
    stats: &mut MooBotStats,
) {
    let is_first = is_first || returns;
    match packet {
        ServerPacket::Inventory(inventory) => {
            check_hotbar(&inventory.weapons, (true, returns), common, stats);
            check_hotbar(&inventory.items, (false, returns), common, stats);
            for group in Group::ALL.map(|group| group as u8) {
                count(group, inventory.counts.get(&group).copied().unwrap_or(0), is_first, common, stats);
            }
        }
        ServerPacket::Bar { ids, weapons } => check_hotbar(ids, (*weapons, returns), common, stats),
        ServerPacket::Count { group, count: now } => count(*group, *now, is_first, common, stats),
        ServerPacket::UpgradeOffers(received) => check_offers(received, common),
        ServerPacket::Age { age } | ServerPacket::Stats { age, .. } => {
            let before = common.world_model.age;
            // In the native dialect, the age after a death may be reported directly before the
            // death.
            if common.world_model.own_player_id.is_some() && *age < before {
                common.fault(CheckRule::AgeDecreased, format!("{before} then {age}"));
            }
        }
        _ => {}
    }
}

/// The slot of a weapon, or the group of an item. A slot holds one weapon, a group one item. `None`
/// if the ID does not exist.
fn slot_of(id: u8, is_weapon: bool) -> Option<u8> {
    if is_weapon {
        rules::weapon(id).map(|weapon| weapon.slot)
    } else {
        rules::item(id).map(|item| item.group as u8)
    }
}

fn check_hotbar(
    ids: &[u8],
    (is_weapons, returns): (bool, bool),
    common: &mut CheckState,
    stats: &mut MooBotStats,
) {
    let mut places: Vec<Option<u8>> = ids.iter().map(|id| slot_of(*id, is_weapons)).collect();
    places.sort_unstable();
    if places.contains(&None) || places.windows(2).any(|pair| pair[0] == pair[1]) {
        common.fault(CheckRule::Inventory, format!("{ids:?}, weapons {is_weapons}"));
    }
    let Inventory { weapons, items, .. } = &common.world_model.inventory;
    let (before, from_birth) =
        if is_weapons { (weapons, &[rules::FIRST_WEAPON][..]) } else { (items, &rules::FIRST_ITEMS[..]) };
    let is_new = |id: &&u8| !before.contains(id) && !from_birth.contains(id);
    let chosen = if returns { 0 } else { ids.iter().filter(is_new).count() };
    stats.upgrades += chosen as u64;
    if chosen > common.world_model.offers.points as usize {
        let offers = common.world_model.offers.clone();
        common.fault(CheckRule::UpgradeNotOffered, format!("has {ids:?} now, but {offers:?} was offered"));
    }
}

fn count(group: u8, now: u32, is_first: bool, common: &mut CheckState, stats: &mut MooBotStats) {
    let before = common.world_model.inventory.counts.get(&group).copied().unwrap_or(0);
    let limit = Group::ALL.into_iter().find(|one| *one as u8 == group).map(Group::limit);
    if limit.is_none_or(|limit| now > limit.into()) {
        common.fault(CheckRule::Limit, format!("{now} of group {group}, limit {limit:?}"));
    }
    if !is_first {
        stats.builds += u64::from(now.saturating_sub(before));
    }
}

fn check_offers(offers: &UpgradeOffers, common: &mut CheckState) {
    let expected = choices(&common.world_model.inventory, offers);
    if offers.choices.as_ref().is_some_and(|choices| *choices != expected) {
        common.fault(CheckRule::UpgradeOffers, format!("received {offers:?}, expected {expected:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::games::moo::bot::received::{AddedPlayer, Pose};
    use crate::games::moo::checker::PacketChecker;

    fn bar(ids: &[u8], weapons: bool) -> ServerPacket {
        ServerPacket::Bar { ids: ids.into(), weapons }
    }

    fn offers(points: u32, age: u32, choices: Option<Vec<u8>>) -> ServerPacket {
        ServerPacket::UpgradeOffers(UpgradeOffers { points, age, choices })
    }

    fn walls(count: u32) -> ServerPacket {
        ServerPacket::Count { group: Group::Wall as u8, count }
    }

    fn turn() -> ServerPacket {
        ServerPacket::Players(vec![Pose { player: 1, x_px: 500.0, y_px: 500.0, heading: 0 }.into()])
    }

    fn born() -> [ServerPacket; 2] {
        let pose = Pose { player: 1, x_px: 500.0, y_px: 500.0, heading: 0 };
        let (id, name, health) = ("1".to_owned(), String::new(), 100);
        let added = AddedPlayer { id, pose, name, health, max_health: health, is_you: true };
        [ServerPacket::Setup { player: 1 }, ServerPacket::AddPlayer(added)]
    }

    /// Spawns a player, and checks `more`. Returns the broken rules and the statistics.
    fn run_checks(more: &[ServerPacket]) -> (Vec<CheckRule>, MooBotStats) {
        let mut check = PacketChecker::new(false);
        let packets = [ServerPacket::IoInit, ServerPacket::InitData]
            .into_iter()
            .chain(born())
            .chain(more.iter().cloned());
        let faults =
            packets.flat_map(|packet| check.check_packet(&packet, Duration::ZERO)).map(|fault| fault.rule);
        (faults.collect(), check.take_stats())
    }

    #[test]
    fn structures_are_counted_once_and_not_again_after_a_respawn() {
        let [setup, added] = born();
        let course = [
            walls(1),
            walls(2),
            turn(),
            walls(1),
            turn(),
            ServerPacket::Died,
            setup,
            added,
            walls(1),
            turn(),
        ];
        let lived = MooBotStats { builds: 2, deaths: 1, respawns: 1, ..MooBotStats::default() };
        assert_eq!(run_checks(&course), (vec![], lived));
        assert_eq!(run_checks(&[walls(31)]).0, [CheckRule::Limit]);
        assert_eq!(run_checks(&[ServerPacket::Count { group: 77, count: 1 }]).0, [CheckRule::Limit]);
    }

    #[test]
    fn a_choice_must_have_been_offered_and_is_counted() {
        let course = [offers(1, 2, None), bar(&[5], true), offers(0, 3, None), bar(&[0], true)];
        assert_eq!(run_checks(&course), (vec![], MooBotStats { upgrades: 1, ..MooBotStats::default() }));
        assert_eq!(run_checks(&course[1..]).0, [CheckRule::UpgradeNotOffered]);
        assert_eq!(
            run_checks(&[offers(1, 3, None), bar(&[1, 4, 6, 10], false)]).0,
            [CheckRule::UpgradeNotOffered]
        );
    }

    #[test]
    fn equipment_exists_and_has_one_entry_per_slot() {
        let twice = [offers(2, 2, None), bar(&[3, 5], true)];
        assert_eq!(run_checks(&twice).0, [CheckRule::Inventory]);
        assert_eq!(
            run_checks(&[offers(1, 2, None), bar(&[0, 3, 6, 10, 99], false)]).0,
            [CheckRule::Inventory]
        );
    }

    #[test]
    fn offers_must_match_the_rules() {
        let right = vec![1, 3, 5, 6, 7, 8];
        assert_eq!(run_checks(&[offers(1, 2, Some(right.clone())), offers(0, 3, Some(vec![]))]).0, []);
        assert_eq!(run_checks(&[offers(1, 2, Some(right[1..].to_vec()))]).0, [CheckRule::UpgradeOffers]);
        assert_eq!(run_checks(&[offers(0, 2, Some(right))]).0, [CheckRule::UpgradeOffers]);
    }

    #[test]
    fn the_age_of_a_living_player_never_falls() {
        let age = |age| ServerPacket::Age { age };
        let [setup, added] = born();
        assert_eq!(run_checks(&[age(2), age(3), ServerPacket::Died, setup, added, age(1)]).0, []);
        assert_eq!(run_checks(&[age(3), age(2)]).0, [CheckRule::AgeDecreased]);
    }

    #[test]
    fn only_known_structures_are_destroyed() {
        use crate::games::moo::bot::received::Object;
        let object =
            |id, built| Object { id, kind: None, x_px: 600.0, y_px: 500.0, scale_px: 50.0, structure: built };
        let things = ServerPacket::Objects(vec![object(7, Some((3, 1))), object(8, None)]);
        assert_eq!(run_checks(&[things.clone(), ServerPacket::ObjectsRemoved(vec![7])]).0, []);
        assert_eq!(
            run_checks(&[
                things.clone(),
                ServerPacket::ObjectsRemoved(vec![7]),
                ServerPacket::ObjectsRemoved(vec![7])
            ])
            .0,
            [CheckRule::DestroyedUnknown]
        );
        assert_eq!(
            run_checks(&[things, ServerPacket::ObjectsRemoved(vec![8])]).0,
            [CheckRule::DestroyedUnknown]
        );
    }
}
