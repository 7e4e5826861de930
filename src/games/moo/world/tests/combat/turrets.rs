//! Turrets: targets, range, rate and ownership.

use crate::clan::ClanId;
use crate::command::Action;
use crate::controller::{Controller, Structure};
use crate::entity::{EntityId, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::TickHz;
use crate::snapshot::SnapshotError;
use crate::tests::{
    bare_world, body, body_mut, build, command, difference, events, player, player_mut, put, px, wait,
};
use crate::world::World;

/// A turret of player 1, which is then moved far away. Returns the turret's ID and x coordinate.
fn turret(rate: TickHz) -> (World, EntityId, i32) {
    let mut world = bare_world(rate);
    put(&mut world, 1, 7_000, 5_000);
    wait(&mut world, 2);
    let object = build(&mut world, 1, 17, 0);
    body_mut(&mut world, 1).x = Fixed::from_px(2_000);
    let x_px = world.structure(object).expect("it stands").x_px;
    // Long enough for the turret's first timer to expire.
    wait(&mut world, rate.get());
    (world, object, x_px)
}

/// IDs of the structures in `active_structures`.
fn turrets(world: &World) -> Vec<EntityId> {
    world.active_structures.iter().map(|at| world.state.structures[*at as usize].id).collect()
}

/// Adds a player at rest at a position.
fn stand(world: &mut World, id: u16, x: Fixed, y: Fixed) {
    put(world, id, 2_000 + 100 * i32::from(id), 10_000);
    wait(world, 2);
    let body = body_mut(world, id);
    (body.x, body.y) = (x, y);
}

fn shots(world: &World) -> usize {
    events(world).iter().filter(|event| matches!(event, WorldEvent::Shot { .. })).count()
}

/// Executes ticks for some milliseconds. Returns each player that was hurt. No player dies.
fn hurt_within(world: &mut World, ms: u32) -> Vec<u16> {
    let mut hurt = Vec::new();
    for _ in 0..ms * world.identity().tick_hz.get() / 1_000 {
        wait(world, 1);
        hurt.extend(events(world).iter().filter_map(|event| match event {
            WorldEvent::Hurt { player, amount: 25, .. } => Some(player.0),
            _ => None,
        }));
        world.state.players.iter_mut().filter(|it| it.body.health > 0).for_each(|it| it.body.health = 100);
    }
    hurt
}

#[test]
fn a_turret_sees_700_px_far_and_no_further_at_each_tick_rate() {
    for rate in TickHz::ALL {
        for (dx, dy) in [(1, 0), (-1, 0), (0, 1)] {
            for (beyond, is_in_range) in [(0, true), (1, false)] {
                let (mut world, object, x_px) = turret(rate);
                let far = |way: i32| Fixed(way * (Fixed::from_px(700).0 + beyond));
                let (x, y) = (
                    Fixed::from_px(x_px).saturating_add(far(dx)),
                    Fixed::from_px(5_000).saturating_add(far(dy)),
                );
                stand(&mut world, 2, x, y);
                let mut begun = 0;
                for _ in 0..rate.get() / 5 {
                    wait(&mut world, 1);
                    begun += shots(&world);
                }
                assert_eq!(begun, usize::from(is_in_range), "{dx} {dy} {beyond} at {rate:?}");
                if is_in_range {
                    let heading = crate::trig::direction(i64::from(dx), i64::from(dy));
                    assert_eq!(world.structure(object).expect("it stands").heading, heading);
                    assert_eq!(hurt_within(&mut world, 1_000), [2], "it reaches that far as well");
                }
            }
        }
    }
}

#[test]
fn a_bolt_begins_at_the_turrets_rim() {
    let (mut world, object, x_px) = turret(TickHz::Hz60);
    stand(&mut world, 2, Fixed::from_px(x_px), Fixed::from_px(5_300));
    while shots(&world) == 0 {
        wait(&mut world, 1);
    }
    let shot = world.projectiles().next().expect("it flies");
    assert_eq!(
        (shot.kind, shot.by, shot.body.owner, shot.body.heading),
        (1, object, PlayerId(1), Angle(0x4000))
    );
    assert_eq!((shot.body.x, shot.body.y), (Fixed::from_px(x_px), Fixed::from_px(5_043)));
    assert_eq!(shot.left, Fixed::from_px(700));
}

#[test]
fn a_turret_shoots_every_2200_ms_at_each_tick_rate() {
    for rate in TickHz::ALL {
        let (mut world, _, x_px) = turret(rate);
        stand(&mut world, 2, Fixed::from_px(x_px + 300), Fixed::from_px(5_000));
        let mut at_ms = Vec::new();
        for tick in 0..rate.get() * 23 {
            let body = body_mut(&mut world, 2);
            (body.x, body.vx, body.health) = (Fixed::from_px(x_px + 300), Fixed::ZERO, 100);
            wait(&mut world, 1);
            if shots(&world) > 0 {
                at_ms.push(tick * 1_000 / rate.get());
            }
        }
        assert!((10..=11).contains(&at_ms.len()), "{at_ms:?} at {rate:?}");
        assert!(at_ms.windows(2).all(|pair| (2_199..=2_201).contains(&(pair[1] - pair[0]))), "{at_ms:?}");
    }
}

#[test]
fn a_turret_shoots_at_the_nearest_and_of_equally_near_ones_at_the_lowest_number() {
    for (places, expected) in [
        ([(2, 400, 0), (3, 0, 300)], 3),
        ([(2, 0, -300), (3, 400, 0)], 2),
        ([(3, 300, 0), (2, 0, 300)], 2),
        ([(3, 0, 300), (4, -300, 0)], 3),
    ] {
        let (mut world, _, x_px) = turret(TickHz::Hz30);
        for (id, ..) in places {
            stand(&mut world, id, Fixed::from_px(2_500), Fixed::from_px(1_000 + 100 * i32::from(id)));
        }
        for (id, right_px, down_px) in places {
            let body = body_mut(&mut world, id);
            (body.x, body.y) = (Fixed::from_px(x_px + right_px), Fixed::from_px(5_000 + down_px));
        }
        assert_eq!(hurt_within(&mut world, 800), [expected], "{places:?}");
    }
}

#[test]
fn a_turret_does_no_harm_to_its_owner_its_mates_and_the_dead() {
    let (mut world, _, x_px) = turret(TickHz::Hz30);
    body_mut(&mut world, 1).x = Fixed::from_px(x_px + 100);
    stand(&mut world, 2, Fixed::from_px(x_px + 200), Fixed::from_px(5_000));
    for id in [1, 2] {
        player_mut(&mut world, id).clan = Some(ClanId(1));
    }
    assert_eq!(hurt_within(&mut world, 5_000), []);
    assert_eq!(world.state.next_shot, EntityId::FIRST_SHOT, "nothing was shot");
    stand(&mut world, 3, Fixed::from_px(x_px + 400), Fixed::from_px(5_000));
    assert_eq!(hurt_within(&mut world, 1_000), [3], "through owner and mate");
    world.hurt(2, 100, None);
    assert_eq!(hurt_within(&mut world, 5_000), []);
    player_mut(&mut world, 2).clan = None;
    assert_eq!(hurt_within(&mut world, 1_000), [2], "no mate any more");
}

#[test]
fn a_turret_without_an_owner_shoots_at_everyone_and_credits_no_player() {
    let (mut world, object, x_px) = turret(TickHz::Hz30);
    let at = world.find_structure(object).expect("it stands");
    world.state.structures[at].body.owner = PlayerId::OPERATOR;
    body_mut(&mut world, 1).x = Fixed::from_px(x_px + 300);
    body_mut(&mut world, 1).health = 20;
    let mut died = Vec::new();
    for _ in 0..30 {
        wait(&mut world, 1);
        died.extend(events(&world).iter().filter(|event| matches!(event, WorldEvent::Died { .. })).cloned());
    }
    assert_eq!(died, [WorldEvent::Died { player: PlayerId(1), by: None }]);
}

#[test]
fn a_turret_kill_credits_its_owner_until_the_owner_leaves() {
    for leaves in [false, true] {
        let (mut world, _, x_px) = turret(TickHz::Hz30);
        stand(&mut world, 2, Fixed::from_px(x_px + 600), Fixed::from_px(5_000));
        body_mut(&mut world, 2).health = 20;
        player_mut(&mut world, 2).growth.age = 3;
        while shots(&world) == 0 {
            wait(&mut world, 1);
        }
        if leaves {
            world.step(&mut vec![command(0, 9, Action::Leave { player: PlayerId(1) })]);
            assert_eq!((world.structures().count(), world.active_structures.len()), (0, 0));
        }
        let restored = World::restore(&world.snapshot()).expect("a world can be so");
        assert_eq!(restored.state, world.state);
        let mut by = Vec::new();
        for _ in 0..30 {
            wait(&mut world, 1);
            by.extend(events(&world).iter().filter_map(|event| match event {
                WorldEvent::Died { by, .. } => Some(*by),
                _ => None,
            }));
        }
        assert_eq!(by, [Some(PlayerId(1)).filter(|_| !leaves)]);
        if !leaves {
            assert_eq!((player(&world, 1).kills, player(&world, 1).resources[3]), (1, 10_300));
        }
    }
}

#[test]
fn walls_stop_a_turret_also_its_owners() {
    let (mut world, _, x_px) = turret(TickHz::Hz30);
    body_mut(&mut world, 1).x = Fixed::from_px(x_px + 100);
    let wall = build(&mut world, 1, 3, 0);
    body_mut(&mut world, 1).x = Fixed::from_px(2_000);
    stand(&mut world, 2, Fixed::from_px(x_px + 500), Fixed::from_px(5_000));
    assert_eq!(hurt_within(&mut world, 2_000), []);
    assert_eq!(world.structure(wall).expect("it stands").health, 355);
    assert_eq!(px(body(&world, 2).x), f64::from(x_px + 500));
}

#[test]
fn a_removed_turret_does_not_shoot() {
    let (mut world, object, x_px) = turret(TickHz::Hz30);
    stand(&mut world, 2, Fixed::from_px(x_px + 500), Fixed::from_px(5_000));
    assert_eq!(turrets(&world), [object]);
    let at = world.find_structure(object).expect("it stands");
    world.damage_structure(at, 800);
    assert_eq!(turrets(&world), []);
    assert_eq!(hurt_within(&mut world, 5_000), []);
}

#[test]
fn the_list_of_turrets_follows_from_the_state() {
    let (mut world, first, _) = turret(TickHz::Hz30);
    build(&mut world, 1, 3, 0);
    let second = build(&mut world, 1, 17, 0x8000);
    assert_eq!(turrets(&world), [first, second]);
    let mut restored = World::restore(&world.snapshot()).expect("it is a snapshot");
    assert_eq!(restored.active_structures, world.active_structures);
    put(&mut world, 2, 2_300, 5_300);
    put(&mut restored, 2, 2_300, 5_300);
    for _ in 0..100 {
        wait(&mut world, 1);
        wait(&mut restored, 1);
        assert_eq!(difference(&world, &restored), None);
    }
    assert!(body(&world, 2).health < 100, "they shoot");
}

#[test]
fn the_list_of_turrets_follows_added_and_removed_structures() {
    let (mut world, first, _) = turret(TickHz::Hz30);
    let wall = build(&mut world, 1, 3, 0);
    let second = build(&mut world, 1, 17, 0x8000);
    let mill = build(&mut world, 1, 10, 0x4000);
    for (gone, left) in
        [(mill, vec![first, second]), (wall, vec![first, second]), (first, vec![second]), (second, vec![])]
    {
        let at = world.find_structure(gone).expect("it stands");
        world.damage_structure(at, 800);
        assert_eq!(turrets(&world), left);
        let restored = World::restore(&world.snapshot()).expect("it is a snapshot");
        assert_eq!(restored.active_structures, world.active_structures);
    }
}

#[test]
fn no_turret_waits_longer_than_its_period() {
    for (wait, fits) in [(6_600, true), (6_601, false)] {
        let (mut world, ..) = turret(TickHz::Hz30);
        world.state.structures[0].controller = Controller::Structure(Structure { item: 17, wait });
        let restored = World::restore(&world.snapshot()).map(drop);
        assert_eq!(restored, if fits { Ok(()) } else { Err(SnapshotError::Value("timer of a structure")) });
    }
}
