//! Entities that the operator spawns, and validation of animals in a snapshot.

use crate::command::{Action, Spawned};
use crate::controller::Mood;
use crate::entity::{EntityId, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{self, AnimalKind, TickHz, ITEMS};
use crate::snapshot::SnapshotError;
use crate::terrain::{Obstacle, Terrain};
use crate::tests::animals::{animal_mut, appear};
use crate::tests::{bare_world, body, body_mut, command, events, player, put, wait, without_animals, world};
use crate::world::World;
use crate::Rejection;

/// Executes a spawn command. Returns the rejection, if any.
fn spawn(world: &mut World, what: Spawned, x_px: u16, y_px: u16) -> Option<Rejection> {
    let sequence = world.state.operator_sequence + 1;
    world.step(&mut vec![command(0, sequence, Action::Spawn { what, x_px, y_px })]);
    world.outcome().rejected.first().map(|(_, rejection)| *rejection)
}

#[test]
fn an_animal_appears_on_free_ground_within_the_map() {
    use AnimalKind::{Bull, Cow, Wolf};
    let rows = [
        (Cow, 72, 72, None),
        (Cow, 71, 72, Some(Rejection::NoRoom)),
        (Cow, 72, 71, Some(Rejection::NoRoom)),
        (Bull, 14_400 - 78, 14_400 - 78, None),
        (Bull, 14_400 - 77, 14_400 - 78, Some(Rejection::NoRoom)),
        (Wolf, 14_400, 84, Some(Rejection::NoRoom)),
        (Wolf, u16::MAX, u16::MAX, Some(Rejection::NoRoom)),
    ];
    for (kind, x_px, y_px, rejection) in rows {
        let mut world = bare_world(TickHz::Hz30);
        assert_eq!(
            spawn(&mut world, Spawned::Animal(kind), x_px, y_px),
            rejection,
            "{kind:?} at {x_px} {y_px}"
        );
        assert_eq!(world.animals().count(), usize::from(rejection.is_none()));
        for view in world.animals() {
            assert_eq!((view.body.x.to_px(), view.body.y.to_px()), (x_px.into(), y_px.into()));
            assert_eq!((view.kind, view.body.health), (kind, kind.animal().health));
        }
    }
    let mut world = without_animals(world(1));
    let tree = world.scenery().next().expect("a tree");
    let (x_px, y_px) = ((tree.x_px + tree.radius_px + 71) as u16, tree.y_px as u16);
    assert_eq!(spawn(&mut world, Spawned::Animal(Cow), x_px, y_px), Some(Rejection::NoRoom));
    assert_eq!(spawn(&mut world, Spawned::Animal(Cow), x_px + 1, y_px), None);
}

#[test]
fn there_are_256_animals_at_most() {
    let mut world = bare_world(TickHz::Hz30);
    for at in 0..256 {
        appear(&mut world, AnimalKind::Pig, 200 + at % 40 * 150, 3_000 + at / 40 * 150);
    }
    let pig = Spawned::Animal(AnimalKind::Pig);
    assert_eq!(spawn(&mut world, pig, 9_000, 9_000), Some(Rejection::TooMany));
    world.hurt_animal(0, 800, None);
    wait(&mut world, 1);
    assert_eq!(spawn(&mut world, pig, 9_000, 9_000), None);
    world.state.next_animal = EntityId::FIRST_SHOT;
    world.hurt_animal(0, 800, None);
    wait(&mut world, 1);
    assert_eq!(spawn(&mut world, pig, 9_000, 9_200), Some(Rejection::TooMany), "no numbers are left");
}

#[test]
fn every_structure_can_be_spawned_without_an_owner() {
    for item in &ITEMS {
        let mut world = bare_world(TickHz::Hz30);
        let rejection = spawn(&mut world, Spawned::Item(item.id), 3_000, 3_000);
        if item.scale_px == 0 {
            assert_eq!(rejection, Some(Rejection::UnknownThing), "{}", item.name);
            continue;
        }
        assert_eq!(rejection, None, "{}", item.name);
        let view = world.structures().next().expect("it stands");
        assert_eq!((view.item.id, view.owner, view.heading), (item.id, PlayerId(0), Angle(0)));
        assert_eq!((view.x_px, view.y_px, view.health), (3_000, 3_000, item.health));
        assert_eq!(events(&world), [WorldEvent::Placed { object: view.id }]);
        let restored = World::restore(&world.snapshot()).expect("it is a snapshot");
        assert_eq!(restored, world);
    }
}

#[test]
fn an_item_needs_the_room_that_building_needs() {
    let mut world = bare_world(TickHz::Hz30);
    let wall = Spawned::Item(3);
    let rows = [
        (3_000, 3_000, None),
        (3_099, 3_000, Some(Rejection::NoRoom)),
        (3_100, 3_000, None),
        (5_000, 6_837, None),
        (5_200, 6_838, Some(Rejection::NoRoom)),
        (49, 3_000, Some(Rejection::NoRoom)),
        (14_400, 3_000, Some(Rejection::NoRoom)),
        (u16::MAX, u16::MAX, Some(Rejection::NoRoom)),
    ];
    for (x_px, y_px, rejection) in rows {
        assert_eq!(spawn(&mut world, wall, x_px, y_px), rejection, "at {x_px} {y_px}");
    }
    for id in [13, 14, 18, 21, 22, 255] {
        assert_eq!(spawn(&mut world, Spawned::Item(id), 9_000, 3_000), Some(Rejection::UnknownThing), "{id}");
    }
}

#[test]
fn at_most_512_structures_have_no_owner_and_no_kit_counts_them() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 13_000, 13_000);
    for at in 0..512 {
        let rejection = spawn(&mut world, Spawned::Item(3), 200 + at % 60 * 150, 3_000 + at / 60 * 150);
        assert_eq!(rejection, None, "{at}");
    }
    assert_eq!(spawn(&mut world, Spawned::Item(3), 9_000, 9_000), Some(Rejection::TooMany));
    assert_eq!(player(&world, 1).kit.built, [0; rules::GROUPS]);
    assert!(World::restore(&world.snapshot()).is_ok());
    world.damage_structure(0, 380);
    assert_eq!(spawn(&mut world, Spawned::Item(3), 9_000, 9_000), None);
    world.state.structures[0].body.owner = PlayerId(1);
    let one_more = spawn(&mut world, Spawned::Item(3), 9_000, 9_200);
    assert_eq!(one_more, None, "a player's do not count");
}

