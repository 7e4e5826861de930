//! Animals among other entities: death and respawn, attackers, obstacles, and restoring during a
//! hunt.

use crate::command::{Action, Spawned};
use crate::controller::Mood;
use crate::entity::{EntityId, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{item, AnimalKind, TickHz};
use crate::tests::animals::{animal, animal_mut, appear, beast, facing, KINDS};
use crate::tests::{
    bare_world, body, body_mut, build, command, difference, events, player, player_mut, put, px, swing, wait,
    walk, world_at,
};
use crate::world::World;

#[test]
fn killing_an_animal_gives_food_gold_and_experience() {
    for kind in KINDS {
        let mut world = facing(TickHz::Hz30, kind, 0);
        let animal = world.state.animals[0].id;
        world.state.animals[0].body.health = 25;
        body_mut(&mut world, 1).heading = Angle(0x8000);
        let row = kind.animal();
        let mut grown = player(&world, 1).growth.clone();
        grown.gain(row.food * 4);
        swing(&mut world, 1);
        let by = Some(PlayerId(1));
        assert!(events(&world).contains(&WorldEvent::AnimalHurt { animal, by, amount: 25 }));
        assert!(events(&world).contains(&WorldEvent::AnimalDied { animal, by }));
        let killer = player(&world, 1);
        assert_eq!((killer.resources, killer.kills), ([0, row.food, 0, row.gold], 0));
        assert_eq!(killer.growth, grown);
        assert_eq!((world.animals().count(), world.state.animals.len()), (0, 0), "it does not come back");
    }
}

#[test]
fn natural_animals_respawn_in_their_biome_after_30_seconds() {
    for rate in [TickHz::Hz15, TickHz::Hz60] {
        let mut world = world_at(5, rate);
        let ids: Vec<EntityId> = world.animals().map(|view| view.id).collect();
        wait(&mut world, 1);
        for at in 0..ids.len() {
            world.hurt_animal(at, u16::MAX, None);
        }
        assert_eq!(world.animals().count(), 0);
        assert!(World::restore(&world.snapshot()).is_ok());
        wait(&mut world, rate.get() * 30 - 1);
        assert_eq!(world.animals().count(), 0, "just before 30 s at {rate:?}");
        wait(&mut world, 1);
        assert!(world.animals().count() > 30, "most find room at once");
        wait(&mut world, rate.get() * 20);
        assert_eq!(world.animals().map(|view| view.id).collect::<Vec<_>>(), ids, "by their numbers");
        for view in world.animals() {
            assert_eq!(world.bands().biome_at(view.body.y), view.kind.home());
            assert_eq!(view.body.health, view.max_health);
        }
    }
}

#[test]
fn a_dead_one_is_not_hit_and_not_in_the_way() {
    let mut world = facing(TickHz::Hz30, AnimalKind::Cow, -60);
    animal_mut(&mut world, 0).natural = true;
    world.hurt_animal(0, 500, None);
    let place = body(&world, 1).clone();
    body_mut(&mut world, 1).heading = Angle(0x8000);
    swing(&mut world, 1);
    assert_eq!(events(&world), [WorldEvent::Swung { player: PlayerId(1), weapon: 0, hit: false }]);
    assert_eq!(body(&world, 1).x, place.x);
    world.hurt_animal(0, 500, None);
    assert_eq!(events(&world).len(), 1, "it dies once");
}

#[test]
fn a_stroke_reaches_an_animal_to_its_rim_and_knocks_it_back() {
    for (beyond, hit) in [(0, true), (1, false)] {
        for kind in KINDS {
            let mut world = facing(TickHz::Hz30, kind, 0);
            let striker = body_mut(&mut world, 1);
            striker.x = Fixed(Fixed::from_px(5_000 + kind.animal().radius_px + 65).0 + beyond);
            striker.heading = Angle(0x8000);
            swing(&mut world, 1);
            let expected = WorldEvent::Swung { player: PlayerId(1), weapon: 0, hit };
            assert!(events(&world).contains(&expected), "{kind:?} {beyond}");
            let speed = px(beast(&world, 0).vx) * 30.0;
            assert!((speed - if hit { -300.0 } else { 0.0 }).abs() < 0.1, "{kind:?}: {speed} px/s");
        }
    }
}

#[test]
fn a_harmless_swing_knocks_an_animal_back_without_alarming_it() {
    for kind in KINDS {
        let mut world = facing(TickHz::Hz30, kind, 0);
        body_mut(&mut world, 1).heading = Angle(0x8000);
        player_mut(&mut world, 1).hand.weapon = 14;
        swing(&mut world, 1);
        assert_eq!(
            events(&world),
            [WorldEvent::Swung { player: PlayerId(1), weapon: 14, hit: true }],
            "{kind:?}"
        );
        assert_eq!((animal(&world, 0).mood, animal(&world, 0).direction), (Mood::Wanders, None), "{kind:?}");
        let speed = px(beast(&world, 0).vx) * 30.0;
        assert!((speed + 500.0).abs() < 0.1, "{kind:?}: {speed} px/s");
    }
}

#[test]
fn a_player_that_runs_into_an_animal_is_pushed_away() {
    for kind in KINDS {
        let mut world = facing(TickHz::Hz30, kind, -20);
        player_mut(&mut world, 1).direction = Some(Angle(0x8000));
        wait(&mut world, 1);
        assert_eq!(beast(&world, 0).x, Fixed::from_px(5_000), "{kind:?}");
        let apart = px(body(&world, 1).x) - 5_000.0 - f64::from(kind.animal().radius_px + 35);
        assert!(apart.abs() < 0.01 || kind.animal().damage > 0 && apart > -0.01, "{kind:?}: {apart} px");
    }
    let mut world = bare_world(TickHz::Hz30);
    for x_px in [5_000, 5_100] {
        appear(&mut world, AnimalKind::Cow, x_px, 5_000);
    }
    wait(&mut world, 1);
    let (a, b) = (px(beast(&world, 0).x), px(beast(&world, 1).x));
    assert!((a - 4_978.0).abs() < 0.01 && (b - 5_122.0).abs() < 0.01, "{a} {b}: each by half");
}

#[test]
fn an_animal_does_not_move_a_dead_player() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 9_000, 5_000);
    for x_px in [5_000, 6_000] {
        appear(&mut world, AnimalKind::Cow, x_px, 5_000);
    }
    animal_mut(&mut world, 1).natural = true;
    world.hurt_animal(1, u16::MAX, None);
    world.hurt(0, u16::MAX, None);
    world.state.animals[1].body.x = Fixed::from_px(5_100);
    body_mut(&mut world, 1).x = Fixed::from_px(4_950);
    animal_mut(&mut world, 0).was_pushed = true;
    let lie = [body(&world, 1), beast(&world, 0), beast(&world, 1)].map(Clone::clone);
    wait(&mut world, 1);
    assert_eq!([body(&world, 1), beast(&world, 0), beast(&world, 1)].map(Clone::clone), lie);
    assert!(!player(&world, 1).stirred && !animal(&world, 1).was_pushed);
}

