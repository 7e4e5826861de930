//! The shield: which damage it reduces, from which directions, and which damage it does not reduce.

use crate::command::{Action, Selection};
use crate::entity::PlayerId;
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{TickHz, SHIELD_ARC, WEAPONS};
use crate::tests::combat::projectiles::arm;
use crate::tests::{act, bare_world, body, body_mut, build, events, player_mut, put, px, swing, wait};
use crate::world::World;

/// Player 2 with a shield, `apart_px` to the right of player 1. The players look at each other.
fn facing(apart_px: i32) -> World {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 7_000, 5_000);
    put(&mut world, 2, 9_000, 5_000);
    wait(&mut world, 2);
    body_mut(&mut world, 2).x = Fixed::from_px(7_000 + apart_px);
    body_mut(&mut world, 2).heading = Angle(0x8000);
    arm(&mut world, 2, 11);
    world
}

/// The damage of one shot or swing of a weapon to player 2.
fn harm(mut world: World, number: u8) -> u16 {
    arm(&mut world, 1, number);
    swing(&mut world, 1);
    wait(&mut world, 20);
    100 - body(&world, 2).health
}

#[test]
fn a_shield_leaves_a_fifth_of_every_stroke_and_shot_to_the_nearest_point() {
    let rows = [
        (0, 5),
        (1, 6),
        (2, 7),
        (3, 7),
        (4, 8),
        (5, 9),
        (6, 4),
        (7, 4),
        (8, 0),
        (9, 5),
        (10, 2),
        (11, 0),
        (12, 7),
        (13, 6),
        (14, 0),
        (15, 10),
    ];
    assert_eq!(rows.len(), WEAPONS.len());
    for (number, left) in rows {
        assert_eq!(harm(facing(100), number), left, "weapon {number}");
    }
}

#[test]
fn the_shield_covers_60_degrees_to_each_side_of_where_one_looks() {
    let degrees = f64::from(SHIELD_ARC) * 360.0 / 65_536.0;
    assert!((degrees - 60.0).abs() < 0.003, "{degrees}");
    for (off, covered) in [(0, true), (SHIELD_ARC, true), (SHIELD_ARC + 1, false), (0x8000, false)] {
        for heading in [off, off.wrapping_neg()] {
            for number in [0, 9] {
                let mut world = facing(100);
                body_mut(&mut world, 2).heading = Angle(0x8000u16.wrapping_add(heading));
                assert_eq!(
                    harm(world, number),
                    if covered { 5 } else { 25 },
                    "{heading} aside, weapon {number}"
                );
            }
        }
    }
}

#[test]
fn a_shield_stops_an_arrow_by_its_direction_not_by_the_position_of_the_shooter() {
    let mut world = facing(600);
    arm(&mut world, 1, 9);
    swing(&mut world, 1);
    // The shooter moves to the other side of the shield before the arrow arrives.
    body_mut(&mut world, 1).x = Fixed::from_px(7_800);
    wait(&mut world, 20);
    assert_eq!(body(&world, 2).health, 95);
}

#[test]
fn only_a_shield_in_the_hand_helps() {
    let mut away = facing(100);
    act(&mut away, 2, Action::Select { what: Selection::Weapon(0) });
    assert_eq!(harm(away, 0), 25, "it holds the hammer");
    let mut item = facing(100);
    act(&mut item, 2, Action::Select { what: Selection::Item(0) });
    assert_eq!(harm(item, 0), 25, "it holds an apple");
}

#[test]
fn a_shield_does_not_prevent_knockback() {
    for number in [0, 8, 9] {
        let mut world = facing(100);
        let before = px(body(&world, 2).x);
        arm(&mut world, 1, number);
        swing(&mut world, 1);
        wait(&mut world, 60);
        let way = px(body(&world, 2).x) - before;
        assert!((way - 42.7).abs() < 2.0, "{way} px by weapon {number}");
    }
}

#[test]
fn a_shield_does_not_help_against_spikes() {
    for (number, damage) in [(6, 20), (8, 30)] {
        let mut world = facing(2_000);
        build(&mut world, 1, number, 0);
        let spikes_px = world.structures().next().expect("they stand").x_px;
        body_mut(&mut world, 1).x = Fixed::from_px(3_000);
        let radius_px = world.structures().next().expect("they stand").item.radius_px;
        body_mut(&mut world, 2).x = Fixed::from_px(spikes_px + radius_px + 35);
        wait(&mut world, 1);
        assert_eq!(body(&world, 2).health, 100 - damage, "{number}");
        if number == 8 {
            wait(&mut world, 30);
            assert_eq!(body(&world, 2).health, 65, "nor against their poison");
        }
    }
}

#[test]
fn a_shield_neither_strikes_nor_shoots() {
    let mut world = facing(100);
    let before = player_mut(&mut world, 2).clone();
    act(&mut world, 2, Action::Attack { on: true });
    for _ in 0..60 {
        assert_eq!(events(&world), []);
        wait(&mut world, 1);
    }
    let after = player_mut(&mut world, 2);
    assert_eq!((after.hand.wait, after.slow, after.resources), (0, 0, before.resources));
    assert_eq!(body(&world, 1).health, 100);
    // The hammer can swing immediately.
    act(&mut world, 2, Action::Select { what: Selection::Weapon(0) });
    assert_eq!(events(&world)[0], WorldEvent::Swung { player: PlayerId(2), weapon: 0, hit: true });
}
