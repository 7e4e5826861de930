//! Clicks: a press counts even if the button is released in the same tick.

use crate::command::{Action, Command, Selection};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{weapon, TickHz, WEAPONS};
use crate::tests::{act, bare_world, command, events, hold, player, player_mut, put, wait};
use crate::world::World;

/// A player alone on a bare map with a weapon and 100,000 of each resource.
fn armed(rate: TickHz, id: u8) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 7_000, 5_000);
    let armed = player_mut(&mut world, 1);
    armed.resources = [100_000; 4];
    armed.kit.weapons[usize::from(weapon(id).expect("a weapon").slot)] = Some(id);
    act(&mut world, 1, Action::Select { what: Selection::Weapon(id) });
    world
}

/// The commands of a press and a release in one tick.
fn click(world: &World) -> Vec<Command> {
    let next = player(world, 1).sequence + 1;
    (next..).zip([true, false]).map(|(sequence, on)| command(1, sequence, Action::Attack { on })).collect()
}

fn strokes(world: &World) -> usize {
    let is_stroke = |event: &&WorldEvent| matches!(event, WorldEvent::Swung { .. } | WorldEvent::Shot { .. });
    events(world).iter().filter(is_stroke).count().min(1)
}

#[test]
fn each_of_100_clicks_spaced_by_the_reload_is_a_stroke_with_each_weapon_at_each_tick_rate() {
    for rate in TickHz::ALL {
        // A shield cannot attack.
        for weapon in WEAPONS.iter().filter(|weapon| weapon.shield_percent == 100) {
            // Clicks in the tick in which the weapon is ready, and a part of a tick later.
            for late_ms in [0, 9, 20] {
                let mut world = armed(rate, weapon.id);
                let (mut landed, mut clicked) = (0, 0);
                for tick in 0.. {
                    let due_ms = u32::from(weapon.period_ms) * clicked + late_ms;
                    let now = clicked < 100 && tick * 1_000 >= due_ms * rate.get();
                    clicked += u32::from(now);
                    let mut commands = if now { click(&world) } else { Vec::new() };
                    world.step(&mut commands);
                    landed += strokes(&world);
                    if clicked == 100 && !now && !player(&world, 1).hand.has_pending_press() {
                        break;
                    }
                }
                assert_eq!(landed, 100, "{} at {rate:?}, {late_ms} ms late", weapon.name);
            }
        }
    }
}

#[test]
fn a_click_while_the_weapon_reloads_waits_one_tick_at_most() {
    // The hammer is ready 9 ticks after its swing.
    for (after, lands) in [(1, false), (7, false), (8, true), (9, true), (15, true)] {
        let mut world = armed(TickHz::Hz30, 0);
        world.step(&mut click(&world));
        assert_eq!(strokes(&world), 1);
        wait(&mut world, after - 1);
        world.step(&mut click(&world));
        let mut landed = strokes(&world);
        for _ in 0..30 {
            wait(&mut world, 1);
            landed += strokes(&world);
        }
        assert_eq!(landed, usize::from(lands), "{after} ticks after the stroke");
    }
}

#[test]
fn a_released_press_leads_to_exactly_one_swing() {
    let mut world = armed(TickHz::Hz30, 0);
    let twice = click(&world).into_iter().chain(
        (3..)
            .zip([true, false])
            .map(|(more, on)| command(1, player(&world, 1).sequence + more, Action::Attack { on })),
    );
    world.step(&mut twice.collect());
    assert_eq!((strokes(&world), player(&world, 1).hand.has_pending_press()), (1, false));
    for _ in 0..30 {
        wait(&mut world, 1);
        assert_eq!(strokes(&world), 0);
    }
}

#[test]
fn a_click_that_cannot_pay_for_a_shot_is_not_kept() {
    let mut world = armed(TickHz::Hz30, 9);
    player_mut(&mut world, 1).resources = [0; 4];
    world.step(&mut click(&world));
    assert!(!player(&world, 1).hand.has_pending_press());
    player_mut(&mut world, 1).resources = [100; 4];
    wait(&mut world, 1);
    assert_eq!(strokes(&world), 0);
}

#[test]
fn a_click_with_an_item_uses_it_once_and_does_not_swing() {
    let mut world = armed(TickHz::Hz30, 0);
    crate::tests::body_mut(&mut world, 1).heading = Angle(0);
    hold(&mut world, 1, 3);
    world.step(&mut click(&world));
    let placed = events(&world).iter().filter(|event| matches!(event, WorldEvent::Placed { .. })).count();
    assert_eq!((placed, strokes(&world)), (1, 0));
    wait(&mut world, 1);
    assert_eq!(strokes(&world), 0);
    let structure = world.structures().next().expect("it stands");
    assert!(Fixed::from_px(structure.x_px) > Fixed::from_px(7_000));
}
