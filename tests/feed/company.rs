//! What flies, what lives, and who belongs together: each layout tells them to whom they concern, once, and in order.

use std::collections::{BTreeMap, BTreeSet};

use tickwire::game::{Publisher as _, UpdateRates};
use tickwire::internal::games::moo::MooPublisher;
use tickwire::internal::games::moo::world::rules::AnimalKind;
use tickwire::internal::games::moo::world::{
    Action, Command, Identity, PlayerId, Spawned, TickHz, World, WorldEvent,
};
use tickwire::packet::Value;

use crate::told::Client;

const ANN: u16 = 1;
const BOB: u16 = 2;

/// A world with two players and the four clients that see it: each player in each layout.
struct Company {
    world: World,
    publisher: MooPublisher,
    sequences: BTreeMap<u16, u64>,
    clients: Vec<Client>,
    /// Shots that began and that ended.
    shots: [usize; 2],
}

impl Company {
    fn new() -> Company {
        let world = World::new(Identity { seed: 4, map_size_px: 1_440, tick_hz: TickHz::Hz30 });
        let publisher = MooPublisher::new(&world, UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 10 });
        let who = [(ANN, "native"), (BOB, "native"), (ANN, "legacy"), (BOB, "letters")];
        let clients = who.map(|(player, dialect)| Client::new(player, dialect)).into();
        let mut company = Company { world, publisher, sequences: BTreeMap::new(), clients, shots: [0; 2] };
        for (player, name) in [(ANN, "ann"), (BOB, "bob")] {
            let join = Action::Join { player: PlayerId(player), name: name.to_owned(), skin: 0 };
            company.step(vec![(0, join)]);
        }
        company.wait(4);
        company
    }

    fn step(&mut self, actions: Vec<(u16, Action)>) {
        let mut commands = Vec::new();
        for (player, action) in actions {
            let sequence = self.sequences.entry(player).or_default();
            *sequence += 1;
            commands.push(Command { player: PlayerId(player), sequence: *sequence, action });
        }
        self.world.step(&mut commands);
        for event in &self.world.outcome().events {
            self.shots[0] += usize::from(matches!(event, WorldEvent::Shot { .. }));
            self.shots[1] += usize::from(matches!(event, WorldEvent::ShotEnded { .. }));
        }
        let published = self.publisher.publish(&self.world, &|_| 0);
        self.clients.iter_mut().for_each(|client| client.hear(&published));
    }

    fn do_it(&mut self, player: u16, action: Action) {
        self.step(vec![(player, action)]);
        let rejected = &self.world.outcome().rejected;
        assert!(rejected.is_empty(), "{rejected:?}");
    }

    fn wait(&mut self, ticks: u32) {
        (0..ticks).for_each(|_| self.step(Vec::new()));
    }

    /// The operator lets something appear near the players, where there is room.
    fn spawn(&mut self, what: Spawned) {
        let body = self.world.player(PlayerId(ANN)).expect("in the world").body;
        let (x, y) = (body.x.to_px(), body.y.to_px());
        let offsets = (1..8).flat_map(|ring| [(ring, 0), (-ring, 0), (0, ring), (0, -ring), (ring, ring)]);
        for (dx, dy) in offsets {
            let (x, y) = (x + dx * 90, y + dy * 90);
            let (Ok(x_px), Ok(y_px)) = (u16::try_from(x), u16::try_from(y)) else { continue };
            self.step(vec![(0, Action::Spawn { what, x_px, y_px })]);
            if self.world.outcome().rejected.is_empty() {
                return;
            }
        }
        panic!("no room for {what:?}");
    }

    fn forget(&mut self) {
        self.clients.iter_mut().for_each(|client| client.heard.clear());
    }

    fn clients(&self) -> [&Client; 4] {
        [&self.clients[0], &self.clients[1], &self.clients[2], &self.clients[3]]
    }
}

#[test]
fn a_shot_is_sent_once_when_it_begins_and_once_when_it_ends() {
    let mut company = Company::new();
    company.spawn(Spawned::Item(17));
    while company.shots[0] < 3 || company.shots[0] != company.shots[1] {
        company.step(Vec::new());
        assert!(company.world.tick() < 1_000, "{:?} shots began and ended", company.shots);
    }
    let begun = company.shots[0];
    let turret = company.world.structures().next().expect("it stands").id;
    let [native, _, legacy, _] = company.clients();
    let shots = native.numbers("shots");
    let seen = shots.len() / 7;
    assert!((1..=begun).contains(&seen), "the window holds the turret: {seen} of {begun}");
    for shot in shots.chunks(7) {
        assert_eq!((shot[1], shot[2]), (1, i64::from(turret.0)), "a turret bolt, by the turret");
        assert!((1..=700).contains(&shot[6]), "it still flies so far: {shot:?}");
    }
    assert_eq!(native.numbers("shot_ends").len() / 3, seen, "each end once");
    assert_eq!(legacy.all("add_projectile").len(), seen);
    assert_eq!(legacy.all("remove_projectile").len(), seen);
    // The first shot may come before the turn that tells of the turret; then only the shot is told.
    assert!((seen - 1..=seen).contains(&legacy.all("turret_shot").len()));
    let shot = &legacy.all("add_projectile")[0];
    assert_eq!((shot[4].as_f64(), &shot[5]), (Some(1.5), &Value::from(1)), "px a millisecond, kind");
    let flown = legacy.all("remove_projectile")[0][1].as_i64().expect("a way");
    assert!((0..=700).contains(&flown), "{flown}");
    let order = |name: &str| legacy.heard.iter().rposition(|(heard, _)| heard == name).expect("told");
    assert!(order("turret_shot") < order("add_projectile"));
    assert!(order("add_projectile") < order("remove_projectile"));
}

