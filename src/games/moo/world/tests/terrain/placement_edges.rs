//! Valid positions at the resolution of a fixed-point number: rims, edges, areas, spawn points.

use crate::controller::SceneryKind;
use crate::entity::{Body, PlayerId};
use crate::fixed::{Angle, Fixed};
use crate::player_index::PlayerIndex;
use crate::rng::Rng;
use crate::rules::TickHz;
use crate::spawn::spawn_point::choose_spawn_position;
use crate::terrain::{Obstacle, Terrain};
use crate::tests::{bare_world, body, body_mut, build, player_mut, put, px, wait, walk, world};
use crate::world::World;

fn at_px(x_px: i32, y_px: i32) -> (Fixed, Fixed) {
    (Fixed::from_px(x_px), Fixed::from_px(y_px))
}

/// The body of a player at rest.
fn body_at((x, y): (Fixed, Fixed)) -> Body {
    let (vx, vy, heading, owner) = (Fixed::ZERO, Fixed::ZERO, Angle(0), PlayerId(1));
    Body { x, y, vx, vy, heading, radius_px: 35, health: 100, owner }
}

#[test]
fn touching_a_rim_is_not_an_overlap() {
    let middle = Fixed::from_px(7_200);
    let terrain = Terrain::new(14_400, vec![Obstacle { x: middle, y: middle, radius_px: 90 }]);
    // The sum of 35 and 90 px is 125 px: an offset of 75 and 100 px, or of 125 px on one axis.
    for (dx, dy) in [(125, 0), (0, -125), (75, 100), (-100, 75), (-75, -100), (100, -75)] {
        let (x, y) = at_px(7_200 + dx, 7_200 + dy);
        let mut body = body_at((x, y));
        assert!(!terrain.settle(&mut body), "{dx}, {dy}");
        assert_eq!((body.x, body.y), (x, y), "{dx}, {dy}");
        assert!(terrain.is_free(x, y, 35), "{dx}, {dy}");
        let inward = |at: Fixed, way: i32| Fixed(at.0 - way.signum());
        let (x, y) = (inward(x, dx), inward(y, dy));
        let mut body = body_at((x, y));
        assert!(!terrain.is_free(x, y, 35), "a part nearer than {dx}, {dy}");
        assert!(terrain.settle(&mut body), "a part nearer than {dx}, {dy}");
    }
}

#[test]
fn only_a_body_beyond_the_edge_loses_its_speed() {
    let terrain = Terrain::new(14_400, Vec::new());
    let speed = Fixed::from_px(7);
    let back = Fixed(-speed.0);
    for (at, low) in [(35, true), (14_365, false)] {
        for (velocity, outward) in [(speed, !low), (back, low)] {
            for beyond in [0, 1] {
                let off = if low { -beyond } else { beyond };
                let (x, _) = at_px(at, 0);
                for swap in [false, true] {
                    let mut body = body_at((Fixed(x.0 + off), Fixed::from_px(7_000)));
                    body.vx = velocity;
                    if swap {
                        (body.x, body.y, body.vx, body.vy) = (body.y, body.x, body.vy, body.vx);
                    }
                    assert!(!terrain.settle(&mut body), "an edge is no thing");
                    let found = if swap { (body.y, body.vy) } else { (body.x, body.vx) };
                    let left = if beyond == 1 && outward { Fixed::ZERO } else { velocity };
                    assert_eq!(found, (x, left), "{at} px, {beyond} parts beyond");
                }
            }
        }
    }
}

#[test]
fn players_aslant_push_each_other_up_to_their_radii_and_never_pull() {
    for (dx, dy, apart) in [(42, 56, true), (-56, 42, true), (54, 54, true), (69, 69, true), (41, 56, false)]
    {
        for awake in [[1], [2]] {
            let mut world = bare_world(TickHz::Hz30);
            put(&mut world, 1, 7_000, 5_000);
            put(&mut world, 2, 9_000, 5_000);
            wait(&mut world, 2);
            let other = body_mut(&mut world, 2);
            (other.x, other.y) = at_px(7_000 + dx, 5_000 + dy);
            for id in awake {
                player_mut(&mut world, id).stirred = true;
            }
            wait(&mut world, 1);
            let found = body(&world, 2);
            let stays = (found.x, found.y) == at_px(7_000 + dx, 5_000 + dy);
            assert_eq!(stays, apart, "{dx}, {dy}");
        }
    }
}

