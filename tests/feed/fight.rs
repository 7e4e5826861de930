//! What a fight is to those in it, and what is built: each layout tells strokes, health, deaths, what was won, and what
//! stands, to whom it concerns, and the way back into play.

use std::collections::BTreeMap;
use std::f64::consts::TAU;

use tickwire::game::{Publisher as _, UpdateRates};
use tickwire::internal::games::moo::MooPublisher;
use tickwire::internal::games::moo::world::rules::Resource;
use tickwire::internal::games::moo::world::{
    Action, Angle, Command, Identity, PlayerId, Rejection, Selection, Spawned, TickHz, World,
};
use tickwire::packet::Value;

use crate::told::Client;

const ATTACKER: u16 = 1;
const VICTIM: u16 = 2;

/// A world with two players, and the four clients that see it: each player in each layout.
struct Fight {
    world: World,
    publisher: MooPublisher,
    sequences: BTreeMap<u16, u64>,
    clients: Vec<Client>,
}

impl Fight {
    fn new() -> Fight {
        Fight::with(30, 1_440)
    }

    fn with(native_hz: u32, map_size_px: u32) -> Fight {
        let world = World::new(Identity { seed: 4, map_size_px, tick_hz: TickHz::Hz30 });
        let publisher =
            MooPublisher::new(&world, UpdateRates { tick_hz: 30, update_hz: native_hz, foreign_hz: 10 });
        let who = [(ATTACKER, "native"), (VICTIM, "native"), (ATTACKER, "legacy"), (VICTIM, "legacy")];
        let clients = who.map(|(player, dialect)| Client::new(player, dialect)).into();
        let mut fight = Fight { world, publisher, sequences: BTreeMap::new(), clients };
        for (player, name) in [(ATTACKER, "ann"), (VICTIM, "bob")] {
            let join = Action::Join { player: PlayerId(player), name: name.to_owned(), skin: 0 };
            fight.step(vec![(0, join)]);
        }
        fight
    }

    fn step(&mut self, actions: Vec<(u16, Action)>) {
        let mut commands = Vec::new();
        for (player, action) in actions {
            let sequence = self.sequences.entry(player).or_default();
            *sequence += 1;
            commands.push(Command { player: PlayerId(player), sequence: *sequence, action });
        }
        self.world.step(&mut commands);
        let rejected = &self.world.outcome().rejected;
        // Who builds tries one side after the other.
        assert!(rejected.iter().all(|(_, reason)| *reason == Rejection::NoRoom), "{rejected:?}");
        let published = self.publisher.publish(&self.world, &|_| 0);
        self.clients.iter_mut().for_each(|client| client.hear(&published));
    }

    fn is_alive(&self, player: u16) -> bool {
        self.world.player(PlayerId(player)).expect("in the world").alive
    }

    /// For a tick the attacker walks towards the victim, and looks at it.
    fn follow(&mut self) {
        let at = |player| {
            let body = self.world.player(PlayerId(player)).expect("in the world").body;
            (f64::from(body.x.0), f64::from(body.y.0))
        };
        let ((x, y), (to_x, to_y)) = (at(ATTACKER), at(VICTIM));
        let turns = ((to_y - y).atan2(to_x - x) / TAU).rem_euclid(1.0);
        let angle = Angle((turns * 65_536.0) as u32 as u16);
        self.step(vec![
            (ATTACKER, Action::Move { direction: Some(angle) }),
            (ATTACKER, Action::Aim { heading: angle }),
        ]);
    }

    /// The attacker walks up to the victim, looks at it and strikes until it is dead.
    fn out(&mut self) {
        self.step(vec![(ATTACKER, Action::Attack { on: true })]);
        for _ in 0..3_000 {
            self.follow();
            if !self.is_alive(VICTIM) {
                return self.step(vec![(ATTACKER, Action::Attack { on: false })]);
            }
        }
        panic!("nobody died");
    }
}

