//! Collisions with scenery, with other players and with the edge of the map. No body passes through
//! another.

use crate::fixed::Fixed;
use crate::public_view::SceneryView;
use crate::rules::TickHz;
use crate::terrain::{Obstacle, Terrain};
use crate::tests::{bare_world, body, body_mut, distance_px, player, put, px, wait, walk, world_at};
use crate::world::World;

/// A world with one obstacle at (9,200 px, 9,200 px).
fn with_obstacle(rate: TickHz, radius_px: i32) -> World {
    let mut world = bare_world(rate);
    let middle = Fixed::from_px(9_200);
    world.terrain = Terrain::new(14_400, vec![Obstacle { x: middle, y: middle, radius_px }]);
    world
}

fn to_middle_px(world: &World) -> f64 {
    (px(body(world, 1).x) - 9_200.0).hypot(px(body(world, 1).y) - 9_200.0)
}

#[test]
fn a_player_that_runs_into_an_object_stands_on_its_rim() {
    for rate in TickHz::ALL {
        for radius_px in [48, 105, 175] {
            let mut world = with_obstacle(rate, radius_px);
            put(&mut world, 1, 8_800, 9_200);
            walk(&mut world, 1, Some(0));
            wait(&mut world, rate.get() * 5);
            let apart = to_middle_px(&world);
            let square = |at: Fixed| (i64::from(at.0) - (9_200 << 16)).pow(2);
            let outside = square(body(&world, 1).x) + square(body(&world, 1).y)
                >= i64::from((radius_px + 35) << 16).pow(2);
            assert!(outside, "a hair inside {radius_px} at {rate:?}");
            assert!(
                (apart - f64::from(radius_px + 35)).abs() < 0.01,
                "{apart} px from {radius_px} at {rate:?}"
            );
        }
    }
}

#[test]
fn a_player_at_the_centre_of_an_object_is_moved_to_the_right() {
    let mut world = with_obstacle(TickHz::Hz30, 90);
    put(&mut world, 1, 9_200, 9_200);
    world.player_mut(crate::PlayerId(1)).expect("the player is there").0.stirred = true;
    wait(&mut world, 1);
    assert_eq!((body(&world, 1).x, body(&world, 1).y), (Fixed::from_px(9_325), Fixed::from_px(9_200)));
}

#[test]
fn the_rim_is_never_a_hair_inside() {
    let mut rng = crate::rng::Rng::new(3, 3);
    let world = with_obstacle(TickHz::Hz30, 90);
    let mut body = {
        let mut other = bare_world(TickHz::Hz30);
        put(&mut other, 1, 9_200, 9_200);
        body(&other, 1).clone()
    };
    for _ in 0..1_000 {
        let (dx, dy) = (rng.between(-5_000_000, 5_000_000), rng.between(-5_000_000, 5_000_000));
        body.x = Fixed((9_200 << 16) + dx);
        body.y = Fixed((9_200 << 16) + dy);
        assert!(world.terrain().settle(&mut body));
        let square = |at: Fixed| (i64::from(at.0) - (9_200 << 16)).pow(2);
        let root = ((square(body.x) + square(body.y)) as f64).sqrt();
        assert!(square(body.x) + square(body.y) >= i64::from(125 << 16).pow(2), "from {dx}, {dy}: {root}");
        assert!(root < f64::from(125 << 16) + 3.0, "from {dx}, {dy}: {root}");
        assert!(!world.terrain().settle(&mut body), "what is on the rim stays there");
    }
}

#[test]
fn in_a_tick_with_contact_both_parts_of_the_speed_are_less_by_the_constant() {
    for rate in TickHz::ALL {
        let mut world = with_obstacle(rate, 100);
        put(&mut world, 1, 9_200 - 80, 9_200 - 80);
        let mut free = bare_world(rate);
        put(&mut free, 1, 9_200 - 80, 9_200 - 80);
        for world in [&mut world, &mut free] {
            body_mut(world, 1).vx = Fixed::from_px(9);
            body_mut(world, 1).vy = Fixed::from_px(5);
            walk(world, 1, Some(5_000));
        }
        let (touched, free) = (body(&world, 1), body(&free, 1));
        let contact = rate.rates().contact;
        assert_eq!(
            (touched.vx, touched.vy),
            (free.vx.scaled(contact), free.vy.scaled(contact)),
            "at {rate:?}"
        );
        assert!(touched.vx < free.vx && touched.vy < free.vy);
    }
}

