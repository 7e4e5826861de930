//! Effects of building and dying on other entities: woken entities, exact positions, owners of
//! spawn pads.

use crate::command::Action;
use crate::entity::PlayerId;
use crate::fixed::{Angle, Fixed};
use crate::rules::{item, TickHz, ITEMS};
use crate::tests::animals::{animal, animal_mut, appear, beast, KINDS};
use crate::tests::{act, bare_world, body, body_mut, build, hold, player, player_mut, put, wait};
use crate::world::World;

/// Players 1 and 2 on a bare map, far apart and asleep.
fn two() -> World {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 7_000, 5_000);
    put(&mut world, 2, 9_000, 5_000);
    wait(&mut world, 2);
    world
}

#[test]
fn exactly_the_players_near_a_new_structure_are_woken() {
    for row in ITEMS.iter().filter(|row| row.scale_px > 0) {
        // A player has a radius of 35 px. All players in the square are woken, although only
        // players that overlap the structure are moved.
        let reach = (row.scale_px + 35) << 16;
        let centre_px = 7_035 + row.scale_px;
        for (dx, dy, woken) in [
            (0, 0, true),
            (reach, reach, true),
            (-reach, -reach, true),
            (reach + 1, 0, false),
            (0, reach + 1, false),
            (-reach - 1, 0, false),
            (0, -reach - 1, false),
        ] {
            for alive in [true, false] {
                let mut world = two();
                let (player, body) = world.player_mut(PlayerId(2)).expect("it is there");
                player.alive = alive;
                body.x = Fixed::from_px(centre_px).saturating_add(Fixed(dx));
                body.y = Fixed::from_px(5_000).saturating_add(Fixed(dy));
                world.use_item(PlayerId(1), row);
                let stirred = crate::tests::player(&world, 2).stirred;
                assert_eq!(stirred, woken && alive, "{} from {dx}, {dy}", row.name);
            }
        }
    }
}

#[test]
fn an_awake_player_stays_awake_when_something_is_built_elsewhere() {
    let mut world = two();
    player_mut(&mut world, 2).stirred = true;
    world.use_item(PlayerId(1), item(3).expect("a wall"));
    assert!(player(&world, 2).stirred);
}

#[test]
fn exactly_the_animals_near_a_new_structure_are_woken() {
    for row in ITEMS.iter().filter(|row| row.scale_px > 0) {
        for kind in KINDS {
            let mut world = two();
            appear(&mut world, kind, 7_000, 9_000);
            let reach = (row.scale_px + kind.animal().radius_px) << 16;
            for (dx, dy, woken) in [
                (0, 0, true),
                (reach, 0, true),
                (0, -reach, true),
                (-reach - 1, 0, false),
                (0, reach + 1, false),
                (reach, reach, false),
            ] {
                for (health, stirred) in [(1, false), (1, true), (0, false)] {
                    let mut world = world.clone();
                    let body = &mut world.state.animals[0].body;
                    body.x = Fixed::from_px(7_035 + row.scale_px).saturating_add(Fixed(dx));
                    body.y = Fixed::from_px(5_000).saturating_add(Fixed(dy));
                    body.health = health;
                    animal_mut(&mut world, 0).was_pushed = stirred;
                    world.use_item(PlayerId(1), row);
                    let expected = stirred || woken && health > 0;
                    assert_eq!(animal(&world, 0).was_pushed, expected, "{} {kind:?} {dx}, {dy}", row.name);
                }
            }
        }
    }
}

#[test]
fn a_wall_over_an_animal_that_sleeps_moves_it_to_its_rim() {
    for kind in KINDS {
        let mut world = two();
        appear(&mut world, kind, 7_200, 5_000);
        wait(&mut world, 2);
        hold(&mut world, 1, 3);
        assert!(animal(&world, 0).is_asleep(beast(&world, 0)));
        assert_eq!(beast(&world, 0).x, Fixed::from_px(7_200));
        act(&mut world, 1, Action::Attack { on: true });
        let rim_px = 7_085 + 50 + kind.animal().radius_px;
        assert_eq!((beast(&world, 0).x, beast(&world, 0).y), (Fixed::from_px(rim_px), Fixed::from_px(5_000)));
    }
}

