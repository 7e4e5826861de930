//! Rooms as their players, operators and watchers meet them: pages, limits, commands, sleep.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tickwire::internal::server::net::console::Source;
use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tickwire::internal::server::room::RoomConfig;

use crate::clients::Native;
use crate::rooms::page;
use crate::support::{PATIENCE, Peer};

const HTML: &str = "Accept: text/html,application/xhtml+xml\r\n";

/// A server with the default room and these, each for so many clients.
fn server(names: &[(&str, usize)]) -> ServerHandle {
    let config = ServerConfig::new("127.0.0.1:0".parse().expect("an address"));
    let mut rooms = vec![config.room("", &config.identity)];
    for (name, max_clients) in names {
        let options = config.room_options(name, config.identity.tick_hz);
        let options = RoomConfig { max_clients: *max_clients, ..options };
        rooms.push((config.game.new_room)(&config.identity, options));
    }
    ServerHandle::start_rooms(config, rooms).expect("a free port")
}

fn run(server: &ServerHandle, line: &str) -> String {
    server.console().run(line, Source::Terminal).expect("an answer").text
}

/// The row of `rooms` about this room: players, clients, tick, state, name.
fn row(server: &ServerHandle, name: &str) -> Vec<String> {
    let list = run(server, "rooms");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let found = list.lines().map(words).find(|words| words.last().is_some_and(|last| last == name));
    found.unwrap_or_else(|| panic!("{name} in {list}"))
}

/// Waits until the room has this state.
fn until(server: &ServerHandle, name: &str, state: &str) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let row = row(server, name);
        if row[3] == state {
            return row;
        }
        assert!(Instant::now() < deadline, "{row:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_room_has_the_pages_of_the_game_below_its_path() {
    let server = server(&[("two", 9)]);
    for (path, status, holds) in [
        ("/r/two/", 200, "<title>tickwire</title>"),
        ("/r/two/game/main.js", 200, "@module game/main"),
        ("/r/two/play", 426, "this is a WebSocket endpoint"),
        ("/r/two/wire", 200, "<title>tickwire wire</title>"),
        ("/r/two", 308, "two/"),
        ("/r/two?inspector", 308, "two/?inspector"),
        ("/r/two/admin", 308, "../../admin"),
        ("/r/two/tab/?inspector", 308, "../../tab/?inspector"),
        ("/r/two/rooms", 308, "../../rooms"),
        ("/r/two/metrics", 404, "no such page"),
        ("/r/two/none.js", 404, "no such page"),
        ("/r/three/", 404, "there is no room three; /rooms lists the rooms"),
        ("/r/three/game/main.js", 404, "there is no room three"),
        ("/r/Two/", 404, "there is no such room; /rooms lists the rooms"),
        ("/r/", 404, "there is no such room"),
        ("/r/<b>/", 404, "there is no such room"),
    ] {
        let (found, body) = page(&server, path, "");
        assert!(found == status && body.contains(holds), "{path}: {found} {body}");
    }
    for (path, link) in
        [("/r/three", "../rooms"), ("/r/three/", "../../rooms"), ("/r/three/wire", "../../rooms")]
    {
        let (status, body) = page(&server, path, HTML);
        let expected = format!("There is no room three on this server. <a href=\"{link}\">");
        assert!(status == 404 && body.contains(&expected), "{path}: {status} {body}");
    }
    server.stop();
}

#[test]
fn the_rooms_are_listed_for_people_and_for_programs() {
    let server = server(&[("two", 9), ("a-room", 9)]);
    let (_bob, ..) = Native::play_at(server.address(), "/r/two/play", "Bob");
    let deadline = Instant::now() + PATIENCE;
    while row(&server, "two")[0] != "1" {
        assert!(Instant::now() < deadline, "the player is counted");
    }
    for (path, headers) in [("/rooms?format=json", HTML), ("/rooms", "Accept: application/json\r\n")] {
        let (status, body) = page(&server, path, headers);
        let list: Json = serde_json::from_str(&body).expect("JSON");
        let rooms: Vec<_> = list["rooms"].as_array().expect("a list").iter().collect();
        let entries = |key: &str| rooms.iter().map(|room| room[key].clone()).collect::<Vec<_>>();
        assert_eq!(status, 200);
        assert_eq!(entries("name"), ["", "a-room", "two"]);
        assert_eq!(entries("path"), ["/", "/r/a-room/", "/r/two/"]);
        assert_eq!(
            (entries("players"), entries("clients")),
            (vec![0.into(), 0.into(), 1.into()], vec![0.into(), 0.into(), 1.into()])
        );
    }
    let (status, body) = page(&server, "/rooms", HTML);
    assert_eq!(status, 200);
    for part in [
        "3 rooms, 1 player. Choose a room",
        "<a href=\"./\"><b>Default room</b> <span>empty</span></a>",
        "<a href=\"r/two/\"><b>two</b> <span>1 player</span></a>",
    ] {
        assert!(body.contains(part), "{part}: {body}");
    }
    assert_eq!(page(&server, "/healthz", ""), (200, "ok\n".to_owned()));
    server.stop();
}