#[test]
fn a_player_inside_an_animal_is_put_on_its_rim_even_across_grid_cells() {
    // A cell starts at 5,120 px. In the second row the players are pushed apart first, which pushes
    // one of them into the animal.
    for (animal_px, one_px, two_px, rim_px) in
        [(5_038, 5_130, 9_000, 5_038 + 72 + 35), (5_000, 5_121, 5_131, 5_000 + 72 + 35)]
    {
        let mut world = bare_world(TickHz::Hz30);
        put(&mut world, 1, 7_000, 5_000);
        put(&mut world, 2, 9_000, 5_000);
        appear(&mut world, AnimalKind::Cow, animal_px, 5_000);
        for (id, x_px) in [(1, one_px), (2, two_px)] {
            body_mut(&mut world, id).x = Fixed::from_px(x_px);
            player_mut(&mut world, id).stirred = true;
        }
        player_mut(&mut world, 1).direction = Some(Angle(0x8000));
        wait(&mut world, 1);
        let apart = px(body(&world, 1).x) - f64::from(rim_px);
        assert!(apart.abs() < 0.01, "{apart} px from the rim of the animal at {animal_px} px");
    }
}

#[test]
fn nature_and_walls_stop_an_animal() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 5_400, 5_000);
    wait(&mut world, 2);
    build(&mut world, 1, 3, 0x8000);
    let wall = world.structures().next().expect("it stands");
    body_mut(&mut world, 1).x = Fixed::from_px(9_000);
    let at = appear(&mut world, AnimalKind::Cow, 5_000, 5_000);
    for _ in 0..120 {
        let walks = animal_mut(&mut world, at);
        (walks.direction, walks.wait, walks.sense_wait) = (Some(Angle(0)), 9_000, 750);
        wait(&mut world, 1);
        let apart = px(Fixed::from_px(wall.x_px)) - px(beast(&world, at).x);
        assert!(apart > 50.0 + 72.0 - 0.01 || px(beast(&world, at).y) != 5_000.0, "{apart} px");
    }
    assert!(px(beast(&world, at).x) > 5_150.0, "it has come to it");
}

