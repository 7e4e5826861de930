//! The table of items, upgrades, the hand, and food.

use crate::command::{Action, Rejection, Selection};
use crate::entity::PlayerId;
use crate::event::WorldEvent;
use crate::fixed::Angle;
use crate::rules::{item, weapon, Group, TickHz, ITEMS, WEAPONS};
use crate::tests::{
    act, bare_world, body_mut, command, distance_px, events, hold, player, player_mut, put, swing, wait, walk,
};
use crate::world::World;

/// An item of the original game: ID, name, group, cost (wood, food, stone), health, scale (px),
/// damage, points per two seconds, limit.
type Row = (u8, &'static str, u8, [u32; 3], u16, i32, u16, u16, u8);

/// First ID of items that MooMoo.io lacks. These items are not compared with the tables of
/// MooMoo.io.
const OWN_ITEMS: u8 = 23;

/// The items that MooMoo.io has too.
const ROWS: [Row; 18] = [
    (0, "apple", 0, [0, 10, 0], 20, 0, 0, 0, 0),
    (1, "cookie", 0, [0, 15, 0], 40, 0, 0, 0, 0),
    (2, "cheese", 0, [0, 25, 0], 60, 0, 0, 0, 0),
    (3, "wood wall", 1, [10, 0, 0], 380, 50, 0, 0, 30),
    (4, "stone wall", 1, [0, 0, 25], 900, 50, 0, 0, 30),
    (5, "castle wall", 1, [0, 0, 35], 1_500, 52, 0, 0, 30),
    (6, "spikes", 2, [20, 0, 5], 400, 49, 20, 0, 15),
    (7, "greater spikes", 2, [30, 0, 10], 500, 52, 35, 0, 15),
    (8, "poison spikes", 2, [35, 0, 15], 600, 52, 30, 0, 15),
    (9, "spinning spikes", 2, [30, 0, 20], 500, 52, 45, 0, 15),
    (10, "windmill", 3, [50, 0, 10], 400, 45, 0, 2, 7),
    (11, "faster windmill", 3, [60, 0, 20], 500, 47, 0, 3, 7),
    (12, "power mill", 3, [100, 0, 50], 800, 47, 0, 4, 7),
    (15, "pit trap", 5, [30, 0, 30], 500, 50, 0, 0, 6),
    (16, "boost pad", 6, [5, 0, 20], 150, 45, 0, 0, 12),
    (17, "turret", 7, [200, 0, 150], 800, 43, 0, 0, 2),
    (19, "healing pad", 9, [30, 10, 0], 400, 45, 0, 0, 4),
    (20, "spawn pad", 10, [100, 0, 100], 400, 45, 0, 0, 1),
];

/// A player on a bare map.
fn alone() -> World {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 7_000, 5_000);
    wait(&mut world, 2);
    world
}

fn rejection(world: &mut World, action: Action) -> Rejection {
    let sequence = player(world, 1).sequence + 1;
    world.step(&mut vec![command(1, sequence, action)]);
    world.outcome().rejected[0].1
}

fn offers(world: &World) -> Vec<u8> {
    world.player(PlayerId(1)).expect("it is there").offers().collect()
}

fn grow_to(world: &mut World, age: u8) {
    player_mut(world, 1).growth.age = age;
}

#[test]
fn the_table_has_the_expected_values() {
    let found: Vec<Row> = ITEMS
        .iter()
        .filter(|of| of.id < OWN_ITEMS)
        .map(|of| {
            let [wood, food, stone, gold] = of.cost;
            assert_eq!(gold, 0, "{}", of.name);
            let limit = of.group.limit();
            let cost = [wood, food, stone];
            (of.id, of.name, of.group as u8, cost, of.health, of.scale_px, of.damage, of.pays_halves, limit)
        })
        .collect();
    assert_eq!(found, ROWS);
}

#[test]
fn the_tables_are_in_order_and_found_by_number() {
    assert!(ITEMS.windows(2).all(|pair| pair[0].id < pair[1].id));
    assert!(WEAPONS.windows(2).all(|pair| pair[0].id < pair[1].id));
    assert!(ITEMS.iter().all(|of| item(of.id) == Some(of)));
    assert!(WEAPONS.iter().all(|of| weapon(of.id) == Some(of)));
    assert_eq!((item(13), item(255), weapon(16), weapon(255)), (None, None, None, None));
    assert!(ITEMS.iter().all(|of| (0..=of.scale_px).contains(&of.radius_px)));
    assert!(ITEMS.iter().all(|of| of.scale_px <= crate::rules::BUILT_SCALE_MAX_PX));
}