#[test]
fn numbers_of_structures_end_where_those_of_animals_begin() {
    let mut world = bare_world(TickHz::Hz30);
    world.state.next_id = EntityId(EntityId::FIRST_ANIMAL.0 - 1);
    assert_eq!(spawn(&mut world, Spawned::Item(3), 3_000, 3_000), None);
    assert_eq!(spawn(&mut world, Spawned::Item(3), 3_500, 3_000), Some(Rejection::TooMany));
}

#[test]
fn spikes_without_an_owner_hurt_everyone_and_credit_no_player() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 3_500, 3_000);
    assert_eq!(spawn(&mut world, Spawned::Item(6), 3_000, 3_000), None);
    body_mut(&mut world, 1).x = Fixed::from_px(3_084);
    body_mut(&mut world, 1).health = 20;
    wait(&mut world, 1);
    let player = PlayerId(1);
    assert_eq!(
        events(&world),
        [WorldEvent::Hurt { player, by: None, amount: 20 }, WorldEvent::Died { player, by: None }]
    );
    let at = appear(&mut world, AnimalKind::Cow, 3_500, 3_000);
    world.state.animals[at].body.x = Fixed::from_px(3_121);
    wait(&mut world, 1);
    let animal = world.state.animals[at].id;
    assert_eq!(events(&world), [WorldEvent::AnimalHurt { animal, by: None, amount: 20 }]);
}

#[test]
fn a_trap_without_an_owner_holds_everyone() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 3_500, 3_000);
    assert_eq!(spawn(&mut world, Spawned::Item(15), 3_000, 3_000), None);
    body_mut(&mut world, 1).x = Fixed::from_px(3_010);
    wait(&mut world, 1);
    assert!(player(&world, 1).ground.held);
    assert_eq!(body(&world, 1).health, 100);
}

