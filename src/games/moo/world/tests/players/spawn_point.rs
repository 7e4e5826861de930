//! Spawn points of new players.

use crate::entity::PlayerId;
use crate::fixed::Fixed;
use crate::rules::{AnimalKind, Biome, TickHz};
use crate::state::Identity;
use crate::terrain::{Obstacle, Terrain};
use crate::tests::animals::{animal_mut, appear};
use crate::tests::{bare_world, distance_px, join, put, wait, walk, without_animals, world};
use crate::world::World;

fn is_stuck(world: &World, id: PlayerId) -> bool {
    let body = world.player(id).expect("it joined").body;
    !world.terrain().is_free(body.x, body.y, 59)
}

#[test]
fn no_player_spawns_in_scenery_in_the_river_or_on_a_player() {
    for seed in 0..30 {
        let mut world = world(seed);
        for id in 1..=100 {
            world.step(&mut vec![join(u64::from(id), id)]);
            let view = world.player(PlayerId(id)).expect("it joined");
            assert!(!is_stuck(&world, view.id), "seed {seed}, player {id}");
            assert_ne!(world.bands().biome_at(view.body.y), Biome::River, "seed {seed}, player {id}");
            for other in world.players().filter(|other| other.id != view.id) {
                let clear = distance_px(view.body, other.body) >= 70.0;
                assert!(clear, "seed {seed}: {id} on {:?}", other.id);
            }
        }
    }
}

#[test]
fn a_newcomer_can_walk_in_some_direction_at_once() {
    for seed in 0..20 {
        let mut world = world(seed);
        for id in 1..=20 {
            world.step(&mut vec![join(u64::from(id), id)]);
            let before = world.player(PlayerId(id)).expect("it joined").body.clone();
            walk(&mut world, id, Some(0));
            wait(&mut world, 10);
            let after = world.player(PlayerId(id)).expect("it joined").body;
            assert!(distance_px(&before, after) > 20.0, "seed {seed}, player {id}");
            walk(&mut world, id, None);
        }
    }
}

#[test]
fn the_second_appears_on_the_screen_of_the_first() {
    for seed in 0..100 {
        let mut world = world(seed);
        world.step(&mut vec![join(1, 1), join(2, 2)]);
        let bodies: Vec<_> = world.players().map(|view| view.body.clone()).collect();
        let (dx, dy) = (bodies[0].x.0.abs_diff(bodies[1].x.0), bodies[0].y.0.abs_diff(bodies[1].y.0));
        let limits = (Fixed::from_px(600).0.unsigned_abs(), Fixed::from_px(400).0.unsigned_abs());
        assert!(dx <= limits.0 && dy <= limits.1, "seed {seed}");
    }
}

#[test]
fn two_hundred_have_company_but_no_crush() {
    let mut world = world(2);
    let mut joins = (1..=200).map(|id| join(u64::from(id), id)).collect();
    world.step(&mut joins);
    let bodies: Vec<_> = world.players().map(|view| view.body.clone()).collect();
    let mut in_view: Vec<usize> = bodies
        .iter()
        .map(|own| {
            let near = |a: Fixed, b: Fixed, max: i32| (a.to_px() - b.to_px()).abs() < max;
            bodies.iter().filter(|body| near(body.x, own.x, 1_248) && near(body.y, own.y, 702)).count() - 1
        })
        .collect();
    in_view.sort_unstable();
    assert!(in_view[100] >= 10, "median {}", in_view[100]);
    assert!(in_view[199] <= 60, "most {}", in_view[199]);
}

#[test]
fn everyone_finds_a_place_on_the_smallest_map() {
    let mut world =
        without_animals(World::new(Identity { seed: 3, map_size_px: 1_440, tick_hz: TickHz::Hz30 }));
    for id in 1..=300 {
        world.step(&mut vec![join(u64::from(id), id)]);
        let body = world.player(PlayerId(id)).expect("it joined").body;
        assert!(world.terrain().is_free(body.x, body.y, 34), "player {id} is in a thing");
    }
    assert_eq!(world.player_count(), 300);
    wait(&mut world, 600);
    for view in world.players() {
        let body = view.body;
        assert!(world.terrain().is_free(body.x, body.y, 34), "player {:?} was pushed into a thing", view.id);
    }
    // The river's current presses players at the eastern edge against each other, so these players
    // are excluded.
    let bodies: Vec<_> = world.players().map(|view| view.body.clone()).collect();
    let bodies: Vec<_> = bodies.into_iter().filter(|body| body.x < Fixed::from_px(1_200)).collect();
    assert!(bodies.len() > 150);
    let overlapping = |a: usize| (0..a).filter(|b| distance_px(&bodies[a], &bodies[*b]) < 60.0).count();
    assert_eq!((0..bodies.len()).map(overlapping).sum::<usize>(), 0, "everyone has room after 20 s");
}

#[test]
fn a_map_without_any_room_still_takes_a_newcomer() {
    let mut world = world(1);
    let full = Obstacle { x: Fixed::from_px(7_200), y: Fixed::from_px(7_200), radius_px: 20_000 };
    world.terrain = Terrain::new(14_400, vec![full]);
    put(&mut world, 1, 7_200, 7_200);
    walk(&mut world, 1, Some(0));
    wait(&mut world, 30);
    assert_eq!(world.player_count(), 1);
}

#[test]
fn a_new_player_keeps_clear_of_living_animals_but_not_of_dead_ones() {
    let mut world = bare_world(TickHz::Hz30);
    appear(&mut world, AnimalKind::Cow, 7_000, 13_000);
    animal_mut(&mut world, 0).natural = true;
    // The spawn point without animals. The same positions are tried in each case.
    let place = |mut world: World| {
        let sequence = world.state.operator_sequence + 1;
        world.step(&mut vec![join(sequence, 1)]);
        let body = world.player(PlayerId(1)).expect("it joined").body;
        (body.x, body.y)
    };
    let alone = place(world.clone());
    // The free space around a new player plus the radius of a cow.
    let (room, inside) = ((60 + 72) << 16, ((60 + 72) << 16) - 1);
    for (dx, dy, is_free) in [
        (0, 0, false),
        (inside, -inside, false),
        (-inside, inside, false),
        (room, 0, true),
        (0, -room, true),
        (-room, room, true),
    ] {
        for lives in [true, false] {
            let mut world = world.clone();
            if !lives {
                world.hurt_animal(0, u16::MAX, None);
            }
            let animal = &mut world.state.animals[0].body;
            (animal.x, animal.y) = (alone.0.saturating_add(Fixed(dx)), alone.1.saturating_add(Fixed(dy)));
            assert_eq!(place(world) == alone, is_free || !lives, "{dx} {dy} beside, alive: {lives}");
        }
    }
}
