//! Weapons that shoot, at each tick rate: tables, flight and targets.

use crate::clan::ClanId;
use crate::command::Action;
use crate::entity::{Embodied as _, EntityId, PlayerId};
use crate::fixed::{Angle, Fixed};
use crate::rules::{projectile, weapon, TickHz, PROJECTILES, WEAPONS};
use crate::tests::{
    act, bare_world, body, body_mut, command, distance_px, events, player, player_mut, put, px, wait,
};
use crate::{World, WorldEvent};

/// A weapon of the original game that shoots: ID, name, projectile, wood, stone, period (ms), speed
/// (%), recoil (px/s).
pub(crate) type Row = (u8, &'static str, u8, u32, u32, u16, i32, i32);

pub(crate) const ROWS: [Row; 4] = [
    (9, "bow", 0, 4, 0, 600, 75, 0),
    (12, "crossbow", 2, 5, 0, 700, 70, 0),
    (13, "repeater", 3, 10, 0, 230, 70, 0),
    (15, "musket", 5, 0, 10, 1_500, 60, 350),
];

/// A projectile of the original game: ID, damage, speed (px/s), range (px).
const FLYING: [(u8, u16, i32, i32); 5] = [
    (0, 25, 1_600, 1_000),
    (1, 25, 1_500, 700),
    (2, 35, 2_500, 1_200),
    (3, 30, 2_000, 1_200),
    (5, 50, 3_600, 1_400),
];

/// The shooter.
pub(crate) const ONE: PlayerId = PlayerId(1);
/// The target of the shooter.
const TWO: PlayerId = PlayerId(2);

/// Puts a weapon into a player's hand, and gives the player 10,000 of each resource.
pub(crate) fn arm(world: &mut World, id: u16, number: u8) {
    let slot = usize::from(weapon(number).expect("it is in the table").slot);
    let player = player_mut(world, id);
    player.kit.weapons[slot] = Some(number);
    player.hand.weapon = number;
    player.hand.item = None;
    player.resources = [10_000; 4];
}

/// Player 1 on a bare map with a weapon, looking to the right.
pub(crate) fn archer(rate: TickHz, number: u8) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 7_000, 5_000);
    wait(&mut world, 2);
    arm(&mut world, 1, number);
    world
}

/// Adds a player at rest, at an offset from player 1.
pub(crate) fn target(world: &mut World, id: u16, right: Fixed, down: Fixed) {
    put(world, id, 2_000 + 100 * i32::from(id), 10_000);
    wait(world, 2);
    let body = body_mut(world, id);
    (body.x, body.y) =
        (Fixed::from_px(7_000).saturating_add(right), Fixed::from_px(5_000).saturating_add(down));
}

pub(crate) fn aim_at(rate: TickHz, number: u8, right: Fixed, down: Fixed) -> World {
    let mut world = archer(rate, number);
    target(&mut world, 2, right, down);
    world
}

/// Executes one shot of a player, and one tick.
pub(crate) fn shoot(world: &mut World, id: u16) {
    act(world, id, Action::Attack { on: true });
    player_mut(world, id).hand.attacking = false;
}

/// Executes ticks until no projectile is in flight. Returns all events.
pub(crate) fn land(world: &mut World) -> Vec<WorldEvent> {
    let mut all = Vec::new();
    for _ in 0..200 {
        if world.projectiles().next().is_none() {
            return all;
        }
        wait(world, 1);
        all.extend_from_slice(events(world));
    }
    panic!("it flies for ever");
}

pub(crate) fn hurt(events: &[WorldEvent]) -> Vec<(u16, u16)> {
    let hurt = |event: &WorldEvent| match event {
        WorldEvent::Hurt { player, amount, .. } => Some((player.0, *amount)),
        _ => None,
    };
    events.iter().filter_map(hurt).collect()
}

pub(crate) fn end_of(events: &[WorldEvent]) -> (f64, f64) {
    let end = |event: &WorldEvent| match event {
        WorldEvent::ShotEnded { x, y, .. } => Some((px(*x), px(*y))),
        _ => None,
    };
    events.iter().find_map(end).expect("it has ended")
}

