//! States at the limit of validity are accepted; one step further they are rejected (see `check`).

use crate::controller::{Controller, Player};
use crate::fixed::Fixed;
use crate::rules::{xp_next, TickHz, GROUPS};
use crate::state::{Identity, State};
use crate::tests::state::snapshot::lively;
use crate::world::World;

/// A change after which a state is still valid.
type Change = fn(&mut State);

fn player(state: &mut State, at: usize, change: impl Fn(&mut Player)) {
    match &mut state.players[at].controller {
        Controller::Player(player) => change(player),
        _ => panic!("a player is a player"),
    }
}

#[test]
fn a_state_at_the_limit_is_accepted() {
    let rows: [(&str, Change); 24] = [
        ("slowness", |state| player(state, 1, |player| player.slow = 21_000)),
        ("waiting for health", |state| player(state, 1, |player| player.heal_wait = 15_000)),
        ("spawn protection", |state| player(state, 1, |player| player.protection = 15_000)),
        ("waiting for a touch", |state| player(state, 1, |player| player.ground.touch_wait = 600)),
        ("pay", |state| player(state, 1, |player| player.kit.earned = 5_999)),
        ("first age", |state| player(state, 0, |player| (player.growth.age, player.growth.xp) = (1, 0))),
        ("before the second age", |state| {
            player(state, 0, |player| (player.growth.age, player.growth.xp) = (1, 299))
        }),
        ("before the last age", |state| {
            player(state, 0, |player| (player.growth.age, player.growth.xp) = (99, xp_next(99) - 1))
        }),
        ("last age", |state| player(state, 0, |player| (player.growth.age, player.growth.xp) = (100, 0))),
        ("first choice", |state| player(state, 0, |player| player.growth.choice_age = 2)),
        ("last choice", |state| player(state, 0, |player| player.growth.choice_age = 9)),
        ("all chosen", |state| player(state, 0, |player| player.growth.choice_age = 10)),
        ("second weapon", |state| player(state, 0, |player| player.kit.weapons[1] = Some(14))),
        ("second weapon in the hand", |state| {
            player(state, 0, |player| {
                player.kit.weapons[1] = Some(10);
                player.hand.weapon = 10;
            })
        }),
        ("fewest items", |state| player(state, 0, |player| player.kit.items = [None; GROUPS])),
        ("longest name", |state| player(state, 0, |player| player.name = "123456789012345".into())),
        ("least health", |state| state.players[0].body.health = 1),
        ("most health", |state| state.players[0].body.health = 100),
        ("speed", |state| {
            let body = &mut state.players[0].body;
            (body.vx, body.vy) = (Fixed::from_px(320), Fixed::from_px(-320));
        }),
        ("top left", |state| {
            let body = &mut state.players[0].body;
            (body.x, body.y) = (Fixed::from_px(35), Fixed::from_px(35));
        }),
        ("bottom right", |state| {
            let body = &mut state.players[0].body;
            (body.x, body.y) = (Fixed::from_px(1_405), Fixed::from_px(1_405));
        }),
        ("scenery at the edge", |state| {
            let body = &mut state.scenery[0].body;
            body.x = Fixed::from_px(body.radius_px);
        }),
        ("least health of a structure", |state| state.structures[0].body.health = 1),
        ("most health of a structure", |state| state.structures[0].body.health = 380),
    ];
    for (name, change) in rows {
        let mut world = lively(3, 1_440, TickHz::Hz30);
        change(&mut world.state);
        let restored = World::restore(&world.snapshot());
        assert_eq!(restored.map(|restored| restored.state), Ok(world.state), "{name}");
    }
}

#[test]
fn the_smallest_and_the_largest_map_are_accepted() {
    for map_size_px in [1_440, 32_000] {
        let world = World::new(Identity { seed: 1, map_size_px, tick_hz: TickHz::Hz15 });
        assert!(World::restore(&world.snapshot()).is_ok(), "{map_size_px}");
    }
}
