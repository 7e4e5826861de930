//! Checks equipment, upgrades and age, and counts what was built and chosen.
//!
//! An object was built if the count of its group rises by one. An upgrade was chosen if a new
//! weapon or item appears that is not part of the initial equipment. In the first turn of a life,
//! MooMoo servers report the objects that still stand from the previous life: these were not just
//! built.

use super::common::Common;
use super::rule::Rule;
use super::stats::Deeds;
use crate::games::moo::bot::received::{Heard, Kit, Offers};
use crate::games::moo::bot::world_model::choices;
use crate::games::moo::world::rules::{self, Group};

/// Records a packet. `is_first` is the first turn of a life, and `returns` that of a client that comes
/// back to one.
pub(super) fn hear(heard: &Heard, (is_first, returns): (bool, bool), common: &mut Common, deeds: &mut Deeds) {
    let is_first = is_first || returns;
    match heard {
        Heard::Kit(kit) => {
            bar(&kit.weapons, (true, returns), common, deeds);
            bar(&kit.items, (false, returns), common, deeds);
            for group in Group::ALL.map(|group| group as u8) {
                count(group, kit.counts.get(&group).copied().unwrap_or(0), is_first, common, deeds);
            }
        }
        Heard::Bar { ids, weapons } => bar(ids, (*weapons, returns), common, deeds),
        Heard::Count { group, count: now } => count(*group, *now, is_first, common, deeds),
        Heard::Offers(told) => offers(told, common),
        Heard::Age { age } | Heard::Stats { age, .. } => {
            let before = common.picture.age;
            // Natively the age after death may be reported right before the death itself.
            if common.picture.me.is_some() && *age < before {
                common.fault(Rule::AgeBack, format!("{before} then {age}"));
            }
        }
        _ => {}
    }
}

/// The slot of a weapon or item; each slot holds one. `None` if it does not exist.
fn place(id: u8, is_weapon: bool) -> Option<u8> {
    if is_weapon {
        rules::weapon(id).map(|weapon| weapon.slot)
    } else {
        rules::item(id).map(|item| item.group as u8)
    }
}

fn bar(ids: &[u8], (is_weapons, returns): (bool, bool), common: &mut Common, deeds: &mut Deeds) {
    let mut places: Vec<Option<u8>> = ids.iter().map(|id| place(*id, is_weapons)).collect();
    places.sort_unstable();
    if places.contains(&None) || places.windows(2).any(|pair| pair[0] == pair[1]) {
        common.fault(Rule::Kit, format!("{ids:?}, weapons {is_weapons}"));
    }
    let Kit { weapons, items, .. } = &common.picture.kit;
    let (before, from_birth) =
        if is_weapons { (weapons, &[rules::FIRST_WEAPON][..]) } else { (items, &rules::FIRST_ITEMS[..]) };
    let is_new = |id: &&u8| !before.contains(id) && !from_birth.contains(id);
    let chosen = if returns { 0 } else { ids.iter().filter(is_new).count() };
    deeds.upgrades += chosen as u64;
    if chosen > common.picture.offers.points as usize {
        let offers = common.picture.offers.clone();
        common.fault(Rule::Unoffered, format!("has {ids:?} now, but {offers:?} was offered"));
    }
}

fn count(group: u8, now: u32, is_first: bool, common: &mut Common, deeds: &mut Deeds) {
    let before = common.picture.kit.counts.get(&group).copied().unwrap_or(0);
    let limit = Group::ALL.into_iter().find(|one| *one as u8 == group).map(Group::limit);
    if limit.is_none_or(|limit| now > limit.into()) {
        common.fault(Rule::Limit, format!("{now} of group {group}, limit {limit:?}"));
    }
    if !is_first {
        deeds.builds += u64::from(now.saturating_sub(before));
    }
}