#[test]
fn only_the_operator_can_spawn() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 3_500, 3_000);
    let what = Spawned::Item(3);
    let command = command(1, 1, Action::Spawn { what, x_px: 9_000, y_px: 9_000 });
    world.step(&mut vec![command.clone()]);
    assert_eq!(world.outcome().rejected, [(command, Rejection::OperatorOnly)]);
}

/// A bare world with one natural, dead pig, player 1, and player 2, which is dead.
fn one_pig() -> World {
    let mut world = bare_world(TickHz::Hz30);
    for id in [1, 2] {
        put(&mut world, id, 14_000, 13_000);
    }
    appear(&mut world, AnimalKind::Pig, 5_000, 5_000);
    animal_mut(&mut world, 0).natural = true;
    world.hurt_animal(0, u16::MAX, None);
    world.hurt(1, u16::MAX, None);
    world
}

#[test]
fn a_respawning_animal_keeps_400_px_from_living_players() {
    // The respawn point without players nearby. No tick passes, so the same positions are tried in
    // each case.
    let world = one_pig();
    let mut alone = world.clone();
    alone.respawn_animal(0);
    let place = alone.state.animals[0].body.clone();
    assert_eq!(place.health, AnimalKind::Pig.animal().health);
    let (room, inside) = (400 << 16, (400 << 16) - 1);
    for (dx, dy, is_free) in [
        (0, 0, false),
        (inside, inside, false),
        (-inside, -inside, false),
        (room, 0, true),
        (-room, inside, true),
        (0, room, true),
        (inside, -room, true),
        (room, room, true),
    ] {
        for (player, lives) in [(1, true), (2, false)] {
            let mut world = world.clone();
            let near = body_mut(&mut world, player);
            (near.x, near.y) = (place.x.saturating_add(Fixed(dx)), place.y.saturating_add(Fixed(dy)));
            world.respawn_animal(0);
            let back = &world.state.animals[0].body;
            let is_at_place = (back.x, back.y) == (place.x, place.y);
            assert_eq!(is_at_place, is_free || !lives, "player {player}, {dx} {dy} beside");
        }
    }
}

#[test]
fn without_free_ground_natural_animals_wait_in_the_middle_and_spawn_later() {
    let mut world = without_animals(world(3));
    let middle = Fixed::from_px(7_200);
    let rock = Obstacle { x: middle, y: middle, radius_px: 14_400 };
    world.terrain = Terrain::new(14_400, vec![rock]);
    world.populate();
    assert_eq!(world.animals().count(), 0);
    assert_eq!(world.state.animals.len(), 36);
    for entity in &world.state.animals {
        assert_eq!((entity.body.x, entity.body.y, entity.body.health), (middle, middle, 0));
    }
    assert!(World::restore(&world.snapshot()).is_ok());
    wait(&mut world, 30 * 5);
    assert_eq!(world.animals().count(), 0);
    world.terrain = Terrain::new(14_400, Vec::new());
    // Animals retry once per second.
    wait(&mut world, 30);
    assert_eq!(world.animals().count(), 36);
}

#[test]
fn the_animals_of_a_new_world_look_anywhere_and_around_at_any_time() {
    let mut world = world(1);
    let (mut quarters, mut look_waits) = ([0; 4], Vec::new());
    for seed in 0..100 {
        world.state.identity.seed = seed;
        world.state.animals.clear();
        world.populate();
        for at in 0..world.state.animals.len() {
            quarters[usize::from(world.state.animals[at].body.heading.0 >> 14)] += 1;
            look_waits.push(animal_mut(&mut world, at).sense_wait);
        }
    }
    assert!(quarters.iter().all(|count| (800..1_000).contains(count)), "{quarters:?} of 3,600");
    let (min, max) = (look_waits.iter().min(), look_waits.iter().max());
    assert_eq!((min, max), (Some(&1), Some(&750)), "each in the 250 ms of its first look");
}

/// A change that makes a world invalid. The first animal is a natural cow, the second a wolf.
type Spoil = fn(&mut World);

