//! Bots of the server itself: they fill rooms while few people play, and leave as people come.

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use tickwire::Server;
use tickwire::client::blocking_client::BlockingClient;
use tickwire::game::simple::Simple;
use tickwire::internal::games;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::server::net::console::Source;
use tickwire::internal::server::net::recorder::CaptureTarget;
use tickwire::internal::server::net::{PlayAccess, ServerConfig, ServerHandle, Tokens};
use tickwire::internal::tools::replay;

use crate::clients::Native;
use crate::journal::Directory;
use crate::program::{Program, tickwire};
use crate::program_of_paint::Paint;
use crate::program_of_units::Units;
use crate::replay::File;
use crate::rooms::page;
use crate::support::{PATIENCE, Peer, server_with};

/// A server whose rooms are filled up to so many players, on a small map.
fn filled(bots: usize, set: impl FnOnce(&mut ServerConfig)) -> ServerHandle {
    server_with(|config| {
        config.identity.set("map_size_px", 1_440);
        config.bots = bots;
        set(config);
    })
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn run(server: &ServerHandle, line: &str) -> String {
    server.console().run(line, Source::Terminal).expect("an answer").text
}

/// The names of the bots and of the people that play in a room, as the operator sees them.
fn players(server: &ServerHandle, room: &str) -> (BTreeSet<String>, BTreeSet<String>) {
    let text = run(server, &format!("{room}players"));
    let lines = text.lines().filter(|line| line.contains('"'));
    let (bots, people): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.contains("  bot  "));
    let names = |lines: Vec<&str>| {
        lines.iter().map(|line| line.split('"').nth(1).expect("a name").to_owned()).collect()
    };
    (names(bots), names(people))
}

fn has(server: &ServerHandle, line: &str) -> bool {
    server.metrics_text().lines().any(|own| own == line)
}

/// Waits for so many bots and people in a room. Returns the names of the bots.
fn await_players(server: &ServerHandle, room: &str, bots: usize, people: usize) -> BTreeSet<String> {
    until(&format!("{bots} bots and {people} people"), || {
        let (own, others) = players(server, room);
        (own.len(), others.len()) == (bots, people)
    });
    players(server, room).0
}