#[test]
fn the_tables_have_the_expected_values() {
    let shooters = WEAPONS.iter().filter_map(|of| {
        let [wood, food, stone, gold] = of.shot_cost;
        assert_eq!((food, gold), (0, 0), "{}", of.name);
        let row =
            (of.id, of.name, of.shoots?, wood, stone, of.period_ms, of.speed_percent, of.recoil_px_per_s);
        assert_eq!((of.slot, of.damage, of.shield_percent), (1, 0, 100), "{}", of.name);
        Some(row)
    });
    assert_eq!(shooters.collect::<Vec<Row>>(), ROWS);
    let flying = PROJECTILES.iter().map(|of| (of.kind, of.damage, of.speed_px_per_s, of.range_px));
    assert_eq!(flying.collect::<Vec<_>>(), FLYING);
    assert!(PROJECTILES.iter().all(|of| projectile(of.kind) == Some(of)));
    assert_eq!((projectile(4), projectile(255)), (None, None));
    let shields: Vec<_> = WEAPONS.iter().filter(|of| of.shield_percent < 100).collect();
    assert_eq!((shields.len(), shields[0].id, shields[0].shield_percent, shields[0].slot), (1, 11, 20, 1));
}

#[test]
fn a_shot_begins_at_the_rim_and_is_paid_for() {
    for (number, name, kind, wood, stone, ..) in ROWS {
        for heading in [0, 0x4000, 0x9000, 60_001] {
            let mut world = archer(TickHz::Hz30, number);
            body_mut(&mut world, 1).heading = Angle(heading);
            shoot(&mut world, 1);
            assert_eq!(events(&world), [WorldEvent::Shot { projectile: EntityId::FIRST_SHOT }], "{name}");
            let shot = world.projectile(EntityId::FIRST_SHOT).expect("it flies");
            assert_eq!((shot.kind, shot.by, shot.body.owner), (kind, ONE.entity(), ONE), "{name}");
            assert_eq!(shot.body.heading, Angle(heading), "{name}");
            assert_eq!(shot.left, Fixed::from_px(projectile(kind).expect("in the table").range_px), "{name}");
            let angle = f64::from(heading) * std::f64::consts::PI / 32_768.0;
            let off = (px(shot.body.x) - 7_000.0 - 35.0 * angle.cos())
                .hypot(px(shot.body.y) - 5_000.0 - 35.0 * angle.sin());
            assert!(off < 0.01, "{name} begins {off} px off");
            let left = [10_000 - wood, 10_000, 10_000 - stone, 10_000];
            assert_eq!(player(&world, 1).resources, left, "{name}");
        }
    }
}

#[test]
fn a_shot_flies_at_its_speed_and_exactly_its_range_at_each_tick_rate() {
    for (number, name, kind, ..) in ROWS {
        let (_, _, speed, range_px) = FLYING[FLYING.iter().position(|row| row.0 == kind).expect("a row")];
        for rate in TickHz::ALL {
            for heading in [0, 8_192, 20_000, 0x8000, 51_234] {
                let mut world = archer(rate, number);
                body_mut(&mut world, 1).heading = Angle(heading);
                shoot(&mut world, 1);
                let start = world.projectiles().next().expect("it flies").body.clone();
                let ticks = (range_px as u32 * rate.get()).div_ceil(speed as u32);
                for tick in 1..ticks {
                    wait(&mut world, 1);
                    let body = world.projectiles().next().expect("it flies").body;
                    let way = distance_px(&start, body);
                    let expected = f64::from(speed) * f64::from(tick) / f64::from(rate.get());
                    assert!((way - expected).abs() < 0.05, "{name}: {way} of {expected} px at {rate:?}");
                }
                wait(&mut world, 1);
                assert_eq!((world.projectiles().count(), events(&world).len()), (0, 1), "{name} at {rate:?}");
                let (x, y) = end_of(events(&world));
                let angle = f64::from(heading) * std::f64::consts::PI / 32_768.0;
                let far = f64::from(range_px);
                let off = (x - px(start.x) - far * angle.cos()).hypot(y - px(start.y) - far * angle.sin());
                assert!(off < 0.05, "{name} ends {off} px off at {rate:?}, heading {heading}");
            }
        }
    }
}

