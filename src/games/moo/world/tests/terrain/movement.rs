//! Walking at each tick rate: speed, its curve, directions and rest.

use std::f64::consts::PI;

use crate::fixed::Fixed;
use crate::rules::TickHz;
use crate::tests::{bare_world, body, body_mut, distance_px, player, put, px, wait, walk};
use crate::world::World;

/// A player in the middle of a bare map.
fn alone(rate: TickHz) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 9_200, 9_200);
    world
}

/// The distance covered in some milliseconds of walking.
fn way_px(rate: TickHz, direction: u16, ms: u32) -> f64 {
    let mut world = alone(rate);
    let start = body(&world, 1).clone();
    walk(&mut world, 1, Some(direction));
    wait(&mut world, rate.get() * ms / 1000 - 1);
    distance_px(body(&world, 1), &start)
}

#[test]
fn the_steady_speed_is_328_px_per_second_at_each_rate() {
    for rate in TickHz::ALL {
        let speed = way_px(rate, 0, 3_000) - way_px(rate, 0, 2_000);
        assert!((speed - 328.0).abs() < 0.5, "{speed} px/s at {rate:?}");
    }
}

#[test]
fn the_speed_is_the_same_in_every_direction() {
    for rate in TickHz::ALL {
        let eight = (0..8).map(|eighth| eighth * 8_192);
        for direction in eight.chain([1, 777, 12_345, 40_000, 65_535]) {
            let speed = way_px(rate, direction, 3_000) - way_px(rate, direction, 2_000);
            assert!((speed - 328.0).abs() < 0.5, "{speed} px/s towards {direction} at {rate:?}");
        }
    }
}

#[test]
fn a_walk_goes_where_its_angle_points() {
    for direction in (0..=u16::MAX).step_by(997) {
        let mut world = alone(TickHz::Hz30);
        let start = body(&world, 1).clone();
        walk(&mut world, 1, Some(direction));
        wait(&mut world, 60);
        let end = body(&world, 1);
        let angle = (px(end.y) - px(start.y)).atan2(px(end.x) - px(start.x)).rem_euclid(2.0 * PI);
        let off = angle * 32_768.0 / PI - f64::from(direction);
        assert!(off.abs() < 4.0 || (off.abs() - 65_536.0).abs() < 4.0, "{direction}: off by {off} parts");
    }
}

#[test]
fn the_way_from_rest_is_the_same_at_each_rate() {
    // 400 ms and 1 s are whole numbers of ticks at each rate.
    for ms in [200, 400, 1_000, 2_000] {
        let ways = TickHz::ALL.map(|rate| way_px(rate, 0, ms));
        let (min, max) =
            (ways.iter().copied().fold(f64::MAX, f64::min), ways.iter().copied().fold(0.0, f64::max));
        assert!(max - min < 2.0, "after {ms} ms: {ways:?} px");
    }
}

#[test]
fn nine_tenths_of_the_speed_are_reached_in_a_third_of_a_second() {
    for rate in TickHz::ALL {
        let mut world = alone(rate);
        let mut ticks = 1;
        walk(&mut world, 1, Some(0));
        while px(body(&world, 1).vx) * f64::from(rate.get()) < 0.9 * 328.0 {
            wait(&mut world, 1);
            ticks += 1;
        }
        let ms = ticks * 1000 / rate.get();
        assert!((300..=400).contains(&ms), "{ms} ms at {rate:?}");
    }
}

#[test]
fn a_player_that_stops_slides_the_same_distance_at_each_rate_and_sleeps() {
    let mut ways = Vec::new();
    for rate in TickHz::ALL {
        let mut world = alone(rate);
        walk(&mut world, 1, Some(0));
        wait(&mut world, rate.get() * 2 - 1);
        let start = body(&world, 1).clone();
        walk(&mut world, 1, None);
        wait(&mut world, rate.get());
        let end = body(&world, 1);
        assert_eq!((end.vx, end.vy), (Fixed::ZERO, Fixed::ZERO), "at {rate:?}");
        assert!(player(&world, 1).is_asleep(end), "at {rate:?}");
        ways.push(distance_px(end, &start));
    }
    let (min, max) =
        (ways.iter().copied().fold(f64::MAX, f64::min), ways.iter().copied().fold(0.0, f64::max));
    assert!(min > 40.0 && max < 50.0 && max - min < 2.0, "{ways:?} px");
}

#[test]
fn a_standing_player_changes_only_the_tick() {
    let mut world = alone(TickHz::Hz30);
    wait(&mut world, 30);
    let before = world.state.clone();
    wait(&mut world, 10);
    assert_eq!(world.state.tick, before.tick + 10);
    assert_eq!(world.state.players, before.players);
}

#[test]
fn a_player_that_walks_against_the_edge_stays_there() {
    let mut world = alone(TickHz::Hz30);
    body_mut(&mut world, 1).x = Fixed::from_px(35);
    walk(&mut world, 1, Some(32_768));
    wait(&mut world, 300);
    assert_eq!(body(&world, 1).x, Fixed::from_px(35));
}

#[test]
fn the_tick_after_the_last_one_is_the_first() {
    let mut world = alone(TickHz::Hz30);
    world.state.tick = u32::MAX;
    wait(&mut world, 1);
    assert_eq!(world.tick(), 0);
}
