//! Poison spikes: amount, timing, source and end of the damage.

use crate::command::Action;
use crate::controller::Poison;
use crate::entity::PlayerId;
use crate::event::WorldEvent;
use crate::fixed::Fixed;
use crate::rules::TickHz;
use crate::tests::{act, bare_world, body, body_mut, build, command, events, player, player_mut, put, wait};
use crate::world::World;

/// Player 2 touches poison spikes of player 1 in one tick, and is then moved far away.
fn poisoned(rate: TickHz) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 7_000, 5_000);
    put(&mut world, 2, 9_000, 5_000);
    wait(&mut world, 2);
    build(&mut world, 1, 8, 0);
    body_mut(&mut world, 1).x = Fixed::from_px(2_000);
    touch(&mut world);
    world
}

fn touch(world: &mut World) {
    body_mut(world, 2).x = Fixed::from_px(7_087 + 87);
    wait(world, 1);
    let body = body_mut(world, 2);
    (body.x, body.vx) = (Fixed::from_px(9_000), Fixed::ZERO);
}

/// Executes ticks for some seconds. Returns each damage to player 2: tick, source and amount.
fn harm(world: &mut World, seconds: u32) -> Vec<(u32, Option<PlayerId>, u16)> {
    let mut all = Vec::new();
    for tick in 1..=world.identity().tick_hz.get() * seconds {
        wait(world, 1);
        all.extend(events(world).iter().filter_map(|event| match event {
            WorldEvent::Hurt { player: PlayerId(2), by, amount } => Some((tick, *by, *amount)),
            _ => None,
        }));
    }
    all
}

#[test]
fn a_touch_hurts_30_at_once_and_5_each_second_for_5_seconds_at_each_tick_rate() {
    for rate in TickHz::ALL {
        let mut world = poisoned(rate);
        let one = Some(PlayerId(1));
        assert_eq!(events(&world), [WorldEvent::Hurt { player: PlayerId(2), by: one, amount: 30 }]);
        let hz = rate.get();
        let expected: Vec<_> = (1..=5).map(|second| (second * hz, one, 5)).collect();
        assert_eq!(harm(&mut world, 9), expected, "at {rate:?}");
        // Health starts to regenerate five seconds after the last damage, not earlier.
        assert_eq!(body(&world, 2).health, 45, "at {rate:?}");
        wait(&mut world, hz + 1);
        assert_eq!(body(&world, 2).health, 46, "at {rate:?}");
        assert_eq!(player(&world, 2).poison, Poison::default());
    }
}

#[test]
fn a_new_touch_restarts_the_poison() {
    let mut world = poisoned(TickHz::Hz30);
    assert_eq!(harm(&mut world, 2).len(), 2);
    body_mut(&mut world, 2).health = 100;
    touch(&mut world);
    let expected: Vec<_> = (1..=5).map(|second| (second * 30, Some(PlayerId(1)), 5)).collect();
    assert_eq!(harm(&mut world, 9), expected);
}

#[test]
fn other_spikes_do_not_poison_and_the_owner_is_never_poisoned() {
    let mut world = poisoned(TickHz::Hz30);
    body_mut(&mut world, 1).x = Fixed::from_px(7_087 + 87);
    wait(&mut world, 30);
    assert_eq!((body(&world, 1).health, &player(&world, 1).poison), (100, &Poison::default()));
    for plain in [6, 7, 9] {
        let mut world = bare_world(TickHz::Hz30);
        put(&mut world, 1, 7_000, 5_000);
        put(&mut world, 2, 9_000, 5_000);
        wait(&mut world, 2);
        build(&mut world, 1, plain, 0);
        body_mut(&mut world, 1).x = Fixed::from_px(2_000);
        let spikes = world.structures().next().expect("they stand");
        body_mut(&mut world, 2).x = Fixed::from_px(spikes.x_px + spikes.item.radius_px + 35);
        wait(&mut world, 1);
        assert!(body(&world, 2).health < 100, "{plain}");
        assert_eq!(player(&world, 2).poison, Poison::default(), "{plain}");
    }
}

#[test]
fn poison_kills_credit_the_owner_of_the_spikes_and_poison_ends_with_death() {
    let mut world = poisoned(TickHz::Hz30);
    body_mut(&mut world, 2).health = 7;
    player_mut(&mut world, 2).growth.age = 2;
    assert_eq!(harm(&mut world, 3), [(30, Some(PlayerId(1)), 5), (60, Some(PlayerId(1)), 2)]);
    assert_eq!((player(&world, 1).kills, player(&world, 1).resources[3]), (1, 10_200));
    assert_eq!((player(&world, 2).alive, &player(&world, 2).poison), (false, &Poison::default()));
    act(&mut world, 2, Action::Respawn { name: "p2".to_string(), skin: 0 });
    wait(&mut world, 200);
    assert_eq!(body(&world, 2).health, 100, "who plays again is well");
}

#[test]
fn a_player_killed_by_the_touch_is_not_poisoned() {
    let mut world = poisoned(TickHz::Hz30);
    player_mut(&mut world, 2).poison = Poison::default();
    wait(&mut world, 10);
    body_mut(&mut world, 2).health = 30;
    touch(&mut world);
    assert_eq!((player(&world, 2).alive, &player(&world, 2).poison), (false, &Poison::default()));
}

#[test]
fn poison_of_a_departed_player_credits_no_player() {
    let mut world = poisoned(TickHz::Hz30);
    world.step(&mut vec![command(0, 9, Action::Leave { player: PlayerId(1) })]);
    assert!(World::restore(&world.snapshot()).is_ok());
    // A new player with the same ID is not responsible for the old poison.
    put(&mut world, 1, 3_000, 3_000);
    assert_eq!(harm(&mut world, 1), [(28, None, 5)]);
}

#[test]
fn poison_keeps_its_owner_when_another_player_leaves() {
    let mut world = poisoned(TickHz::Hz30);
    put(&mut world, 3, 3_000, 3_000);
    world.step(&mut vec![command(0, 9, Action::Leave { player: PlayerId(3) })]);
    assert_eq!(harm(&mut world, 1), [(28, Some(PlayerId(1)), 5)]);
}
