//! Swings at players: damage, range and arc at their limits, swing rate at each tick rate,
//! knockback, slowness.

use crate::command::Action;
use crate::entity::PlayerId;
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{TickHz, ARC, MAX_SLOWNESS, WEAPONS};
use crate::tests::{
    act, bare_world, body, body_mut, distance_px, events, player, player_mut, put, px, swing, wait, walk,
};
use crate::trig::direction;
use crate::world::World;

/// A melee weapon of the original game: ID, name, damage, range (px), gather, period (ms), speed
/// (%), extra knockback (px/s).
type Row = (u8, &'static str, u16, i32, u32, u16, i32, i32);

const ROWS: [Row; 11] = [
    (0, "tool hammer", 25, 65, 1, 300, 100, 0),
    (1, "hand axe", 30, 70, 2, 400, 100, 0),
    (2, "great axe", 35, 75, 4, 400, 100, 0),
    (3, "short sword", 35, 110, 1, 300, 85, 0),
    (4, "katana", 40, 118, 1, 300, 80, 0),
    (5, "polearm", 45, 142, 1, 700, 82, 200),
    (6, "bat", 20, 110, 1, 300, 100, 700),
    (7, "daggers", 20, 65, 1, 100, 113, 100),
    (8, "stick", 1, 70, 7, 400, 100, 0),
    (10, "great hammer", 10, 75, 1, 400, 88, 0),
    (14, "mc grabby", 0, 125, 0, 700, 105, 200),
];

/// Two players on a bare map. The first holds `weapon` and looks at the second, which is `apart` to
/// its right.
fn facing(rate: TickHz, weapon: u8, apart: Fixed) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 7_000, 5_000);
    put(&mut world, 2, 9_000, 5_000);
    wait(&mut world, 2);
    body_mut(&mut world, 2).x = Fixed::from_px(7_000).saturating_add(apart);
    player_mut(&mut world, 1).hand.weapon = weapon;
    world
}

fn was_hit(world: &World) -> bool {
    events(world).iter().any(|event| matches!(event, WorldEvent::Swung { hit: true, .. }))
}

#[test]
fn the_table_has_the_expected_values() {
    let found: Vec<Row> = WEAPONS
        .iter()
        .filter(|of| of.shoots.is_none() && of.shield_percent == 100)
        .map(|of| {
            (
                of.id,
                of.name,
                of.damage,
                of.range_px,
                of.gather,
                of.period_ms,
                of.speed_percent,
                of.knock_px_per_s,
            )
        })
        .collect();
    assert_eq!(found, ROWS);
}

#[test]
fn a_stroke_takes_the_weapons_damage() {
    for (weapon, name, damage, ..) in ROWS {
        let mut world = facing(TickHz::Hz30, weapon, Fixed::from_px(80));
        swing(&mut world, 1);
        let (one, two) = (PlayerId(1), PlayerId(2));
        let hurt = WorldEvent::Hurt { player: two, by: Some(one), amount: damage };
        let expected = [WorldEvent::Swung { player: one, weapon, hit: true }, hurt];
        assert_eq!(events(&world), &expected[..if damage > 0 { 2 } else { 1 }], "{name}");
        assert_eq!((body(&world, 1).health, body(&world, 2).health), (100, 100 - damage), "{name}");
    }
}

#[test]
fn a_stroke_reaches_its_range_beyond_the_target_and_no_further() {
    for (weapon, name, _, range_px, ..) in ROWS {
        // As a target of a swing, a player of radius 35 counts 1.8 times as large: 63 px.
        let edge = Fixed::from_px(range_px + 63);
        for (apart, hit) in [(edge, true), (edge.saturating_add(Fixed(1)), false)] {
            let mut world = facing(TickHz::Hz30, weapon, apart);
            swing(&mut world, 1);
            assert_eq!(was_hit(&world), hit, "{name} at {apart:?}");
        }
    }
}

#[test]
fn the_arc_ends_at_69_degrees_to_each_side() {
    let degrees = f64::from(ARC) * 360.0 / 65_536.0;
    assert!((degrees - 180.0 / 2.6).abs() < 0.003, "{degrees}");
    for (off, hit) in [(0, true), (ARC, true), (ARC + 1, false), (0x8000, false)] {
        for heading in [off, off.wrapping_neg()] {
            let mut world = facing(TickHz::Hz30, 0, Fixed::from_px(80));
            body_mut(&mut world, 1).heading = Angle(heading);
            swing(&mut world, 1);
            assert_eq!(was_hit(&world), hit, "looking {heading} parts aside");
        }
    }
}