fn offers(told: &Offers, common: &mut Common) {
    let expected = choices(&common.picture.kit, told);
    if told.choices.as_ref().is_some_and(|choices| *choices != expected) {
        common.fault(Rule::Offers, format!("received {told:?}, expected {expected:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::games::moo::bot::received::{Added, Pose};
    use crate::games::moo::checker::Check;

    fn bar(ids: &[u8], weapons: bool) -> Heard {
        Heard::Bar { ids: ids.into(), weapons }
    }

    fn offers(points: u32, age: u32, choices: Option<Vec<u8>>) -> Heard {
        Heard::Offers(Offers { points, age, choices })
    }

    fn walls(count: u32) -> Heard {
        Heard::Count { group: Group::Wall as u8, count }
    }

    fn turn() -> Heard {
        Heard::Players(vec![Pose { player: 1, x_px: 500.0, y_px: 500.0, heading: 0 }.into()])
    }

    fn born() -> [Heard; 2] {
        let pose = Pose { player: 1, x_px: 500.0, y_px: 500.0, heading: 0 };
        let (id, name, health) = ("1".to_owned(), String::new(), 100);
        let added = Added { id, pose, name, health, max_health: health, is_you: true };
        [Heard::Setup { player: 1 }, Heard::AddPlayer(added)]
    }

    /// Hears `more` after a birth; gives the broken rules, and what was done.
    fn heard(more: &[Heard]) -> (Vec<Rule>, Deeds) {
        let mut check = Check::new(false);
        let packets = [Heard::IoInit, Heard::InitData].into_iter().chain(born()).chain(more.iter().cloned());
        let faults = packets.flat_map(|heard| check.hear(&heard, Duration::ZERO)).map(|fault| fault.rule);
        (faults.collect(), check.take_deeds())
    }

    #[test]
    fn structures_are_counted_once_and_not_again_after_a_respawn() {
        let [setup, added] = born();
        let course =
            [walls(1), walls(2), turn(), walls(1), turn(), Heard::Died, setup, added, walls(1), turn()];
        let lived = Deeds { builds: 2, deaths: 1, respawns: 1, ..Deeds::default() };
        assert_eq!(heard(&course), (vec![], lived));
        assert_eq!(heard(&[walls(31)]).0, [Rule::Limit]);
        assert_eq!(heard(&[Heard::Count { group: 77, count: 1 }]).0, [Rule::Limit]);
    }

    #[test]
    fn a_choice_must_have_been_offered_and_is_counted() {
        let course = [offers(1, 2, None), bar(&[5], true), offers(0, 3, None), bar(&[0], true)];
        assert_eq!(heard(&course), (vec![], Deeds { upgrades: 1, ..Deeds::default() }));
        assert_eq!(heard(&course[1..]).0, [Rule::Unoffered]);
        assert_eq!(heard(&[offers(1, 3, None), bar(&[1, 4, 6, 10], false)]).0, [Rule::Unoffered]);
    }

    #[test]
    fn equipment_exists_and_has_one_entry_per_slot() {
        let twice = [offers(2, 2, None), bar(&[3, 5], true)];
        assert_eq!(heard(&twice).0, [Rule::Kit]);
        assert_eq!(heard(&[offers(1, 2, None), bar(&[0, 3, 6, 10, 99], false)]).0, [Rule::Kit]);
    }

    #[test]
    fn offers_must_match_the_rules() {
        let right = vec![1, 3, 5, 6, 7, 8];
        assert_eq!(heard(&[offers(1, 2, Some(right.clone())), offers(0, 3, Some(vec![]))]).0, []);
        assert_eq!(heard(&[offers(1, 2, Some(right[1..].to_vec()))]).0, [Rule::Offers]);
        assert_eq!(heard(&[offers(0, 2, Some(right))]).0, [Rule::Offers]);
    }

    #[test]
    fn the_age_of_a_living_player_never_falls() {
        let age = |age| Heard::Age { age };
        let [setup, added] = born();
        assert_eq!(heard(&[age(2), age(3), Heard::Died, setup, added, age(1)]).0, []);
        assert_eq!(heard(&[age(3), age(2)]).0, [Rule::AgeBack]);
    }

    #[test]
    fn only_known_structures_are_destroyed() {
        use crate::games::moo::bot::received::Object;
        let object = |id, built| Object { id, kind: None, x_px: 600.0, y_px: 500.0, scale_px: 50.0, built };
        let things = Heard::Objects(vec![object(7, Some((3, 1))), object(8, None)]);
        assert_eq!(heard(&[things.clone(), Heard::Gone(vec![7])]).0, []);
        assert_eq!(
            heard(&[things.clone(), Heard::Gone(vec![7]), Heard::Gone(vec![7])]).0,
            [Rule::GoneUnknown]
        );
        assert_eq!(heard(&[things, Heard::Gone(vec![8])]).0, [Rule::GoneUnknown]);
    }
}
