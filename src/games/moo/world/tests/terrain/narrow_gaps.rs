//! Gaps that are too narrow, animals that push, and hunting animals near spawn points.

use crate::command::{Action, Spawned};
use crate::entity::PlayerId;
use crate::fixed::{Angle, Fixed};
use crate::rules::{AnimalKind, TickHz};
use crate::tests::animals::{animal_mut, appear, facing};
use crate::tests::{
    act, bare_world, body, body_mut, build, command, distance_px, join, player_mut, put, px, unprotect, wait,
    walk, world,
};
use crate::world::World;

/// The operator spawns a wood wall with a radius of 50 px.
fn wall(world: &mut World, x_px: u16, y_px: u16) {
    let sequence = world.operator_sequence() + 1;
    world.step(&mut vec![command(0, sequence, Action::Spawn { what: Spawned::Item(3), x_px, y_px })]);
    assert_eq!(world.outcome().rejected, []);
}

/// Two walls with a gap between them, and a player above the gap, `aside_px` to the side of its
/// middle.
fn before_a_gap(rate: TickHz, gap_px: u16, aside_px: i32) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 3_000, 3_000);
    wall(&mut world, 5_000, 5_000);
    wall(&mut world, 5_100 + gap_px, 5_000);
    let body = body_mut(&mut world, 1);
    body.x = Fixed::from_px(5_050 + i32::from(gap_px) / 2 + aside_px);
    body.y = Fixed::from_px(4_800);
    world
}

#[test]
fn a_player_walks_through_no_gap_narrower_than_itself_at_any_tick_rate() {
    for rate in TickHz::ALL {
        for gap_px in [50, 55, 60, 65, 69, 70, 80] {
            for aside_px in [-6, -1, 0, 3] {
                let mut world = before_a_gap(rate, gap_px, aside_px);
                // Straight on, and at angles to both sides.
                for way in [0x4000, 0x3000, 0x5000, 0x4000, 0x2800, 0x5800, 0x4000] {
                    walk(&mut world, 1, Some(way));
                    wait(&mut world, rate.get());
                    if body(&world, 1).y > Fixed::from_px(5_000) {
                        break;
                    }
                }
                let is_through = body(&world, 1).y > Fixed::from_px(5_000)
                    && (px(body(&world, 1).x) - f64::from(5_050 + i32::from(gap_px) / 2)).abs() < 100.0;
                if gap_px < 70 {
                    assert!(!is_through, "{gap_px} px, {aside_px} px aside at {rate:?}");
                }
            }
        }
    }
    let mut world = before_a_gap(TickHz::Hz30, 74, 0);
    walk(&mut world, 1, Some(0x4000));
    wait(&mut world, 60);
    assert!(body(&world, 1).y > Fixed::from_px(5_100), "where there is room one walks through");
}

#[test]
fn speed_does_not_help_through_a_narrow_gap() {
    for rate in TickHz::ALL {
        for gap_px in [50, 60, 69] {
            for px_per_s in [600, 1_500, 3_000, 4_500] {
                for start in 0..10 {
                    let mut world = before_a_gap(rate, gap_px, 0);
                    let body = body_mut(&mut world, 1);
                    body.y = Fixed::from_px(4_850 + start * 7);
                    body.vy = Fixed((px_per_s << 16) / rate.get() as i32);
                    player_mut(&mut world, 1).stirred = true;
                    wait(&mut world, rate.get() * 2);
                    let own = crate::tests::body(&world, 1);
                    assert!(own.y < Fixed::from_px(5_000), "{gap_px} px at {px_per_s} px/s, {rate:?}");
                }
            }
        }
    }
}

#[test]
fn no_player_is_pushed_through_a_narrow_gap() {
    for gap_px in [50, 60, 69] {
        let mut world = before_a_gap(TickHz::Hz30, gap_px, 0);
        for number in 1..=6 {
            wall(&mut world, 5_000 - number * 102, 5_000);
            wall(&mut world, 5_100 + gap_px + number * 102, 5_000);
        }
        body_mut(&mut world, 1).y = Fixed::from_px(4_930);
        for id in 2..=6 {
            put(&mut world, id, 5_050 + i32::from(gap_px) / 2, 4_930 - i32::from(id) * 60);
        }
        for id in 1..=6 {
            walk(&mut world, id, Some(0x4000));
        }
        wait(&mut world, 90);
        for id in 1..=6 {
            assert!(body(&world, id).y < Fixed::from_px(5_000), "player {id} through {gap_px} px");
        }
    }
}

