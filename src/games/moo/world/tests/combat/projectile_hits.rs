//! The exact point at which a projectile hits: from inside a circle, from its rim, and at the end
//! of a tick's path.

use crate::command::Spawned;
use crate::controller::Controller;
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{TickHz, MAX_SHOTS};
use crate::tests::combat::projectiles::arm;
use crate::tests::{act, bare_world, body_mut, command, events, player_mut, put, wait};
use crate::trig::sine;
use crate::world::World;
use crate::Action;

/// The four headings along an axis, for which a path is exact, with the signs of their components.
const STRAIGHT: [(u16, i32, i32); 4] = [(0, 1, 0), (0x4000, 0, 1), (0x8000, -1, 0), (0xC000, 0, -1)];

/// An arrow that starts to fly in the next tick, without other entities near it.
fn in_flight(rate: TickHz, heading: u16) -> (World, Body) {
    let mut world = bare_world(rate);
    put(&mut world, 1, 7_000, 5_000);
    put(&mut world, 2, 2_000, 10_000);
    wait(&mut world, 2);
    arm(&mut world, 1, 9);
    body_mut(&mut world, 1).heading = Angle(heading);
    act(&mut world, 1, Action::Attack { on: true });
    player_mut(&mut world, 1).hand.attacking = false;
    body_mut(&mut world, 1).x = Fixed::from_px(2_000);
    let shot = world.projectiles().next().expect("it flies").body.clone();
    (world, shot)
}

/// Whether player 2 is hit in the next tick if it stands at an offset from the projectile.
fn is_hit(mut world: World, shot: &Body, right: i32, down: i32) -> bool {
    let victim = body_mut(&mut world, 2);
    (victim.x, victim.y) = (shot.x.saturating_add(Fixed(right)), shot.y.saturating_add(Fixed(down)));
    wait(&mut world, 1);
    events(&world).iter().any(|event| matches!(event, WorldEvent::Hurt { player: PlayerId(2), .. }))
}

#[test]
fn a_shot_that_begins_inside_hits_whichever_way_it_flies_and_one_on_the_rim_only_inwards() {
    let rim = Fixed::from_px(35).0;
    for rate in TickHz::ALL {
        for (heading, right, down) in STRAIGHT {
            for (ahead, hit) in [
                (rim, true),
                (rim - 1, true),
                (1, true),
                (0, true),
                (-1, true),
                (-rim / 2, true),
                (1 - rim, true),
                (-rim, false),
                (-rim - 1, false),
            ] {
                let (world, shot) = in_flight(rate, heading);
                let found = is_hit(world, &shot, ahead * right, ahead * down);
                assert_eq!(found, hit, "{ahead} / 65,536 px ahead towards {heading:#x} at {rate:?}");
            }
        }
    }
}

#[test]
fn a_shot_hits_in_the_tick_in_which_its_way_ends_on_the_rim_and_not_before() {
    for rate in TickHz::ALL {
        for (heading, right, down) in STRAIGHT {
            for (beyond, hit) in [(-1, true), (0, true), (1, false)] {
                let (world, shot) = in_flight(rate, heading);
                let way = shot.vx.0.abs() + shot.vy.0.abs();
                let ahead = Fixed::from_px(35).0 + way + beyond;
                let found = is_hit(world, &shot, ahead * right, ahead * down);
                assert_eq!(found, hit, "{beyond} / 65,536 px beyond towards {heading:#x} at {rate:?}");
            }
        }
    }
}

#[test]
fn a_shot_never_hits_beyond_its_path_and_the_rim_despite_rounding() {
    // At this angle the table's vector of sine and cosine is slightly shorter than 1, so that
    // distances along the path seem slightly shorter.
    let aside = 33;
    for rate in TickHz::ALL {
        for (heading, turned) in [(aside, false), (0x4000 - aside, true)] {
            for (beyond, hit) in [(0, true), (1, false), (10, false)] {
                let (world, shot) = in_flight(rate, heading);
                let way = Fixed((1_600_u32 << 16).div_ceil(rate.get()) as i32);
                let ahead = Fixed::from_px(35).0 + way.0 + beyond;
                // The foremost point of the rim in the direction of flight.
                let beside = way.scaled(sine(Angle(aside))).0;
                let (right, down) = if turned { (beside, ahead) } else { (ahead, beside) };
                let found = is_hit(world, &shot, right, down);
                assert_eq!(found, hit, "{beyond} / 65,536 px beyond towards {heading:#x} at {rate:?}");
            }
        }
    }
}