#[test]
fn a_fight_is_sent_to_both_players_in_both_layouts() {
    let mut fight = Fight::new();
    fight.out();
    let [native_attacker, native_victim, legacy_attacker, legacy_victim] = &fight.clients[..] else {
        panic!()
    };

    let swings = native_victim.numbers("swings");
    assert!(swings.chunks(3).any(|swing| swing == [1, 0, 1]), "the victim sees a hit: {swings:?}");
    for client in [native_attacker, native_victim] {
        let of_victim: Vec<i64> =
            client.numbers("health").chunks(2).filter(|of| of[0] == 2).map(|of| of[1]).collect();
        assert_eq!(of_victim, [75, 50, 25, 0][..of_victim.len()], "25 points a blow");
        assert!(of_victim.len() >= 3);
        assert_eq!(client.all("kill"), [&vec![1.into(), "ann".into(), 2.into(), "bob".into()]]);
    }
    assert_eq!(native_victim.all("died"), [&vec![1.into(), "ann".into()]]);
    assert!(native_attacker.all("died").is_empty());
    assert_eq!(
        native_victim.all("spectating").last(),
        Some(&&vec![Value::from(1)]),
        "the dead watch who did it"
    );
    let stats = native_attacker.all("stats").last().expect("the attacker's own")[4].clone();
    assert_eq!(stats, Value::from(1), "one kill");

    let hits = legacy_attacker.all("floating_text");
    assert_eq!(hits.len(), 4);
    assert!(hits.iter().all(|hit| hit[2] == Value::from(25)), "{hits:?}");
    assert!(legacy_attacker.all("gather").contains(&&vec![1.into(), 1.into(), 0.into()]));
    assert!(legacy_attacker.all("value").contains(&&vec!["kills".into(), 1.into(), 1.into()]));
    assert!(legacy_victim.all("health").contains(&&vec![2.into(), 50.into()]));
    assert_eq!((legacy_victim.all("died").len(), legacy_attacker.all("died").len()), (1, 0));
    assert!(legacy_victim.all("floating_text").is_empty(), "only who strikes sees the number");
}

/// The `spawn_protection` that a client received: pairs of player and state.
fn protection(client: &Client) -> Vec<Vec<i64>> {
    client.numbers("spawn_protection").chunks(2).map(<[i64]>::to_vec).collect()
}

#[test]
fn spawn_protection_is_sent_when_it_begins_and_when_it_ends() {
    let mut fight = Fight::new();
    assert_eq!(protection(&fight.clients[0]), [[1, 1], [2, 1]]);
    assert_eq!(protection(&fight.clients[1]), [[1, 1], [2, 1]], "player 1 enters with it");
    let body = fight.world.player(PlayerId(ATTACKER)).expect("in the world").body;
    let place = [body.x.to_px() - 90, body.y.to_px()];
    let [x_px, y_px] = place.map(|px| u16::try_from(px).expect("on the map"));
    let wall = Action::Spawn { what: Spawned::Item(3), x_px, y_px };
    fight.step(vec![(0, wall), (ATTACKER, Action::Aim { heading: Angle(0x8000) })]);
    fight.step(vec![(ATTACKER, Action::Attack { on: true }), (ATTACKER, Action::Attack { on: false })]);
    (0..146).for_each(|_| fight.step(Vec::new()));
    assert_eq!(protection(&fight.clients[1]), [[1, 1], [2, 1], [1, 0]], "an attack ends it");
    (0..2).for_each(|_| fight.step(Vec::new()));
    for native in &fight.clients[..2] {
        assert_eq!(protection(native), [[1, 1], [2, 1], [1, 0], [2, 0]], "its time ends it");
    }
    assert!(fight.clients[2..].iter().all(|legacy| legacy.all("spawn_protection").is_empty()));
    fight.out();
    fight.clients.iter_mut().for_each(|client| client.heard.clear());
    fight.step(vec![(VICTIM, Action::Respawn { name: "bob".to_owned(), skin: 0 })]);
    assert_eq!(protection(&fight.clients[1]), [[2, 1]], "a new life has it again");
}