#[test]
fn no_player_slips_between_a_wall_and_the_edge_of_the_map() {
    for room_px in [0, 20, 50, 69] {
        let mut world = bare_world(TickHz::Hz30);
        put(&mut world, 1, 3_000, 3_000);
        wall(&mut world, 50 + room_px, 5_000);
        let own = body_mut(&mut world, 1);
        (own.x, own.y) = (Fixed::from_px(35), Fixed::from_px(4_800));
        for way in [0x4000, 0x5000, 0x4000, 0x6000] {
            walk(&mut world, 1, Some(way));
            wait(&mut world, 40);
        }
        assert!(body(&world, 1).y < Fixed::from_px(5_000), "{room_px} px from the edge");
    }
}

#[test]
fn along_a_row_of_walls_one_walks_on() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 3_000, 3_000);
    (0..8).for_each(|number| wall(&mut world, 5_000 + number * 102, 5_000));
    let own = body_mut(&mut world, 1);
    (own.x, own.y) = (Fixed::from_px(5_000), Fixed::from_px(4_900));
    // Mostly along the walls, and slightly towards them.
    walk(&mut world, 1, Some(0x0800));
    wait(&mut world, 30 * 8);
    assert!(body(&world, 1).x > Fixed::from_px(5_600), "{:?}", body(&world, 1));
}

#[test]
fn a_player_that_is_built_in_can_leave_on_its_own_side() {
    // The second wall is built next to a player that stands slightly above the line between the
    // walls.
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 3_000, 3_000);
    put(&mut world, 2, 6_000, 3_000);
    wall(&mut world, 5_000, 5_000);
    let own = body_mut(&mut world, 1);
    (own.x, own.y) = (Fixed::from_px(5_080), Fixed::from_px(4_995));
    let builder = body_mut(&mut world, 2);
    (builder.x, builder.y) = (Fixed::from_px(5_160 + 85), Fixed::from_px(5_000));
    build(&mut world, 2, 3, 0x8000);
    walk(&mut world, 1, Some(0xc000));
    wait(&mut world, 60);
    assert!(body(&world, 1).y < Fixed::from_px(4_800));
}

/// A player between two walls that are 40 px apart. A third wall is then built on the player.
fn in_a_notch(rate: TickHz, (aside_px, below_px): (i32, i32), third: (u16, u16)) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 3_000, 3_000);
    wall(&mut world, 4_930, 5_000);
    wall(&mut world, 5_070, 5_000);
    let own = body_mut(&mut world, 1);
    (own.x, own.y) = (Fixed::from_px(5_000 + aside_px), Fixed::from_px(5_000 + below_px));
    wall(&mut world, third.0, third.1);
    world
}

#[test]
fn a_player_that_a_third_wall_is_built_upon_walks_out_on_its_own_side() {
    for rate in TickHz::ALL {
        for (place, third) in [
            ((0, 49), (5_000, 5_075)),
            ((0, 49), (5_000, 5_087)),
            ((0, 49), (5_000, 5_095)),
            ((0, 49), (5_010, 5_100)),
            ((0, 49), (4_985, 5_110)),
            ((0, 55), (5_000, 5_087)),
            ((3, 60), (5_000, 5_087)),
            ((0, 90), (5_000, 5_120)),
        ] {
            let walks_out = (0..16u16).any(|way| {
                let mut world = in_a_notch(rate, place, third);
                let start = body(&world, 1).clone();
                walk(&mut world, 1, Some(way << 12));
                wait(&mut world, 2 * rate.get());
                let own = body(&world, 1);
                let is_far = distance_px(own, &start) > 200.0;
                assert!(!is_far || own.y > Fixed::from_px(5_000) || (px(own.x) - 5_000.0).abs() > 150.0);
                is_far
            });
            assert!(walks_out, "from {place:?}, with a wall built at {third:?}, {rate:?}");
        }
    }
}