#[test]
fn a_shot_takes_its_damage_and_ends_at_the_rim_at_each_tick_rate() {
    for (number, name, kind, ..) in ROWS {
        let damage = projectile(kind).expect("in the table").damage;
        for rate in TickHz::ALL {
            for apart_px in [70, 71, 300, 517] {
                let mut world = aim_at(rate, number, Fixed::from_px(apart_px), Fixed::ZERO);
                shoot(&mut world, 1);
                let all = land(&mut world);
                let ended = WorldEvent::ShotEnded {
                    projectile: EntityId::FIRST_SHOT,
                    x: Fixed::from_px(7_000 + apart_px - 35),
                    y: Fixed::from_px(5_000),
                };
                let expected = [ended, WorldEvent::Hurt { player: TWO, by: Some(ONE), amount: damage }];
                assert_eq!(all, expected, "{name} at {rate:?} from {apart_px} px");
                assert_eq!((body(&world, 1).health, body(&world, 2).health), (100, 100 - damage), "{name}");
            }
        }
    }
}

#[test]
fn a_shot_hits_the_edge_of_the_rim_and_misses_just_beyond() {
    for (number, name, kind, ..) in ROWS {
        for rate in TickHz::ALL {
            // Offsets to the side of the path, and at the end of the range.
            let rim = Fixed::from_px(35);
            let range = Fixed::from_px(projectile(kind).expect("in the table").range_px);
            let far = rim.saturating_add(range).saturating_add(rim);
            let middle = Fixed::from_px(500);
            for (right, down, hit) in [
                (middle, rim, true),
                (middle, Fixed(-rim.0), true),
                (middle, rim.saturating_add(Fixed(1)), false),
                (middle, Fixed(-rim.0 - 1), false),
                (far, Fixed::ZERO, true),
                (far.saturating_add(Fixed(1)), Fixed::ZERO, false),
            ] {
                let mut world = aim_at(rate, number, right, down);
                shoot(&mut world, 1);
                let all = land(&mut world);
                assert_eq!(hurt(&all).len(), usize::from(hit), "{name} at {rate:?}: {right:?} {down:?}");
            }
        }
    }
}

#[test]
fn no_shot_passes_through_anyone_however_fast_it_is() {
    for apart_px in (71..1_400).step_by(13) {
        for heading in [0u16, 9_000] {
            let angle = f64::from(heading) * std::f64::consts::PI / 32_768.0;
            let at = |part: f64| Fixed((f64::from(apart_px) * part * 65_536.0) as i32);
            let mut world = aim_at(TickHz::Hz15, 15, at(angle.cos()), at(angle.sin()));
            body_mut(&mut world, 1).heading = Angle(heading);
            shoot(&mut world, 1);
            assert_eq!(hurt(&land(&mut world)), [(2, 50)], "from {apart_px} px");
        }
    }
}

#[test]
fn holding_the_button_shoots_at_the_weapons_rate_at_each_tick_rate() {
    for (number, name, .., period_ms, _, _) in ROWS {
        for rate in TickHz::ALL {
            let mut world = archer(rate, number);
            let mut shots = 0;
            act(&mut world, 1, Action::Attack { on: true });
            let ticks = rate.get() * 20;
            for _ in 0..ticks {
                shots +=
                    events(&world).iter().filter(|event| matches!(event, WorldEvent::Shot { .. })).count();
                wait(&mut world, 1);
            }
            let passed_ms = f64::from(ticks - 1) * 1_000.0 / f64::from(rate.get());
            let expected = (passed_ms / f64::from(period_ms) + 1e-9) as usize + 1;
            assert_eq!(shots, expected, "{name} at {rate:?}");
        }
    }
}

#[test]
fn a_player_that_cannot_pay_shoots_in_the_tick_in_which_it_can() {
    for (number, name, _, wood, stone, ..) in ROWS {
        let mut world = archer(TickHz::Hz30, number);
        let short = [wood.saturating_sub(1), 9, stone.saturating_sub(1), 9];
        player_mut(&mut world, 1).resources = short;
        act(&mut world, 1, Action::Attack { on: true });
        for _ in 0..100 {
            wait(&mut world, 1);
            assert_eq!((events(&world), player(&world, 1).hand.wait), (&[][..], 0), "{name}");
        }
        assert_eq!(player(&world, 1).resources, short);
        player_mut(&mut world, 1).resources = [wood, 9, stone, 9];
        wait(&mut world, 1);
        assert_eq!(events(&world).len(), 1, "{name}");
        assert_eq!(player(&world, 1).resources, [0, 9, 0, 9], "{name}");
        wait(&mut world, 100);
        assert_eq!(world.projectiles().count(), 0, "one shot was all that it could pay");
    }
}

