//! Effects of structures on players that touch them, and the income that they pay.

use crate::command::Action;
use crate::entity::PlayerId;
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{item, TickHz};
use crate::tests::{
    act, bare_world, body, body_mut, build, distance_px, events, player, player_mut, put, px, unprotect,
    wait, walk,
};
use crate::world::World;

/// Player 1 has built an item at about 7,035 px and is far away; player 2 is `apart_px` to the
/// right of it.
fn before(rate: TickHz, number: u8, apart_px: i32) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 7_000, 5_000);
    put(&mut world, 2, 9_000, 5_000);
    wait(&mut world, 2);
    build(&mut world, 1, number, 0);
    body_mut(&mut world, 1).x = Fixed::from_px(2_000);
    let centre_px = 7_035 + item(number).expect("it is in the table").scale_px;
    body_mut(&mut world, 2).x = Fixed::from_px(centre_px + apart_px);
    body_mut(&mut world, 2).vx = Fixed::ZERO;
    world
}

#[test]
fn spikes_hurt_and_knock_back_a_player_that_runs_into_them() {
    for rate in TickHz::ALL {
        for (number, damage, scale_px) in [(6, 20, 49), (7, 35, 52), (9, 45, 52)] {
            let mut world = before(rate, number, 120);
            walk(&mut world, 2, Some(0x8000));
            let mut hurt = false;
            for _ in 0..rate.get() {
                wait(&mut world, 1);
                hurt |= events(&world).contains(&WorldEvent::Hurt {
                    player: PlayerId(2),
                    by: Some(PlayerId(1)),
                    amount: damage,
                });
                if hurt {
                    break;
                }
            }
            assert!(hurt, "{number} at {rate:?}");
            let touched = body(&world, 2).clone();
            let apart = px(touched.x) - f64::from(7_035 + scale_px);
            assert!((apart - f64::from(scale_px + 35)).abs() < 0.01, "at its rim");
            walk(&mut world, 2, None);
            wait(&mut world, rate.get() * 2);
            let way = distance_px(&touched, body(&world, 2));
            // A knockback of 1,500 px/s carries a body 213 px. The remaining walking speed shortens
            // this distance.
            assert!((130.0..230.0).contains(&way), "thrown {way} px at {rate:?}");
            assert_eq!(body(&world, 2).health, 100 - damage);
        }
    }
}

#[test]
fn a_player_held_at_spikes_is_hurt_five_times_a_second_at_each_tick_rate() {
    for rate in TickHz::ALL {
        let mut world = before(rate, 6, 84);
        let mut times = 0;
        for _ in 0..rate.get() {
            // The player is moved back and healed in each tick.
            let body = body_mut(&mut world, 2);
            (body.x, body.vx, body.health) = (Fixed::from_px(7_084 + 84), Fixed::ZERO, 100);
            wait(&mut world, 1);
            times += events(&world).iter().filter(|event| matches!(event, WorldEvent::Hurt { .. })).count();
        }
        assert_eq!(times, 5, "at {rate:?}");
    }
}

#[test]
fn spikes_kill_for_their_owner() {
    let mut world = before(TickHz::Hz30, 6, 84);
    body_mut(&mut world, 2).health = 20;
    wait(&mut world, 1);
    assert!(!player(&world, 2).alive);
    assert_eq!((player(&world, 1).kills, player(&world, 1).resources[3]), (1, 10_100));
}

#[test]
fn a_trap_holds_others_until_it_is_broken() {
    let mut world = before(TickHz::Hz30, 15, 30);
    wait(&mut world, 1);
    walk(&mut world, 2, Some(0));
    let held_at = body(&world, 2).clone();
    wait(&mut world, 60);
    assert_eq!((body(&world, 2).x, body(&world, 2).vx), (held_at.x, Fixed::ZERO));
    assert!(world.player(PlayerId(2)).expect("it is there").held);
    body_mut(&mut world, 2).vx = Fixed::from_px(20);
    wait(&mut world, 1);
    assert_eq!(body(&world, 2).x, held_at.x, "not even knocked away");
    world.damage_structure(0, 500);
    wait(&mut world, 30);
    assert!(!player(&world, 2).ground.held);
    assert!(px(body(&world, 2).x) > px(held_at.x) + 200.0);
}

#[test]
fn a_trap_takes_hold_within_45_px_and_never_of_its_owner() {
    for (apart_px, held) in [(44, true), (46, false)] {
        let mut world = before(TickHz::Hz30, 15, apart_px);
        wait(&mut world, 1);
        assert_eq!(player(&world, 2).ground.held, held, "{apart_px} px apart");
        body_mut(&mut world, 1).x = body(&world, 2).x;
        body_mut(&mut world, 2).x = Fixed::from_px(3_000);
        wait(&mut world, 1);
        assert!(!player(&world, 1).ground.held && !player(&world, 2).ground.held);
    }
}