#[test]
fn a_protected_player_is_not_struck() {
    let mut fight = Fight::new();
    fight.step(vec![(ATTACKER, Action::Attack { on: true })]);
    (0..140).for_each(|_| fight.follow());
    assert!(fight.clients.iter().all(|client| client.all("health").is_empty()));
    let swings = fight.clients[1].numbers("swings");
    assert!(swings.len() > 30 && swings.chunks(3).all(|swing| swing == [1, 0, 0]), "{swings:?}");
}

#[test]
fn a_dead_player_gets_a_new_setup() {
    let mut fight = Fight::new();
    fight.out();
    fight.clients.iter_mut().for_each(|client| client.heard.clear());
    fight.step(vec![(VICTIM, Action::Respawn { name: "bob".to_owned(), skin: 3 })]);
    (0..6).for_each(|_| fight.step(Vec::new()));
    let (native, legacy) = (&fight.clients[1], &fight.clients[3]);
    assert_eq!(native.all("spawned"), [&vec![Value::from(2)]]);
    let names: Vec<&str> = legacy.heard.iter().map(|(name, _)| name.as_str()).collect();
    let place = |name: &str| {
        names.iter().position(|heard| *heard == name).unwrap_or_else(|| panic!("{name}: {names:?}"))
    };
    assert!(
        place("setup") < place("add_player") && place("add_player") < place("update_players"),
        "{names:?}"
    );
    assert!(place("update_players") < place("value") && place("value") < place("load_objects"), "{names:?}");
}

#[test]
fn healing_by_food_is_sent_only_to_the_player_that_eats() {
    let mut fight = Fight::new();
    fight.out();
    let grant = Action::Grant { player: PlayerId(VICTIM), resource: Resource::Food, amount: 100 };
    fight.step(vec![(0, grant), (VICTIM, Action::Respawn { name: "bob".to_owned(), skin: 3 })]);
    // The strokes go on until it is hurt, then it eats an apple.
    fight.step(vec![(ATTACKER, Action::Attack { on: true })]);
    for _ in 0..3_000 {
        fight.follow();
        if fight.world.player(PlayerId(VICTIM)).expect("in the world").body.health < 80 {
            break;
        }
    }
    let apple = Action::Select { what: Selection::Item(0) };
    fight.step(vec![
        (ATTACKER, Action::Attack { on: false }),
        (VICTIM, apple),
        (VICTIM, Action::Attack { on: true }),
    ]);
    (0..40).for_each(|_| fight.step(Vec::new()));
    let [_, _, legacy_attacker, legacy_victim] = &fight.clients[..] else { panic!("four") };
    let healed: Vec<_> = legacy_victim.all("floating_text").iter().map(|text| text[2].clone()).collect();
    assert_eq!(healed, [Value::from(-20)], "an apple, and no point that came back by itself");
    assert!(legacy_attacker.all("floating_text").iter().all(|text| text[2].as_i64() > Some(0)));
}

#[test]
fn a_player_that_respawns_with_another_name_is_introduced_again() {
    // Of three steps one is a turn: each of them is the one of the death once.
    for offset in 0..3 {
        let mut fight = Fight::with(10, 14_400);
        (0..offset).for_each(|_| fight.step(Vec::new()));
        fight.out();
        fight.clients[2].heard.clear();
        fight.step(vec![(VICTIM, Action::Respawn { name: "rob".to_owned(), skin: 5 })]);
        (0..6).for_each(|_| fight.step(Vec::new()));
        let watcher = &fight.clients[2];
        let told = watcher.all("add_player");
        assert_eq!(told.len(), 1, "once, offset {offset}: {told:?}");
        let values = told[0][0].as_array().expect("a player");
        assert!(values.contains(&Value::from("rob")) && values.contains(&Value::from(5)), "{values:?}");
        let place = |name: &str| watcher.heard.iter().position(|(heard, _)| heard == name);
        assert!(place("add_player") < place("update_players"), "before the first update that shows it");
        let removed = place("remove_player").expect("the old one goes");
        assert!(Some(removed) < place("add_player"), "before the new one comes");
    }
}