#[test]
fn only_the_musket_has_recoil() {
    for (number, name, .., recoil) in ROWS {
        for rate in TickHz::ALL {
            let mut world = archer(rate, number);
            body_mut(&mut world, 1).heading = Angle(0x4000);
            let before = body(&world, 1).clone();
            shoot(&mut world, 1);
            wait(&mut world, rate.get() * 2);
            let expected = f64::from(recoil) / 1_000.0 / -(0.993f64.ln());
            let (x, y) = (px(body(&world, 1).x) - px(before.x), px(body(&world, 1).y) - px(before.y));
            assert!(x.abs() < 0.1 && (-y - expected).abs() < 2.0, "{name}: {x}, {y} px at {rate:?}");
        }
    }
}

#[test]
fn a_shot_knocks_along_its_flight_at_each_tick_rate() {
    for rate in TickHz::ALL {
        // The target is off the centre of the path. It is pushed along the path, not away from it.
        let mut world = aim_at(rate, 9, Fixed::from_px(200), Fixed::from_px(20));
        let before = body(&world, 2).clone();
        shoot(&mut world, 1);
        land(&mut world);
        wait(&mut world, rate.get() * 2);
        let expected = 0.3 / -(0.993f64.ln());
        let (x, y) = (px(body(&world, 2).x) - px(before.x), px(body(&world, 2).y) - px(before.y));
        assert!((x - expected).abs() < 2.0 && y == 0.0, "{x}, {y} px at {rate:?}");
    }
}

#[test]
fn the_nearest_is_hit_and_of_equally_near_ones_the_lowest_number() {
    let places = |near: &[(u16, i32, i32)]| {
        let mut world = archer(TickHz::Hz30, 9);
        for (id, right_px, down_px) in near {
            target(&mut world, *id, Fixed::from_px(*right_px), Fixed::from_px(*down_px));
        }
        shoot(&mut world, 1);
        hurt(&land(&mut world))
    };
    assert_eq!(places(&[(2, 400, 0), (3, 300, 0)]), [(3, 25)]);
    assert_eq!(places(&[(2, 300, 0), (3, 400, 0)]), [(2, 25)]);
    // The path of a tick is 53 px long, so both players are on it. The projectile enters the
    // player with the nearer centre later.
    assert_eq!(places(&[(2, 300, 34), (3, 305, 0)]), [(3, 25)]);
    assert_eq!(places(&[(3, 300, 10), (2, 300, -10)]), [(2, 25)]);
    assert_eq!(places(&[(5, 300, -10), (4, 300, 10)]), [(4, 25)]);
}

#[test]
fn a_shot_passes_through_its_shooter_mates_and_dead_players() {
    let mut world = aim_at(TickHz::Hz30, 9, Fixed::from_px(300), Fixed::ZERO);
    target(&mut world, 3, Fixed::from_px(600), Fixed::ZERO);
    for id in [1, 2] {
        player_mut(&mut world, id).clan = Some(ClanId(7));
    }
    shoot(&mut world, 1);
    // The shooter moves in front of its own arrow.
    body_mut(&mut world, 1).x = Fixed::from_px(7_150);
    assert_eq!(hurt(&land(&mut world)), [(3, 25)]);
    player_mut(&mut world, 2).clan = None;
    world.hurt(1, 100, None);
    player_mut(&mut world, 1).hand.wait = 0;
    shoot(&mut world, 1);
    assert_eq!(hurt(&land(&mut world)), [(3, 25)]);
}

#[test]
fn an_arrow_kill_credits_a_dead_shooter_but_not_a_departed_one() {
    for (gone, counts) in [("no", true), ("dead", true), ("left", false)] {
        let mut world = aim_at(TickHz::Hz30, 9, Fixed::from_px(600), Fixed::ZERO);
        body_mut(&mut world, 2).health = 20;
        player_mut(&mut world, 2).growth.age = 4;
        shoot(&mut world, 1);
        match gone {
            "dead" => world.hurt(0, 100, None),
            "left" => drop(world.step(&mut vec![command(0, 9, Action::Leave { player: ONE })])),
            _ => {}
        }
        let all = land(&mut world);
        let by = Some(ONE).filter(|_| counts);
        assert!(all.contains(&WorldEvent::Died { player: TWO, by }), "{gone}: {all:?}");
        if counts {
            let gold = if gone == "dead" { 10_000 } else { 10_400 };
            assert_eq!((player(&world, 1).kills, player(&world, 1).resources[3]), (1, gold), "{gone}");
        }
    }
}
