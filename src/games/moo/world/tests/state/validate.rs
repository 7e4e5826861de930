//! An impossible state is rejected with the name of the invalid field.

use crate::clan::ClanId;
use crate::controller::{Controller, Player, Poison, Shot, Structure};
use crate::entity::Embodied as _;
use crate::entity::{Body, Entity, EntityId, PlayerId};
use crate::fixed::{Angle, Fixed};
use crate::rules::{TickHz, MAX_SHOTS};
use crate::snapshot::SnapshotError;
use crate::state::State;
use crate::tests::state::snapshot::lively;
use crate::world::World;

/// A change that makes a state invalid.
type Spoil = fn(&mut State);

fn spoil_player(state: &mut State, at: usize, spoil: impl Fn(&mut Player)) {
    match &mut state.players[at].controller {
        Controller::Player(player) => spoil(player),
        _ => panic!("a player is a player"),
    }
}

#[test]
fn each_state_that_no_world_has_is_refused_by_name() {
    let rows: [(&str, Spoil); 18] = [
        ("map_size_px", |state| state.identity.map_size_px = 1_439),
        ("map_size_px", |state| state.identity.map_size_px = 32_001),
        ("order of entities", |state| state.players.swap(0, 1)),
        ("order of entities", |state| state.scenery.swap(3, 4)),
        ("order of entities", |state| state.scenery[4].id = state.scenery[3].id),
        ("controller of a player", |state| state.players[1].controller = state.scenery[0].controller.clone()),
        ("controller of scenery", |state| state.scenery[1].controller = state.players[0].controller.clone()),
        ("owner of a player", |state| state.players[0].id.0 -= 1),
        ("radius of a player", |state| state.players[0].body.radius_px = 36),
        ("health of a player", |state| state.players[0].body.health = 101),
        ("name of a player", |state| spoil_player(state, 0, |player| player.name = "a\nb".into())),
        ("number of a scenery object", |state| state.scenery[0].id.0 = 65_535),
        ("scale of a scenery object", |state| match &mut state.scenery[0].controller {
            Controller::Scenery(scenery) => scenery.scale_px = 151,
            _ => panic!("scenery is scenery"),
        }),
        ("radius of a scenery object", |state| state.scenery[0].body.radius_px += 1),
        ("place", |state| state.players[0].body.x = Fixed((35 << 16) - 1)),
        ("place", |state| state.scenery[0].body.y = Fixed::from_px(1_440)),
        ("velocity", |state| state.players[0].body.vx = Fixed((320 << 16) + 1)),
        ("velocity", |state| state.players[0].body.vy = Fixed(i32::MIN)),
    ];
    refuse_each(&rows);
}