#[test]
fn a_player_that_respawns_before_the_next_turn_gets_a_new_setup() {
    // Of three steps one is a turn: each of them is the one of the death once.
    for offset in 0..3 {
        let mut fight = Fight::with(10, 14_400);
        (0..offset).for_each(|_| fight.step(Vec::new()));
        fight.out();
        // What was told since the death is looked at, the turn between death and return included if there was one.
        fight.step(vec![(VICTIM, Action::Respawn { name: "bob".to_owned(), skin: 3 })]);
        (0..3).for_each(|_| fight.step(Vec::new()));
        for (client, packet) in [(1, "spawned"), (3, "setup")] {
            let births = fight.clients[client].all(packet).len();
            assert_eq!(births, 2, "client {client}, offset {offset}");
        }
        let (mut left, mut came) = (0, 0);
        for update in fight.clients[0].all("update") {
            let has = |at: usize, stride: usize| {
                let list = update.get(at).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                usize::from(list.chunks(stride).any(|group| group[0] == Value::from(VICTIM)))
            };
            left += has(2, 1);
            came += has(3, 6);
        }
        assert!(left >= 1 && came == left + 1, "the other sees it go {left} times and come {came} times");
    }
}

#[test]
fn gathering_shakes_the_tree_and_fills_the_store() {
    let mut fight = Fight::new();
    let body = fight.world.player(PlayerId(ATTACKER)).expect("in the world").body.clone();
    let near = fight.world.scenery().min_by_key(|thing| {
        let (dx, dy) = (thing.x_px - body.x.to_px(), thing.y_px - body.y.to_px());
        dx * dx + dy * dy
    });
    let thing = near.expect("something stands there");
    for _ in 0..600 {
        let body = fight.world.player(PlayerId(ATTACKER)).expect("in the world").body;
        let (dx, dy) = (
            f64::from(thing.x_px) - f64::from(body.x.to_px()),
            f64::from(thing.y_px) - f64::from(body.y.to_px()),
        );
        let angle = Angle(((dy.atan2(dx) / TAU).rem_euclid(1.0) * 65_536.0) as u32 as u16);
        fight.step(vec![
            (ATTACKER, Action::Move { direction: Some(angle) }),
            (ATTACKER, Action::Aim { heading: angle }),
            (ATTACKER, Action::Attack { on: true }),
        ]);
    }
    let (native, legacy) = (&fight.clients[0], &fight.clients[2]);
    let shaken = native.numbers("object_hits");
    assert!(shaken.chunks(2).any(|shake| shake[0] == i64::from(thing.id.0)), "{shaken:?}");
    let last = native.all("stats").last().expect("one's own")[thing.kind as usize].as_u64();
    let in_world =
        fight.world.player(PlayerId(ATTACKER)).expect("in the world").resources[thing.kind as usize];
    assert!(in_world > 0);
    assert_eq!(last, Some(in_world.into()));
    let sid = Value::from(thing.id.0 - 65_536);
    assert!(legacy.all("wiggle").iter().any(|wiggle| wiggle[1] == sid));
}

/// The number of the wooden wall, of its group, and what it costs.
const WALL: u8 = 3;
const WALLS: i64 = 1;

