//! The game tanks on a whole server, in a room beside the default game: its clients, its pages, its
//! captures. docs/tanks.md has its rules, whose tests are beside the game.

use std::fs;
use std::sync::Arc;

use tickwire::game::simple::{Simple, SimpleAction};
use tickwire::game::{Game, GameInfo};
use tickwire::internal::games;
use tickwire::internal::games::tanks::{Control, ShellKind, Tanks};
use tickwire::internal::server::net::recorder::CaptureTarget;
use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tickwire::internal::server::room::RoomConfig;
use tickwire::internal::tools::replay;
use tickwire::packet::{DecodedPacket, Dialect, Direction, Value};
use tickwire::sim::Rng;

use crate::clients::Native;
use crate::replay::File;
use crate::rooms::page;
use crate::same_world::three_ways;
use crate::support::Peer;

pub const ABOUT: &GameInfo = Simple::<Tanks>::INFO;

/// A server with the default game at `/` and tanks at `/r/arena/`.
pub fn server() -> ServerHandle {
    server_with(|_| {})
}

/// As [`server`], with other settings.
pub fn server_with(set: impl FnOnce(&mut ServerConfig)) -> ServerHandle {
    let mut config = ServerConfig::new("127.0.0.1:0".parse().expect("an address"));
    (config.address_rate_limits, config.max_clients_per_address) = (false, config.max_clients);
    set(&mut config);
    let kind = tickwire::internal::server::net::TcpGameFactory::all()
        .into_iter()
        .find(|kind| kind.info.name == ABOUT.name)
        .expect("registered");
    let identity = (ABOUT.identity)(7);
    let options = config.room_options("arena", identity.tick_hz);
    let rates = tickwire::game::UpdateRates { update_hz: 60, ..options.rates };
    let arena = (kind.new_room)(&identity, RoomConfig { rates, ..options });
    let rooms = vec![config.room("", &config.identity), arena];
    ServerHandle::start_rooms(config, rooms).expect("a free port")
}

/// Somebody in the room, who speaks by the table.
pub struct Guest {
    pub peer: Peer,
    pub dialect: Arc<Dialect>,
    sequence: u32,
}

impl Guest {
    pub fn connect(server: &ServerHandle) -> Guest {
        let dialect = games::built_in_tables().dialect("tanks").expect("the game's");
        let mut guest =
            Guest { peer: Peer::connect(server.address(), "/r/arena/play"), dialect, sequence: 0 };
        guest.say("hello", &[1.into(), 0.into()]);
        let welcome = guest.hear("welcome", |_| true);
        assert_eq!((welcome.integer::<u8>("tick_hz"), welcome.integer("seed")), (Some(60), Some(7)));
        guest
    }

    fn say(&mut self, packet: &str, values: &[Value]) {
        let message = self.dialect.encode(Direction::ToServer, packet, values).expect("a packet of the game");
        self.peer.send(&message);
    }

