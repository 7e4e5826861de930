//! The rules of the game, without a server.

use tickwire::game::simple::TestWorld;

use super::*;

/// A world without wolves, with two soldiers of different teams at these positions in px.
fn duel(ann: (i32, i32), bob: (i32, i32)) -> (TestWorld<Fog>, PlayerId, PlayerId) {
    let mut world = TestWorld::<Fog>::new();
    world.game_mut().wolf_count = 0;
    let players = (world.join("Ann"), world.join("Bob"));
    world.tick();
    for (player, at) in [(players.0, ann), (players.1, bob)] {
        world.game_mut().soldiers.get_mut(player).expect("joined").at = (at.0 * PX, at.1 * PX);
    }
    (world, players.0, players.1)
}

/// The soldiers that a player sees.
fn seen(world: &TestWorld<Fog>, player: PlayerId) -> Vec<PlayerId> {
    world.visible(player, "soldiers").into_iter().map(|id| PlayerId(id as u16)).collect()
}

/// Looks right and fires.
const FIRE: Action = Action::Control { way: 0, aim: 0, is_firing: true };

#[test]
fn a_soldier_sees_an_enemy_in_sight_but_not_behind_a_wall() {
    let (world, ann, bob) = duel((1000, 800), (1300, 800));
    assert_eq!(seen(&world, ann), [ann], "the wall at 1160 px is in between");
    let (world, ann, _) = duel((1000, 500), (1300, 500));
    assert_eq!(seen(&world, ann), [ann, bob]);
    let (world, ann, _) = duel((1000, 500), (1400, 500));
    assert_eq!(seen(&world, ann), [ann], "farther than 340 px");
    assert_eq!(world.visible(ann, "own"), [u32::from(ann.0)], "cartridges are private");
}

#[test]
fn a_shot_is_received_by_those_that_see_where_it_starts() {
    let (mut world, ann, bob) = duel((1000, 800), (1300, 800));
    world.act(ann, FIRE);
    let tick = world.tick();
    assert_eq!(tick.events_of(ann).iter().map(|event| event.packet()).collect::<Vec<_>>(), ["shot"]);
    assert!(tick.events_of(bob).is_empty());
}

#[test]
fn three_shots_kill_and_the_team_gets_a_point() {
    let (mut world, ann, bob) = duel((1000, 500), (1250, 500));
    world.act(ann, FIRE);
    let mut killed = Vec::new();
    for tick in 0..30 {
        let report = world.tick();
        killed.extend(report.events_of(bob).iter().filter(|event| event.packet() == "killed").map(|_| tick));
    }
    let shots = [0, 7, 14];
    assert_eq!(killed, shots[2..], "four shots a second");
    assert_eq!(world.game().points, [1, 0]);
    assert_eq!(seen(&world, bob), [bob], "the dead see only their team");
    let wait = |world: &TestWorld<Fog>| {
        world.visible_rows(bob).iter().map(|OwnRow { wait_s, .. }| *wait_s).collect::<Vec<_>>()
    };
    // The kill was 15 ticks ago, so 2.5 s are left.
    assert_eq!(wait(&world), [3]);
    world.ticks(45);
    assert_eq!(wait(&world), [1]);
    world.ticks(45);
    assert_eq!(wait(&world), [0]);
    assert_eq!(world.game().soldiers.get(bob).map(|soldier| soldier.health), Some(100));
}

#[test]
fn a_text_reaches_the_own_team_only_and_not_too_often() {
    let (mut world, ann, bob) = duel((100, 100), (2300, 100));
    let carl = world.join("Carl");
    for count in 1..=5 {
        world.act(ann, Action::Say { text: "this way".into() });
        let tick = world.tick();
        let expected = usize::from(count < 5);
        assert_eq!(tick.events_of(carl).len(), expected, "{count}");
        assert_eq!(tick.events_of(bob).len(), 0);
        assert_eq!(tick.rejected, [(ann, "too_many_texts")][expected..]);
    }
}

#[test]
fn a_wolf_walks_around_a_wall_to_what_it_hunts() {
    let (mut world, ann, bob) = duel((270, 370), (2300, 100));
    world.game_mut().soldiers.remove(bob);
    world.game_mut().wolf_count = 1;
    world.game_mut().wolves = vec![Wolf { at: (370 * PX, 370 * PX), velocity: (0, 0), heading: Angle(0) }];
    world.tick();
    assert_eq!(world.visible(ann, "wolves"), [0; 0], "the wall is in between");
    let bites = (0..300).filter(|_| {
        world.tick();
        world.game().soldiers.get(ann).is_some_and(|soldier| soldier.health < HEALTH)
    });
    assert!(bites.count() > 0, "{:?}", world.game().wolves[0].at);
}
