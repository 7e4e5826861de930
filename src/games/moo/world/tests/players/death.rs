//! Regeneration, death, the state that death resets, and respawn.

use crate::command::Action;
use crate::entity::PlayerId;
use crate::event::WorldEvent;
use crate::fixed::{Angle, Fixed};
use crate::rules::{thirds, TickHz, HEAL_DELAY_MS};
use crate::tests::{
    act, bare_world, body, body_mut, command, distance_px, events, player, player_mut, put, swing, unprotect,
    wait, walk,
};
use crate::world::World;

/// Two adjacent players on a bare map. The first looks at the second.
fn two(rate: TickHz) -> World {
    let mut world = bare_world(rate);
    put(&mut world, 1, 7_000, 5_000);
    put(&mut world, 2, 7_080, 5_000);
    wait(&mut world, 2);
    world
}

/// Sets the health of player 2 as if it had just been hurt.
fn wound(world: &mut World, health: u16) {
    let (player, body) = world.player_mut(PlayerId(2)).expect("it is there");
    (player.heal_wait, body.health) = (thirds(HEAL_DELAY_MS), health);
}

/// Player 1 kills player 2 with a swing.
fn kill(world: &mut World) {
    wound(world, 25);
    player_mut(world, 1).hand.wait = 0;
    swing(world, 1);
    assert!(!player(world, 2).alive);
}

fn respawn(name: &str) -> Action {
    Action::Respawn { name: name.to_string(), skin: 7 }
}

#[test]
fn health_regenerates_a_point_a_second_from_5_s_after_the_last_damage_at_each_tick_rate() {
    for rate in TickHz::ALL {
        let mut world = two(rate);
        swing(&mut world, 1);
        wait(&mut world, rate.get() * 3);
        swing(&mut world, 1);
        assert_eq!(body(&world, 2).health, 50);
        wait(&mut world, rate.get() * 5 - 1);
        assert_eq!(body(&world, 2).health, 50, "at {rate:?}");
        wait(&mut world, 1);
        assert_eq!(events(&world), [WorldEvent::Healed { player: PlayerId(2), amount: 1 }], "at {rate:?}");
        assert_eq!(body(&world, 2).health, 51, "at {rate:?}");
        wait(&mut world, rate.get() * 30);
        assert_eq!(body(&world, 2).health, 81, "at {rate:?}");
        wait(&mut world, rate.get() * 60);
        assert_eq!(body(&world, 2).health, 100, "never more than there can be, at {rate:?}");
    }
}

#[test]
fn damage_never_exceeds_the_remaining_health() {
    let mut world = two(TickHz::Hz30);
    wound(&mut world, 3);
    swing(&mut world, 1);
    let (one, two) = (PlayerId(1), PlayerId(2));
    let expected = [
        WorldEvent::Swung { player: one, weapon: 0, hit: true },
        WorldEvent::Hurt { player: two, by: Some(one), amount: 3 },
        WorldEvent::Died { player: two, by: Some(one) },
    ];
    assert_eq!(events(&world), expected);
    assert_eq!(body(&world, 2).health, 0);
}

#[test]
fn four_strokes_of_the_hammer_kill() {
    let mut world = two(TickHz::Hz30);
    for stroke in 1..=4 {
        body_mut(&mut world, 2).x = Fixed::from_px(7_080);
        player_mut(&mut world, 1).hand.wait = 0;
        swing(&mut world, 1);
        assert_eq!(player(&world, 2).alive, stroke < 4);
    }
}

#[test]
fn a_kill_is_worth_a_hundred_gold_for_each_age_of_the_victim_and_gold_counts_in_the_score() {
    for (age, gold) in [(1, 100), (2, 200), (17, 1_700), (100, 10_000)] {
        let mut world = two(TickHz::Hz30);
        player_mut(&mut world, 1).resources[3] = 5;
        player_mut(&mut world, 2).resources[3] = 70;
        player_mut(&mut world, 2).growth.age = age;
        kill(&mut world);
        let killer = player(&world, 1);
        assert_eq!((killer.kills, killer.resources), (1, [0, 0, 0, gold + 5]), "age {age}");
        let scores = [1, 2].map(|id| world.player(PlayerId(id)).expect("it is there").score);
        assert_eq!(scores, [gold + 5, 70], "the victim keeps its own");
        assert_eq!(player(&world, 2).kills, 0);
    }
}

#[test]
fn death_resets_only_the_age() {
    let mut world = two(TickHz::Hz30);
    let victim = player_mut(&mut world, 2);
    victim.resources = [1, 2, 3, 4];
    (victim.work_points, victim.kills) = (50, 6);
    (victim.growth.age, victim.growth.xp) = (9, 100);
    walk(&mut world, 2, Some(0x4000));
    act(&mut world, 2, Action::Attack { on: true });
    kill(&mut world);
    let view = world.player(PlayerId(2)).expect("it keeps its number");
    assert_eq!((view.alive, view.health, view.age, view.xp, view.xp_next), (false, 0, 1, 0, 300));
    assert_eq!((view.resources, view.score, view.kills), ([1, 2, 3, 4], 54, 6));
    assert_eq!((view.direction, view.attacking, &**view.name), (None, false, "p2"));
    assert_eq!((view.body.vx, view.body.vy), (Fixed::ZERO, Fixed::ZERO));
    assert_eq!(world.player_count(), 2);
}