#[test]
fn building_on_a_player_does_not_free_it_from_a_pen() {
    let mut rng = crate::rng::Rng::new(11, 1);
    let mut put_beside = 0;
    for _ in 0..80 {
        let mut world = bare_world(TickHz::Hz30);
        for id in 1..=3 {
            put(&mut world, id, 3_000, 3_000 + i32::from(id) * 200);
        }
        // A square of walls with gaps of 20 px.
        for at in [4_760, 4_880, 5_000, 5_120, 5_240] {
            [4_760, 5_240].iter().for_each(|end| wall(&mut world, at, *end));
            [4_760, 5_240]
                .iter()
                .filter(|_| !matches!(at, 4_760 | 5_240))
                .for_each(|end| wall(&mut world, *end, at));
        }
        for id in 1..=3 {
            let own = body_mut(&mut world, id);
            own.x = Fixed::from_px(rng.between(4_846, 5_154));
            own.y = Fixed::from_px(rng.between(4_846, 5_154));
        }
        for _ in 0..30 {
            for id in 1..=3 {
                walk(&mut world, id, Some(rng.below(0x1_0000) as u16));
            }
            wait(&mut world, 10);
            let (x_px, y_px) = (rng.between(4_840, 5_160) as u16, rng.between(4_840, 5_160) as u16);
            let sequence = world.operator_sequence() + 1;
            let what = Spawned::Item(3);
            let before = [1, 2, 3].map(|id| body(&world, id).clone());
            world.apply(command(0, sequence, Action::Spawn { what, x_px, y_px }));
            put_beside += (1..=3).filter(|id| *body(&world, *id) != before[usize::from(*id) - 1]).count();
            wait(&mut world, 1);
            for id in 1..=3 {
                let own = body(&world, id);
                let is_inside = |at: Fixed| (4_760.0..5_240.0).contains(&px(at));
                assert!(is_inside(own.x) && is_inside(own.y), "player {id}: {own:?}");
            }
        }
    }
    assert!(put_beside > 20, "{put_beside} players were put beside what was built");
}

#[test]
fn a_player_jammed_at_the_edge_among_walls_stays_on_the_map() {
    let mut rng = crate::rng::Rng::new(7, 1);
    for round in 0..60 {
        let mut world = bare_world(TickHz::ALL[round % TickHz::ALL.len()]);
        for id in 1..=8 {
            put(&mut world, id, 3_000, 3_000 + i32::from(id) * 200);
        }
        // Walls on free ground near the left edge and in a corner.
        let top = if round % 2 == 0 { 50 } else { 5_000 };
        for _ in 0..40 {
            let (x_px, y_px) = (rng.between(50, 260) as u16, top + rng.below(500) as u16);
            let sequence = world.operator_sequence() + 1;
            let what = Spawned::Item(3);
            world.step(&mut vec![command(0, sequence, Action::Spawn { what, x_px, y_px })]);
        }
        for kind in [AnimalKind::Wolf, AnimalKind::Bull, AnimalKind::Bull, AnimalKind::Cow] {
            appear(&mut world, kind, 7_000, 7_000);
        }
        let bottom = i32::from(top) + 500;
        for animal in &mut world.state.animals {
            animal.body.x = Fixed::from_px(rng.between(84, 200));
            animal.body.y = Fixed::from_px(rng.between(i32::from(top).max(84), bottom));
        }
        for id in 1..=8 {
            let own = body_mut(&mut world, id);
            own.x = Fixed::from_px(rng.between(35, 160));
            own.y = Fixed::from_px(rng.between(i32::from(top), bottom));
        }
        for turn in 0..12u16 {
            for id in 1..=8 {
                body_mut(&mut world, id).health = 100;
                walk(
                    &mut world,
                    id,
                    Some(0x8000u16.wrapping_add((rng.below(0xa000) as u16).wrapping_sub(0x5000))),
                );
            }
            for tick in 0..4 {
                wait(&mut world, 1);
                let saved = world.snapshot();
                assert!(World::restore(&saved).is_ok(), "round {round}, turn {turn}, tick {tick}");
            }
        }
    }
}