#[test]
fn a_structure_is_built_at_the_nearest_whole_pixel() {
    for row in ITEMS.iter().filter(|row| row.scale_px > 0) {
        for heading in (0..=u16::MAX).step_by(4_099) {
            let mut world = two();
            let own = body_mut(&mut world, 1);
            (own.x, own.y) = (Fixed((7_000 << 16) + 29_000), Fixed((5_000 << 16) + 51_000));
            build(&mut world, 1, row.id, heading);
            let stands = &world.state.structures[0].body;
            assert_eq!((stands.x.0 & 0xffff, stands.y.0 & 0xffff), (0, 0), "{}", row.name);
            let angle = f64::from(heading) * std::f64::consts::PI / 32_768.0;
            let way = f64::from(35 + row.scale_px);
            let off_x = f64::from(stands.x.to_px()) - (7_000.0 + 29_000.0 / 65_536.0 + way * angle.cos());
            let off_y = f64::from(stands.y.to_px()) - (5_000.0 + 51_000.0 / 65_536.0 + way * angle.sin());
            assert!(off_x.abs().max(off_y.abs()) < 0.51, "{}: {off_x}, {off_y} px at {heading}", row.name);
        }
    }
}

#[test]
fn a_player_finds_only_its_own_spawn_pad() {
    let mut world = two();
    build(&mut world, 2, 20, 0);
    build(&mut world, 1, 3, 0);
    assert_eq!(world.spawn_pad_of(PlayerId(1)), None, "another one's pad, and no pad");
    body_mut(&mut world, 1).y = Fixed::from_px(6_000);
    let pad = build(&mut world, 1, 20, 0);
    let stands = world.structure(pad).expect("it stands");
    let place = (Fixed::from_px(stands.x_px), Fixed::from_px(stands.y_px));
    assert_eq!(world.spawn_pad_of(PlayerId(1)), Some(place));
    assert_eq!(world.spawn_pad_of(PlayerId(77)), None, "nobody of that number");
}

#[test]
fn an_attacker_at_the_same_position_knocks_back_in_its_direction_of_view() {
    for rate in TickHz::ALL {
        for (heading, dx, dy) in [(0, 1, 0), (0x4000, 0, 1), (0x8000, -1, 0), (0xc000, 0, -1)] {
            let mut world = bare_world(rate);
            put(&mut world, 1, 7_000, 5_000);
            put(&mut world, 2, 9_000, 5_000);
            let at = body(&world, 1).clone();
            let other = body_mut(&mut world, 2);
            (other.x, other.y, other.vx, other.vy) = (at.x, at.y, Fixed::ZERO, Fixed::ZERO);
            body_mut(&mut world, 1).heading = Angle(heading);
            player_mut(&mut world, 1).hand.attacking = true;
            world.invalidate_position_indices();
            world.fight();
            let speed = (300 << 16) / rate.get() as i32;
            let found = (body(&world, 2).vx, body(&world, 2).vy);
            assert_eq!(found, (Fixed(speed * dx), Fixed(speed * dy)), "at {rate:?}");
        }
    }
}

#[test]
fn an_item_stays_in_the_hand_when_one_of_another_group_is_chosen() {
    let mut world = two();
    hold(&mut world, 1, 6);
    player_mut(&mut world, 1).growth.age = 3;
    player_mut(&mut world, 1).growth.choice_age = 3;
    act(&mut world, 1, Action::Upgrade { choice: 16 + 4 });
    assert_eq!(player(&world, 1).hand.item, Some(6));
    assert!(player(&world, 1).kit.has_item(4));
}
