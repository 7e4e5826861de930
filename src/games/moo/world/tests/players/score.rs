//! The score: gold, and points for gathering, hunting and building.

use crate::command::Action;
use crate::fixed::Fixed;
use crate::rules::{item, AnimalKind, TickHz, ITEMS};
use crate::tests::animals::appear;
use crate::tests::{act, bare_world, body, body_mut, build, hold, player, player_mut, put, swing, wait};
use crate::world::World;

fn alone() -> World {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 7_000, 5_000);
    world
}

#[test]
fn a_structure_scores_a_point_for_each_unit_of_its_cost() {
    for of in ITEMS.iter().filter(|of| of.health > 0 && of.cost[1] == 0) {
        let mut world = alone();
        build(&mut world, 1, of.id, 0);
        assert_eq!(player(&world, 1).work_points, of.cost.iter().sum(), "{}", of.name);
        assert_eq!(world.players().next().expect("it joined").score, 10_000 + of.cost.iter().sum::<u32>());
        let points = player(&world, 1).work_points;
        world.damage_structure(0, 5_000);
        wait(&mut world, 1);
        assert_eq!(player(&world, 1).work_points, points, "{} is gone", of.name);
    }
}

#[test]
fn a_meal_and_a_rejected_item_score_nothing() {
    let mut world = alone();
    body_mut(&mut world, 1).health = 50;
    hold(&mut world, 1, 0);
    act(&mut world, 1, Action::Attack { on: true });
    assert_eq!((body(&world, 1).health > 50, player(&world, 1).work_points), (true, 0));
    hold(&mut world, 1, 3);
    player_mut(&mut world, 1).resources = [0; 4];
    let sequence = player(&world, 1).sequence + 1;
    world.step(&mut vec![crate::tests::command(1, sequence, Action::Attack { on: true })]);
    assert_eq!((world.outcome().rejected.len(), player(&world, 1).work_points), (1, 0));
}

#[test]
fn an_animal_scores_its_food_and_its_gold() {
    let mut world = alone();
    let at = appear(&mut world, AnimalKind::Cow, 7_200, 5_000);
    world.state.animals[at].body.health = 1;
    (world.state.animals[at].body.x, world.state.animals[at].body.y) =
        (Fixed::from_px(7_110), Fixed::from_px(5_000));
    swing(&mut world, 1);
    let cow = AnimalKind::Cow.animal();
    assert_eq!(player(&world, 1).resources, [0, cow.food, 0, cow.gold]);
    assert_eq!(player(&world, 1).score(), cow.food + cow.gold);
}

#[test]
fn theft_moves_gold_and_leaves_the_points_for_work() {
    let mut world = alone();
    put(&mut world, 2, 7_080, 5_000);
    let victim = player_mut(&mut world, 2);
    (victim.resources, victim.work_points) = ([0, 0, 0, 400], 30);
    player_mut(&mut world, 1).hand.weapon = 14;
    player_mut(&mut world, 1).kit.weapons[1] = Some(14);
    swing(&mut world, 1);
    assert_eq!([1, 2].map(|id| player(&world, id).score()), [250, 180]);
}

#[test]
fn the_points_saturate() {
    let mut world = alone();
    player_mut(&mut world, 1).work_points = u32::MAX - 1;
    build(&mut world, 1, 3, 0);
    assert!(item(3).expect("it is in the table").cost.iter().sum::<u32>() > 1);
    assert_eq!((player(&world, 1).work_points, player(&world, 1).score()), (u32::MAX, u32::MAX));
}