#[test]
fn a_shot_leaves_the_map_in_the_tick_in_which_its_way_is_longer_than_the_room() {
    for rate in TickHz::ALL {
        for (heading, right, down) in STRAIGHT {
            for (short, leaves) in [(0, false), (1, true)] {
                let (mut world, shot) = in_flight(rate, heading);
                let room = shot.vx.0.abs() + shot.vy.0.abs() - short;
                let far = Fixed::from_px(14_400).0;
                let flying = &mut world.state.shots[0].body;
                match (right, down) {
                    (1, _) => flying.x = Fixed(far - room),
                    (-1, _) => flying.x = Fixed(room),
                    (_, 1) => flying.y = Fixed(far - room),
                    _ => flying.y = Fixed(room),
                }
                wait(&mut world, 1);
                let ended = events(&world).iter().any(|event| matches!(event, WorldEvent::ShotEnded { .. }));
                assert_eq!(ended, leaves, "towards {heading:#x} at {rate:?}");
            }
        }
    }
}

#[test]
fn a_player_killed_by_a_swing_does_not_shoot_in_the_same_tick() {
    for (health, shots) in [(100, 1), (1, 0)] {
        let mut world = bare_world(TickHz::Hz30);
        put(&mut world, 1, 7_000, 5_000);
        put(&mut world, 2, 7_080, 5_000);
        wait(&mut world, 2);
        arm(&mut world, 2, 9);
        body_mut(&mut world, 1).heading = Angle(0);
        body_mut(&mut world, 2).health = health;
        let both = [1, 2].map(|id| {
            let sequence = world.player(PlayerId(id)).expect("it is there").sequence + 1;
            command(id, sequence, Action::Attack { on: true })
        });
        world.step(&mut both.to_vec());
        assert_eq!(world.outcome().rejected, []);
        let hurt = events(&world).iter().any(|it| matches!(it, WorldEvent::Hurt { player: PlayerId(2), .. }));
        assert!(hurt, "the stroke hits");
        assert_eq!(world.projectiles().count(), shots, "with {health} points of health");
    }
}

#[test]
fn dead_players_do_not_shoot() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 7_000, 5_000);
    wait(&mut world, 2);
    arm(&mut world, 1, 9);
    for (alive, shots) in [(false, 0), (true, 1)] {
        player_mut(&mut world, 1).alive = alive;
        assert_eq!(world.shoot(0), alive);
        assert_eq!(world.projectiles().count(), shots);
    }
}

#[test]
fn a_shot_hits_a_player_at_the_end_of_its_path_and_the_start_of_a_grid_cell() {
    let square = Fixed::from_px(20 * 256);
    for rate in TickHz::ALL {
        for (heading, right) in [(0, true), (0x4000, false)] {
            let (mut world, shot) = in_flight(rate, heading);
            let begin =
                square.saturating_sub(Fixed::from_px(35)).saturating_sub(shot.vx).saturating_sub(shot.vy);
            let flying = &mut world.state.shots[0].body;
            if right {
                flying.x = begin;
            } else {
                flying.y = begin;
            }
            let begins = flying.clone();
            let ahead = square.saturating_sub(begin).0;
            let (to_right, down) = if right { (ahead, 0) } else { (0, ahead) };
            assert!(is_hit(world, &begins, to_right, down), "towards {heading:#x} at {rate:?}");
        }
    }
}

#[test]
fn a_turret_shoots_only_when_there_is_room_in_the_air() {
    for (free, shoots) in [(1, true), (0, false)] {
        let (mut world, _) = in_flight(TickHz::Hz30, 0);
        let mut flying = world.state.shots[0].clone();
        if let Controller::Shot(shot) = &mut flying.controller {
            shot.left = Fixed::from_px(5_000);
        }
        body_mut(&mut world, 2).y = Fixed::from_px(1_000);
        let sequence = world.state.operator_sequence + 1;
        let what = Spawned::Item(17);
        let turret = Action::Spawn { what, x_px: 2_400, y_px: 10_000 };
        world.step(&mut vec![command(0, sequence, turret)]);
        assert_eq!(world.outcome().rejected, []);
        // Long enough for the turret's first timer to expire.
        wait(&mut world, 90);
        body_mut(&mut world, 2).y = Fixed::from_px(10_000);
        let count = MAX_SHOTS - free;
        let first = EntityId::FIRST_SHOT.0;
        world.state.shots =
            (first..).take(count).map(|id| Entity { id: EntityId(id), ..flying.clone() }).collect();
        world.state.next_shot = EntityId(first + count as u32);
        let mut shot = false;
        for _ in 0..30 {
            wait(&mut world, 1);
            shot |= events(&world).iter().any(|event| matches!(event, WorldEvent::Shot { .. }));
        }
        assert_eq!(shot, shoots, "with room for {free}");
    }
}