#[test]
fn a_sleeper_is_pushed_across_the_border_of_two_cells() {
    // Cells are 256 px wide, so 7,168 px is a border on each axis.
    for (near, far) in [(7_130, 7_195), (7_199, 7_140)] {
        for swap in [false, true] {
            let mut world = bare_world(TickHz::Hz30);
            put(&mut world, 1, 3_000, 3_000);
            put(&mut world, 2, 5_000, 5_000);
            wait(&mut world, 2);
            for (id, at) in [(1, near), (2, far)] {
                let (x, y) = if swap { (6_000, at) } else { (at, 6_000) };
                let body = body_mut(&mut world, id);
                (body.x, body.y) = at_px(x, y);
            }
            player_mut(&mut world, 1).stirred = true;
            wait(&mut world, 1);
            let (one, two) = (body(&world, 1), body(&world, 2));
            let apart = (px(one.x) - px(two.x)).hypot(px(one.y) - px(two.y));
            assert!(apart > 69.9, "{apart} px between {near} and {far}");
        }
    }
}

#[test]
fn scenery_of_an_area_is_inside_the_area() {
    let side = 14_400 / 7;
    for seed in 0..30 {
        for (index, thing) in world(seed).scenery().take(7 * 7 * 12).enumerate() {
            let (area, place) = (index as i32 / 12, index % 12);
            let (left, top) = (area % 7 * side, area / 7 * side);
            let inside = (left..left + side).contains(&thing.x_px) && (top..top + side).contains(&thing.y_px);
            assert!(inside, "seed {seed}: {thing:?} in area {area}");
            assert_eq!(thing.kind, if place < 9 { SceneryKind::Tree } else { SceneryKind::Bush });
        }
    }
}

/// A map of minimum size, full of obstacles except around one position.
fn full_but_for(x_px: i32, y_px: i32) -> Terrain {
    let places = (0..1_440).step_by(24).flat_map(|y| (0..1_440).step_by(24).map(move |x| (x, y)));
    let is_far = |(x, y): &(i32, i32)| (x - x_px).pow(2) + (y - y_px).pow(2) >= 90 * 90;
    let obstacles = places.filter(is_far).map(|(x, y)| {
        let (x, y) = at_px(x, y);
        Obstacle { x, y, radius_px: 30 }
    });
    Terrain::new(1_440, obstacles.collect())
}

#[test]
fn the_last_free_place_is_found_wherever_the_search_begins() {
    // The positions of the search are 64 px apart, starting at 32 px.
    for (column, row) in [(1, 1), (3, 7), (20, 2), (5, 20), (20, 20)] {
        let middle = (column * 64 + 32, row * 64 + 32);
        let terrain = full_but_for(middle.0, middle.1);
        for seed in 0..40 {
            let mut rng = Rng::new(seed, 5);
            let found = choose_spawn_position((&[], &[]), &PlayerIndex::new(1_440), &terrain, &mut rng);
            let near = |at: Fixed, px: i32| (at.to_px() - px).abs() <= 1;
            assert!(near(found.0, middle.0) && near(found.1, middle.1), "{found:?} for {middle:?}");
        }
    }
}

#[test]
fn on_a_full_map_one_appears_in_the_middle_of_the_northern_plains() {
    for (size_px, x_px, y_px) in [(1_440, 736, 462), (14_400, 7_200, 4_619)] {
        let middle = Fixed::from_px(size_px / 2);
        let full = Obstacle { x: middle, y: middle, radius_px: 20_000 };
        let terrain = Terrain::new(size_px as u32, vec![full]);
        let found = choose_spawn_position(
            (&[], &[]),
            &PlayerIndex::new(size_px as u32),
            &terrain,
            &mut Rng::new(1, 1),
        );
        assert_eq!(found, at_px(x_px, y_px));
    }
}