#[test]
fn the_arc_turns_with_the_head() {
    for heading in (0..=u16::MAX).step_by(1_237) {
        for (off, hit) in [(12_590, true), (12_616, false)] {
            let mut world = facing(TickHz::Hz30, 0, Fixed::ZERO);
            let angle = f64::from(heading) * std::f64::consts::PI / 32_768.0;
            let at = |centre: i32, way: f64| Fixed((centre << 16) + (way * 80.0 * 65_536.0) as i32);
            body_mut(&mut world, 2).x = at(7_000, angle.cos());
            body_mut(&mut world, 2).y = at(5_000, angle.sin());
            body_mut(&mut world, 1).heading = Angle(heading.wrapping_add(off));
            swing(&mut world, 1);
            assert_eq!(was_hit(&world), hit, "towards {heading}, looking {off} parts aside");
        }
    }
}

#[test]
fn holding_the_button_swings_at_the_weapons_rate_at_each_tick_rate() {
    for (weapon, name, .., period_ms, _, _) in ROWS {
        for rate in TickHz::ALL {
            let mut world = facing(rate, weapon, Fixed::from_px(1_000));
            let mut strokes = 0;
            act(&mut world, 1, Action::Attack { on: true });
            let ticks = rate.get() * 20;
            for _ in 0..ticks {
                strokes +=
                    events(&world).iter().filter(|event| matches!(event, WorldEvent::Swung { .. })).count();
                wait(&mut world, 1);
            }
            let passed_ms = f64::from(ticks - 1) * 1_000.0 / f64::from(rate.get());
            let expected = (passed_ms / f64::from(period_ms) + 1e-9) as usize + 1;
            assert_eq!(strokes, expected, "{name} at {rate:?}");
        }
    }
}

#[test]
fn the_first_swing_is_immediate_and_tapping_is_not_faster() {
    for rate in TickHz::ALL {
        let mut world = facing(rate, 0, Fixed::from_px(1_000));
        let mut times_ms = Vec::new();
        for tick in 0..rate.get() * 3 {
            act(&mut world, 1, Action::Attack { on: tick % 2 == 0 });
            if events(&world).iter().any(|event| matches!(event, WorldEvent::Swung { .. })) {
                times_ms.push(tick * 1_000 / rate.get());
            }
        }
        assert_eq!(times_ms[0], 0);
        // As with the button held, the part of a tick after the timer expired counts towards the
        // next swing.
        let is_due = |(stroke, at_ms): (u32, &u32)| *at_ms + 1 >= stroke * 300;
        assert!((0..).zip(&times_ms).all(is_due), "{times_ms:?} at {rate:?}");
    }
}

#[test]
fn swings_cannot_be_saved_up() {
    let mut world = facing(TickHz::Hz15, 0, Fixed::from_px(1_000));
    swing(&mut world, 1);
    wait(&mut world, 1_000);
    assert_eq!(player(&world, 1).hand.wait, 0);
    act(&mut world, 1, Action::Attack { on: true });
    // The next swing happens 300 ms after this one and not earlier: in the fifth tick of 66.7 ms.
    for tick in 1..=5 {
        wait(&mut world, 1);
        assert_eq!(events(&world).len(), usize::from(tick == 5), "after {tick} ticks");
    }
}

#[test]
fn a_stroke_knocks_back_the_same_way_at_each_tick_rate() {
    for (weapon, name, .., extra) in ROWS {
        // Friction leaves 0.993 of the speed per millisecond, so 300 px/s carry a body 42.7 px.
        let expected = f64::from(300 + extra) / 1_000.0 / -(0.993f64.ln());
        for rate in TickHz::ALL {
            for angle in [0, 5_000, 30_000, 51_000] {
                let mut world = facing(rate, weapon, Fixed::ZERO);
                let at = crate::trig::cosine(Angle(angle));
                body_mut(&mut world, 2).x = Fixed::from_px(7_000).saturating_add(Fixed(at).scaled(80 << 16));
                let at = crate::trig::sine(Angle(angle));
                body_mut(&mut world, 2).y = Fixed::from_px(5_000).saturating_add(Fixed(at).scaled(80 << 16));
                body_mut(&mut world, 1).heading = Angle(angle);
                let before = body(&world, 2).clone();
                swing(&mut world, 1);
                wait(&mut world, rate.get() * 2);
                let after = body(&world, 2);
                let way = distance_px(&before, after);
                assert!((way - expected).abs() < 2.0, "{name}: {way} of {expected} px at {rate:?}");
                let (dx, dy) = (after.x.saturating_sub(before.x), after.y.saturating_sub(before.y));
                let off = direction(i64::from(dx.0), i64::from(dy.0)).0.wrapping_sub(angle);
                assert!(off.min(off.wrapping_neg()) < 40, "{name}: {off} parts aside at {rate:?}");
            }
        }
    }
}