#[test]
fn traps_hold_animals_and_spikes_hurt_them_for_their_owner() {
    for (item, kind) in [(15, AnimalKind::Wolf), (6, AnimalKind::Cow)] {
        let mut world = bare_world(TickHz::Hz30);
        put(&mut world, 1, 5_400, 5_000);
        wait(&mut world, 2);
        build(&mut world, 1, item, 0x8000);
        let x_px = world.structures().next().expect("it stands").x_px;
        body_mut(&mut world, 1).x = Fixed::from_px(9_000);
        let at = appear(&mut world, kind, 5_000, 5_000);
        let reach_px = kind.animal().radius_px + if item == 15 { 9 } else { 49 };
        world.state.animals[at].body.x = Fixed::from_px(x_px - reach_px);
        world.state.animals[at].body.health = 30;
        wait(&mut world, 1);
        assert_eq!(animal(&world, at).is_trapped, item == 15);
        assert_eq!(beast(&world, at).health, if item == 15 { 30 } else { 10 });
        if item == 15 {
            walk(&mut world, 1, None);
            world.state.animals[at].body.vx = Fixed::from_px(10);
            let x = beast(&world, at).x;
            wait(&mut world, 10);
            assert_eq!(beast(&world, at).x, x, "held");
        } else {
            assert!(beast(&world, at).vx < Fixed::ZERO, "thrown back");
            // The animal starts slightly inside the structure, so it is moved to the rim, wherever
            // it flees.
            world.state.animals[at].body.x = Fixed::from_px(x_px - reach_px + 5);
            animal_mut(&mut world, at).touch_wait = 0;
            world.state.animals[at].body.vx = Fixed::ZERO;
            animal_mut(&mut world, at).direction = None;
            wait(&mut world, 1);
            assert_eq!((world.animals().count(), player(&world, 1).resources[3]), (0, 10_150));
        }
    }
}

#[test]
fn an_animal_spawned_by_the_operator_never_respawns() {
    for natural in [false, true] {
        let mut world = bare_world(TickHz::Hz30);
        let at = appear(&mut world, AnimalKind::Pig, 5_000, 5_000);
        animal_mut(&mut world, at).natural = natural;
        world.hurt_animal(at, u16::MAX, None);
        // The respawn timer has expired.
        animal_mut(&mut world, at).wait = 0;
        wait(&mut world, 1);
        assert_eq!(world.animals().count(), usize::from(natural));
    }
}