#[test]
fn everyone_begins_with_the_hammer_apple_wall_spikes_and_windmill() {
    let world = alone();
    let kit = &player(&world, 1).kit;
    assert_eq!(kit.weapons, [Some(0), None]);
    assert_eq!(kit.items.iter().flatten().copied().collect::<Vec<_>>(), [0, 3, 6, 10]);
    assert_eq!(offers(&world), [], "nothing to choose at age 1");
}

#[test]
fn each_age_offers_its_weapons_and_items() {
    let mut world = alone();
    let rows: [(u8, &[u8], u8); 8] = [
        (2, &[1, 3, 4 - 3, 5, 6, 7, 8], 3),
        (3, &[16 + 1, 16 + 4], 16 + 4),
        (4, &[16 + 15, 16 + 16], 16 + 15),
        (5, &[16 + 7, 16 + 11], 16 + 7),
        (6, &[9, 10, 11, 14], 9),
        (7, &[16 + 2, 16 + 5, 16 + 17, 16 + 19], 16 + 5),
        (8, &[4, 12], 12),
        (9, &[13, 15, 16 + 8, 16 + 9, 16 + 20], 16 + 20),
    ];
    for (age, expected, choice) in rows {
        grow_to(&mut world, age);
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        expected.dedup();
        let offers_of_moomoo = offers(&world).into_iter().filter(|choice| *choice < 16 + OWN_ITEMS);
        assert_eq!(offers_of_moomoo.collect::<Vec<_>>(), expected, "age {age}");
        act(&mut world, 1, Action::Upgrade { choice });
        assert_eq!(offers(&world), [], "one choice for age {age}");
        assert_eq!(rejection(&mut world, Action::Upgrade { choice }), Rejection::NotOffered);
    }
    let kit = &player(&world, 1).kit;
    assert_eq!(kit.weapons, [Some(3), Some(12)]);
    assert_eq!(kit.items.iter().flatten().copied().collect::<Vec<_>>(), [0, 5, 7, 10, 15, 20]);
    grow_to(&mut world, 100);
    assert_eq!((offers(&world), world.player(PlayerId(1)).expect("it is there").choices), (vec![], 0));
}

#[test]
fn an_upgrade_with_a_prerequisite_is_offered_only_with_it() {
    for (age, choice, needed) in [
        (8, 2, 1),
        (8, 4, 3),
        (8, 12, 9),
        (9, 13, 12),
        (9, 15, 12),
        (8, 16 + 12, 16 + 11),
        (7, 16 + 5, 16 + 4),
        (9, 16 + 8, 16 + 7),
        (9, 16 + 9, 16 + 7),
    ] {
        let mut world = alone();
        grow_to(&mut world, age);
        player_mut(&mut world, 1).growth.choice_age = age;
        assert!(!offers(&world).contains(&choice), "{choice} without {needed}");
        assert_eq!(rejection(&mut world, Action::Upgrade { choice }), Rejection::NotOffered);
        let needed = crate::controller::kit::Choice::from_number(needed).expect("it is in the table");
        player_mut(&mut world, 1).kit.replace_with(needed);
        assert!(offers(&world).contains(&choice));
        act(&mut world, 1, Action::Upgrade { choice });
    }
}

