//! Sleeping entities, the speed of a projectile in each tick, and the held weapon or item after an
//! upgrade.

use crate::controller::kit::Choice;
use crate::controller::{Animal, Shot};
use crate::entity::{Body, EntityId, PlayerId};
use crate::fixed::{Angle, Fixed};
use crate::rules::{item, weapon, AnimalKind, Group, TickHz, ITEMS, PROJECTILES};
use crate::tests::combat::projectiles::arm;
use crate::tests::{act, bare_world, body_mut, player, player_mut, put, wait};
use crate::Action;

/// A living body with a velocity and without an owner.
fn moving(vx: i32, vy: i32) -> Body {
    let at = Fixed::from_px(5_000);
    let (vx, vy) = (Fixed(vx), Fixed(vy));
    Body { x: at, y: at, vx, vy, heading: Angle(0), radius_px: 72, health: 10, owner: PlayerId::OPERATOR }
}

#[test]
fn an_animal_sleeps_only_if_it_stands_at_rest_and_was_not_pushed() {
    let standing = Animal { was_pushed: false, ..Animal::new(AnimalKind::Cow, true, 3_000) };
    assert!(standing.is_asleep(&moving(0, 0)));
    for (vx, vy) in [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1)] {
        assert!(!standing.is_asleep(&moving(vx, vy)), "it slides by {vx}, {vy}");
    }
    let stirred = Animal { was_pushed: true, ..standing.clone() };
    assert!(!stirred.is_asleep(&moving(0, 0)), "it was pushed");
    let walking = Animal { direction: Some(Angle(0)), ..standing };
    assert!(!walking.is_asleep(&moving(0, 0)), "it walks");
    for animal in [stirred, walking] {
        assert!(animal.is_asleep(&Body { health: 0, ..moving(0, 0) }), "it is dead");
    }
}

#[test]
fn a_player_sleeps_only_if_it_stands_at_rest_not_slowed_and_not_pushed() {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 5_000, 5_000);
    wait(&mut world, 2);
    let standing = player(&world, 1).clone();
    assert!(standing.is_asleep(&moving(0, 0)));
    for (vx, vy) in [(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1)] {
        assert!(!standing.is_asleep(&moving(vx, vy)), "it slides by {vx}, {vy}");
    }
    for change in [0, 1, 2] {
        let mut awake = standing.clone();
        match change {
            0 => awake.stirred = true,
            1 => awake.slow = 1,
            _ => awake.direction = Some(Angle(0)),
        }
        assert!(!awake.is_asleep(&moving(0, 0)), "{awake:?}");
        awake.alive = false;
        assert!(awake.is_asleep(&moving(0, 0)), "it is dead");
    }
}

/// A speed in 1/65,536 px per tick, rounded up.
fn rounded_up(speed_px_per_s: i32, rate: TickHz) -> i32 {
    (f64::from(speed_px_per_s) * 65_536.0 / f64::from(rate.get())).ceil() as i32
}

#[test]
fn a_shot_flies_a_ticks_part_of_its_speed_rounded_up_until_its_way_is_over() {
    for rate in TickHz::ALL {
        let rates = rate.rates();
        for kind in &PROJECTILES {
            let left = Fixed::from_px(kind.range_px);
            let mut shot = Shot { kind: kind.kind, by: EntityId(1), left };
            let way = Fixed(rounded_up(kind.speed_px_per_s, rate));
            assert_eq!(shot.step_length(&rates), way, "{} at {rate:?}", kind.name);
            shot.left = Fixed(way.0 - 1);
            assert_eq!(shot.step_length(&rates), shot.left, "the end of {} at {rate:?}", kind.name);
        }
    }
}

#[test]
fn a_shot_has_the_velocity_at_which_it_flies() {
    for rate in TickHz::ALL {
        for (heading, right, down) in [(0, 1, 0), (0x4000, 0, 1), (0x8000, -1, 0), (0xC000, 0, -1)] {
            for number in [9, 12, 13, 15] {
                let mut world = bare_world(rate);
                put(&mut world, 1, 7_000, 5_000);
                wait(&mut world, 2);
                arm(&mut world, 1, number);
                body_mut(&mut world, 1).heading = Angle(heading);
                act(&mut world, 1, Action::Attack { on: true });
                let kind = weapon(number).and_then(|weapon| weapon.shoots).expect("it shoots");
                let flying = world.projectiles().next().expect("it flies").body.clone();
                let kind = PROJECTILES.iter().find(|it| it.kind == kind).expect("it is in the table");
                let speed = rounded_up(kind.speed_px_per_s, rate);
                let expected = (Fixed(right * speed), Fixed(down * speed));
                assert_eq!((flying.vx, flying.vy), expected, "{} at {rate:?}", kind.name);
            }
        }
    }
}

#[test]
fn an_upgrade_removes_from_the_hand_only_what_it_replaces() {
    for held in ITEMS.iter().filter(|held| held.group != Group::Food) {
        for chosen in &ITEMS {
            let mut world = bare_world(TickHz::Hz30);
            put(&mut world, 1, 5_000, 5_000);
            let player = player_mut(&mut world, 1);
            player.kit.items[held.group as usize] = Some(held.id);
            player.hand.item = Some(held.id);
            player.choose(Choice::Item(item(chosen.id).expect("an item")));
            let retained = (held.group != chosen.group).then_some(held.id);
            assert_eq!(player.hand.item, retained, "{} in the hand, {} chosen", held.name, chosen.name);
        }
    }
}