#[test]
fn a_boost_pad_throws_in_its_direction_at_each_tick_rate() {
    for rate in TickHz::ALL {
        for (heading, dx, dy) in [(0x4000, 0.0, 1.0), (0, 1.0, 0.0), (0xa000, -0.5f64.sqrt(), -0.5f64.sqrt())]
        {
            let mut world = bare_world(rate);
            put(&mut world, 1, 7_000, 5_000);
            wait(&mut world, 2);
            build(&mut world, 1, 16, heading);
            let pad = world.structures().next().expect("it stands");
            let own = body_mut(&mut world, 1);
            (own.x, own.y) = (Fixed::from_px(pad.x_px), Fixed::from_px(pad.y_px));
            let start = own.clone();
            wait(&mut world, 1);
            let speed = px(body(&world, 1).vx).hypot(px(body(&world, 1).vy)) * f64::from(rate.get());
            assert!((speed - 1_500.0).abs() < 1.0, "{speed} px/s at {rate:?}");
            wait(&mut world, rate.get() * 2);
            let (x, y) = (px(body(&world, 1).x) - px(start.x), px(body(&world, 1).y) - px(start.y));
            let way = x * dx + y * dy;
            // The player moves 213 px from the point at which it leaves the pad. That point is at
            // most 66 px away; with long ticks, the player leaves the pad at once.
            assert!((210.0..290.0).contains(&way), "thrown {way} px at {rate:?}");
            assert!((x * dy - y * dx).abs() < 2.0, "straight");
        }
    }
}

#[test]
fn a_healing_pad_heals_anyone_15_points_a_second_at_each_tick_rate() {
    for rate in TickHz::ALL {
        for id in [1, 2] {
            let mut world = before(rate, 19, 0);
            if id == 1 {
                body_mut(&mut world, 1).x = body(&world, 2).x;
                body_mut(&mut world, 2).x = Fixed::from_px(2_000);
            }
            wait(&mut world, 2);
            let at = usize::from(id - 1);
            world.hurt(at, 60, None);
            wait(&mut world, rate.get() * 2);
            let health = body(&world, id).health;
            assert!((69..=71).contains(&health), "{health} at {rate:?}");
            wait(&mut world, rate.get() * 3);
            assert_eq!(body(&world, id).health, 100, "at {rate:?}");
        }
    }
}

#[test]
fn windmills_pay_their_owner_at_each_tick_rate() {
    for rate in TickHz::ALL {
        for (number, paid) in [(10, 20), (11, 30), (12, 40)] {
            let mut world = before(rate, number, 500);
            let gold = player(&world, 1).resources[3];
            // The tick in which the windmill was built has already paid.
            wait(&mut world, rate.get() * 20 - 1);
            assert_eq!(player(&world, 1).resources[3] - gold, paid, "{number} at {rate:?}");
            world.damage_structure(0, 5_000);
            wait(&mut world, rate.get() * 5);
            assert_eq!(player(&world, 1).resources[3] - gold, paid, "it is gone");
        }
    }
}

#[test]
fn several_windmills_pay_together() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 7_000, 5_000);
    for number in 0..7 {
        body_mut(&mut world, 1).x = Fixed::from_px(3_000 + number * 200);
        build(&mut world, 1, 12, 0);
    }
    player_mut(&mut world, 1).kit.earned = 0;
    let before = player(&world, 1).resources[3];
    wait(&mut world, 300);
    assert_eq!(player(&world, 1).resources[3] - before, 7 * 2 * 10);
}

#[test]
fn a_player_respawns_on_its_spawn_pad() {
    let mut world = before(TickHz::Hz30, 20, 500);
    let pad = world.structures().next().expect("it stands");
    world.hurt(0, 500, None);
    act(&mut world, 1, Action::Respawn { name: "p1".to_string(), skin: 0 });
    let own = body(&world, 1);
    assert_eq!((own.x.to_px(), own.y.to_px()), (pad.x_px, pad.y_px));
    world.damage_structure(0, 5_000);
    unprotect(&mut world, 1);
    world.hurt(0, 500, None);
    act(&mut world, 1, Action::Respawn { name: "p1".to_string(), skin: 0 });
    assert!(distance_px(body(&world, 1), &own_place(&world, pad.x_px)) > 60.0);
}

fn own_place(world: &World, x_px: i32) -> crate::Body {
    let mut place = body(world, 1).clone();
    (place.x, place.y, place.heading) = (Fixed::from_px(x_px), Fixed::from_px(5_000), Angle(0));
    place
}
