//! Effects of the biomes on walking, at each tick rate: snow slows; the river slows and carries
//! bodies along.

use crate::controller::Controller;
use crate::entity::PlayerId;
use crate::fixed::Fixed;
use crate::rules::{AnimalKind, TickHz};
use crate::tests::animals::{animal_mut, appear};
use crate::tests::{bare_world, body, body_mut, build, player, player_mut, put, px, wait, walk};
use crate::world::World;
use crate::Biome;

/// The y coordinate of the middle of each biome; for the river, of its northern bank.
const PLACES: [(Biome, i32); 4] =
    [(Biome::Snow, 1_200), (Biome::Plains, 9_500), (Biome::River, 6_840), (Biome::Desert, 13_200)];

fn alone_at(rate: TickHz, y_px: i32) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 3_000, y_px);
    world
}

/// The velocity in pixels per second after two seconds.
fn steady(world: &mut World, direction: Option<u16>) -> (f64, f64) {
    let rate = world.identity().tick_hz.get();
    walk(world, 1, direction);
    wait(world, rate * 2 - 1);
    let body = body(world, 1);
    (px(body.vx) * f64::from(rate), px(body.vy) * f64::from(rate))
}

#[test]
fn each_land_has_its_speed_at_each_tick_rate() {
    for rate in TickHz::ALL {
        for (land, y_px) in PLACES {
            let mut world = alone_at(rate, y_px);
            let (right, down) = steady(&mut world, Some(0x4000));
            assert_eq!(world.bands().biome_at(body(&world, 1).y), land, "it has not left");
            let (across, drift) = match land {
                Biome::Snow => (246.0, 0.0),
                Biome::Plains | Biome::Desert => (328.0, 0.0),
                Biome::River => (108.24, 225.5),
            };
            assert!((down - across).abs() < 1.0, "{down} px/s in {land:?} at {rate:?}");
            assert!((right - drift).abs() < 1.0, "{right} px/s aside in {land:?} at {rate:?}");
        }
    }
}

#[test]
fn against_the_current_one_is_carried_back_and_with_it_one_is_fast() {
    for rate in TickHz::ALL {
        for (direction, speed) in [(Some(0x8000), 225.5 - 108.24), (Some(0), 225.5 + 108.24), (None, 225.5)] {
            let (right, down) = steady(&mut alone_at(rate, 7_200), direction);
            assert!((right - speed).abs() < 1.0 && down == 0.0, "{direction:?}: {right} px/s at {rate:?}");
        }
    }
}

#[test]
fn the_way_of_the_drift_is_the_same_at_each_rate() {
    let ways = TickHz::ALL.map(|rate| {
        let mut world = alone_at(rate, 7_200);
        let start = px(body(&world, 1).x);
        wait(&mut world, rate.get() * 2);
        px(body(&world, 1).x) - start
    });
    assert!(ways.iter().all(|way| (way - ways[0]).abs() < 2.0 && *way > 380.0), "{ways:?}");
}

#[test]
fn the_lands_end_at_their_lines() {
    for (y_px, speed) in [(2_400, 246.0), (2_401, 328.0), (11_999, 328.0), (12_000, 328.0)] {
        let (right, _) = steady(&mut alone_at(TickHz::Hz30, y_px), Some(0));
        assert!((right - speed).abs() < 1.0, "{right} px/s at {y_px} px");
    }
    for (y_px, carried) in [(6_837, false), (6_838, true), (7_562, true), (7_563, false)] {
        let mut world = alone_at(TickHz::Hz30, y_px);
        wait(&mut world, 1);
        assert_eq!(body(&world, 1).vx > Fixed::ZERO, carried, "at {y_px} px");
    }
}

#[test]
fn no_player_sleeps_in_the_river_and_one_that_leaves_it_comes_to_rest() {
    let mut world = alone_at(TickHz::Hz30, 7_200);
    let at = world.find(PlayerId(1)).expect("it is there");
    let (terrain, rates) = (world.terrain().clone(), TickHz::Hz30.rates());
    assert!(world.state.players[at].act(&terrain, &rates), "awake");
    body_mut(&mut world, 1).y = Fixed::from_px(9_000);
    wait(&mut world, 30);
    assert_eq!(body(&world, 1).vx, Fixed::ZERO);
    assert!(!world.state.players[at].act(&terrain, &rates), "asleep");
}

