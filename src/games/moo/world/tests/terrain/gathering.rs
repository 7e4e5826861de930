//! Swings at scenery: resources, range and experience.

use crate::command::Action;
use crate::controller::{Controller, SceneryKind};
use crate::entity::{EntityId, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{Resource, TickHz, ARC, WEAPONS};
use crate::tests::{act, body_mut, command, events, player, player_mut, put, swing, wait, world};
use crate::world::World;

/// A world with a single scenery object, and player 1 at a distance to its left, looking at it.
fn before(kind: SceneryKind, scale_px: i32, apart: Fixed) -> World {
    let mut state = world(1).state;
    let mut thing = state.scenery.swap_remove(0);
    state.scenery.clear();
    thing.controller = Controller::Scenery(crate::controller::Scenery { kind, scale_px });
    thing.body.radius_px = kind.radius_px(scale_px);
    (thing.body.x, thing.body.y) = (Fixed::from_px(7_000), Fixed::from_px(5_000));
    state.scenery.push(thing);
    let mut world = World::from_state(state);
    put(&mut world, 1, 3_000, 3_000);
    wait(&mut world, 2);
    let body = body_mut(&mut world, 1);
    (body.x, body.y) = (Fixed::from_px(7_000).saturating_sub(apart), Fixed::from_px(5_000));
    world
}

#[test]
fn each_kind_of_scenery_gives_its_resource_and_a_point_of_score_for_each_unit() {
    let rows = [
        (SceneryKind::Tree, 150, [1, 0, 0, 0], 1),
        (SceneryKind::Bush, 80, [0, 1, 0, 0], 1),
        (SceneryKind::Rock, 80, [0, 0, 1, 0], 1),
        (SceneryKind::Gold, 80, [0, 0, 0, 5], 5),
    ];
    for (kind, scale_px, gained, score) in rows {
        let mut world = before(kind, scale_px, Fixed::from_px(scale_px + 40));
        swing(&mut world, 1);
        let expected = [
            WorldEvent::Swung { player: PlayerId(1), weapon: 0, hit: true },
            WorldEvent::Struck { object: EntityId(65_536), direction: Angle(0), player: PlayerId(1) },
        ];
        assert_eq!(events(&world), expected, "{kind:?}");
        let player = world.player(PlayerId(1)).expect("it is there");
        assert_eq!((player.resources, player.score, player.xp), (gained, score, 4), "{kind:?}");
    }
}

#[test]
fn each_weapon_gathers_its_amount_and_learns_four_times_that() {
    for weapon in WEAPONS.iter().filter(|of| of.shoots.is_none() && of.shield_percent == 100) {
        for (kind, extra) in [(SceneryKind::Tree, 0), (SceneryKind::Gold, 4)] {
            let scale_px = kind.scales_px()[0];
            let mut world = before(kind, scale_px, Fixed::from_px(scale_px + 40));
            player_mut(&mut world, 1).hand.weapon = weapon.id;
            swing(&mut world, 1);
            let player = player(&world, 1);
            let resource = kind.gives() as usize;
            assert_eq!(player.resources[resource], weapon.gather + extra, "{} at {kind:?}", weapon.name);
            assert_eq!(player.growth.xp, 4 * weapon.gather, "{} at {kind:?}", weapon.name);
        }
    }
}

#[test]
fn a_swing_reaches_scenery_within_its_range_of_the_picture() {
    for kind in SceneryKind::ALL {
        for scale_px in kind.scales_px() {
            let edge = Fixed::from_px(scale_px + 65);
            for (apart, hit) in [(edge, true), (edge.saturating_add(Fixed(1)), false)] {
                let mut world = before(kind, *scale_px, apart);
                swing(&mut world, 1);
                assert_eq!(
                    events(&world)[0],
                    WorldEvent::Swung { player: PlayerId(1), weapon: 0, hit },
                    "{kind:?} of {scale_px} px"
                );
                assert_eq!(player(&world, 1).growth.xp, if hit { 4 } else { 0 });
            }
        }
    }
}

#[test]
fn a_swing_reaches_scenery_only_within_its_arc() {
    for (off, hit) in [(ARC, true), (ARC + 1, false)] {
        for heading in [off, off.wrapping_neg()] {
            let mut world = before(SceneryKind::Rock, 80, Fixed::from_px(120));
            body_mut(&mut world, 1).heading = Angle(heading);
            swing(&mut world, 1);
            assert_eq!(events(&world).len(), if hit { 2 } else { 1 }, "looking {heading} parts aside");
        }
    }
}

#[test]
fn an_object_shakes_away_from_its_attacker() {
    let mut world = before(SceneryKind::Tree, 150, Fixed::ZERO);
    for (dx_px, dy_px, expected) in
        [(-170, 0, 0), (0, -170, 0x4000), (170, 0, 0x8000), (0, 170, 0xc000), (-120, -120, 0x2000)]
    {
        let body = body_mut(&mut world, 1);
        (body.x, body.y) = (Fixed::from_px(7_000 + dx_px), Fixed::from_px(5_000 + dy_px));
        body.heading = Angle(expected + 100);
        player_mut(&mut world, 1).hand.wait = 0;
        swing(&mut world, 1);
        assert!(
            matches!(events(&world)[1], WorldEvent::Struck { direction, .. } if direction == Angle(expected)),
            "{:?}",
            events(&world)
        );
    }
}

#[test]
fn one_swing_gathers_from_everything_in_reach() {
    let mut world = before(SceneryKind::Tree, 150, Fixed::from_px(200));
    let mut second = world.state.scenery[0].clone();
    second.id = EntityId(65_537);
    second.body.y = Fixed::from_px(5_060);
    let mut state = world.state.clone();
    state.scenery.push(second);
    world = World::from_state(state);
    swing(&mut world, 1);
    let struck: Vec<u32> = events(&world)
        .iter()
        .filter_map(|event| match event {
            WorldEvent::Struck { object, .. } => Some(object.0),
            _ => None,
        })
        .collect();
    assert_eq!(struck, [65_536, 65_537]);
    assert_eq!((player(&world, 1).resources[0], player(&world, 1).growth.xp), (2, 8));
}

#[test]
fn gathering_for_a_minute_gives_one_unit_a_stroke_at_each_tick_rate() {
    for rate in TickHz::ALL {
        let mut state = before(SceneryKind::Bush, 80, Fixed::from_px(120)).state;
        state.identity.tick_hz = rate;
        let mut world = World::from_state(state);
        act(&mut world, 1, Action::Attack { on: true });
        wait(&mut world, rate.get() * 60 - 1);
        // At 0 ms, 300 ms, ... 59,700 ms.
        assert_eq!(player(&world, 1).resources, [0, 200, 0, 0], "at {rate:?}");
    }
}

#[test]
fn a_grant_adds_resources_but_no_experience_and_only_gold_to_the_score() {
    let mut world = before(SceneryKind::Bush, 80, Fixed::from_px(500));
    let grant = |sequence, resource, amount| {
        command(0, sequence, Action::Grant { player: PlayerId(1), resource, amount })
    };
    for (resource, number) in Resource::ALL.into_iter().zip(0u32..) {
        let sequence = 10 + u64::from(number) * 2;
        world.step(&mut vec![grant(sequence, resource, 7), grant(sequence + 1, resource, number)]);
        assert_eq!(world.outcome().rejected, []);
    }
    assert_eq!(player(&world, 1).resources, [7, 8, 9, 10]);
    assert_eq!((world.player(PlayerId(1)).expect("it is there").score, player(&world, 1).growth.xp), (10, 0));
    world.step(&mut vec![grant(30, Resource::Gold, u32::MAX)]);
    assert_eq!(player(&world, 1).resources, [7, 8, 9, u32::MAX]);
}
