//! Building: cost, free ground, limits, destruction, ownership.

use crate::command::{Action, Rejection, Selection};
use crate::entity::{EntityId, PlayerId};
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{Group, TickHz, GROUPS, ITEMS};
use crate::tests::{
    act, bare_world, body, body_mut, build, command, difference, distance_px, events, hold, join, player,
    player_mut, put, px, swing, wait, walk, world,
};
use crate::world::World;

/// A player on a bare map.
fn alone() -> World {
    let mut world = bare_world(TickHz::Hz30);
    put(&mut world, 1, 7_000, 5_000);
    wait(&mut world, 2);
    world
}

fn rejection(world: &mut World) -> Rejection {
    let sequence = player(world, 1).sequence + 1;
    world.step(&mut vec![command(1, sequence, Action::Attack { on: true })]);
    world.outcome().rejected[0].1
}

#[test]
fn each_item_is_built_rim_to_rim_in_the_direction_of_view_for_its_price() {
    for row in ITEMS.iter().filter(|row| row.group != Group::Food) {
        for heading in [0, 0x2000, 0x4000, 0x8000, 0xc123] {
            let mut world = alone();
            let id = build(&mut world, 1, row.id, heading);
            assert_eq!(id, EntityId(crate::tests::world(1).state.next_id.0));
            assert_eq!(events(&world)[0], WorldEvent::Placed { object: id });
            let view = world.structure(id).expect("it stands");
            assert_eq!((view.item, view.owner, view.health), (row, PlayerId(1), row.health), "{}", row.name);
            assert_eq!(view.heading, Angle(heading));
            let way = f64::from(35 + row.scale_px);
            let angle = f64::from(heading) * std::f64::consts::PI / 32_768.0;
            let off = (f64::from(view.x_px) - 7_000.0 - way * angle.cos())
                .hypot(f64::from(view.y_px) - 5_000.0 - way * angle.sin());
            assert!(off < 1.0, "{} is {off} px from where it should be", row.name);
            let left: Vec<u32> = row.cost.iter().map(|cost| 10_000 - cost).collect();
            assert_eq!(player(&world, 1).resources[..3], left[..3], "{}", row.name);
            assert_eq!(player(&world, 1).hand.item, None, "the weapon is in the hand again");
            assert_eq!(player(&world, 1).kit.built[row.group as usize], 1);
            assert!(distance_px(body(&world, 1), &world.state.structures[0].body) > 35.0);
        }
    }
}

#[test]
fn a_player_that_lacks_one_unit_cannot_build() {
    for row in ITEMS.iter().filter(|row| row.group != Group::Food) {
        for resource in (0..4).filter(|resource| row.cost[*resource] > 0) {
            let mut world = alone();
            hold(&mut world, 1, row.id);
            player_mut(&mut world, 1).resources = row.cost;
            player_mut(&mut world, 1).resources[resource] -= 1;
            assert_eq!(rejection(&mut world), Rejection::TooDear, "{}", row.name);
            player_mut(&mut world, 1).resources = row.cost;
            act(&mut world, 1, Action::Attack { on: true });
            assert_eq!(player(&world, 1).resources, [0; 4], "{}", row.name);
        }
    }
}

#[test]
fn each_group_has_its_limit() {
    for row in ITEMS.iter().filter(|row| row.group != Group::Food) {
        let mut world = alone();
        let limit = row.group.limit();
        for number in 0..limit {
            body_mut(&mut world, 1).x = Fixed::from_px(1_000 + i32::from(number) * 300);
            build(&mut world, 1, row.id, 0);
        }
        body_mut(&mut world, 1).y = Fixed::from_px(9_000);
        hold(&mut world, 1, row.id);
        assert_eq!(rejection(&mut world), Rejection::TooMany, "{} of {limit}", row.name);
        assert_eq!(world.structures().count(), usize::from(limit));
        // After the loss of one structure, another is allowed.
        world.damage_structure(0, u16::MAX);
        act(&mut world, 1, Action::Attack { on: true });
        assert_eq!(player(&world, 1).kit.built[row.group as usize], limit);
    }
}

#[test]
fn nothing_can_be_built_on_an_obstacle() {
    let mut world = alone();
    build(&mut world, 1, 3, 0);
    for (x_px, fits) in [(7_000, false), (6_901, false), (6_900, true)] {
        body_mut(&mut world, 1).x = Fixed::from_px(x_px);
        hold(&mut world, 1, 3);
        let sequence = player(&world, 1).sequence + 1;
        let before = world.state.clone();
        world.step(&mut vec![command(1, sequence, Action::Attack { on: true })]);
        assert_eq!(world.outcome().rejected.is_empty(), fits, "from {x_px}");
        assert_eq!(world.state.structures.len() > before.structures.len(), fits);
        act(&mut world, 1, Action::Select { what: Selection::Weapon(0) });
    }
}

#[test]
fn nothing_can_be_built_on_scenery_in_the_river_or_off_the_map() {
    let mut nature = world(1);
    let tree = nature.scenery().next().expect("there is a tree");
    put(&mut nature, 1, 7_000, 5_000);
    for (x_px, y_px, heading) in [
        (tree.x_px - tree.radius_px - 36, tree.y_px, 0),
        (7_000, 7_200, 0),
        (7_000, 6_800, 0x4000),
        (60, 5_000, 0x8000),
        (7_000, 14_330, 0x4000),
    ] {
        hold(&mut nature, 1, 3);
        let body = body_mut(&mut nature, 1);
        (body.x, body.y) = (Fixed::from_px(x_px), Fixed::from_px(y_px));
        body.heading = Angle(heading);
        assert_eq!(rejection(&mut nature), Rejection::NoRoom, "from {x_px}, {y_px}");
        act(&mut nature, 1, Action::Select { what: Selection::Weapon(0) });
    }
}