#[test]
fn a_dead_animal_is_neither_held_nor_hurt_nor_knocked_back() {
    // The animals are at distances at which they touch traps and spikes without an owner.
    for (item, apart_px) in [(15, 40), (6, 49 + 72)] {
        let mut world = bare_world(TickHz::Hz30);
        let at = appear(&mut world, AnimalKind::Cow, 6_000, 5_000);
        let what = Spawned::Item(item);
        let sequence = world.state.operator_sequence + 1;
        world.step(&mut vec![command(0, sequence, Action::Spawn { what, x_px: 5_000, y_px: 5_000 })]);
        animal_mut(&mut world, at).natural = true;
        world.hurt_animal(at, u16::MAX, None);
        world.state.animals[at].body.x = Fixed::from_px(5_000 + apart_px);
        let lies = beast(&world, at).clone();
        assert_eq!(animal(&world, at), animal(&world, at).dead_copy());
        assert!(!animal(&world, at).was_pushed, "it has nothing to see to");
        wait(&mut world, 5);
        assert_eq!(animal(&world, at), animal(&world, at).dead_copy(), "item {item}");
        assert_eq!(*beast(&world, at), lies, "item {item}");
        assert_eq!(events(&world), [], "item {item}");
    }
}

#[test]
fn of_several_spikes_that_an_animal_touches_those_with_the_lowest_number_hurt_it() {
    for items in [[6, 7], [7, 6]] {
        let mut world = bare_world(TickHz::Hz30);
        let at = appear(&mut world, AnimalKind::Cow, 9_000, 9_000);
        for number in items {
            // Rim to rim on both sides of the cow's position.
            let x_px = if number == 6 { 5_000 - 49 - 72 } else { 5_000 + 52 + 72 };
            let sequence = world.state.operator_sequence + 1;
            let what = Spawned::Item(number);
            world.step(&mut vec![command(0, sequence, Action::Spawn { what, x_px, y_px: 5_000 })]);
            assert_eq!(world.outcome().rejected, []);
        }
        let body = &mut world.state.animals[at].body;
        (body.x, body.y) = (Fixed::from_px(5_000), Fixed::from_px(5_000));
        wait(&mut world, 1);
        let animal = world.state.animals[at].id;
        let amount = item(items[0]).expect("it is in the table").damage;
        assert_eq!(events(&world), [WorldEvent::AnimalHurt { animal, by: None, amount }]);
    }
}

#[test]
fn a_world_restored_during_a_hunt_continues_identically() {
    for rate in TickHz::ALL {
        let mut world = world_at(9, rate);
        put(&mut world, 1, 5_000, 5_000);
        let prey = world.animals().last().expect("a wolf").body.clone();
        (body_mut(&mut world, 1).x, body_mut(&mut world, 1).y) =
            (prey.x.saturating_add(Fixed::from_px(400)), prey.y);
        wait(&mut world, rate.get());
        let hunting = |world: &World| {
            (0..world.state.animals.len()).filter(|at| animal(world, *at).mood == Mood::Hunts).count()
        };
        assert!(hunting(&world) > 0, "at {rate:?}");
        let mut restored = World::restore(&world.snapshot()).expect("it is a snapshot");
        for _ in 0..20 {
            wait(&mut world, rate.get() / 2);
            wait(&mut restored, rate.get() / 2);
            assert_eq!(difference(&world, &restored), None, "at {rate:?}");
        }
        assert_eq!(world.checksum(), restored.checksum());
    }
}

#[test]
fn the_controller_alone_predicts_an_animal_until_its_next_decision() {
    let mut world = bare_world(TickHz::Hz30);
    let at = appear(&mut world, AnimalKind::Pig, 5_000, 5_000);
    let walks = animal_mut(&mut world, at);
    (walks.direction, walks.wait) = (Some(Angle(1_000)), 9_000);
    let mut guess = world.state.animals[at].clone();
    for _ in 0..60 {
        assert!(guess.act(world.terrain(), &TickHz::Hz30.rates()));
        wait(&mut world, 1);
        assert_eq!(guess.body, *beast(&world, at));
    }
}