fn refuse_each(rows: &[(&'static str, Spoil)]) {
    for (name, spoil) in rows.iter().copied() {
        let mut world = lively(3, 1_440, TickHz::Hz30);
        assert!(World::restore(&world.snapshot()).is_ok());
        spoil(&mut world.state);
        assert_eq!(World::restore(&world.snapshot()), Err(SnapshotError::Value(name)));
        assert!(SnapshotError::Value(name).to_string().contains(name));
    }
}

/// Changes the player that built structures.
fn builder(state: &mut State, spoil: impl Fn(&mut Player)) {
    spoil_player(state, 1, spoil);
}

#[test]
fn a_player_with_anything_against_the_rules_is_refused() {
    let rows: [(&str, Spoil); 23] = [
        ("life of a player", |state| builder(state, |player| player.alive = false)),
        ("life of a player", |state| state.players[1].body.health = 0),
        ("state of a dead body", |state| spoil_player(state, 4, |player| player.direction = Some(Angle(0)))),
        ("state of a dead body", |state| spoil_player(state, 4, |player| player.hand.attacking = true)),
        ("state of a dead body", |state| spoil_player(state, 4, |player| player.stirred = true)),
        ("slowness of a player", |state| builder(state, |player| player.slow = 21_001)),
        ("timer of a player", |state| builder(state, |player| player.heal_wait = 15_001)),
        ("spawn protection of a player", |state| builder(state, |player| player.protection = 15_001)),
        ("spawn protection of a player", |state| spoil_player(state, 4, |player| player.protection = 1)),
        ("age of a player", |state| builder(state, |player| player.growth.age = 0)),
        ("age of a player", |state| builder(state, |player| player.growth.age = 101)),
        ("experience of a player", |state| spoil_player(state, 0, |player| player.growth.xp = 300)),
        ("choices of a player", |state| builder(state, |player| player.growth.choice_age = 1)),
        ("choices of a player", |state| builder(state, |player| player.growth.choice_age = 11)),
        ("touch timer of a player", |state| builder(state, |player| player.ground.touch_wait = 601)),
        ("weapon of a player", |state| builder(state, |player| player.kit.weapons[0] = None)),
        ("weapon of a player", |state| builder(state, |player| player.kit.weapons[1] = Some(5))),
        ("item of a player", |state| builder(state, |player| player.kit.items[0] = Some(3))),
        ("item of a player", |state| builder(state, |player| player.kit.items[2] = Some(13))),
        ("income of a player", |state| builder(state, |player| player.kit.earned = 6_000)),
        ("weapon in the hand", |state| builder(state, |player| player.hand.weapon = 7)),
        ("item in the hand", |state| builder(state, |player| player.hand.item = Some(20))),
        ("count of structures", |state| builder(state, |player| player.kit.income_halves += 1)),
    ];
    refuse_each(&rows);
}

fn item_of(state: &mut State, at: usize, item: u8) {
    state.structures[at].controller = Controller::Structure(Structure { item, wait: 0 });
}

#[test]
fn a_structure_that_no_player_can_have_built_is_refused() {
    let rows: [(&str, Spoil); 15] = [
        ("order of entities", |state| state.structures.swap(0, 1)),
        ("count of structures", |state| builder(state, |player| player.kit.built[1] += 1)),
        ("count of structures", |state| drop(state.structures.remove(0))),
        ("owner of a structure", |state| drop(state.players.remove(1))),
        ("next number", |state| state.next_id.0 = 65_536),
        ("number of a structure", |state| state.structures[0].id.0 = 65_536),
        ("number of a structure", |state| {
            state.structures.last_mut().expect("one stands").id = state.next_id
        }),
        ("controller of a structure", |state| item_of(state, 0, 13)),
        ("controller of a structure", |state| {
            state.structures[0].controller = state.scenery[0].controller.clone()
        }),
        ("radius of a structure", |state| item_of(state, 0, 0)),
        ("radius of a structure", |state| state.structures[0].body.radius_px += 1),
        ("health of a structure", |state| state.structures[0].body.health = 0),
        ("health of a structure", |state| state.structures[0].body.health = 1_501),
        ("place", |state| state.structures[0].body.x = Fixed::ZERO),
        ("number of structures", |state| {
            for at in 0..2 {
                item_of(state, at, 20);
                let body = &mut state.structures[at].body;
                (body.radius_px, body.health) = (22, 400);
            }
        }),
    ];
    refuse_each(&rows);
}

#[test]
fn a_clan_that_no_player_can_have_founded_is_refused() {
    let rows: [(&str, Spoil); 15] = [
        ("order of clans", |state| state.clans.swap(0, 1)),
        ("order of clans", |state| state.clans[1].id = state.clans[0].id),
        ("number of a clan", |state| state.next_clan = 2),
        ("number of a clan", |state| state.clans[0].id = ClanId(0)),
        ("name of a clan", |state| state.clans[0].name = "".into()),
        ("name of a clan", |state| state.clans[0].name = "12345678".into()),
        ("name of a clan", |state| state.clans[1].name = state.clans[0].name.clone()),
        ("owner of a clan", |state| state.clans[0].owner = PlayerId(99)),
        ("owner of a clan", |state| state.clans[0].owner = PlayerId(200)),
        ("owner of a clan", |state| spoil_player(state, 0, |player| player.clan = None)),
        ("owner of a clan", |state| drop(state.players.remove(0))),
        ("clan of a player", |state| drop(state.clans.remove(0))),
        ("clan of a player", |state| spoil_player(state, 2, |player| player.clan = Some(ClanId(3)))),
        ("request of a player", |state| builder(state, |player| player.join_request = Some(ClanId(3)))),
        ("request of a player", |state| {
            spoil_player(state, 0, |player| player.join_request = Some(ClanId(2)))
        }),
    ];
    refuse_each(&rows);
}

/// Changes the projectile of player 300.
fn shot(state: &mut State, spoil: impl Fn(&mut Body, &mut Shot)) {
    match &mut state.shots[0] {
        Entity { body, controller: Controller::Shot(shot), .. } => spoil(body, shot),
        _ => panic!("a shot is a shot"),
    }
}

#[test]
fn a_projectile_that_no_player_can_have_fired_is_refused() {
    let rows: [(&str, Spoil); 19] = [
        ("order of entities", |state| state.shots.push(state.shots[0].clone())),
        ("number of shots", |state| {
            for _ in 0..MAX_SHOTS {
                let next = Entity { id: state.next_shot, ..state.shots[0].clone() };
                state.shots.push(next);
                state.next_shot.0 += 1;
            }
        }),
        ("next projectile number", |state| state.next_shot = EntityId::FIRST_SHOT),
        ("next projectile number", |state| state.shots.clear()),
        ("controller of a shot", |state| state.shots[0].controller = state.scenery[0].controller.clone()),
        ("kind of a shot", |state| shot(state, |_, shot| shot.kind = 4)),
        ("number of a shot", |state| state.shots[0].id.0 -= 1),
        ("range of a shot", |state| shot(state, |_, shot| shot.left = Fixed::ZERO)),
        ("range of a shot", |state| {
            shot(state, |_, shot| shot.left = Fixed::from_px(1_000).saturating_add(Fixed(1)))
        }),
        ("owner of a shot", |state| shot(state, |body, _| body.owner = PlayerId(600))),
        ("origin of a shot", |state| shot(state, |_, shot| shot.by = PlayerId(400).entity())),
        ("origin of a shot", |state| shot(state, |_, shot| shot.by = EntityId(0))),
        ("origin of a shot", |state| {
            let next = state.next_id;
            shot(state, |_, shot| shot.by = next);
        }),
        ("body of a shot", |state| shot(state, |body, _| body.radius_px = 1)),
        ("body of a shot", |state| shot(state, |body, _| body.health = 1)),
        ("velocity of a shot", |state| shot(state, |body, _| body.vx.0 += 1)),
        ("velocity of a shot", |state| shot(state, |body, _| body.heading.0 ^= 0x4000)),
        ("place", |state| shot(state, |body, _| body.x = Fixed(-1))),
        ("place", |state| shot(state, |body, _| body.y = Fixed::from_px(1_440).saturating_add(Fixed(1)))),
    ];
    refuse_each(&rows);
}

#[test]
fn timers_and_poison_beyond_the_rules_are_refused() {
    let rows: [(&str, Spoil); 8] = [
        ("timer of a structure", |state| {
            state.structures[0].controller = Controller::Structure(Structure { item: 3, wait: 1 })
        }),
        ("poison of a player", |state| spoil_player(state, 0, |player| player.poison.doses = 6)),
        ("poison of a player", |state| spoil_player(state, 0, |player| player.poison.doses = 0)),
        ("poison of a player", |state| spoil_player(state, 0, |player| player.poison.wait = 0)),
        ("poison of a player", |state| spoil_player(state, 0, |player| player.poison.wait = 3_001)),
        ("poison of a player", |state| spoil_player(state, 0, |player| player.poison.by = PlayerId(600))),
        ("poison of a player", |state| spoil_player(state, 1, |player| player.poison.by = PlayerId(400))),
        ("poison of a player", |state| {
            spoil_player(state, 4, |player| player.poison = Poison { by: PlayerId(400), doses: 1, wait: 1 })
        }),
    ];
    refuse_each(&rows);
}