#[test]
fn knockback_from_many_swings_stays_within_the_speed_limit() {
    let mut world = bare_world(TickHz::Hz15);
    for id in 1..=40 {
        put(&mut world, id, 7_000, 5_000);
    }
    put(&mut world, 41, 7_001, 5_000);
    for id in 1..=41 {
        let body = body_mut(&mut world, id);
        (body.x, body.y) = (Fixed::from_px(7_000 + i32::from(id / 41)), Fixed::from_px(5_000));
        body.health = 60_000;
        player_mut(&mut world, id).hand.attacking = true;
        player_mut(&mut world, id).stirred = false;
    }
    world.invalidate_position_indices();
    world.fight();
    let speed = |id: u16| px(body(&world, id).vx).hypot(px(body(&world, id).vy));
    let fastest = (1..=41).map(speed).fold(0.0, f64::max);
    assert!((319.0..=320.0 * 1.5).contains(&fastest), "{fastest} px per tick");
    (1..=41).for_each(|id| body_mut(&mut world, id).health = 100);
    assert!(World::restore(&world.snapshot()).is_ok());
}

#[test]
fn a_swing_slows_the_attacker_by_three_tenths_for_375_ms() {
    for rate in TickHz::ALL {
        let mut world = facing(rate, 0, Fixed::from_px(1_000));
        swing(&mut world, 1);
        assert_eq!(player(&world, 1).slow, 9_000);
        let ticks = (rate.get() * 375).div_ceil(1_000);
        wait(&mut world, ticks - 1);
        assert!(player(&world, 1).slow > 0, "at {rate:?}");
        wait(&mut world, 1);
        assert_eq!(player(&world, 1).slow, 0, "at {rate:?}");
        assert!(player(&world, 1).is_asleep(body(&world, 1)), "at {rate:?}");
        assert_eq!(player(&world, 2).slow, 0);
    }
}

#[test]
fn a_player_that_keeps_swinging_walks_at_the_same_speed_at_each_tick_rate() {
    let mut speeds = Vec::new();
    for rate in TickHz::ALL {
        let mut world = facing(rate, 0, Fixed::from_px(1_000));
        player_mut(&mut world, 1).hand.attacking = true;
        walk(&mut world, 1, Some(49_152));
        wait(&mut world, rate.get() * 8);
        assert!(player(&world, 1).slow <= MAX_SLOWNESS);
        let before = body(&world, 1).clone();
        wait(&mut world, rate.get() * 3);
        speeds.push(distance_px(&before, body(&world, 1)) / 3.0);
    }
    // The lower bound is the minimum share of 0.3. The upper bound is the share after a recovery of
    // 300 ms.
    assert!(speeds.iter().all(|speed| (0.3 * 328.0..0.54 * 328.0).contains(speed)), "{speeds:?}");
    let (min, max) =
        (speeds.iter().copied().fold(f64::MAX, f64::min), speeds.iter().copied().fold(0.0, f64::max));
    assert!(max - min < 8.0, "{speeds:?}");
}

#[test]
fn a_stroke_lands_on_everyone_in_reach_in_the_order_of_their_numbers() {
    let mut world = facing(TickHz::Hz30, 0, Fixed::from_px(80));
    put(&mut world, 5, 9_000, 9_000);
    put(&mut world, 3, 9_200, 9_000);
    wait(&mut world, 2);
    for (id, y_px) in [(5, 4_940), (3, 5_060)] {
        body_mut(&mut world, id).x = Fixed::from_px(7_050);
        body_mut(&mut world, id).y = Fixed::from_px(y_px);
    }
    body_mut(&mut world, 2).x = Fixed::from_px(7_120);
    player_mut(&mut world, 1).hand.attacking = true;
    world.invalidate_position_indices();
    world.fight();
    let hurt: Vec<u16> = events(&world)
        .iter()
        .filter_map(|event| match event {
            WorldEvent::Hurt { player, .. } => Some(player.0),
            _ => None,
        })
        .collect();
    assert_eq!(hurt, [2, 3, 5]);
}

#[test]
fn of_two_players_that_would_kill_each_other_the_lower_number_survives() {
    let mut world = facing(TickHz::Hz30, 0, Fixed::from_px(80));
    body_mut(&mut world, 2).heading = Angle(0x8000);
    for id in [1, 2] {
        body_mut(&mut world, id).health = 10;
        player_mut(&mut world, id).hand.attacking = true;
    }
    wait(&mut world, 1);
    assert_eq!((player(&world, 1).alive, player(&world, 2).alive), (true, false));
    let swings = events(&world).iter().filter(|event| matches!(event, WorldEvent::Swung { .. })).count();
    assert_eq!(swings, 1, "who died does not strike back");
}