/// The attacker gets wood, looks away from the victim and builds a wall there.
fn build(fight: &mut Fight) {
    let grant = Action::Grant { player: PlayerId(ATTACKER), resource: Resource::Wood, amount: 10 };
    fight.step(vec![(0, grant)]);
    fight.step(vec![(ATTACKER, Action::Select { what: Selection::Item(WALL) })]);
    for eighth in 0..8u16 {
        let heading = Angle(eighth * 8_192);
        fight.step(vec![(ATTACKER, Action::Aim { heading }), (ATTACKER, Action::Attack { on: true })]);
        fight.step(vec![(ATTACKER, Action::Attack { on: false })]);
        if fight.world.structures().count() > 0 {
            break;
        }
    }
    (0..4).for_each(|_| fight.step(Vec::new()));
    assert_eq!(fight.world.structures().count(), 1, "the wall stands");
}

#[test]
fn a_new_structure_is_sent_once_with_its_owner() {
    let mut fight = Fight::new();
    build(&mut fight);
    let wall = fight.world.structures().next().expect("it stands");
    let place = [wall.x_px, wall.y_px].map(i64::from);
    for native in &fight.clients[..2] {
        let told = native.numbers("structures");
        assert_eq!(told[..5], [wall.id.0.into(), WALL.into(), ATTACKER.into(), place[0], place[1]]);
        assert_eq!(told.len(), 6, "told once");
        assert!(native.numbers_with_nil("held_items").chunks(3).any(|hand| hand == [1, 0, i64::from(WALL)]));
    }
    let inventory = fight.clients[0].all("inventory").last().expect("one's own")[2].clone();
    assert_eq!(inventory.as_array().expect("a list")[..], [Value::from(WALLS), Value::from(1)]);
    for legacy in &fight.clients[2..] {
        let lists = legacy.all("load_objects").into_iter().flat_map(|values| values[0].as_array().cloned());
        let built: Vec<Vec<Value>> = lists
            .flatten()
            .collect::<Vec<_>>()
            .chunks(8)
            .filter(|of| !of[6].is_nil())
            .map(<[Value]>::to_vec)
            .collect();
        assert_eq!(built.len(), 1, "told once");
        assert_eq!(built[0][5..], [Value::Nil, Value::from(WALL), Value::from(ATTACKER)]);
    }
    assert!(fight.clients[2].all("item_count").contains(&&vec![Value::from(WALLS), Value::from(1)]));
    assert!(fight.clients[3].all("item_count").is_empty(), "only the owner counts");
}

#[test]
fn a_destroyed_structure_is_removed_for_every_client_that_knew_it() {
    let mut fight = Fight::new();
    build(&mut fight);
    let wall = fight.world.structures().next().expect("it stands");
    // Its owner leaves, and what it built goes with it.
    fight.step(vec![(0, Action::Leave { player: PlayerId(ATTACKER) })]);
    (0..4).for_each(|_| fight.step(Vec::new()));
    assert_eq!(fight.world.structures().count(), 0);
    assert_eq!(fight.clients[1].numbers("structures_gone"), [i64::from(wall.id.0)]);
    let sid = Value::from(wall.id.0 - 65_536);
    assert_eq!(fight.clients[3].all("remove_object"), [&vec![sid]]);
}

#[test]
fn strikes_of_a_known_player_out_of_view_are_not_sent() {
    let mut fight = Fight::with(30, 14_400);
    let walk = |angle| Action::Move { direction: Some(Angle(angle)) };
    fight.step(vec![(ATTACKER, walk(0)), (VICTIM, walk(1 << 15)), (ATTACKER, Action::Attack { on: true })]);
    (0..450).for_each(|_| fight.step(Vec::new()));
    let x_px = |player| fight.world.player(PlayerId(player)).expect("in the world").body.x.to_px();
    assert!((x_px(ATTACKER) - x_px(VICTIM)).abs() > 1_400, "they are not on one screen any more");
    fight.clients.iter_mut().for_each(|client| client.heard.clear());
    (0..30).for_each(|_| fight.step(Vec::new()));
    let told = |client: usize, packet| fight.clients[client].all(packet).len();
    assert!(told(0, "swings") > 0 && told(2, "gather") > 0, "who strikes is told");
    assert_eq!((told(1, "swings"), told(3, "gather")), (0, 0), "the other one is not");
}
