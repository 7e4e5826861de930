//! Use of resources: a bot chooses upgrades, eats when hurt, and builds on free ground.
//!
//! Each sequence of [`Intent`]s starts and ends with the weapon selected, whether or not the server
//! accepts the intents. A bot attempts nothing that it cannot pay for.

use std::f64::consts::TAU;
use std::time::Duration;

use crate::game::BotRng;
use crate::games::moo::bot::policy::Intent;
use crate::games::moo::bot::world_model::{ModelPlayer, WorldModel};
use crate::games::moo::world::rules::{self, Group, Item};

/// Minimum time between two upgrades, and between two meals, so that the server can report the
/// result of the first.
const PAUSE: Duration = Duration::from_secs(1);
/// Minimum and maximum time between two attempts to build.
const BUILDS: [Duration; 2] = [Duration::from_millis(1_500), Duration::from_secs(4)];
/// Health below which a bot eats, in percent.
const HUNGRY_PERCENT: u32 = 70;
/// Number of directions tried for a structure.
const DIRECTIONS: u16 = 8;

/// Number of structures of a group that a bot builds. The number is small, so that the bots on one
/// screen do not wall themselves in.
fn target_count(group: Group) -> u32 {
    match group {
        Group::Wall => 5,
        Group::Heal => 1,
        _ => u32::from(group.limit()).min(2),
    }
}

/// Times of a bot's next upgrade, meal and structure.
#[derive(Debug, Default)]
pub(super) struct BuildBehavior {
    chooses: Duration,
    eats: Duration,
    builds: Duration,
}

impl BuildBehavior {
    /// Appends the current intents. If the bot uses an item, returns the direction of view for it.
    /// `weapon` is the selected weapon.
    pub(super) fn work(
        &mut self,
        world_model: &WorldModel,
        me: &ModelPlayer,
        (weapon, now): (u8, Duration),
        rng: &mut BotRng,
        intents: &mut Vec<Intent>,
    ) -> Option<u16> {
        self.choose(world_model, now, rng, intents);
        let (item, heading) =
            self.meal(world_model, me, now).or_else(|| self.build(world_model, me, now, rng))?;
        intents.extend([
            Intent::Aim(heading),
            Intent::Select { id: item.id, is_weapon: false },
            Intent::Attack { on: true, heading },
            // Selects the weapon again, because an item that was not placed stays selected.
            Intent::Select { id: weapon, is_weapon: true },
        ]);
        Some(heading)
    }

    fn choose(
        &mut self,
        world_model: &WorldModel,
        now: Duration,
        rng: &mut BotRng,
        intents: &mut Vec<Intent>,
    ) {
        let choices = world_model.offers.choices.as_deref().unwrap_or_default();
        if world_model.offers.points > 0
            && now >= self.chooses
            && let Some(any) = rng.choose(choices)
        {
            self.chooses = now + PAUSE;
            // Half of the choices prefer the best gathering weapon, because bots with it age
            // faster.
            let gathers = |choice: &&u8| rules::weapon(**choice).map_or(0, |weapon| weapon.gather);
            let best = choices.iter().max_by_key(gathers).filter(|best| gathers(best) > 1);
            let choice = best.copied().filter(|_| rng.below(2) == 0).unwrap_or(*any);
            intents.push(Intent::Upgrade(choice));
        }
    }

    fn meal(
        &mut self,
        world_model: &WorldModel,
        me: &ModelPlayer,
        now: Duration,
    ) -> Option<(&'static Item, u16)> {
        if me.health * 100 >= me.max_health * HUNGRY_PERCENT || now < self.eats {
            return None;
        }
        let food =
            own_items(world_model).find(|item| item.group == Group::Food && can_afford(world_model, item))?;
        self.eats = now + PAUSE;
        Some((food, me.heading))
    }

    fn build(
        &mut self,
        world_model: &WorldModel,
        me: &ModelPlayer,
        now: Duration,
        rng: &mut BotRng,
    ) -> Option<(&'static Item, u16)> {
        if now < self.builds {
            return None;
        }
        self.builds = now + rng.between(BUILDS[0], BUILDS[1]);
        let standing = |group: Group| world_model.inventory.counts.get(&(group as u8)).copied().unwrap_or(0);
        let items = own_items(world_model);
        let items: Vec<&Item> = items
            .filter(|item| standing(item.group) < target_count(item.group) && can_afford(world_model, item))
            .collect();
        let item = *items.get(rng.below(items.len().max(1) as u32) as usize)?;
        let first = rng.bits() as u16;
        let mut directions = (0..DIRECTIONS).map(|turn| first.wrapping_add(turn * (u16::MAX / DIRECTIONS)));
        directions.find(|heading| has_space(world_model, me, item, *heading)).map(|heading| (item, heading))
    }
}

fn own_items(world_model: &WorldModel) -> impl Iterator<Item = &'static Item> + '_ {
    world_model.inventory.items.iter().filter_map(|id| rules::item(*id))
}

fn can_afford(world_model: &WorldModel, item: &Item) -> bool {
    world_model.stock.iter().zip(item.cost).all(|(stock, cost)| *stock >= cost)
}