#[test]
fn an_age_that_offers_nothing_gives_no_point_and_is_skipped() {
    let mut world = alone();
    let count = |world: &World| world.player(PlayerId(1)).map(|view| (view.choices, view.choice_age));
    for age in (2..=9).filter(|age| *age != 8) {
        assert!(player(&world, 1).kit.offers(age).next().is_some(), "age {age}");
    }
    // The upgrades of age 8 all require an axe, a short sword, a bow or a faster windmill.
    grow_to(&mut world, 7);
    for choice in [5, 16 + 1, 16 + 15, 16 + 7, 10, 16 + 17] {
        act(&mut world, 1, Action::Upgrade { choice });
    }
    assert_eq!(count(&world), Some((0, 8)));
    grow_to(&mut world, 8);
    assert_eq!((count(&world), offers(&world)), (Some((0, 9)), vec![]));
    assert_eq!(rejection(&mut world, Action::Upgrade { choice: 16 + 12 }), Rejection::NotOffered);
    assert_eq!(events(&world), [], "there is no choice to be shown again");
    grow_to(&mut world, 9);
    assert_eq!((count(&world), offers(&world)), (Some((1, 9)), vec![16 + 8, 16 + 9, 16 + 20]));
    act(&mut world, 1, Action::Upgrade { choice: 16 + 20 });
    assert_eq!(count(&world), Some((0, 10)));
    assert_eq!(player(&world, 1).kit.offers(10).count() + player(&world, 1).kit.offers(1).count(), 0);
}

#[test]
fn an_unavailable_choice_changes_nothing_and_is_reported() {
    // Mine, sapling, platform, blocker, teleporter: upgrades that only MooMoo.io clients offer.
    for (age, choice) in [(5, 29), (5, 30), (7, 34), (7, 37), (7, 38), (7, 255)] {
        let mut world = alone();
        grow_to(&mut world, age);
        player_mut(&mut world, 1).growth.choice_age = age;
        let before = player(&world, 1).clone();
        assert_eq!(rejection(&mut world, Action::Upgrade { choice }), Rejection::NotOffered);
        assert_eq!(events(&world), [WorldEvent::NotOffered { player: PlayerId(1) }], "{choice}");
        assert_eq!(*player(&world, 1), before);
        assert!(!offers(&world).is_empty(), "the choice is still to be made");
    }
}

#[test]
fn several_ages_at_once_wait_to_be_chosen_from_in_their_order() {
    let mut world = alone();
    assert_eq!(player_mut(&mut world, 1).growth.gain(300 + 360 + 432), 3);
    assert_eq!(player(&world, 1).choices().count(), 3);
    assert_eq!(
        rejection(&mut world, Action::Upgrade { choice: 16 + 4 }),
        Rejection::NotOffered,
        "first age 2"
    );
    for (choice, left) in [(5, 2), (16 + 1, 1), (16 + 16, 0)] {
        act(&mut world, 1, Action::Upgrade { choice });
        assert_eq!(player(&world, 1).choices().count(), left);
    }
}

#[test]
fn a_new_weapon_replaces_the_held_one_in_the_hand() {
    let mut world = alone();
    grow_to(&mut world, 6);
    for choice in [5, 16 + 1, 16 + 15, 16 + 7] {
        act(&mut world, 1, Action::Upgrade { choice });
    }
    assert_eq!(player(&world, 1).hand.weapon, 5);
    act(&mut world, 1, Action::Upgrade { choice: 10 });
    assert_eq!(player(&world, 1).hand.weapon, 5, "the second weapon is another one");
    act(&mut world, 1, Action::Select { what: Selection::Weapon(10) });
    swing(&mut world, 1);
    assert_eq!(events(&world), [WorldEvent::Swung { player: PlayerId(1), weapon: 10, hit: false }]);
    assert_eq!(rejection(&mut world, Action::Select { what: Selection::Weapon(0) }), Rejection::NotOwned);
}

#[test]
fn an_item_that_is_replaced_is_no_longer_in_the_hand() {
    let mut world = alone();
    hold(&mut world, 1, 0);
    grow_to(&mut world, 3);
    act(&mut world, 1, Action::Upgrade { choice: 7 });
    assert_eq!(player(&world, 1).hand.item, Some(0));
    act(&mut world, 1, Action::Upgrade { choice: 16 + 1 });
    assert_eq!(player(&world, 1).hand.item, None);
}

#[test]
fn the_same_item_again_is_put_away_and_a_weapon_puts_any_away() {
    let mut world = alone();
    let select = |world: &mut World, what| {
        act(world, 1, Action::Select { what });
        player(world, 1).hand.item
    };
    assert_eq!(select(&mut world, Selection::Item(3)), Some(3));
    assert_eq!(select(&mut world, Selection::Item(6)), Some(6));
    assert_eq!(select(&mut world, Selection::Item(6)), None);
    assert_eq!(select(&mut world, Selection::Item(6)), Some(6));
    assert_eq!(select(&mut world, Selection::Weapon(0)), None);
}

