//! `?room=any`: which room the server chooses, that it never overbooks one, and how a client learns its name.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tickwire::client::blocking_client::BlockingClient;
use tickwire::client::room_list;
use tickwire::client::url::Url;
use tickwire::game::Game;
use tickwire::game::simple::Simple;
use tickwire::internal::limits;
use tickwire::internal::server::net::recorder::CaptureTarget;
use tickwire::internal::server::net::{PlayAccess, ServerHandle, Tokens};
use tickwire::internal::tools::replay;
use tickwire::packet::Value;

use crate::guest::config_of;
use crate::program_of_pong::Pong;
use crate::replay::{File, number};
use crate::rooms::page;
use crate::support::{PATIENCE, Peer};

/// A server of pong, whose rooms are for two, with at most so many rooms on demand.
fn server(max: usize) -> ServerHandle {
    let mut config = config_of::<Simple<Pong>>();
    config.rooms_on_demand = max;
    ServerHandle::start(config).expect("a free port")
}

fn url(server: &ServerHandle, target: &str) -> Url {
    format!("ws://{}{target}", server.address()).parse().expect("a URL")
}

fn connect(server: &ServerHandle, target: &str) -> BlockingClient {
    let dialect = server.config().codes.dialect("pong").expect("the game's");
    BlockingClient::connect(&url(server, target), None, dialect).expect("the upgrade")
}

/// A client that plays in a room of the server's choice.
fn player(server: &ServerHandle, target: &str) -> BlockingClient {
    let mut client = connect(server, target);
    client.send("hello", &[1.into(), 1.into(), "Ann".into()]).expect("open");
    client.receive_until(PATIENCE, |packet| packet.name == "spawned").expect("a player");
    client
}

fn list(server: &ServerHandle, query: &str) -> Json {
    serde_json::from_str(&page(server, &format!("/rooms?format=json{query}"), "").1).expect("JSON")
}

/// The number of clients of each room.
fn clients(server: &ServerHandle) -> BTreeMap<String, u64> {
    let list = list(server, "");
    let rooms = list["rooms"].as_array().expect("rooms").iter();
    rooms.map(|room| (room["name"].as_str().expect("a name").to_owned(), number(room, "clients"))).collect()
}

