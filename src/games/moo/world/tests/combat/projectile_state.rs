//! Projectiles as part of the state: limits, IDs, reserved space, dead reckoning, snapshots during
//! flight.

use crate::command::Action;
use crate::entity::{EntityId, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{TickHz, MAX_SHOTS};
use crate::tests::combat::projectiles::arm;
use crate::tests::{act, bare_world, body_mut, difference, events, player, player_mut, put, wait};
use crate::world::World;

/// `count` players in rows that shoot continuously with repeaters.
fn shooters(rate: TickHz, count: u16) -> World {
    let mut world = bare_world(rate);
    for id in 1..=count {
        put(&mut world, id, 3_000 + i32::from(id % 10) * 200, 3_000 + i32::from(id / 10) * 200);
        arm(&mut world, id, 13);
        body_mut(&mut world, id).heading = Angle(id.wrapping_mul(7_919));
        player_mut(&mut world, id).hand.attacking = true;
    }
    world
}

/// Fills the world with `count` projectiles that stay in flight for a while.
fn fill(world: &mut World, count: usize) {
    let shot = world.state.shots[0].clone();
    world.state.shots.clear();
    for number in 0..count {
        let mut shot = shot.clone();
        shot.id = EntityId(EntityId::FIRST_SHOT.0 + number as u32);
        world.state.shots.push(shot);
    }
    world.state.next_shot = EntityId(EntityId::FIRST_SHOT.0 + count as u32);
}

#[test]
fn at_the_limit_of_projectiles_a_shot_fails_without_cost() {
    for (free, shoot) in [(0, 0), (1, 1), (2, 2)] {
        let mut world = bare_world(TickHz::Hz30);
        for id in [1, 2, 3] {
            put(&mut world, id, 5_000, 3_000 + 200 * i32::from(id));
            arm(&mut world, id, 9);
        }
        wait(&mut world, 3);
        act(&mut world, 3, Action::Attack { on: true });
        fill(&mut world, MAX_SHOTS - free);
        let stock = player(&world, 1).resources;
        for id in [1, 2, 3] {
            player_mut(&mut world, id).hand.attacking = true;
            player_mut(&mut world, id).hand.wait = 0;
        }
        wait(&mut world, 1);
        let begun = events(&world).iter().filter(|event| matches!(event, WorldEvent::Shot { .. })).count();
        assert_eq!(begun, shoot, "{free} free");
        assert_eq!(world.projectiles().count(), MAX_SHOTS - free + shoot);
        for id in [1, 2] {
            let shot = usize::from(id) <= shoot;
            assert_eq!(player(&world, id).resources != stock, shot, "{free} free, player {id}");
            assert_eq!(player(&world, id).hand.wait > 0, shot, "{free} free, player {id}");
        }
    }
}

#[test]
fn projectile_numbers_restart_when_nothing_flies_and_never_overflow() {
    let mut world = shooters(TickHz::Hz30, 1);
    wait(&mut world, 1);
    assert_eq!(world.state.next_shot, EntityId(EntityId::FIRST_SHOT.0 + 1));
    player_mut(&mut world, 1).hand.attacking = false;
    wait(&mut world, 60);
    assert_eq!((world.state.shots.len(), world.state.next_shot), (0, EntityId::FIRST_SHOT));
    player_mut(&mut world, 1).hand.attacking = true;
    wait(&mut world, 1);
    world.state.shots[0].id = EntityId(u32::MAX - 1);
    world.state.next_shot = EntityId(u32::MAX);
    let mut waited = 0;
    let begun = |world: &World| {
        let shot = |event: &WorldEvent| match event {
            WorldEvent::Shot { projectile } => Some(*projectile),
            _ => None,
        };
        events(world).iter().find_map(shot)
    };
    while waited < 40 {
        wait(&mut world, 1);
        waited += 1;
        match begun(&world) {
            Some(id) => {
                assert_eq!(id, EntityId::FIRST_SHOT);
                break;
            }
            None => assert_eq!(world.state.next_shot, EntityId(u32::MAX)),
        }
    }
    assert_eq!(waited, 18, "1,200 px at 2,000 px/s: it shoots again when the first has landed");
}

#[test]
fn the_controller_alone_predicts_a_shot() {
    for rate in TickHz::ALL {
        let mut world = shooters(rate, 1);
        wait(&mut world, 1);
        let mut alone = world.state.shots[0].clone();
        player_mut(&mut world, 1).hand.attacking = false;
        let mut ticks = 0;
        while world.projectile(alone.id).is_some() {
            assert_eq!(world.state.shots[0], alone, "after {ticks} ticks at {rate:?}");
            assert!(alone.act(world.terrain(), &world.rates));
            wait(&mut world, 1);
            ticks += 1;
        }
        let (x, y) = (alone.body.x, alone.body.y);
        assert_eq!(events(&world), [WorldEvent::ShotEnded { projectile: alone.id, x, y }], "at {rate:?}");
    }
}

#[test]
fn a_world_restored_in_mid_flight_continues_identically() {
    for rate in TickHz::ALL {
        let mut world = shooters(rate, 30);
        for round in 0..20 {
            wait(&mut world, 3);
            let mut restored = World::restore(&world.snapshot()).expect("it is a snapshot");
            assert!(world.projectiles().count() > 0);
            wait(&mut world, 7);
            wait(&mut restored, 7);
            assert_eq!(difference(&world, &restored), None, "round {round} at {rate:?}");
        }
        assert!(world.players().any(|player| !player.alive), "they hit one another");
    }
}

#[test]
fn continuous_shooting_allocates_nothing() {
    let mut world = shooters(TickHz::Hz60, 60);
    let live_on = |world: &mut World| {
        for entity in &mut world.state.players {
            entity.body.health = 100;
            (entity.body.vx, entity.body.vy) = (Fixed::ZERO, Fixed::ZERO);
        }
        wait(world, 1);
    };
    let room = |world: &World| (world.state.shots.capacity(), world.outcome.events.capacity());
    let before = room(&world);
    let mut max_shots = 0;
    for _ in 0..600 {
        live_on(&mut world);
        max_shots = max_shots.max(world.projectiles().count());
    }
    assert!(max_shots > 60, "{max_shots} at once: more than one for each");
    assert_eq!(room(&world), before);
}

#[test]
fn shots_are_seen_by_number() {
    let mut world = shooters(TickHz::Hz30, 3);
    wait(&mut world, 1);
    let ids: Vec<EntityId> = world.projectiles().map(|shot| shot.id).collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]) && ids.len() == 3);
    for id in ids {
        let shot = world.projectile(id).expect("it flies");
        assert_eq!((shot.id, shot.kind, Some(shot.body.owner)), (id, 3, shot.by.player()));
        assert!([1, 2, 3].map(PlayerId).contains(&shot.body.owner));
    }
    assert!(world.projectile(EntityId::FIRST_SHOT).is_some());
    assert!(world.projectile(EntityId(u32::MAX)).is_none());
}