/// A world with players at some positions. Each position has its number of players.
fn standing(places: &[((i32, i32), u16)]) -> World {
    let mut world = bare_world(TickHz::Hz30);
    let mut id = 0;
    for ((x_px, y_px), count) in places {
        for _ in 0..*count {
            id += 1;
            put(&mut world, id, *x_px, *y_px);
        }
    }
    world
}

/// Spawn points of new players, for a number of random tries.
fn newcomers(world: &World, tries: u32) -> Vec<(i32, i32)> {
    let mut crowd = PlayerIndex::new(world.identity().map_size_px);
    crowd.update(&world.state.players);
    let mut rng = Rng::new(7, 7);
    let mut one = || {
        choose_spawn_position((&world.state.players, &world.state.animals), &crowd, world.terrain(), &mut rng)
    };
    (0..tries).map(|_| one()).map(|(x, y)| (x.to_px(), y.to_px())).collect()
}

#[test]
fn a_newcomer_appears_on_the_screen_of_nineteen_but_not_of_twenty() {
    for (count, company) in [(1, true), (19, true), (20, false), (21, false)] {
        let world = standing(&[((3_000, 4_000), count)]);
        let found = newcomers(&world, 200);
        let near = found.iter().filter(|(x, y)| (x - 3_000).abs() <= 600 && (y - 4_000).abs() <= 400).count();
        assert!(if company { near == 200 } else { near < 5 }, "{near} of 200 near {count}");
    }
}

#[test]
fn a_new_player_has_95_px_of_space_along_an_axis() {
    let found = newcomers(&standing(&[((3_000, 4_000), 1)]), 60_000);
    let apart = |(x, y): &(i32, i32)| ((x - 3_000).abs(), (y - 4_000).abs());
    assert!(found.iter().map(apart).all(|(x, y)| x >= 95 || y >= 95), "nobody nearer");
    assert!(found.iter().map(apart).any(|(x, y)| x == 95 && y < 95), "just so near aside");
    assert!(found.iter().map(apart).any(|(x, y)| y == 95 && x < 95), "just so near above");
    let max_of = |axis: fn((i32, i32)) -> i32| found.iter().map(apart).map(axis).max();
    assert_eq!((max_of(|at| at.0), max_of(|at| at.1)), (Some(600), Some(400)), "and on the screen");
}

#[test]
fn a_player_just_out_of_view_does_not_count_for_the_crowd() {
    // The view extends 1,248 px to each side and 702 px up and down. A new player near the first
    // player is at most at the edge of the view of the other players.
    for (other, axis) in [((3_000 + 1_248 + 600, 4_000), 0), ((3_000, 4_000 + 702 + 400), 1)] {
        let world = standing(&[((3_000, 4_000), 1), (other, 19)]);
        let found = newcomers(&world, 60_000);
        let nearest = |(x, y): (i32, i32)| if axis == 0 { other.0 - x } else { other.1 - y };
        let beside_the_first =
            found.iter().filter(|(x, y)| (x - 3_000).abs() <= 600 && (y - 4_000).abs() <= 400);
        let min_distance = beside_the_first.map(|at| nearest(*at)).min();
        assert_eq!(min_distance, Some(if axis == 0 { 1_248 } else { 702 }), "on axis {axis}");
    }
}

/// Players at offsets from the middle of a bare map, on one line. Only some are awake.
/// Returns the offsets after one tick.
fn heap(places_px: &[i32], awake: &[u16]) -> Vec<f64> {
    let mut world = bare_world(TickHz::Hz30);
    for id in 1..=places_px.len() as u16 {
        put(&mut world, id, 2_000 + i32::from(id) * 500, 3_000);
    }
    wait(&mut world, 2);
    for (id, place_px) in (1..).zip(places_px) {
        let body = body_mut(&mut world, id);
        (body.x, body.y) = at_px(7_000 + place_px, 5_000);
        player_mut(&mut world, id).stirred = awake.contains(&id);
    }
    wait(&mut world, 1);
    (1..).zip(places_px).map(|(id, _)| px(body(&world, id).x) - 7_000.0).collect()
}