#[test]
fn a_hunter_moves_a_standing_player_at_most_100_px_in_4_400_ms() {
    for rate in TickHz::ALL {
        for kind in [AnimalKind::Wolf, AnimalKind::Bull] {
            let mut world = facing(rate, kind, 300);
            animal_mut(&mut world, 0).sense_wait = 1;
            body_mut(&mut world, 1).health = 100;
            let start = body(&world, 1).clone();
            let mut strokes = 0;
            // 4,400 ms, counted from the first attack.
            let (mut left, mut farthest) = (rate.get() * 44 / 10, 0.0f64);
            while left > 0 {
                wait(&mut world, 1);
                // Health is restored, so that the player does not die in this time.
                strokes += u32::from(body(&world, 1).health < 100);
                body_mut(&mut world, 1).health = 100;
                left -= u32::from(strokes > 0);
                farthest = farthest.max(distance_px(body(&world, 1), &start));
            }
            assert_eq!(strokes, 5, "{kind:?} at {rate:?}");
            assert!(farthest > 60.0, "{kind:?} at {rate:?}: a stroke throws, {farthest} px");
            assert!(farthest <= 100.0, "{kind:?} at {rate:?}: {farthest} px");
        }
    }
}

#[test]
fn no_animal_pushes_a_standing_player() {
    for rate in TickHz::ALL {
        let mut world = bare_world(rate);
        put(&mut world, 1, 5_000, 5_000);
        wait(&mut world, 2);
        appear(&mut world, AnimalKind::Cow, 4_850, 5_000);
        let (cow, _) = world.state.animals[0].animal_mut().expect("a cow");
        (cow.direction, cow.wait) = (Some(Angle(0)), 30_000);
        wait(&mut world, rate.get() * 3);
        assert_eq!(body(&world, 1).x, Fixed::from_px(5_000), "at {rate:?}");
        let apart = px(body(&world, 1).x) - px(world.state.animals[0].body.x);
        assert!((apart - 107.0).abs() < 0.1, "it stands before the player: {apart} px");
    }
}

/// The distance of a player to the nearest animal of a kind that hunts.
fn nearest_hunter_px(world: &World, id: u16) -> f64 {
    let hunters = world.animals().filter(|view| view.kind.animal().damage > 0);
    hunters.map(|view| distance_px(view.body, body(world, id))).fold(f64::MAX, f64::min)
}

#[test]
fn no_player_spawns_within_400_px_of_a_hunter() {
    for seed in 0..40 {
        let mut world = world(seed);
        put(&mut world, 1, 7_000, 4_000);
        // Hunting animals surround the only player, near which new players would spawn.
        for (x_px, y_px) in [(6_700, 3_700), (7_300, 3_700), (6_700, 4_300), (7_300, 4_300), (7_000, 4_500)] {
            let sequence = world.operator_sequence() + 1;
            let what = Spawned::Animal(AnimalKind::Wolf);
            world.step(&mut vec![command(0, sequence, Action::Spawn { what, x_px, y_px })]);
        }
        let sequence = world.operator_sequence() + 1;
        world.step(&mut vec![join(sequence, 2)]);
        // The animals have moved for one tick since.
        assert!(nearest_hunter_px(&world, 2) > 380.0, "seed {seed}: {}", nearest_hunter_px(&world, 2));
        unprotect(&mut world, 2);
        world.hurt(1, 500, None);
        act(&mut world, 2, Action::Respawn { name: "p2".to_string(), skin: 0 });
        assert!(nearest_hunter_px(&world, 2) > 380.0, "seed {seed}, again: {}", nearest_hunter_px(&world, 2));
    }
}

#[test]
fn a_spawn_pad_beside_a_hunter_is_not_used() {
    for (x_px, is_used) in [(5_300, false), (5_480, false), (5_900, true)] {
        let mut world = bare_world(TickHz::Hz30);
        put(&mut world, 1, 5_000, 5_000);
        build(&mut world, 1, 20, 0);
        let pad = world.structures().next().map(|pad| (pad.x_px, pad.y_px)).expect("it stands");
        world.hurt(0, 500, None);
        appear(&mut world, AnimalKind::Wolf, x_px, 5_000);
        act(&mut world, 1, Action::Respawn { name: "p1".to_string(), skin: 0 });
        let own = world.player(PlayerId(1)).expect("it is there").body;
        assert_eq!((own.x.to_px(), own.y.to_px()) == pad, is_used, "a wolf at {x_px} px, the pad at {pad:?}");
    }
}
