//! The order of the packets of one turn in the MooMoo dialects, as the servers of the original game send them.

use std::collections::BTreeMap;

use tickwire::game::{Publisher as _, UpdateRates};
use tickwire::internal::games::moo::MooPublisher;
use tickwire::internal::games::moo::world::rules::AnimalKind;
use tickwire::internal::games::moo::world::{Action, Command, Identity, PlayerId, Spawned, TickHz, World};
use tickwire::packet::Value;

use crate::told::{Client, Published};

const MOOMOO: [&str; 4] = ["legacy", "letters-2023", "letters-2024", "letters"];
const ANN: u16 = 1;
const BOB: u16 = 2;

/// Packets of a turn in the order of the original game. A client that creates its own player at the first
/// `update_players` drops everything of that player that comes before it.
const SET_UP: [&str; 17] = [
    "remove_player",
    "add_clan",
    "remove_clan",
    "setup",
    "add_player",
    "update_players",
    "value",
    "age",
    "items",
    "upgrades",
    "item_count",
    "own_clan",
    "join_request",
    "load_objects",
    "clan_members",
    "animals",
    "leaderboard",
];

struct Game {
    world: World,
    publisher: MooPublisher,
    sequences: BTreeMap<u16, u64>,
}

impl Game {
    /// A small map without animals, with two players.
    fn new() -> Game {
        let world = World::new(Identity { seed: 4, map_size_px: 1_440, tick_hz: TickHz::Hz30 });
        let publisher = MooPublisher::new(&world, UpdateRates { tick_hz: 30, update_hz: 30, foreign_hz: 10 });
        let mut game = Game { world, publisher, sequences: BTreeMap::new() };
        for (player, name) in [(ANN, "ann"), (BOB, "bob")] {
            game.step(0, Action::Join { player: PlayerId(player), name: name.to_owned(), skin: 0 });
        }
        game
    }

    fn step(&mut self, player: u16, action: Action) -> Published {
        let sequence = self.sequences.entry(player).or_default();
        *sequence += 1;
        let command = Command { player: PlayerId(player), sequence: *sequence, action };
        self.world.step(&mut vec![command]);
        assert!(self.world.outcome().rejected.is_empty(), "{:?}", self.world.outcome().rejected);
        self.publisher.publish(&self.world, &|_| 0)
    }

    /// Spawns a wolf where there is room.
    fn spawn_wolf_near(&mut self, player: u16) {
        let body = self.world.player(PlayerId(player)).expect("in the world").body;
        let [x, y] = [body.x, body.y].map(|at| at.to_px());
        let ways = (1..8).flat_map(|ring| [(ring, 0), (-ring, 0), (0, ring), (0, -ring), (ring, ring)]);
        for (dx, dy) in ways {
            let [x_px, y_px] = [x + dx * 90, y + dy * 90].map(|at| u16::try_from(at).unwrap_or_default());
            let action = Action::Spawn { what: Spawned::Animal(AnimalKind::Wolf), x_px, y_px };
            let sequence = self.sequences.entry(0).or_default();
            *sequence += 1;
            let sequence = *sequence;
            self.world.step(&mut vec![Command { player: PlayerId(0), sequence, action }]);
            if self.world.outcome().rejected.is_empty() {
                return;
            }
        }
        panic!("no room for a wolf");
    }

    fn tick(&mut self) -> Published {
        self.world.step(&mut Vec::new());
        self.publisher.publish(&self.world, &|_| 0)
    }

    /// Ticks until the client has received an update.
    fn turn(&mut self, client: &mut Client) {
        client.heard.clear();
        while client.all("update_players").is_empty() {
            let published = self.tick();
            client.hear(&published);
        }
    }
}

/// Checks that the packets of a turn come in the order of [`SET_UP`].
fn assert_order(heard: &[(String, Vec<Value>)], dialect: &str) {
    let names: Vec<&str> = heard.iter().map(|(name, _)| name.as_str()).collect();
    let place = |name: &&str| SET_UP.iter().position(|known| known == name);
    let places: Vec<usize> =
        names.iter().map(|name| place(name).unwrap_or_else(|| panic!("{dialect}: {name}"))).collect();
    assert!(places.is_sorted(), "{dialect}: {names:?}");
}

#[test]
fn a_new_player_gets_its_possessions_after_the_first_update_in_each_moomoo_dialect() {
    for dialect in MOOMOO {
        let mut game = Game::new();
        let mut client = Client::new(ANN, dialect);
        game.turn(&mut client);
        assert_order(&client.heard, dialect);
        for name in ["setup", "value", "age", "items", "upgrades", "load_objects", "animals"] {
            assert!(!client.all(name).is_empty(), "{dialect}: {name}");
        }
    }
}

#[test]
fn a_player_that_comes_back_hurt_with_a_clan_and_buildings_gets_them_after_the_first_update() {
    for dialect in MOOMOO {
        let mut game = Game::new();
        game.step(ANN, Action::ClanCreate { name: "wolves".to_owned() });
        game.step(BOB, Action::ClanRequest { name: "wolves".to_owned() });
        game.spawn_wolf_near(ANN);
        while game.world.player(PlayerId(ANN)).is_some_and(|player| player.health == 100) {
            game.tick();
            assert!(game.world.tick() < 3_000, "no wolf bites");
        }
        let mut client = Client::new(ANN, dialect);
        game.turn(&mut client);
        // Strikes and damage of the same tick follow the state.
        client.heard.retain(|(name, _)| SET_UP.contains(&name.as_str()) || name == "health");
        assert_order(&client.heard, dialect);
        for name in ["own_clan", "join_request", "clan_members"] {
            assert_eq!(client.all(name).len(), 1, "{dialect}: {name}");
        }
        let is_own = |values: &&Vec<Value>| values[1].as_bool() == Some(true);
        let own = client.all("add_player").into_iter().find(is_own).expect("set up")[0].clone();
        assert!(own[6].as_i64() < Some(100), "add_player holds the health: {own:?}");
    }
}

#[test]
fn later_possessions_come_before_the_update_of_their_turn() {
    for dialect in MOOMOO {
        let mut game = Game::new();
        let mut client = Client::new(ANN, dialect);
        game.turn(&mut client);
        let resource = tickwire::internal::games::moo::world::rules::Resource::Wood;
        let published = game.step(0, Action::Grant { player: PlayerId(ANN), resource, amount: 7 });
        client.heard.clear();
        client.hear(&published);
        while client.all("value").is_empty() {
            let published = game.tick();
            client.hear(&published);
        }
        let order: Vec<&str> = client.heard.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(order, ["value", "update_players", "animals"], "{dialect}");
    }
}

#[test]
fn animals_are_sent_in_each_turn_as_nil_without_one_in_each_moomoo_dialect() {
    for dialect in MOOMOO {
        let mut game = Game::new();
        assert_eq!(game.world.animals().count(), 0, "the smallest map has no animals");
        let mut client = Client::new(ANN, dialect);
        for _ in 0..90 {
            let published = game.tick();
            client.hear(&published);
        }
        let turns = client.all("update_players").len();
        assert!(turns >= 30, "{turns}");
        assert_eq!(client.all("animals"), vec![&vec![Value::Nil]; turns], "{dialect}");
    }
}