#[test]
fn contact_costs_the_same_speed_at_each_tick_rate() {
    // The player slides along the upper half of the obstacle. The distance is the same at each tick
    // rate, so the time must be too.
    let times = TickHz::ALL.map(|rate| {
        let mut world = with_obstacle(rate, 105);
        put(&mut world, 1, 8_900, 9_180);
        walk(&mut world, 1, Some(0));
        let mut ticks = 1;
        while body(&world, 1).x < Fixed::from_px(9_500) && ticks < 10_000 {
            wait(&mut world, 1);
            ticks += 1;
        }
        f64::from(ticks) / f64::from(rate.get())
    });
    let free = 600.0 / 328.0;
    assert!(
        times.iter().all(|time| *time > free * 1.3 && *time < free * 4.0),
        "{times:?} s, {free} s without"
    );
    let (min, max) =
        (times.iter().copied().fold(f64::MAX, f64::min), times.iter().copied().fold(0.0, f64::max));
    assert!(max - min < 0.15 * min, "{times:?} s");
}

#[test]
fn nothing_is_passed_through_at_any_speed() {
    // The smallest obstacle and the highest speed, from each side.
    for rate in TickHz::ALL {
        for (turn, direction) in [(0, 0u16), (90, 16_384), (180, 32_768), (270, 49_152)] {
            let (sin, cos) = f64::from(turn).to_radians().sin_cos();
            let mut world = with_obstacle(rate, 48);
            put(&mut world, 1, 9_200 - (1_000.0 * cos) as i32, 9_200 - (1_000.0 * sin) as i32);
            walk(&mut world, 1, Some(direction));
            for _ in 0..20 {
                let fast = body_mut(&mut world, 1);
                fast.vx = Fixed::from_px((320.0 * cos) as i32);
                fast.vy = Fixed::from_px((320.0 * sin) as i32);
                wait(&mut world, 1);
                assert!(to_middle_px(&world) > 82.9, "inside, from {turn} degrees at {rate:?}");
                let body = body(&world, 1);
                let along = (px(body.x) - 9_200.0) * cos + (px(body.y) - 9_200.0) * sin;
                assert!(along < 0.0, "on the far side, from {turn} degrees at {rate:?}");
            }
        }
    }
}

#[test]
fn a_faster_body_than_there_can_be_is_slowed_to_the_bound() {
    for rate in TickHz::ALL {
        let mut world = bare_world(rate);
        put(&mut world, 1, 9_200, 9_200);
        body_mut(&mut world, 1).vx = Fixed(i32::MAX);
        body_mut(&mut world, 1).vy = Fixed(i32::MIN);
        walk(&mut world, 1, Some(0));
        let body = body(&world, 1);
        let max = Fixed::from_px(320);
        assert!(body.vx <= max && body.vy.0 >= -max.0, "{body:?} at {rate:?}");
        assert!(body.x <= Fixed::from_px(9_520) && body.y >= Fixed::from_px(8_880), "{body:?} at {rate:?}");
    }
}

#[test]
fn no_player_is_ever_inside_scenery() {
    for rate in TickHz::ALL {
        let mut world = world_at(11, rate);
        let things: Vec<SceneryView> = world.scenery().collect();
        for (index, thing) in things.iter().take(40).enumerate() {
            put(&mut world, index as u16 + 1, thing.x_px - 300, thing.y_px + 20);
        }
        for turn in 0..8u16 {
            for id in 1..=40 {
                // Animals may attack, so health is restored.
                body_mut(&mut world, id).health = 100;
                walk(&mut world, id, Some(turn * 8_192));
            }
            for _ in 0..rate.get() {
                wait(&mut world, 1);
                for view in world.players() {
                    let inside = |thing: &SceneryView| {
                        let (dx, dy) = (
                            px(view.body.x) - f64::from(thing.x_px),
                            px(view.body.y) - f64::from(thing.y_px),
                        );
                        dx.hypot(dy) < f64::from(thing.radius_px + 35) - 0.001
                    };
                    assert!(!things.iter().any(inside), "player {:?} at {rate:?}", view.id);
                }
            }
        }
    }
}

#[test]
fn the_edge_of_the_map_holds_and_takes_the_speed_towards_it() {
    let mut world = bare_world(TickHz::Hz20);
    for (direction, x_px, y_px) in
        [(24_576, 35, 14_365), (57_344, 14_365, 35), (40_960, 35, 35), (8_192, 14_365, 14_365)]
    {
        world = bare_world(world.identity().tick_hz);
        put(&mut world, 1, 9_200, 9_200);
        walk(&mut world, 1, Some(direction));
        wait(&mut world, 20 * 120);
        let body = body(&world, 1);
        assert_eq!((body.x, body.y), (Fixed::from_px(x_px), Fixed::from_px(y_px)), "towards {direction}");
        assert_eq!((body.vx, body.vy), (Fixed::ZERO, Fixed::ZERO));
    }
}