#[test]
fn a_player_that_holds_an_item_walks_half_as_fast_and_does_not_swing() {
    let mut world = alone();
    player_mut(&mut world, 1).hand.attacking = true;
    hold(&mut world, 1, 3);
    wait(&mut world, 60);
    assert_eq!(player(&world, 1).slow, 0, "it does not swing");
    walk(&mut world, 1, Some(0));
    wait(&mut world, 60);
    let before = world.player(PlayerId(1)).expect("it is there").body.clone();
    wait(&mut world, 30);
    let way = distance_px(&before, world.player(PlayerId(1)).expect("it is there").body);
    assert!((way - 164.0).abs() < 1.0, "{way} px in a second");
}

#[test]
fn each_weapon_has_its_speed() {
    for row in &WEAPONS {
        let mut world = alone();
        player_mut(&mut world, 1).hand.weapon = row.id;
        walk(&mut world, 1, Some(0));
        wait(&mut world, 60);
        let before = world.player(PlayerId(1)).expect("it is there").body.clone();
        wait(&mut world, 30);
        let way = distance_px(&before, world.player(PlayerId(1)).expect("it is there").body);
        assert!((way - 3.28 * f64::from(row.speed_percent)).abs() < 1.0, "{}: {way} px", row.name);
    }
}

#[test]
fn food_heals_and_costs_and_is_refused_to_the_healthy() {
    for row in ITEMS.iter().filter(|row| row.group == Group::Food) {
        for (health, gained) in [(10, row.health), (95, 5)] {
            let mut world = alone();
            hold(&mut world, 1, row.id);
            body_mut(&mut world, 1).health = health;
            player_mut(&mut world, 1).heal_wait = 15_000;
            act(&mut world, 1, Action::Attack { on: true });
            assert_eq!(
                events(&world),
                [WorldEvent::Healed { player: PlayerId(1), amount: gained }],
                "{}",
                row.name
            );
            assert_eq!(body_mut(&mut world, 1).health, health + gained, "{}", row.name);
            assert_eq!(player(&world, 1).resources[1], 10_000 - row.cost[1], "{}", row.name);
            assert_eq!((player(&world, 1).hand.item, player(&world, 1).hand.attacking), (None, false));
        }
        let mut world = alone();
        hold(&mut world, 1, row.id);
        assert_eq!(rejection(&mut world, Action::Attack { on: true }), Rejection::Healthy);
        body_mut(&mut world, 1).health = 50;
        player_mut(&mut world, 1).heal_wait = 15_000;
        player_mut(&mut world, 1).resources[1] = row.cost[1] - 1;
        assert_eq!(rejection(&mut world, Action::Attack { on: true }), Rejection::TooDear);
    }
}

#[test]
fn death_removes_upgrades() {
    let mut world = alone();
    grow_to(&mut world, 3);
    act(&mut world, 1, Action::Upgrade { choice: 5 });
    act(&mut world, 1, Action::Upgrade { choice: 16 + 4 });
    world.hurt(0, 100, None);
    let player = player(&world, 1);
    assert_eq!((player.hand.weapon, player.hand.item, player.growth.choice_age), (0, None, 2));
    assert_eq!(player.kit.items.iter().flatten().copied().collect::<Vec<_>>(), [0, 3, 6, 10]);
}

#[test]
fn the_great_hammer_breaks_and_the_grabby_steals() {
    let of = |id| weapon(id).expect("it is in the table");
    assert_eq!((of(10).built_damage(), of(0).built_damage(), of(14).built_damage()), (75, 25, 0));
    for (has, taken) in [(1_000, 250), (99, 99), (0, 0)] {
        let mut world = alone();
        put(&mut world, 2, 9_000, 5_000);
        wait(&mut world, 2);
        body_mut(&mut world, 2).x = crate::Fixed::from_px(7_100);
        player_mut(&mut world, 2).resources[3] = has;
        player_mut(&mut world, 1).hand.weapon = 14;
        body_mut(&mut world, 1).heading = Angle(0);
        swing(&mut world, 1);
        assert_eq!((player(&world, 1).resources[3], player(&world, 2).resources[3]), (taken, has - taken));
        assert_eq!(body_mut(&mut world, 2).health, 100);
    }
}