#[test]
fn animals_are_sent_when_they_appear_change_or_disappear() {
    let mut company = Company::new();
    company.forget();
    company.spawn(Spawned::Animal(AnimalKind::Wolf));
    let wolf = company.world.animals().last().expect("it lives");
    let number = i64::from(wolf.id.0 - 0x4000_0000);
    company.wait(1_200);
    let [native, bob, legacy, _] = company.clients();
    let records = native.numbers("animals");
    let of_wolf: Vec<&[i64]> = records.chunks(6).filter(|record| record[0] == number).collect();
    assert_eq!(of_wolf.first().map(|record| (record[1], record[5])), Some((4, 300)), "a wolf, unhurt");
    assert!(of_wolf.windows(2).all(|pair| pair[0] != pair[1]), "nothing is said twice");
    assert!(of_wolf.len() > 20, "it hunts");
    assert!(native.numbers("animal_attacks").contains(&number), "and strikes");
    assert!(
        [native, bob].iter().any(|client| !client.all("died").is_empty()),
        "whoever it hunts does not flee here"
    );
    assert_eq!(
        native.all("died").iter().chain(&bob.all("died")).next().map(|died| died[0].is_nil()),
        Some(true)
    );
    let in_legacy: Vec<i64> = legacy
        .all("animals")
        .iter()
        .flat_map(|values| values[0].as_array().expect("a list").chunks(7))
        .filter(|animal| animal[0] == Value::from(number))
        .map(|animal| animal[1].as_i64().expect("a type"))
        .collect();
    assert!(!in_legacy.is_empty() && in_legacy.iter().all(|kind| *kind == 4));
    let names: BTreeSet<(i64, i64)> = legacy
        .all("animals")
        .iter()
        .flat_map(|values| values[0].as_array().expect("a list").chunks(7))
        .map(|animal| (animal[0].as_i64().expect("a sid"), animal[6].as_i64().expect("a name")))
        .collect();
    assert!(names.iter().all(|(sid, name)| *name == sid % 45), "each keeps its name: {names:?}");
    assert!(legacy.all("animate_animal").contains(&&vec![Value::from(number)]));
}

#[test]
fn cows_have_different_names_in_the_moomoo_dialects() {
    let mut company = Company::new();
    (0..3).for_each(|_| company.spawn(Spawned::Animal(AnimalKind::Cow)));
    company.forget();
    company.wait(10);
    let update = company.clients[2].all("animals").last().expect("told")[0].clone();
    let animals = update.as_array().expect("a list").chunks(7);
    let names: BTreeSet<i64> = animals.map(|animal| animal[6].as_i64().expect("a name")).collect();
    assert_eq!(names.len(), 3, "{update:?}");
}

#[test]
fn operator_structures_have_no_owner_in_moomoo_and_owner_0_in_native() {
    let mut company = Company::new();
    company.spawn(Spawned::Item(17));
    company.wait(4);
    let [native, _, legacy, _] = company.clients();
    assert_eq!(native.numbers("structures")[2], 0);
    let objects = legacy
        .all("load_objects")
        .into_iter()
        .flat_map(|values| values[0].as_array().expect("a list").chunks(8));
    let built: Vec<Option<i64>> =
        objects.filter(|object| !object[6].is_nil()).map(|object| object[7].as_i64()).collect();
    assert_eq!(built, [Some(-1)]);
}

fn people(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").chunks(2).map(|pair| pair[1].as_str().expect("a name")).collect()
}

