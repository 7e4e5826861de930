//! Projectiles that meet walls, other structures, scenery, and the edge of the map.

use crate::command::Action;
use crate::controller::{Controller, Scenery, SceneryKind};
use crate::entity::PlayerId;
use crate::fixed::{Angle, Fixed};
use crate::rules::{item, projectile, TickHz};
use crate::tests::combat::projectiles::{aim_at, archer, arm, end_of, hurt, land, shoot, target, ONE, ROWS};
use crate::tests::{body, body_mut, build, command, player, player_mut, put, wait, without_animals, world};
use crate::{World, WorldEvent};

#[test]
fn any_wall_stops_a_shot_and_loses_health() {
    for (number, name, kind, ..) in ROWS {
        let damage = projectile(kind).expect("in the table").damage;
        for builder in [1, 2] {
            let mut world = aim_at(TickHz::Hz30, number, Fixed::from_px(400), Fixed::ZERO);
            let (from_px, heading) = if builder == 1 { (7_100, 0) } else { (7_300, 0x8000) };
            let own = body(&world, builder).x;
            body_mut(&mut world, builder).x = Fixed::from_px(from_px);
            let object = build(&mut world, builder, 3, heading);
            body_mut(&mut world, builder).x = own;
            body_mut(&mut world, 1).heading = Angle(0);
            let wall = world.structure(object).expect("it stands");
            arm(&mut world, 1, number);
            shoot(&mut world, 1);
            let all = land(&mut world);
            let struck = WorldEvent::Struck { object, direction: Angle(0), player: ONE };
            let end = f64::from(wall.x_px - 50);
            assert_eq!((end_of(&all), all.get(1)), ((end, 5_000.0), Some(&struck)), "{name}");
            assert_eq!((all.len(), body(&world, 2).health), (2, 100), "{name}");
            assert_eq!(world.structure(object).expect("it stands").health, wall.health - damage, "{name}");
            world.damage_structure(0, wall.health - damage - 1);
            player_mut(&mut world, 1).hand.wait = 0;
            shoot(&mut world, 1);
            assert!(land(&mut world).contains(&WorldEvent::Destroyed { object }), "{name}");
            player_mut(&mut world, 1).hand.wait = 0;
            shoot(&mut world, 1);
            assert_eq!(hurt(&land(&mut world)), [(2, damage)], "{name}: the way is free");
        }
    }
}

#[test]
fn only_solid_structures_stop_a_shot() {
    for (number, stops) in [(3, true), (6, true), (8, true), (10, true), (17, true)].into_iter().chain([
        (15, false),
        (16, false),
        (19, false),
        (20, false),
    ]) {
        let mut world = archer(TickHz::Hz15, 9);
        body_mut(&mut world, 1).x = Fixed::from_px(7_200);
        build(&mut world, 1, number, 0);
        body_mut(&mut world, 1).x = Fixed::from_px(7_000);
        arm(&mut world, 1, 9);
        target(&mut world, 2, Fixed::from_px(600), Fixed::ZERO);
        if let Controller::Structure(turret) = &mut world.state.structures[0].controller {
            turret.wait = 6_600;
        }
        shoot(&mut world, 1);
        let hit = !hurt(&land(&mut world)).is_empty();
        assert_eq!(hit, !stops, "{}", item(number).expect("in the table").name);
    }
}

#[test]
fn scenery_stops_a_shot_and_shakes_but_gives_nothing() {
    for kind in SceneryKind::ALL {
        for rate in TickHz::ALL {
            let mut state = without_animals(world(1)).state;
            let mut thing = state.scenery.swap_remove(0);
            let scale_px = kind.scales_px()[0];
            thing.controller = Controller::Scenery(Scenery { kind, scale_px });
            thing.body.radius_px = kind.radius_px(scale_px);
            (thing.body.x, thing.body.y) = (Fixed::from_px(7_400), Fixed::from_px(5_000));
            let (object, rim) = (thing.id, Fixed::from_px(thing.body.radius_px));
            (state.scenery, state.identity.tick_hz) = (vec![thing], rate);
            let scene = World::from_state(state);
            for (beside, hit) in [(Fixed::ZERO, true), (rim, true), (rim.saturating_add(Fixed(1)), false)] {
                let mut world = scene.clone();
                put(&mut world, 1, 7_000, 5_000);
                wait(&mut world, 2);
                body_mut(&mut world, 1).y = Fixed::from_px(5_000).saturating_add(beside);
                arm(&mut world, 1, 15);
                shoot(&mut world, 1);
                let all = land(&mut world);
                let struck = WorldEvent::Struck { object, direction: Angle(0), player: ONE };
                assert_eq!(all.contains(&struck), hit, "{kind:?} at {rate:?}, {beside:?} beside");
                assert_eq!(player(&world, 1).resources, [10_000, 10_000, 9_990, 10_000], "{kind:?}");
            }
        }
    }
}

#[test]
fn a_shot_ends_at_the_edge_of_the_map() {
    for (number, ..) in ROWS {
        for rate in TickHz::ALL {
            for (x_px, y_px, heading) in [
                (100, 5_000, 0x8000),
                (14_300, 5_000, 0),
                (7_000, 100, 0xc000),
                (7_000, 14_300, 0x3000),
                (35, 35, 0xa000),
            ] {
                let mut world = archer(rate, number);
                let own = body_mut(&mut world, 1);
                (own.x, own.y) = (Fixed::from_px(x_px), Fixed::from_px(y_px));
                own.heading = Angle(heading);
                shoot(&mut world, 1);
                let restored = World::restore(&world.snapshot());
                assert!(restored.is_ok(), "{restored:?}");
                let (x, y) = end_of(&land(&mut world));
                let to_edge = x.min(y).min(14_400.0 - x).min(14_400.0 - y);
                assert!((0.0..0.01).contains(&to_edge), "{number} at {rate:?}: {x}, {y}");
            }
        }
    }
}

#[test]
fn a_wall_is_hit_before_a_player_at_the_same_point() {
    let mut world = archer(TickHz::Hz30, 9);
    body_mut(&mut world, 1).x = Fixed::from_px(7_200);
    let object = build(&mut world, 1, 3, 0);
    body_mut(&mut world, 1).x = Fixed::from_px(7_000);
    let wall_px = world.structure(object).expect("it stands").x_px;
    arm(&mut world, 1, 9);
    for (ahead_px, hit) in [(15, false), (16, true)] {
        let id = ahead_px as u16;
        target(&mut world, id, Fixed::from_px(wall_px - ahead_px - 7_000), Fixed::ZERO);
        player_mut(&mut world, 1).hand.wait = 0;
        shoot(&mut world, 1);
        assert_eq!(
            hurt(&land(&mut world)).len(),
            usize::from(hit),
            "its rim is {} px before the wall's",
            ahead_px - 15
        );
        let sequence = world.state.operator_sequence + 1;
        world.step(&mut vec![command(0, sequence, Action::Leave { player: PlayerId(id) })]);
    }
}