fn until_clients(server: &ServerHandle, room: &str, count: u64) {
    let deadline = Instant::now() + PATIENCE;
    while clients(server)[room] != count {
        assert!(Instant::now() < deadline, "{:?}", clients(server));
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn simultaneous_clients_fill_rooms_and_overbook_none() {
    let (server, count) = (server(8), 12);
    let begin = Barrier::new(count);
    let held: Vec<BlockingClient> = thread::scope(|scope| {
        let one = || {
            begin.wait();
            connect(&server, "/play?room=any")
        };
        let threads: Vec<_> = (0..count).map(|_| scope.spawn(one)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a client")).collect()
    });
    let rooms = clients(&server);
    assert_eq!(rooms.values().copied().collect::<Vec<_>>(), [2; 6], "{rooms:?}");
    // Each client knows the room in which the server counts it.
    let mut named = BTreeMap::new();
    for client in &held {
        *named.entry(client.room().expect("a room").to_owned()).or_default() += 1;
    }
    assert_eq!(named, rooms);
    drop(held);
    server.stop();
}

#[test]
fn the_fullest_room_with_a_free_place_is_chosen_then_the_first_then_a_new_one() {
    let server = server(3);
    let secret = "/r/p-k7f2mqa3xw6n5zr4tb2cd7hj/play";
    let _alone = [connect(&server, "/r/den/play"), connect(&server, secret)];
    let rooms: Vec<_> = (0..4).map(|_| connect(&server, "/play?room=any")).collect();
    let names: Vec<_> = rooms.iter().map(|client| client.room().expect("a room")).collect();
    assert_eq!(names[..3], ["den", "", ""], "never the private room");
    assert!(names[3].starts_with("room-") && names[3].len() == 13, "{names:?}");
    assert_eq!(connect(&server, &format!("/r/{}/play", names[3])).room(), None, "a link leads to the room");
    // A request that names its room is not bound by `max_players`: in pong it watches.
    let _watcher = connect(&server, "/r/den/play");
    assert_eq!(clients(&server)["den"], 3);
    server.stop();
}

#[test]
fn conditions_choose_by_the_properties_that_the_game_has_set() {
    let server = server(1);
    let [_ann, _bob] = [(); 2].map(|()| player(&server, "/play"));
    let _cy = connect(&server, "/r/den/play");
    // The default room has more clients; it does not wait for a player.
    let chosen = connect(&server, "/play?room=any&where=state:waiting,max_players:2");
    assert_eq!(chosen.room(), Some("den"));
    let listed = room_list::rooms(&url(&server, "/")).expect("a list");
    let of = |at: usize| (&*listed[at].path, &*listed[at].properties["state"], listed[at].clients);
    assert_eq!((of(0), of(1)), (("/", "playing", 2), ("/r/den/", "waiting", 2)));
    let json = list(&server, "");
    assert_eq!(json["rooms"][1]["properties"], serde_json::json!({ "state": "waiting", "max_players": 2 }));
    let html = page(&server, "/rooms", "Accept: text/html\r\n").1;
    assert!(html.contains("<b>den <i>state waiting · max_players 2</i></b>"), "{html}");
    server.stop();
}

#[test]
fn a_page_finds_its_room_by_the_epoch_of_welcome() {
    let server = server(1);
    let _full = [(); 2].map(|()| connect(&server, "/play"));
    let mut client = connect(&server, "/play?room=any");
    client.send("hello", &[1.into(), 0.into()]).expect("open");
    let welcome = client.receive_until(PATIENCE, |packet| packet.name == "welcome").expect("a welcome");
    let found = list(&server, &format!("&epoch={}", welcome.text("epoch").expect("an epoch")));
    assert_eq!(found["rooms"].as_array().expect("rooms").len(), 1, "{found}");
    assert_eq!(found["rooms"][0]["name"].as_str(), client.room());
    assert_eq!(list(&server, "&epoch=0")["rooms"], serde_json::json!([]));
    server.stop();
}

#[test]
fn without_a_room_that_fits_and_a_new_one_the_client_is_closed_with_the_reason() {
    for (max, condition, rule) in [
        (0, "", "no_room_fits"),
        // A new room is none that plays, so none is made.
        (4, "&where=state:playing", "no_room_fits"),
        (4, "&where=map:3", "no_room_fits"),
    ] {
        let server = server(max);
        let full = [(); 2].map(|()| connect(&server, "/play"));
        let mut late = Peer::connect(server.address(), &format!("/play?room=any{condition}"));
        assert_eq!(late.receive_close(), format!("1013 {rule}"), "{condition}");
        assert_eq!(clients(&server).len(), 1);
        if condition.is_empty() {
            drop(full);
            until_clients(&server, "", 0);
            assert_eq!(connect(&server, "/play?room=any").room(), Some(""));
        }
        server.stop();
    }
}

#[test]
fn a_new_room_counts_against_the_limits_of_rooms_on_demand() {
    let mut config = config_of::<Simple<Pong>>();
    (config.rooms_on_demand, config.address_rate_limits) = (40, true);
    let server = ServerHandle::start(config).expect("a free port");
    let mut held = Vec::new();
    let reason = loop {
        let mut peer = Peer::connect(server.address(), "/play?room=any");
        if held.len() == 2 * (1 + limits::ADDRESS_ROOMS) {
            break peer.receive_close();
        }
        held.push(peer);
    };
    assert_eq!(reason, "1013 no_room_fits");
    assert_eq!(clients(&server).values().copied().collect::<Vec<_>>(), [2; 1 + limits::ADDRESS_ROOMS]);
    assert!(server.metrics_text().contains("connections_refused_total{limit=\"address_rooms\"} 1"));
    server.stop();
}

#[test]
fn a_suspended_player_keeps_its_place() {
    let mut config = config_of::<Simple<Pong>>();
    config.seat_time = Duration::from_secs(600);
    let server = ServerHandle::start(config).expect("a free port");
    let key = "inspect_key=0123456789abcdef0123456789abcdef";
    let ann = player(&server, &format!("/play?{key}"));
    let _bob = connect(&server, "/play");
    drop(ann);
    until_clients(&server, "", 1);
    assert_eq!(Peer::connect(server.address(), "/play?room=any").receive_close(), "1013 no_room_fits");
    let again = player(&server, &format!("/play?{key}"));
    assert_eq!((again.room(), clients(&server)[""]), (None, 2));
    server.stop();
}

#[test]
fn a_query_that_breaks_a_rule_is_refused_by_value_rule_and_remedy() {
    let server = server(4);
    for (query, answer) in [
        (
            "room=den",
            "room_not_any\nthe value of room must be any; a room called NAME is at /r/NAME/play: \"den\"\n",
        ),
        ("room=p-k7f2mqa3xw6n5zr4tb2cd7hj", "/r/NAME/play: \"p-k7f2…\"\n"),
        ("where=state:waiting", "where_malformed\nconditions need room=any: \"state:waiting\"\n"),
        (
            "room=any&where=state",
            "must be name:value, with a comma between two of them, as in state:lobby,map:3: \"state\"\n",
        ),
        ("room=any&where=Map:3", ": \"Map:3\"\n"),
    ] {
        let head = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        let (status, body) = page(&server, &format!("/play?{query}"), head);
        assert!(status == 400 && body.ends_with(answer), "{query}: {status} {body}");
    }
    for (path, status) in
        [("/nothing?room=any", "404"), ("/r/den/wire?room=any", "404"), ("/play?room=any&dialect=x", "400")]
    {
        let error = Peer::try_connect(server.address(), path).err().expect("no endpoint");
        assert!(error.contains(status), "{path}: {error}");
    }
    assert_eq!(clients(&server).len(), 1, "none of them made a room");
    server.stop();
}

#[test]
fn with_tokens_only_a_request_with_one_of_them_makes_a_room() {
    let mut config = config_of::<Simple<Pong>>();
    config.rooms_on_demand = 4;
    let tokens = Some(Tokens::read("ann anns-token-0123456789").expect("a token file"));
    config.players = PlayAccess { tokens, spectators: true };
    let server = ServerHandle::start(config).expect("a free port");
    let [_ann, _bob] = [(); 2].map(|()| connect(&server, "/play?room=any"));
    let mut guest = Peer::connect(server.address(), "/play?room=any");
    assert_eq!(guest.receive_close(), "1008 room_token_missing");
    let holder = connect(&server, "/play?room=any&token=anns-token-0123456789");
    assert!(holder.room().is_some_and(|room| room.starts_with("room-")));
    server.stop();
}

#[test]
fn a_capture_of_chosen_rooms_replays() {
    let (server, file) = (server(2), File::new("any"));
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    let mut players = [(); 3].map(|()| player(&server, "/play?room=any"));
    for client in &mut players {
        client.send("paddle", &[1.into(), Value::Nil, 1.into()]).expect("open");
        client.receive_until(PATIENCE, |packet| packet.number::<u16>("left_y") > Some(300)).expect("moved");
    }
    drop(players);
    assert_eq!(server.stop(), 0);
    let bytes = fs::read(&file.0).expect("the file");
    let report = replay::json::of_file(&bytes, &[Simple::<Pong>::INFO], None).expect("a capture");
    let clients: Vec<u64> = (0..2).map(|at| number(&report["rooms"][at], "clients")).collect();
    assert_eq!((&report["verdict"], clients), (&"same".into(), vec![2, 1]), "{report:#}");
}