#[test]
fn clans_are_sent_to_all_clients_and_members_only_to_the_clan() {
    let mut company = Company::new();
    company.forget();
    company.do_it(ANN, Action::ClanCreate { name: "wolves".to_owned() });
    company.wait(4);
    company.do_it(BOB, Action::ClanRequest { name: "wolves".to_owned() });
    company.wait(4);
    let [ann, bob, legacy_ann, letters_bob] = company.clients();
    for client in [ann, bob] {
        let founded = Value::Array(vec![1.into(), "wolves".into(), ANN.into()]);
        assert_eq!(client.all("clan_changes"), [&vec![Value::Array(vec![]), founded]]);
    }
    let own = ann.all("clan").last().map(|values| (values[1].clone(), values[3].clone()));
    let asks = Value::Array(vec![BOB.into(), "bob".into()]);
    assert_eq!(own, Some((1.into(), asks)), "the owner sees who asks");
    assert!(bob.all("clan").is_empty(), "who only asks is in none");
    assert_eq!(legacy_ann.all("join_request"), [&vec![BOB.into(), "bob".into()]]);
    assert_eq!(legacy_ann.all("own_clan"), [&vec!["wolves".into(), 1.into()]]);
    assert_eq!(letters_bob.all("add_clan").len(), 1);
    assert_eq!(bob.numbers("clan_tags"), [1, 1], "the tag of ann, whom bob sees");

    company.forget();
    company.do_it(ANN, Action::ClanAnswer { player: PlayerId(BOB), accept: true });
    company.wait(100);
    company.do_it(BOB, Action::Ping);
    let [ann, bob, legacy_ann, letters_bob] = company.clients();
    let last = bob.all("clan").last().map(|values| people(&values[2]).join(" "));
    assert_eq!(last.as_deref(), Some("ann bob"));
    assert_eq!(people(&legacy_ann.all("clan_members").last().expect("told")[0]), ["ann", "bob"]);
    assert_eq!(letters_bob.all("own_clan"), [&vec!["wolves".into(), 0.into()]]);
    assert_eq!(bob.numbers("clan_mates")[0], i64::from(ANN), "one's mates, not oneself");
    assert_eq!(letters_bob.all("minimap").last().map(|map| map[0].as_array().map(Vec::len)), Some(Some(2)));
    for (client, values) in [(ann, 3), (legacy_ann, 2)] {
        assert_eq!(client.all("map_ping").len(), 1);
        assert_eq!(client.all("map_ping")[0].len(), values);
    }
    let team = |client: &Client| {
        let update = client.all("update_players").last().expect("told")[0].clone();
        let players = update.as_array().expect("a list").clone();
        players.chunks(13).map(|player| (player[7].clone(), player[8].clone())).collect::<Vec<_>>()
    };
    assert_eq!(team(legacy_ann), [("wolves".into(), 1.into()), ("wolves".into(), 0.into())]);

    company.forget();
    company.do_it(ANN, Action::ClanLeave);
    company.wait(100);
    let [ann, bob, legacy_ann, letters_bob] = company.clients();
    for client in [ann, bob] {
        assert_eq!(client.all("clan_changes")[0][0], Value::Array(vec![1.into()]));
        assert!(client.all("clan").last().expect("told")[0].is_nil());
    }
    assert_eq!(legacy_ann.all("remove_clan"), [&vec!["wolves".into()]]);
    assert_eq!(letters_bob.all("minimap"), [&vec![Value::from(0)]], "no map without a clan");
}

#[test]
fn a_ping_is_sent_only_to_clients_that_know_its_clan() {
    let mut company = Company::new();
    company.do_it(ANN, Action::ClanCreate { name: "wolves".to_owned() });
    company.do_it(BOB, Action::ClanRequest { name: "wolves".to_owned() });
    company.wait(100);
    let bobs_pings = |company: &mut Company, player| {
        company.wait(4);
        company.forget();
        company.do_it(player, Action::Ping);
        let [_, bob, _, letters_bob] = company.clients();
        [bob, letters_bob].map(|client| client.all("map_ping").len())
    };
    let set_behind = |company: &mut Company, is_behind| {
        [1, 3].into_iter().for_each(|bob| company.clients[bob].is_behind = is_behind);
    };
    set_behind(&mut company, true);
    company.do_it(ANN, Action::ClanAnswer { player: PlayerId(BOB), accept: true });
    assert_eq!(bobs_pings(&mut company, ANN), [0, 0], "bob is in the clan and does not know it yet");
    set_behind(&mut company, false);
    assert_eq!(bobs_pings(&mut company, ANN), [1, 1], "bob knows the clan");
    company.do_it(BOB, Action::ClanLeave);
    // Natively a ping names a member of the client's clan; elsewhere it is a place alone.
    assert_eq!(bobs_pings(&mut company, BOB), [0, 1], "a ping of bob itself, in no clan");
}

#[test]
fn operator_chat_reaches_all_clients() {
    let mut company = Company::new();
    company.forget();
    company.do_it(0, Action::Announce { text: "restart in 5 minutes".to_owned() });
    let [ann, bob, legacy_ann, letters_bob] = company.clients();
    for client in [ann, bob] {
        assert_eq!(client.all("notice"), [&vec!["restart in 5 minutes".into()]]);
    }
    assert_eq!(legacy_ann.all("chat"), [&vec![ANN.into(), "restart in 5 minutes".into()]]);
    assert_eq!(letters_bob.all("chat"), [&vec![BOB.into(), "restart in 5 minutes".into()]]);
}