    /// Reads up to the first packet of this name with which `wanted` is content.
    fn hear(&mut self, name: &str, wanted: impl Fn(&DecodedPacket<'_>) -> bool) -> DecodedPacket<'_> {
        let Guest { peer, dialect, .. } = self;
        let decode = |message: &[u8]| dialect.decode(Direction::ToClient, message).expect("by the table");
        let is_it = |message: &[u8]| {
            let packet = decode(message);
            packet.row.name == name && wanted(&packet)
        };
        let message = peer.receive_until(is_it).unwrap_or_else(|how| panic!("{name}: {how}"));
        decode(&message)
    }

    pub fn enter(&mut self, name: &str) -> u16 {
        self.say("join", &[name.into()]);
        self.hear("spawned", |_| true).integer("player").expect("a number")
    }

    fn control(&mut self, drive: i8, turn: i8, fires: bool) {
        self.control_with((drive, turn), (0, fires, false));
    }

    /// Drive and turn; aim, whether it fires, and whether with armour-piercing shells.
    pub fn control_with(&mut self, (drive, turn): (i8, i8), (aim, fires, pierces): (u16, bool, bool)) {
        self.sequence += 1;
        let own = [drive.into(), turn.into(), aim.into(), fires.into(), u8::from(pierces).into()];
        self.say("control", &[[self.sequence.into(), Value::Nil].as_slice(), &own].concat());
    }
}

/// A tank of the state: its player, place and angles, health, and shells left.
fn tank(state: &DecodedPacket<'_>, player: u16) -> Option<Vec<i64>> {
    let tanks = state.get("tanks").and_then(Value::as_array).expect("a list");
    let numbers: Vec<i64> = tanks.iter().filter_map(Value::as_i64).collect();
    numbers.chunks_exact(9).find(|tank| tank[0] == i64::from(player)).map(<[i64]>::to_vec)
}

#[test]
fn two_play_and_a_third_watches_and_a_control_moves_only_the_own_tank() {
    let server = server();
    let [mut ann, mut bob, mut cy] = [(); 3].map(|()| Guest::connect(&server));
    let (first, second) = (ann.enter("Ann"), bob.enter("Bob"));
    let both = |state: &DecodedPacket<'_>| tank(state, first).is_some() && tank(state, second).is_some();
    let state = cy.hear("state", both);
    let before = [first, second].map(|player| tank(&state, player).expect("there"));
    assert_eq!(before.each_ref().map(|tank| &tank[5..]), [&[100, 40, 5, 0]; 2]);
    let roster = cy.hear("roster", |roster| {
        roster.get("players").and_then(Value::as_array).is_some_and(|list| list.len() == 10)
    });
    assert_eq!(roster.get("players").and_then(|list| list[1].as_str()), Some("Ann"));
    // What no tank can do is refused, and nothing comes of it: the tank stays in its place.
    ann.control(2, 0, false);
    // It turns and fires; the other one does nothing.
    ann.control(0, 1, true);
    let state = cy
        .hear("state", |state| tank(state, first).is_some_and(|own| own[3] != before[0][3] && own[6] == 39));
    assert_eq!(tank(&state, second), Some(before[1].clone()));
    let own = tank(&state, first).expect("there");
    assert!(own[1..3] == before[0][1..3] && own[8] > 0, "in its place, and it reloads: {own:?}");
    drop(bob);
    cy.hear("state", |state| tank(state, second).is_none());
    assert_eq!(server.stop(), 0);
}

#[test]
fn each_room_has_the_page_of_its_game_and_the_tables_of_all() {
    let server = server();
    for (path, holds) in [("/", "<title>tickwire"), ("/r/arena/", "<title>Tanks</title>")] {
        let (status, text) = page(&server, path, "");
        assert!(status == 200 && text.contains(holds), "{path}: {text}");
    }
    let (_, tables) = page(&server, "/r/arena/codes.json", "");
    assert!(["native.tsv", "moomoo.tsv", "tanks.tsv"].iter().all(|file| tables.contains(file)));
    let (status, rules) = page(&server, "/rules.json", "");
    assert!(status == 200 && rules.contains("\"windmill\""), "{rules}");
    assert_eq!(page(&server, "/r/arena/rules.json", "").0, 404, "its page takes nothing from there");
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_capture_of_both_games_replays_the_same() {
    let (server, file) = (server(), File::new("tanks"));
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    let mut ann = Guest::connect(&server);
    ann.enter("Ann");
    let _ada = Native::play_at(server.address(), "/play", "Ada");
    for way in [1, -1, 0, 1] {
        ann.control(way, -way, way == 1);
        ann.say("ping", &[3.into()]);
        ann.hear("pong", |_| true);
    }
    server.stop();
    let bytes = fs::read(&file.0).expect("the file");
    let report = replay::json::of_file(&bytes, games::INFO, None).expect("a capture");
    let rooms = report["rooms"].as_array().expect("two rooms");
    assert!(rooms.iter().all(|room| room["verdict"] == "same"), "{report:#}");
    assert_eq!(rooms.len(), 2, "{report:#}");
}

#[test]
fn rule_16_the_same_commands_give_the_same_game_in_any_order_and_from_any_snapshot() {
    let act = |random: &mut Rng| {
        let way = |random: &mut Rng| random.between(-1, 1) as i8;
        let kind = if random.below(5) == 0 { ShellKind::Piercing } else { ShellKind::Regular };
        let (drive, turn) = (way(random), way(random));
        let (aim, fires) = (random.below(0x1_0000) as u16, random.below(4) > 0);
        let seen = (random.below(4) > 0).then(|| random.below(10_000));
        SimpleAction::Act(Control { drive, turn, aim, fires, kind, seen })
    };
    let checksums = [1, 2].map(|seed| three_ways::<Simple<Tanks>>(seed, 10_000, act));
    // Of every build on every machine.
    assert_eq!(
        checksums.map(|checksum| format!("{checksum:016x}")),
        ["449a8f609fe9027e", "55cbd288d920687a"]
    );
}