#[test]
fn the_dead_are_not_hit_not_healed_and_not_in_the_way() {
    let mut world = two(TickHz::Hz30);
    kill(&mut world);
    let before = world.state.players[1].clone();
    wait(&mut world, 300);
    swing(&mut world, 1);
    assert_eq!(events(&world), [WorldEvent::Swung { player: PlayerId(1), weapon: 0, hit: false }]);
    walk(&mut world, 1, Some(0));
    wait(&mut world, 60);
    assert!(body(&world, 1).x > Fixed::from_px(7_200), "through where it lies");
    assert_eq!(body(&world, 1).y, Fixed::from_px(5_000));
    assert_eq!(world.state.players[1], before);
}

#[test]
fn a_respawned_player_has_full_health_and_may_have_another_name() {
    let mut world = two(TickHz::Hz30);
    player_mut(&mut world, 2).resources = [1, 2, 3, 4];
    kill(&mut world);
    let lay_at = body(&world, 2).clone();
    act(&mut world, 2, respawn("Ada"));
    assert_eq!(events(&world), [WorldEvent::Spawned { player: PlayerId(2) }]);
    let view = world.player(PlayerId(2)).expect("it is there");
    assert_eq!((&**view.name, view.skin, view.alive, view.health, view.age), ("Ada", 7, true, 100, 1));
    assert_eq!((view.resources, view.joined_tick), ([1, 2, 3, 4], player(&world, 2).joined_tick));
    assert!(distance_px(&lay_at, view.body) > 1.0, "somewhere else");
    walk(&mut world, 2, Some(0));
    wait(&mut world, 10);
    assert!(body(&world, 2).vx.0 > 0);
    unprotect(&mut world, 2);
    kill(&mut world_with(&mut world));
}

/// A copy of the world in which both players are adjacent again.
fn world_with(world: &mut World) -> World {
    let mut world = world.clone();
    for (id, x_px) in [(1, 7_000), (2, 7_080)] {
        let body = body_mut(&mut world, id);
        (body.x, body.y) = (Fixed::from_px(x_px), Fixed::from_px(5_000));
    }
    world
}

#[test]
fn dead_players_do_not_attract_spawns() {
    // The only other player is dead and lies near the western edge. A new player spawns at a random
    // position, because only living players attract spawns.
    let mut near = 0;
    for seed in 0..20 {
        let mut world = World::new(crate::Identity { seed, map_size_px: 14_400, tick_hz: TickHz::Hz30 });
        put(&mut world, 1, 300, 3_000);
        let (player, body) = world.player_mut(PlayerId(1)).expect("it joined");
        (player.alive, body.health) = (false, 0);
        world.step(&mut vec![crate::tests::join(2, 2)]);
        near += u32::from(body_near(&world));
    }
    assert!(near < 5, "{near} of 20");
}

fn body_near(world: &World) -> bool {
    distance_px(body(world, 1), body(world, 2)) < 800.0
}

#[test]
fn the_dead_can_leave_and_their_number_is_free() {
    let mut world = two(TickHz::Hz30);
    kill(&mut world);
    let leave = command(0, 90, Action::Leave { player: PlayerId(2) });
    world.step(&mut vec![leave, crate::tests::join(91, 2)]);
    assert_eq!(
        events(&world),
        [WorldEvent::Left { player: PlayerId(2) }, WorldEvent::Joined { player: PlayerId(2) }]
    );
    assert!(player(&world, 2).alive);
}

#[test]
fn counts_at_their_bounds_stay_there() {
    let mut world = two(TickHz::Hz30);
    let killer = player_mut(&mut world, 1);
    (killer.resources[3], killer.work_points, killer.kills) = (u32::MAX - 1, u32::MAX, u32::MAX);
    kill(&mut world);
    assert_eq!((player(&world, 1).resources[3], player(&world, 1).kills), (u32::MAX, u32::MAX));
    assert_eq!(player(&world, 1).score(), u32::MAX);
}

#[test]
fn damage_without_an_attacker_kills_too() {
    let mut world = two(TickHz::Hz30);
    for by in [None, Some(PlayerId(2)), Some(PlayerId(77))] {
        let mut world = world.clone();
        world.outcome.clear();
        world.hurt(1, 500, by);
        assert_eq!(events(&world)[1], WorldEvent::Died { player: PlayerId(2), by });
        assert_eq!((player(&world, 1).kills, player(&world, 2).kills), (0, 0));
    }
    body_mut(&mut world, 1).heading = Angle(0x8000);
    swing(&mut world, 1);
    assert_eq!(events(&world), [WorldEvent::Swung { player: PlayerId(1), weapon: 0, hit: false }]);
}