#[test]
fn two_players_push_each_other_half_the_overlap() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 9_000, 9_000);
    put(&mut world, 2, 9_050, 9_000);
    world.player_mut(crate::PlayerId(1)).expect("the player is there").0.stirred = true;
    wait(&mut world, 1);
    assert_eq!((body(&world, 1).x, body(&world, 2).x), (Fixed::from_px(8_990), Fixed::from_px(9_060)));
    assert_eq!((body(&world, 1).y, body(&world, 2).y), (Fixed::from_px(9_000), Fixed::from_px(9_000)));
}

#[test]
fn two_players_at_one_position_are_separated_and_come_to_rest() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 9_000, 9_000);
    put(&mut world, 2, 9_000, 9_000);
    walk(&mut world, 2, Some(16_384));
    walk(&mut world, 2, None);
    wait(&mut world, 60);
    assert!(distance_px(body(&world, 1), body(&world, 2)) > 69.99);
    assert!([1, 2].iter().all(|id| player(&world, *id).is_asleep(body(&world, *id))));
}

#[test]
fn a_sleeping_player_is_pushed_whatever_the_numbers() {
    for (walker, sleeper) in [(1, 2), (2, 1)] {
        let mut world = bare_world(TickHz::Hz30);
        put(&mut world, 1, 9_000, 9_000);
        put(&mut world, 2, 9_000, 9_000);
        body_mut(&mut world, walker).x = Fixed::from_px(8_900);
        wait(&mut world, 5);
        walk(&mut world, walker, Some(0));
        wait(&mut world, 60);
        assert!(body(&world, sleeper).x > Fixed::from_px(9_050), "{walker} pushes {sleeper}");
        assert!(distance_px(body(&world, 1), body(&world, 2)) > 69.9, "{walker} pushes {sleeper}");
    }
}

#[test]
fn an_overlap_too_small_to_halve_wakes_no_player() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 9_000, 9_000);
    put(&mut world, 2, 9_000, 9_000);
    // The diagonal is 70 px, minus one part on each axis.
    let side = (70.0 * 65_536.0 / 2f64.sqrt()) as i32;
    body_mut(&mut world, 2).x.0 += side;
    body_mut(&mut world, 2).y.0 += side;
    assert!(distance_px(body(&world, 1), body(&world, 2)) < 70.0);
    world.player_mut(crate::PlayerId(1)).expect("the player is there").0.stirred = true;
    wait(&mut world, 2);
    assert!([1, 2].iter().all(|id| player(&world, *id).is_asleep(body(&world, *id))));
}

#[test]
fn a_walker_pushes_a_row_of_sleepers_which_separate_and_come_to_rest() {
    let mut world = bare_world(TickHz::Hz30);
    for id in 1..=5 {
        put(&mut world, id, 9_000 + i32::from(id) * 72, 9_000);
    }
    walk(&mut world, 1, Some(0));
    wait(&mut world, 90);
    let last = px(body(&world, 5).x);
    assert!(last > 7_360.0 + 20.0, "the last one was pushed to {last}");
    walk(&mut world, 1, None);
    wait(&mut world, 90);
    for (a, b) in (1..=5u16).flat_map(|a| (a + 1..=5).map(move |b| (a, b))) {
        assert!(distance_px(body(&world, a), body(&world, b)) > 69.9, "{a} and {b}");
    }
    assert!((1..=5).all(|id| player(&world, id).is_asleep(body(&world, id))));
    assert!((2..=5).all(|id| player(&world, id).resources[3] == 0), "being pushed gives no gold");
}

#[test]
fn no_player_is_pushed_into_scenery_or_off_the_map() {
    let mut world = with_obstacle(TickHz::Hz30, 105);
    put(&mut world, 1, 9_060, 9_200);
    put(&mut world, 2, 8_990, 9_200);
    walk(&mut world, 2, Some(0));
    wait(&mut world, 120);
    assert!(to_middle_px(&world) > 139.99);
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 35, 35);
    put(&mut world, 2, 135, 35);
    walk(&mut world, 2, Some(32_768));
    wait(&mut world, 120);
    assert!(body(&world, 1).x >= Fixed::from_px(35) && body(&world, 1).y >= Fixed::from_px(35));
}

#[test]
fn free_ground_is_on_the_map_and_clear_of_scenery() {
    let world = with_obstacle(TickHz::Hz30, 100);
    let free = |x_px: i32, y_px: i32| world.terrain().is_free(Fixed::from_px(x_px), Fixed::from_px(y_px), 60);
    assert!(free(60, 60) && free(14_340, 14_340) && free(9_040, 9_200) && free(9_200, 9_361));
    assert!(!free(59, 60) && !free(60, 14_341) && !free(9_041, 9_200) && !free(9_200, 9_200));
    assert!(!free(-5_000, 9_000) && !free(i32::MAX, 60));
}