#[test]
fn a_room_takes_no_more_clients_than_it_may_have_and_a_place_comes_back() {
    let server = server(&[("two", 1)]);
    let (bob, ..) = Native::play_at(server.address(), "/r/two/play", "Bob");
    let error = Peer::try_connect(server.address(), "/r/two/play").err().expect("the room is full");
    assert!(error.contains("503"), "{error}");
    let _ada = Peer::connect(server.address(), "/");
    drop(bob);
    let deadline = Instant::now() + PATIENCE;
    while let Err(error) = Peer::try_connect(server.address(), "/r/two/play") {
        assert!(Instant::now() < deadline, "{error}");
        thread::sleep(Duration::from_millis(20));
    }
    server.stop();
}

#[test]
fn a_room_that_nobody_is_in_does_not_tick_but_answers() {
    let server = server(&[("two", 9)]);
    let before = until(&server, "two", "asleep")[2].clone();
    thread::sleep(Duration::from_millis(300));
    assert_eq!(row(&server, "two")[2], before, "it does not tick");
    assert_eq!(run(&server, "room two players"), "no player is connected\n");
    assert_eq!(run(&server, "room two spawn cow 700 700"), "placed at 700, 700\n");
    assert_eq!(page(&server, "/healthz", "").0, 200);
    let asked = until(&server, "two", "asleep")[2].clone();
    assert_ne!(asked, before, "it ticked for the operator");
    let (mut bob, ..) = Native::play_at(server.address(), "/r/two/play", "Bob");
    bob.hear("update");
    assert_eq!(row(&server, "two")[3], "ticks");
    assert_eq!(row(&server, "(default)")[3], "asleep");
    drop(bob);
    until(&server, "two", "asleep");
    server.stop();
}

#[test]
fn a_room_with_a_silent_client_sleeps_until_the_client_plays_and_again_after_it_left() {
    let server = server(&[("two", 9)]);
    let mut silent = Native { peer: Peer::connect(server.address(), "/r/two/play") };
    assert_eq!(until(&server, "two", "asleep")[1], "1", "the client is counted");
    silent.say("hello", &[1.into(), 0.into()]);
    silent.hear("welcome");
    until(&server, "two", "ticks");
    drop(silent);
    until(&server, "two", "asleep");

    let mut silent = Native { peer: Peer::connect(server.address(), "/r/two/play") };
    until(&server, "two", "asleep");
    silent.say("hello", &[1.into(), 1.into(), "Ann".into(), 2.into()]);
    silent.hear("spawned");
    silent.hear("update");
    assert_eq!(row(&server, "two")[3], "ticks");
    drop(silent);
    until(&server, "two", "asleep");
    server.stop();
}

#[test]
fn a_room_whose_players_are_all_absent_does_not_tick_until_one_is_kicked() {
    let mut config = ServerConfig::new("127.0.0.1:0".parse().expect("an address"));
    config.seat_time = Duration::from_secs(3_600);
    let server = ServerHandle::start(config).expect("a free port");
    let path = "/play?inspect_key=00112233445566778899aabbccddeeff";
    let (ann, _, player) = Native::play_at(server.address(), path, "Ann");
    drop(ann);
    assert_eq!(until(&server, "(default)", "asleep")[0], "1", "its player waits in the world");
    let (ann, _, again) = Native::play_at(server.address(), path, "Ann");
    assert_eq!(again, player);
    drop(ann);
    until(&server, "(default)", "asleep");
    assert_eq!(
        run(&server, &format!("kick {player}")),
        format!("player {player} was kicked; it had no connection\n")
    );
    let deadline = Instant::now() + PATIENCE;
    while row(&server, "(default)")[0] != "0" {
        assert!(Instant::now() < deadline, "its player leaves");
        thread::sleep(Duration::from_millis(20));
    }
    server.stop();
}

#[test]
fn a_command_acts_on_the_room_that_it_names() {
    let server = server(&[("two", 9)]);
    let (mut ada, ..) = Native::play_at(server.address(), "/play", "Ada");
    let (mut bob, ..) = Native::play_at(server.address(), "/r/two/play", "Bob");
    assert!(run(&server, "players").contains("\"Ada\"") && !run(&server, "players").contains("\"Bob\""));
    let players = run(&server, "room two players");
    assert!(players.contains("\"Bob\"") && !players.contains("\"Ada\""), "{players}");
    assert_eq!(run(&server, "room two announce hello"), "announced\n");
    assert_eq!(run(&server, "announce good day"), "announced\n");
    assert_eq!(bob.hear("notice"), ["hello".into()]);
    assert_eq!(ada.hear("notice"), ["good day".into()]);
    for (line, expected) in [
        ("room", "error: usage: room NAME COMMAND"),
        ("room two", "error: usage: room NAME COMMAND"),
        ("room three players", "error: there is no room \"three\"; type rooms for a list"),
        ("room two stop", "error: stop is not a command of one room"),
        ("room two room two players", "error: room is not a command of one room"),
        ("room two fly", "error: there is no command \"fly\""),
        ("room two capture on", "error: a capture has all rooms"),
        ("roo two players", "error: there is no command \"roo\""),
    ] {
        let answer = run(&server, line);
        assert!(answer.starts_with(expected), "{line}: {answer}");
    }
    let metrics = server.metrics_text();
    for line in
        ["tickwire_clients{room=\"two\"} 1\n", "tickwire_clients 1\n", "tickwire_players{room=\"two\"} 1\n"]
    {
        assert!(metrics.contains(line), "{line}{metrics}");
    }
    assert!(run(&server, "room two kick Bob").starts_with("player 1 was kicked"));
    assert_eq!(bob.peer.receive_close(), "1008 kicked");
    assert!(run(&server, "room two stats").contains("\nclients "));
    server.stop();
}