/// Whether the position in front of a body is free of known objects.
fn has_space(world_model: &WorldModel, me: &ModelPlayer, item: &Item, heading: u16) -> bool {
    let angle = f64::from(heading) / 65_536.0 * TAU;
    let scale_px = f64::from(item.scale_px);
    let way_px = f64::from(rules::PLAYER_RADIUS_PX) + scale_px;
    let (x_px, y_px) = (me.x_px + way_px * angle.cos(), me.y_px + way_px * angle.sin());
    let map = scale_px..=world_model.map_size_px - scale_px;
    let is_apart = |object: &crate::games::moo::bot::received::Object| {
        (object.x_px - x_px).hypot(object.y_px - y_px) > object.scale_px + scale_px
    };
    map.contains(&x_px) && map.contains(&y_px) && world_model.objects.values().all(is_apart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::games::moo::bot::received::{Object, UpgradeOffers};

    fn me(health: u32) -> ModelPlayer {
        let (x_px, y_px, heading, max_health) = (500.0, 500.0, 0, 100);
        ModelPlayer {
            name: String::new(),
            x_px,
            y_px,
            heading,
            in_view: true,
            health,
            max_health,
            is_protected: false,
        }
    }

    /// The immediate intents of a new bot with this world model and health.
    fn intents(world_model: &WorldModel, me: &ModelPlayer) -> Vec<Intent> {
        let mut intents = Vec::new();
        BuildBehavior::default().work(
            world_model,
            me,
            (0, Duration::ZERO),
            &mut BotRng::new(1),
            &mut intents,
        );
        intents
    }

    fn uses(intents: &[Intent]) -> Option<u8> {
        match intents {
            [
                ..,
                Intent::Aim(aim),
                Intent::Select { id, is_weapon: false },
                Intent::Attack { on: true, heading },
                last,
            ] if aim == heading && *last == (Intent::Select { id: 0, is_weapon: true }) => Some(*id),
            _ => None,
        }
    }

    #[test]
    fn it_builds_what_it_can_pay_until_it_has_enough() {
        let mut world_model = WorldModel { stock: [9, 0, 0, 0], ..WorldModel::new() };
        assert_eq!(intents(&world_model, &me(100)), []);
        world_model.stock[0] = 10;
        assert_eq!(uses(&intents(&world_model, &me(100))), Some(3), "a wood wall");
        world_model.inventory.counts.insert(Group::Wall as u8, target_count(Group::Wall));
        assert_eq!(intents(&world_model, &me(100)), []);
    }

    #[test]
    fn the_structures_of_a_dozen_bots_leave_room_for_people() {
        let structures: u32 = Group::ALL.into_iter().map(target_count).sum();
        assert_eq!(structures, 17);
        // Each structure and the way around it fit in a square of 200 px.
        let px = u64::from(12 * structures) * 200 * 200;
        assert!(px * 20 < u64::from(rules::MAP_SIZE_PX).pow(2), "less than 5% of the map");
    }

    #[test]
    fn it_builds_only_where_there_is_room() {
        let around =
            |scale_px| Object { id: 7, kind: Some(0), x_px: 500.0, y_px: 500.0, scale_px, structure: None };
        let mut world_model = WorldModel { stock: [10, 0, 0, 0], ..WorldModel::new() };
        world_model.objects.insert(7, around(30.0));
        assert_eq!(uses(&intents(&world_model, &me(100))), Some(3));
        world_model.objects.insert(7, around(36.0));
        assert_eq!(intents(&world_model, &me(100)), []);
    }

    #[test]
    fn it_eats_when_hurt_and_not_again_at_once() {
        let world_model = WorldModel { stock: [0, 20, 0, 0], ..WorldModel::new() };
        assert_eq!(intents(&world_model, &me(100)), []);
        assert_eq!(uses(&intents(&world_model, &me(40))), Some(0), "an apple");
        let (mut craft, mut intents) = (BuildBehavior::default(), Vec::new());
        for ms in [0, 900, 1_100] {
            let now = Duration::from_millis(ms);
            craft.work(&world_model, &me(40), (0, now), &mut BotRng::new(1), &mut intents);
        }
        assert_eq!(intents.len(), 8, "two meals");
    }

    #[test]
    fn it_chooses_what_is_offered() {
        let offers = |points| UpgradeOffers { points, age: 2, choices: Some(vec![5, 7]) };
        let mut chosen = Vec::new();
        for seed in 0..20 {
            let world_model = WorldModel { offers: offers(1), ..WorldModel::new() };
            BuildBehavior::default().choose(
                &world_model,
                Duration::ZERO,
                &mut BotRng::new(seed),
                &mut chosen,
            );
        }
        for choice in [5, 7] {
            assert!(chosen.contains(&Intent::Upgrade(choice)), "{chosen:?}");
        }
        chosen.clear();
        for seed in 0..60 {
            let all = UpgradeOffers { points: 1, age: 2, choices: Some(vec![1, 3, 5, 6, 7, 8]) };
            let world_model = WorldModel { offers: all, ..WorldModel::new() };
            BuildBehavior::default().choose(
                &world_model,
                Duration::ZERO,
                &mut BotRng::new(seed),
                &mut chosen,
            );
        }
        let sticks = chosen.iter().filter(|intent| **intent == Intent::Upgrade(8)).count();
        assert!((20..50).contains(&sticks), "{sticks} of 60 take the stick");
        assert_eq!(intents(&WorldModel { offers: offers(0), ..WorldModel::new() }, &me(100)), []);
    }
}