#[test]
fn bots_leave_as_people_join_and_return_when_people_leave() {
    let server = filled(3, |_| {});
    let names = await_players(&server, "", 3, 0);
    assert!(names.iter().all(|name| !name.starts_with("bot")), "{names:?}");
    until("the bots are counted", || has(&server, "tickwire_bots 3") && has(&server, "tickwire_players 3"));
    assert!(has(&server, "tickwire_clients 0"), "a bot is no client");
    let (ann, _, _) = Native::play_at(server.address(), "/play", "Ann");
    let (bob, _, _) = Native::play_at(server.address(), "/play", "Bob");
    let left = await_players(&server, "", 1, 2);
    assert!(left.is_subset(&names), "the oldest bot stays: {left:?} of {names:?}");
    until("they are counted", || has(&server, "tickwire_bots 1") && has(&server, "tickwire_clients 2"));
    let (_, list) = page(&server, "/rooms?format=json", "");
    assert!(list.contains(r#""bots":1,"clients":2"#), "{list}");
    drop((ann, bob));
    await_players(&server, "", 3, 0);
    assert!(has(&server, "tickwire_panics_total 0"));
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_suspended_player_takes_the_place_of_a_bot_until_it_leaves() {
    let server = filled(1, |config| config.seat_time = Duration::from_secs(5));
    await_players(&server, "", 1, 0);
    let path = "/play?inspect_key=00112233445566778899aabbccddeeff";
    let (ann, _, _) = Native::play_at(server.address(), path, "Ann");
    await_players(&server, "", 0, 1);
    drop(ann);
    thread::sleep(Duration::from_millis(500));
    assert_eq!(players(&server, "").0.len(), 0, "Ann may come back");
    until("a bot comes although no client does", || has(&server, "tickwire_bots 1"));
    server.stop();
}

#[test]
fn a_spectator_takes_no_place_of_a_bot_and_a_bot_none_of_a_client() {
    let server = filled(2, |config| (config.max_clients, config.max_clients_per_address) = (2, 2));
    await_players(&server, "", 2, 0);
    let mut spectator = Native { peer: Peer::connect(server.address(), "/play") };
    spectator.say("hello", &[1.into(), 0.into(), "Ann".into(), 2.into()]);
    spectator.hear("update");
    let (_player, _, _) = Native::play_at(server.address(), "/play", "Bob");
    await_players(&server, "", 1, 1);
    server.stop();
}

#[test]
fn a_room_on_demand_has_bots_while_a_client_is_there_and_ends_without_one() {
    let server = filled(3, |config| {
        (config.rooms_on_demand, config.room_empty_time) = (2, Duration::from_millis(300));
    });
    let has_room = || run(&server, "rooms").lines().any(|line| line.ends_with(" den"));
    let (ann, _, _) = Native::play_at(server.address(), "/r/den/play", "Ann");
    await_players(&server, "room den ", 2, 1);
    thread::sleep(Duration::from_millis(600));
    assert!(has_room(), "a person is in it");
    drop(ann);
    until("the room ends", || !has_room());
    until("its bots have gone", || !server.metrics_text().contains("room=\"den\""));
    await_players(&server, "", 3, 0);
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_named_room_without_clients_has_no_bots_and_sleeps() {
    let mut config = ServerConfig::new("127.0.0.1:0".parse().expect("an address"));
    config.bots = 2;
    let rooms = ["", "arena"].map(|name| config.room(name, &config.identity));
    let server = ServerHandle::start_rooms(config, rooms.into()).expect("a free port");
    await_players(&server, "", 2, 0);
    let state = |name: &str| {
        let rooms = run(&server, "rooms");
        let line = rooms.lines().find(|line| line.ends_with(name)).expect("the room").to_owned();
        line.split_whitespace().nth(3).expect("its state").to_owned()
    };
    assert_eq!((state("arena"), state("(default)")), ("asleep".to_owned(), "ticks".to_owned()));
    let (ann, _, _) = Native::play_at(server.address(), "/r/arena/play", "Ann");
    await_players(&server, "room arena ", 1, 1);
    drop(ann);
    until("it sleeps again", || state("arena") == "asleep");
    server.stop();
}

#[test]
fn a_capture_with_bots_replays_to_the_same() {
    let (server, file) = (filled(3, |_| {}), File::new("bots-fill"));
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    await_players(&server, "", 3, 0);
    let (ann, _, _) = Native::play_at(server.address(), "/play", "Ann");
    await_players(&server, "", 2, 1);
    thread::sleep(Duration::from_secs(2));
    drop(ann);
    await_players(&server, "", 3, 0);
    assert_eq!(server.stop(), 0);
    let bytes = fs::read(&file.0).expect("the file");
    let report = replay::json::of_file(&bytes, games::INFO, None).expect("a capture");
    assert_eq!(report["verdict"], "same", "{report:#}");
    assert!(report["clients"].as_u64() >= Some(4), "{report:#}");
}

#[test]
fn bots_need_no_token_and_their_seats_are_nobodys() {
    let tokens = Tokens::read("ann a-token-of-the-test").expect("a token");
    let players = PlayAccess { tokens: Some(tokens), spectators: true };
    let server = filled(2, |config| {
        config.players = players;
        (config.rooms_on_demand, config.room_empty_time) = (2, Duration::from_millis(300));
    });
    await_players(&server, "", 2, 0);
    let (ann, _, _) = Native::play_at(server.address(), "/r/den/play?token=a-token-of-the-test", "Ann");
    await_players(&server, "room den ", 1, 1);
    let mut spectator = Native { peer: Peer::connect(server.address(), "/r/den/play") };
    spectator.say("hello", &[1.into(), 0.into(), "Bob".into(), 2.into()]);
    spectator.hear("update");
    drop(ann);
    // Bots stay with the spectator, but they do not prevent the end of the room.
    assert_eq!(spectator.peer.receive_close(), "1001 going_away");
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_kicked_bot_returns_with_its_name() {
    let server = filled(1, |_| {});
    let names = await_players(&server, "", 1, 0);
    let name = names.first().expect("a bot");
    let answer = run(&server, &format!("kick {name}"));
    assert!(answer.ends_with("was kicked; it is a bot, and comes back soon\n"), "{answer}");
    until("it has gone", || players(&server, "").0.is_empty());
    assert_eq!(await_players(&server, "", 1, 0), names);
    server.stop();
}

#[test]
fn players_of_bots_do_not_return_with_a_stored_world() {
    let directory = Directory::new("bots");
    let server = |bots| Server::for_game::<Moo>().bots(bots).journal(&directory.0);
    let first = server(3).start().expect("a free port");
    let count = |server: &tickwire::RunningServer| server.room("").expect("the default room").players();
    until("three bots play", || count(&first) == 3);
    first.stop();
    let second = server(0).start().expect("the world goes on");
    let room = second.room("").expect("the default room");
    assert!(room.tick() > 0, "it is the stored world");
    until("nobody plays", || second.command("players").is_ok_and(|text| text.contains("no player is")));
    second.stop();
}

#[test]
fn a_game_with_a_maximum_of_players_always_has_a_place_for_a_person() {
    let server = Server::for_game::<Simple<Paint>>().bots(12).start().expect("a free port");
    let room = server.room("").expect("the default room");
    let url = format!("ws://{}/play", server.address()).parse().expect("a URL");
    let dialect = server.tables().dialect("paint").expect("its own");
    until("seven of eight places are taken", || room.players() == 7);
    let mut people = Vec::new();
    for number in 1..=8 {
        let mut client: BlockingClient =
            BlockingClient::connect(&url, None, dialect.clone()).expect("an upgrade");
        client.send("hello", &[1.into(), 1.into(), format!("p{number}").into()]).expect("sent");
        client.receive_until(PATIENCE, |packet| packet.name == "spawned").expect("a place");
        people.push(client);
        assert!(room.players() <= 8, "{} players", room.players());
    }
    until("no bot is left", || room.players() == 8 && server.metrics().contains("tickwire_bots 0\n"));
    drop(people);
    server.stop();
}

#[test]
fn a_setting_without_effect_is_refused_with_the_rule_and_the_remedy() {
    let refused = |server: Server| server.start().expect_err("a bad setting").to_string();
    let moo = || Server::for_game::<Moo>();
    assert_eq!(refused(moo().bots(41)), "bots: 41: must be at most 40");
    let units = Server::for_game::<Simple<Units>>();
    assert_eq!(refused(units.bots(3)), "bots: 3: no bots play units; give the game a bot policy");
    let server = moo().start().expect("a free port");
    assert!(server.metrics().contains("tickwire_bots 0\n"), "no bots by default");
    server.stop();
}

#[cfg(target_os = "linux")]
#[test]
fn the_program_has_a_dozen_bots_by_default() {
    let mut program = Program::start(tickwire(&["--bind", "127.0.0.1:0"]).env_remove("TICKWIRE_BOTS"));
    assert!(program.banner.contains("bots play until 12 people do; --bots 0 for none"), "{}", program.banner);
    let deadline = Instant::now() + PATIENCE;
    let mut bots = 0;
    while bots < 12 {
        assert!(Instant::now() < deadline, "{bots} bots");
        program.type_only("stats");
        while bots < 12 {
            let line = program.answer();
            if let Some(count) = line.strip_prefix("bots ") {
                bots = count.trim().parse().expect("a number");
            }
            if line.starts_with("panics") {
                break;
            }
        }
    }
    let none = Program::start(&mut tickwire(&["--bind", "127.0.0.1:0", "--bots", "0"]));
    assert!(!none.banner.contains("bots"), "{}", none.banner);
}