#[test]
fn the_river_does_not_carry_a_trapped_player() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 7_000, 6_710);
    put(&mut world, 2, 3_000, 5_000);
    wait(&mut world, 2);
    build(&mut world, 1, 15, 0x4000);
    let trap = world.structures().next().expect("it stands");
    let caught = body_mut(&mut world, 2);
    (caught.x, caught.y) = (Fixed::from_px(trap.x_px), Fixed::from_px(6_838));
    assert!(6_838 - trap.y_px < 45, "in the river, and in reach of the trap");
    wait(&mut world, 2);
    assert!(player(&world, 2).ground.held);
    let held_at = body(&world, 2).x;
    wait(&mut world, 30);
    assert_eq!(body(&world, 2).x, held_at);
    world.damage_structure(0, 500);
    wait(&mut world, 30);
    assert!(body(&world, 2).x > held_at.saturating_add(Fixed::from_px(100)));
}

#[test]
fn the_dead_and_the_edge_lie_still() {
    let mut world = alone_at(TickHz::Hz30, 7_200);
    body_mut(&mut world, 1).x = Fixed::from_px(14_300);
    wait(&mut world, 60);
    assert_eq!((body(&world, 1).x, body(&world, 1).vx), (Fixed::from_px(14_365), Fixed::ZERO));
    body_mut(&mut world, 1).x = Fixed::from_px(3_000);
    world.hurt(0, 100, None);
    assert!(!player_mut(&mut world, 1).alive);
    wait(&mut world, 30);
    assert_eq!(body(&world, 1).x, Fixed::from_px(3_000));
}

#[test]
fn animals_have_the_same_lands_at_each_tick_rate() {
    for rate in TickHz::ALL {
        for kind in [AnimalKind::Cow, AnimalKind::Pig, AnimalKind::Bull, AnimalKind::Wolf] {
            for (land, y_px) in PLACES {
                let mut world = bare_world(rate);
                let at = appear(&mut world, kind, 3_000, y_px + 100);
                let walks = animal_mut(&mut world, at);
                (walks.direction, walks.wait) = (Some(crate::Angle(0x4000)), 12_000);
                // The animal does not look around, so it does not turn.
                for _ in 0..rate.get() * 3 / 2 {
                    animal_mut(&mut world, at).sense_wait = 750;
                    wait(&mut world, 1);
                }
                let body = &world.state.animals[at].body;
                assert_eq!(world.bands().biome_at(body.y), land, "it has not left");
                let (percent, drift) = match land {
                    Biome::Snow => (0.75, 0.0),
                    Biome::Plains | Biome::Desert => (1.0, 0.0),
                    Biome::River => (0.33, 225.5),
                };
                let speed = f64::from(kind.animal().speed_px_per_s) * percent;
                let per_s = |at: Fixed| px(at) * f64::from(rate.get());
                let (right, down) = (per_s(body.vx), per_s(body.vy));
                assert!((down - speed).abs() < 1.0, "{kind:?} {down} px/s in {land:?} at {rate:?}");
                assert!((right - drift).abs() < 1.0, "{kind:?} {right} px/s in {land:?} at {rate:?}");
            }
        }
    }
}

#[test]
fn the_river_carries_living_animals_that_no_trap_holds() {
    for (health, held, carried) in [(500, false, true), (500, true, false), (0, false, false)] {
        let mut world = bare_world(TickHz::Hz30);
        let at = appear(&mut world, AnimalKind::Cow, 3_000, 6_840);
        wait(&mut world, 2);
        let mut cow = world.state.animals[at].clone();
        let stood = cow.body.x;
        (cow.body.vx, cow.body.vy, cow.body.health) = (Fixed::ZERO, Fixed::ZERO, health);
        if let Controller::Animal(animal) = &mut cow.controller {
            animal.is_trapped = held;
        }
        assert_eq!(cow.act(world.terrain(), &TickHz::Hz30.rates()), carried, "{health} {held}");
        assert_eq!(cow.body.x > stood, carried, "{health} {held}");
    }
}
