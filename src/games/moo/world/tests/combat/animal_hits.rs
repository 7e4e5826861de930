//! Projectiles that hit animals, and turrets that the operator spawns.

use crate::command::{Action, Spawned};
use crate::entity::{EntityId, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::Fixed;
use crate::rules::{projectile, weapon, AnimalKind, TickHz, ANIMALS};
use crate::tests::combat::projectiles::arm;
use crate::tests::{bare_world, body, body_mut, command, events, player, put, px, swing, wait};
use crate::world::World;

/// Spawns an entity by an operator command.
fn appear(world: &mut World, what: Spawned, x_px: u16, y_px: u16) {
    let sequence = world.state.operator_sequence + 1;
    world.step(&mut vec![command(0, sequence, Action::Spawn { what, x_px, y_px })]);
    assert_eq!(world.outcome().rejected, []);
}

/// Player 1 shoots to the right at an animal that is placed at an offset before the projectile
/// flies. Only the projectile moves. Returns the world and the events until the projectile ends.
fn shoot_at(
    kind: AnimalKind,
    number: u8,
    (right, down): (Fixed, Fixed),
    health: u16,
) -> (World, Vec<WorldEvent>) {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 7_000, 5_000);
    appear(&mut world, Spawned::Animal(kind), 3_000, 10_000);
    arm(&mut world, 1, number);
    swing(&mut world, 1);
    let animal = &mut world.state.animals[0].body;
    (animal.x, animal.y) =
        (Fixed::from_px(7_000).saturating_add(right), Fixed::from_px(5_000).saturating_add(down));
    (animal.vx, animal.vy, animal.health) = (Fixed::ZERO, Fixed::ZERO, health);
    world.outcome.events.clear();
    for _ in 0..100 {
        world.fly_shots();
    }
    let all = events(&world).to_vec();
    (world, all)
}

#[test]
fn a_shot_hurts_an_animal_and_throws_it_along_its_flight() {
    for number in [9, 12, 13, 15] {
        let kind_of = weapon(number).and_then(|weapon| weapon.shoots).expect("it shoots");
        let damage = projectile(kind_of).expect("in the table").damage;
        for row in &ANIMALS {
            let place = (Fixed::from_px(400), Fixed::from_px(10));
            let (world, all) = shoot_at(row.kind, number, place, row.health);
            let animal = world.state.animals[0].id;
            assert!(matches!(all[0], WorldEvent::ShotEnded { .. }), "{}", row.name);
            let by = Some(PlayerId(1));
            assert_eq!(all[1..], [WorldEvent::AnimalHurt { animal, by, amount: damage }], "{}", row.name);
            let body = &world.state.animals[0].body;
            assert_eq!(body.health, row.health - damage);
            assert!((px(body.vx) * 30.0 - 300.0).abs() < 0.1 && body.vy == Fixed::ZERO, "{}", row.name);
        }
    }
}

#[test]
fn an_animal_is_hit_at_the_edge_of_its_rim_and_missed_just_beyond() {
    for row in &ANIMALS {
        let rim = Fixed::from_px(row.radius_px);
        let far = Fixed::from_px(35 + 1_000).saturating_add(rim);
        for (right, down, hit) in [
            (Fixed::from_px(500), rim, true),
            (Fixed::from_px(500), rim.saturating_add(Fixed(1)), false),
            (far, Fixed::ZERO, true),
            (far.saturating_add(Fixed(1)), Fixed::ZERO, false),
        ] {
            let (_, all) = shoot_at(row.kind, 9, (right, down), row.health);
            assert_eq!(all.len(), if hit { 2 } else { 1 }, "{}: {right:?} {down:?}", row.name);
        }
    }
}

#[test]
fn shooting_an_animal_gives_its_food_and_points() {
    for row in &ANIMALS {
        let (world, all) = shoot_at(row.kind, 9, (Fixed::from_px(400), Fixed::ZERO), 20);
        let died = |event: &WorldEvent| matches!(event, WorldEvent::AnimalDied { by: Some(PlayerId(1)), .. });
        assert!(all.iter().any(died), "{}: {all:?}", row.name);
        let hunter = player(&world, 1);
        let gained = [hunter.resources[1], hunter.resources[3]];
        assert_eq!(gained, [10_000 + row.food, 10_000 + row.gold], "{}", row.name);
    }
}

#[test]
fn a_dead_animal_is_flown_through() {
    let (_, all) = shoot_at(AnimalKind::Cow, 9, (Fixed::from_px(400), Fixed::ZERO), 0);
    let end = [WorldEvent::ShotEnded {
        projectile: EntityId::FIRST_SHOT,
        x: Fixed::from_px(8_035),
        y: Fixed::from_px(5_000),
    }];
    assert_eq!(all, end);
}

#[test]
fn a_turret_that_the_operator_lets_appear_shoots_at_everyone() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 7_000, 5_000);
    put(&mut world, 2, 7_000, 4_700);
    wait(&mut world, 2);
    body_mut(&mut world, 2).y = Fixed::from_px(4_700);
    appear(&mut world, Spawned::Item(17), 7_300, 5_000);
    assert_eq!(world.active_structures.len(), 1);
    let mut hurt = Vec::new();
    for _ in 0..60 {
        wait(&mut world, 1);
        hurt.extend(events(&world).iter().filter(|event| matches!(event, WorldEvent::Hurt { .. })).cloned());
    }
    assert_eq!(hurt, [WorldEvent::Hurt { player: PlayerId(1), by: None, amount: 25 }]);
    let health = (body(&world, 1).health, body(&world, 2).health);
    assert_eq!(health, (75, 100), "the nearest is its target");
    assert!(World::restore(&world.snapshot()).is_ok());
}