#[test]
fn each_animal_that_no_world_has_is_refused_by_name() {
    let rows: [(&str, Spoil); 27] = [
        ("order of entities", |world| world.state.animals.swap(0, 1)),
        ("next animal", |world| world.state.next_animal = EntityId(EntityId::FIRST_ANIMAL.0 - 1)),
        ("next animal", |world| world.state.next_animal = EntityId(EntityId::FIRST_SHOT.0 + 1)),
        ("number of an animal", |world| world.state.next_animal = world.state.animals[1].id),
        ("number of an animal", |world| world.state.animals[0].id = EntityId(EntityId::FIRST_ANIMAL.0 - 1)),
        ("number of animals", |world| {
            let wolf = world.state.animals[1].clone();
            for number in 0..255 {
                let id = EntityId(wolf.id.0 + 1 + number);
                world.state.animals.push(crate::Entity { id, ..wolf.clone() });
            }
            world.state.next_animal = EntityId(wolf.id.0 + 1_000);
        }),
        ("controller of an animal", |world| {
            world.state.animals[0].controller = world.state.players[0].controller.clone();
        }),
        ("owner of an animal", |world| world.state.animals[0].body.owner = PlayerId(1)),
        ("radius of an animal", |world| world.state.animals[0].body.radius_px = 73),
        ("health of an animal", |world| world.state.animals[0].body.health = 501),
        ("life of an animal", |world| world.state.animals[1].body.health = 0),
        ("state of a dead body", |world| {
            (world.state.animals[0].body.health, animal_mut(world, 0).direction) = (0, Some(Angle(0)));
        }),
        ("prey of an animal", |world| animal_mut(world, 0).prey = Some(PlayerId(1))),
        ("prey of an animal", |world| animal_mut(world, 1).prey = None),
        ("prey of an animal", |world| animal_mut(world, 1).mood = Mood::Wanders),
        ("mood of an animal", |world| animal_mut(world, 0).mood = Mood::Rests),
        ("mood of an animal", |world| {
            (animal_mut(world, 0).mood, animal_mut(world, 0).prey) = (Mood::Hunts, Some(PlayerId(1)));
        }),
        ("mood of an animal", |world| {
            (animal_mut(world, 1).mood, animal_mut(world, 1).prey) = (Mood::Flees, None);
        }),
        ("timer of an animal", |world| animal_mut(world, 0).wait = 30_001),
        ("timer of an animal", |world| {
            (animal_mut(world, 0).mood, animal_mut(world, 0).wait) = (Mood::Flees, 9_001);
        }),
        ("timer of an animal", |world| animal_mut(world, 1).wait = 30_001),
        ("timer of an animal", |world| animal_mut(world, 0).sense_wait = 751),
        ("timer of an animal", |world| animal_mut(world, 1).strike_wait = 3_001),
        ("timer of an animal", |world| animal_mut(world, 0).touch_wait = 601),
        ("place", |world| world.state.animals[0].body.x = Fixed((72 << 16) - 1)),
        ("velocity", |world| world.state.animals[0].body.vy = Fixed((320 << 16) + 1)),
        ("number of structures", |world| {
            let wall = world.state.structures[0].clone();
            for number in 0..512 {
                let id = EntityId(wall.id.0 + 1 + number);
                world.state.structures.push(crate::Entity { id, ..wall.clone() });
            }
            world.state.next_id = EntityId(wall.id.0 + 1_000);
        }),
    ];
    for (name, spoil) in rows {
        let mut world = bare_world(TickHz::Hz30);
        put(&mut world, 1, 3_300, 3_000);
        appear(&mut world, AnimalKind::Cow, 5_000, 5_000);
        animal_mut(&mut world, 0).natural = true;
        appear(&mut world, AnimalKind::Wolf, 3_000, 3_000);
        assert_eq!(spawn(&mut world, Spawned::Item(3), 9_000, 9_000), None);
        wait(&mut world, 10);
        assert_eq!(animal_mut(&mut world, 1).mood, Mood::Hunts);
        assert!(World::restore(&world.snapshot()).is_ok());
        spoil(&mut world);
        assert_eq!(World::restore(&world.snapshot()).err(), Some(SnapshotError::Value(name)));
    }
    assert_eq!(rules::MAX_ANIMALS, 256);
}