#[test]
fn walls_spikes_and_mills_stand_in_the_way_and_pads_and_traps_do_not() {
    for row in ITEMS.iter().filter(|row| row.group != Group::Food) {
        let mut world = alone();
        build(&mut world, 1, row.id, 0);
        let centre = 7_035.0 + f64::from(row.scale_px);
        walk(&mut world, 1, Some(0));
        wait(&mut world, 90);
        let passed = px(body(&world, 1).x) > centre;
        assert_eq!(passed, !row.group.is_solid(), "{}", row.name);
        if row.group.is_solid() {
            let gap = px(body(&world, 1).x) - (centre - f64::from(row.radius_px) - 35.0);
            assert!(gap.abs() < 0.01, "{}: {gap} px from its rim", row.name);
            assert_eq!(body(&world, 1).health, 100, "one's own does no harm");
        }
    }
}

#[test]
fn a_sleeping_player_makes_way_for_a_structure() {
    let mut world = alone();
    put(&mut world, 2, 9_000, 5_000);
    wait(&mut world, 30);
    body_mut(&mut world, 2).x = Fixed::from_px(7_090);
    build(&mut world, 1, 3, 0);
    wait(&mut world, 2);
    let wall = world.state.structures[0].body.clone();
    assert!(distance_px(body(&world, 2), &wall) >= 85.0);
}

#[test]
fn strokes_break_it_and_its_owner_may_build_another_one() {
    // Health divided by damage to structures, rounded up: hammer 25, great hammer 75, stick 1.
    for (item, weapon, strokes) in [(3, 0, 16), (3, 10, 6), (4, 0, 36), (16, 0, 6), (20, 5, 9), (9, 10, 7)] {
        let mut world = alone();
        put(&mut world, 2, 9_000, 5_000);
        let id = build(&mut world, 1, item, 0);
        let at = world.structure(id).expect("it stands");
        player_mut(&mut world, 2).hand.weapon = weapon;
        let body = body_mut(&mut world, 2);
        (body.x, body.heading) = (Fixed::from_px(at.x_px + at.item.scale_px + 40), Angle(0x8000));
        for stroke in 1..=strokes {
            player_mut(&mut world, 2).hand.wait = 0;
            swing(&mut world, 2);
            let struck = WorldEvent::Struck { object: id, direction: Angle(0x8000), player: PlayerId(2) };
            assert_eq!(events(&world)[1], struck, "stroke {stroke}");
            let gone = events(&world).get(2) == Some(&WorldEvent::Destroyed { object: id });
            assert_eq!((gone, world.structure(id).is_none()), (stroke == strokes, stroke == strokes));
        }
        let owner = player(&world, 1);
        assert_eq!((owner.kit.built, owner.kit.income_halves), ([0; GROUPS], 0));
        assert_eq!(player(&world, 2).resources, [0; 4], "there is nothing to gather");
        assert!(world
            .terrain()
            .built_near(body_mut(&mut world.clone(), 2).x, Fixed::from_px(5_000))
            .is_empty());
        assert!(build(&mut world, 1, item, 0) > id, "numbers are not used again");
    }
}

#[test]
fn the_structures_of_a_leaving_player_are_removed() {
    let mut world = alone();
    put(&mut world, 2, 9_000, 9_000);
    let ids = [3, 6, 10].map(|item| {
        body_mut(&mut world, 1).y = Fixed::from_px(3_000 + i32::from(item) * 200);
        build(&mut world, 1, item, 0)
    });
    let retained = build(&mut world, 2, 3, 0);
    world.step(&mut vec![command(0, 50, Action::Leave { player: PlayerId(1) })]);
    let destroyed = ids.map(|object| WorldEvent::Destroyed { object });
    assert_eq!(events(&world)[..3], destroyed);
    assert_eq!(events(&world)[3], WorldEvent::Left { player: PlayerId(1) });
    assert_eq!(world.structures().map(|view| view.id).collect::<Vec<_>>(), [retained]);
    world.step(&mut vec![join(51, 1)]);
    assert_eq!(player(&world, 1).kit.built, [0; GROUPS]);
}

#[test]
fn structures_survive_the_death_of_their_owner() {
    let mut world = alone();
    let id = build(&mut world, 1, 3, 0);
    world.hurt(0, 500, None);
    wait(&mut world, 10);
    assert!(world.structure(id).is_some());
    assert_eq!(player(&world, 1).kit.built[1], 1);
}

#[test]
fn a_restored_world_has_the_same_structures_in_the_same_places() {
    let mut world = alone();
    for number in 0..8 {
        body_mut(&mut world, 1).x = Fixed::from_px(6_000 + number * 130);
        build(&mut world, 1, 3, 0x4000);
    }
    world.damage_structure(3, 5_000);
    world.damage_structure(5, 100);
    let mut restored = World::restore(&world.snapshot()).expect("it is a snapshot");
    walk(&mut world, 1, Some(0x5000));
    walk(&mut restored, 1, Some(0x5000));
    wait(&mut world, 200);
    wait(&mut restored, 200);
    assert_eq!(difference(&world, &restored), None);
}

#[test]
fn no_player_spawns_in_a_structure() {
    let mut world = alone();
    for id in 2..40 {
        world.step(&mut vec![join(100 + u64::from(id), id)]);
        let own = body(&world, id).clone();
        assert!(world.state.structures.iter().all(|it| distance_px(&it.body, &own) > 85.0));
        hold(&mut world, id, 3);
        let sequence = player(&world, id).sequence + 1;
        world.step(&mut vec![command(id, sequence, Action::Attack { on: true })]);
    }
    assert!(world.structures().count() > 20);
}