#[test]
fn in_a_heap_each_pair_is_pushed_once_in_the_order_of_awake_players() {
    // Players 1 and 2 are pushed first, to -20 and 50 px; then 1 and 3, to -25 and 45 px; then 2
    // and 3, by 32.5 px each. Player 1 is not visited again.
    assert_eq!(heap(&[0, 30, 40], &[1, 2, 3]), [-25.0, 82.5, 12.5]);
    // Player 1 sleeps. Player 2 pushes it to -20 px and moves to 50 px. Then player 2 pushes player
    // 3 to 10 px and moves to 80 px. Then player 3 pushes player 1 to -40 px and moves to 30 px.
    assert_eq!(heap(&[0, 30, 40], &[2, 3]), [-40.0, 80.0, 30.0]);
    assert_eq!(heap(&[0, 30, 40], &[]), [0.0, 30.0, 40.0], "who sleeps pushes nobody");
}

#[test]
fn half_an_overlap_is_rounded_up_so_that_one_tick_separates_two_players() {
    for (overlap, half) in [(1, 1), (2, 1), (3, 2), (65_536, 32_768), (0, 0), (-1, 0), (-9, 0)] {
        let mut world = bare_world(TickHz::Hz30);
        put(&mut world, 1, 7_000, 5_000);
        put(&mut world, 2, 9_000, 5_000);
        wait(&mut world, 2);
        let start = Fixed::from_px(7_070).0 - overlap;
        body_mut(&mut world, 2).x = Fixed(start);
        player_mut(&mut world, 2).stirred = true;
        wait(&mut world, 1);
        let moved = (Fixed::from_px(7_000).0 - body(&world, 1).x.0, body(&world, 2).x.0 - start);
        assert_eq!(moved, (half, half), "{overlap} parts");
    }
}

#[test]
fn building_does_not_move_dead_players() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 7_000, 5_000);
    put(&mut world, 2, 9_000, 5_000);
    wait(&mut world, 2);
    world.hurt(1, 100, None);
    let lying = body_mut(&mut world, 2);
    (lying.x, lying.y) = at_px(7_090, 5_010);
    build(&mut world, 1, 3, 0);
    walk(&mut world, 1, Some(0x8000));
    wait(&mut world, 10);
    assert_eq!((body(&world, 2).x, body(&world, 2).y), at_px(7_090, 5_010));
}

#[test]
fn distances_never_overflow() {
    // The offset on one axis is as large as a radius can be, and slightly more on the other axis,
    // within the same cell.
    let (x, y) = at_px(31_999, 31_999);
    let radius = i64::from(i32::MAX);
    for (dx, dy) in [(radius + 10_000_000, radius - 1), (radius - 1, radius + 10_000_000)] {
        let off = |at: Fixed, way: i64| Fixed((i64::from(at.0) - way) as i32);
        let thing = Obstacle { x: off(x, dx), y: off(y, dy), radius_px: i32::MAX };
        assert!(Terrain::new(32_000, vec![thing]).is_free(x, y, 0));
    }
}

#[test]
fn free_ground_considers_obstacles_of_the_next_cell() {
    // Cells are 256 px wide, so 4,096 px is a border. The rim is at 4,058 px. A query may require
    // up to 70 px of free space.
    for (place_px, room_px, free) in
        [(4_127, 70, false), (4_128, 70, true), (4_117, 60, false), (4_118, 60, true)]
    {
        for swap in [false, true] {
            let swapped = |(x, y): (Fixed, Fixed)| if swap { (y, x) } else { (x, y) };
            let (x, y) = swapped(at_px(4_008, 5_000));
            let terrain = Terrain::new(14_400, vec![Obstacle { x, y, radius_px: 50 }]);
            let (x, y) = swapped(at_px(place_px, 5_000));
            assert_eq!(terrain.is_free(x, y, room_px), free, "nature from {place_px} px");
            let mut world = bare_world(TickHz::Hz30);
            put(&mut world, 1, 3_000, 3_000);
            let (wall_x, wall_y) = swapped(at_px(4_008, 5_000));
            let own = body_mut(&mut world, 1);
            (own.x, own.y) = (wall_x.saturating_sub(Fixed::from_px(85)), wall_y);
            build(&mut world, 1, 3, 0);
            assert_eq!(world.terrain().is_free(x, y, room_px), free, "a wall from {place_px} px");
        }
    }
}
