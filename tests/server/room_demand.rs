//! Rooms on demand: who makes one, how many there may be, when one ends, and who learns of a private one.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;
use tickwire::internal::limits;
use tickwire::internal::packet::credentials;
use tickwire::internal::server::net::console::Source;
use tickwire::internal::server::net::recorder::CaptureTarget;
use tickwire::internal::server::net::{PlayAccess, ServerHandle, Tokens};
use tickwire::internal::util::os;
use tickwire::packet::Value;

use crate::admin::ask;
use crate::clients::Native;
use crate::program::{Program, tickwire};
use crate::replay::{File, number, replay};
use crate::rooms::page;
use crate::support::{PATIENCE, Peer, server_with};

const HTML: &str = "Accept: text/html\r\n";
const SECRET: &str = "p-k7f2mqa3xw6n5zr4tb2cd7hj";

/// A server with a small map on which so many rooms may be made, which end when they have been empty for this long.
fn server(max: usize, empty: Duration) -> ServerHandle {
    server_with(|config| {
        config.identity.set("map_size_px", 1_440);
        (config.rooms_on_demand, config.room_empty_time) = (max, empty);
    })
}

fn run(server: &ServerHandle, line: &str) -> String {
    server.console().run(line, Source::Terminal).expect("an answer").text
}

fn has_room(server: &ServerHandle, name: &str) -> bool {
    run(server, "rooms").lines().any(|line| line.split_whitespace().next_back() == Some(name))
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

/// The status line and the rule of the answer to an upgrade that comes from this address, and its connection.
fn upgrade(server: &ServerHandle, from: [u8; 4], path: &str) -> (u16, String, TcpStream) {
    let from = SocketAddr::from((Ipv4Addr::from(from), 0));
    let mut stream = os::connect(server.address(), Some(from.ip()), None).expect("a connection");
    stream.set_nonblocking(false).expect("a socket");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let mut buffer = [0; 1024];
    let count = stream.read(&mut buffer).expect("an answer");
    let answer = String::from_utf8_lossy(&buffer[..count]).into_owned();
    let rule = answer.split("\r\n\r\n").nth(1).unwrap_or_default().trim().to_owned();
    (answer[9..12].parse().expect("a status"), rule, stream)
}

/// Upgrades at names `NAME-1`, `NAME-2`, … from this address, whose connections stay, until one is refused: how many were not, and the refusal.
fn flood(server: &ServerHandle, from: [u8; 4], name: &str) -> (Vec<TcpStream>, (u16, String)) {
    let mut held = Vec::new();
    loop {
        let (status, rule, stream) = upgrade(server, from, &format!("/r/{name}-{}/play", held.len()));
        if status != 101 {
            return (held, (status, rule));
        }
        held.push(stream);
        assert!(held.len() <= 64, "a flood of names is never refused");
    }
}

fn rooms(server: &ServerHandle) -> usize {
    run(server, "rooms").lines().count() - 1
}

#[test]
fn an_upgrade_makes_a_room_and_a_page_makes_none() {
    let server = server(4, limits::EMPTY_ROOM_TIMEOUT);
    for (path, status, holds) in [
        ("/r/den", 308, "den/"),
        ("/r/den/", 200, "<title>tickwire</title>"),
        ("/r/den/game/main.js", 200, "@module game/main"),
        ("/r/den/wire", 200, "<title>tickwire wire</title>"),
        ("/r/den/rooms", 308, "../../rooms"),
        ("/r/Den/", 404, "there is no such room"),
    ] {
        let (found, body) = page(&server, path, "");
        assert!(found == status && body.contains(holds), "{path}: {found} {body}");
    }
    // What would not become a client makes no room either.
    for path in ["/r/den/wire", "/r/den/nothing", "/r/den/play?dialect=none", "/r/den/play?format=xml"] {
        assert!(Peer::try_connect(server.address(), path).is_err(), "{path}");
    }
    assert_eq!(rooms(&server), 1, "{}", run(&server, "rooms"));
    let (mut ada, welcome, id) = Native::play_at(server.address(), "/r/den/play", "Ada");
    let (mut bob, other, _) = Native::play_at(server.address(), "/r/den/play", "Bob");
    let (seed, epoch) = (2, 6);
    assert_eq!((&welcome[seed], &welcome[epoch], id), (&other[seed], &other[epoch], 1));
    let (_cy, default, _) = Native::play_at(server.address(), "/play", "Cy");
    assert_ne!((&welcome[seed], &welcome[epoch]), (&default[seed], &default[epoch]));
    ada.say("chat", &[1.into(), Value::Nil, "in here".into()]);
    assert_eq!(bob.hear("chat"), [id.into(), "in here".into()]);
    let (_, list) = page(&server, "/rooms?format=json", "");
    let list: Json = serde_json::from_str(&list).expect("JSON");
    assert_eq!((&list["on_demand"], &list["rooms"][1]["path"]), (&true.into(), &"/r/den/".into()));
    assert!(page(&server, "/rooms", HTML).1.contains("opens a new room"));
    assert_eq!(server.stop(), 0);
}

#[test]
fn without_the_flag_no_path_makes_a_room() {
    let server = server(0, limits::EMPTY_ROOM_TIMEOUT);
    assert_eq!(page(&server, "/r/den/", "").0, 404);
    assert_eq!(upgrade(&server, [127, 0, 0, 1], "/r/den/play").0, 404);
    assert!(page(&server, "/rooms?format=json", "").1.contains("\"on_demand\":false"));
    server.stop();
}

#[test]
#[cfg(target_os = "linux")]
fn a_flood_of_names_stays_within_its_bounds_and_a_new_address_still_gets_a_room() {
    let max = 40;
    let server = server(max, limits::EMPTY_ROOM_TIMEOUT);
    let (first, refused) = flood(&server, [127, 0, 7, 1], "a");
    assert_eq!((first.len(), refused), (limits::ADDRESS_ROOMS, (429, "address_rooms".to_owned())));
    // Of another address half of what is left stays free.
    let (second, _) = flood(&server, [127, 0, 7, 2], "b");
    let (third, refused) = flood(&server, [127, 0, 7, 3], "c");
    assert_eq!((second.len(), third.len(), refused), (12, 6, (429, "address_rooms".to_owned())));
    let (fourth, _) = flood(&server, [127, 0, 7, 4], "d");
    assert_eq!(fourth.len(), 3);
    let (status, _, newcomer) = upgrade(&server, [127, 0, 7, 5], "/r/e/play");
    assert_eq!(status, 101, "a new address gets a room");
    assert_eq!(rooms(&server), 1 + 16 + 12 + 6 + 3 + 1);
    // Entering a room that is there costs none, and the default room is not disturbed.
    assert_eq!(upgrade(&server, [127, 0, 7, 1], "/r/e/play").0, 101);
    let (mut ada, ..) = Native::play_at(server.address(), "/play", "Ada");
    ada.hear("update");
    for address in 6..8 {
        assert_eq!(upgrade(&server, [127, 0, 7, address], &format!("/r/f{address}/play")).0, 101);
    }
    let (status, rule, _) = upgrade(&server, [127, 0, 7, 8], "/r/g/play");
    assert_eq!((status, &*rule), (503, "rooms_full"));
    let (status, body) = page(&server, "/r/g/", HTML);
    assert!(status == 503 && body.contains("as many rooms as it may have"), "{status} {body}");
    assert_eq!(page(&server, "/r/g/", "").1, "rooms_full\n");
    for rule in ["rooms_full", "address_rooms"] {
        assert!(server.metrics_text().contains(&format!("connections_refused_total{{limit=\"{rule}\"}}")));
    }
    drop((first, second, third, fourth, newcomer));
    assert_eq!(server.stop(), 0);
}

#[test]
fn an_address_that_reconnects_makes_no_more_rooms_than_its_rate_allows() {
    let server = server(500, Duration::from_millis(1));
    let mut made = 0;
    let refused = loop {
        let (status, rule, stream) = upgrade(&server, [127, 0, 0, 1], &format!("/r/n{made}/play"));
        drop(stream);
        if status != 101 {
            break (status, rule);
        }
        made += 1;
        until("the room ends when its client has left", || rooms(&server) == 1);
    };
    assert_eq!(refused, (429, "address_room_rate".to_owned()));
    assert!((16..20).contains(&made), "{made} rooms");
    server.stop();
}

#[test]
fn an_empty_room_ends_with_its_metrics_and_a_client_that_comes_back_makes_it_anew() {
    let server = server(4, Duration::from_millis(300));
    let has = |line: &str| server.metrics_text().contains(line);
    let (ada, before, _) = Native::play_at(server.address(), "/r/den/play", "Ada");
    until("the player is counted", || has("tickwire_players{room=\"den\"} 1\n"));
    thread::sleep(Duration::from_millis(600));
    assert!(has_room(&server, "den"), "it does not end while somebody is in it");
    drop(ada);
    until("the room answers the operator", || run(&server, "room den players") == "no player is connected\n");
    until("the room ends", || !has_room(&server, "den"));
    assert!(!has("room=\"den\""), "{}", server.metrics_text());
    assert_eq!(run(&server, "room den players"), "error: there is no room \"den\"; type rooms for a list\n");
    let (_ada, after, id) = Native::play_at(server.address(), "/r/den/play", "Ada");
    let epoch = 6;
    assert_ne!(before[epoch], after[epoch]);
    assert_eq!(id, 1);
    assert!(has("tickwire_clients{room=\"den\"} 1\n"));
    assert_eq!(server.stop(), 0);
}

#[test]
fn the_operator_ends_a_room_on_demand_and_no_other() {
    let server = server(4, limits::EMPTY_ROOM_TIMEOUT);
    let (mut ada, ..) = Native::play_at(server.address(), "/r/den/play", "Ada");
    let (mut bob, ..) = Native::play_at(server.address(), "/play", "Bob");
    assert_eq!(run(&server, "room den end"), "room den has ended; clients closed: 1\n");
    assert_eq!(ada.peer.receive_close(), "1001 going_away");
    assert!(!has_room(&server, "den") && !server.metrics_text().contains("room=\"den\""));
    bob.hear("update");
    let answer = run(&server, "end");
    assert!(answer.starts_with("error: the default room is not on demand"), "{answer}");
    let _again = Native::play_at(server.address(), "/r/den/play", "Ada");
    assert_eq!(page(&server, "/healthz", "").0, 200);
    assert_eq!(server.stop(), 0);
}

#[test]
fn whoever_comes_while_a_room_ends_enters_a_living_room() {
    let server = server(4, Duration::ZERO);
    let address = server.address();
    // Each round the room ends as soon as it is empty, while the next client comes.
    thread::scope(|scope| {
        for name in ["a", "b"] {
            scope.spawn(move || {
                for _ in 0..if name == "a" { 8 } else { 7 } {
                    let (mut client, ..) = Native::play_at(address, &format!("/r/{name}/play"), "Ada");
                    client.hear("update");
                }
            });
        }
    });
    assert!(!server.metrics_text().contains("tickwire_panics_total 1"));
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_private_room_is_in_no_list_and_its_name_in_no_log_metric_or_capture() {
    let (server, file) = (server(4, limits::EMPTY_ROOM_TIMEOUT), File::new("private"));
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    let path = format!("/r/{SECRET}/play");
    let (mut ada, ..) = Native::play_at(server.address(), &path, "Ada");
    ada.hear("update");
    let _open = Native::play_at(server.address(), "/r/p-open/play", "Bob");
    let (_, json) = page(&server, "/rooms?format=json", "");
    let (_, html) = page(&server, "/rooms", HTML);
    assert!(json.contains("/r/p-open/") && html.contains("2 rooms"), "{json} {html}");
    let metrics = server.metrics_text();
    assert!(metrics.contains("tickwire_clients{room=\"p-k7f2xxxxxxxxxxxxxxxxxx-1\"} 1\n"), "{metrics}");
    let health = page(&server, "/healthz", "").1;
    assert!([json, html, metrics, health].iter().all(|text| !text.contains(&SECRET[6..])));
    // The operator sees it, and names it in full or as the log does.
    assert!(has_room(&server, SECRET), "{}", run(&server, "rooms"));
    assert!(run(&server, &format!("room {SECRET} players")).contains("\"Ada\""));
    assert_eq!(server.stop(), 0);
    let bytes = fs::read(&file.0).expect("the file");
    assert!(!bytes.windows(20).any(|window| window == &SECRET.as_bytes()[6..26]), "the capture hides it");
    let (text, status) = replay(&bytes, "private-again", &["--json"]);
    assert_eq!(status, 0, "{text}");
}

#[test]
fn a_capture_replays_rooms_that_are_made_and_end_while_it_runs() {
    let (server, file) = (server(4, Duration::from_millis(50)), File::new("demand"));
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    let walk = |client: &mut Native| {
        for sequence in 1..5 {
            client.say("move", &[sequence.into(), Value::Nil, (sequence * 1_000).into()]);
            client.hear("update");
        }
    };
    let (mut ada, ..) = Native::play_at(server.address(), "/play", "Ada");
    walk(&mut ada);
    for name in ["one", "two"] {
        let (mut bob, ..) = Native::play_at(server.address(), &format!("/r/{name}/play"), "Bob");
        walk(&mut bob);
    }
    until("both have ended", || rooms(&server) == 1);
    ada.say("move", &[5.into(), Value::Nil, Value::Nil]);
    assert_eq!(server.stop(), 0);
    assert!(!file.0.with_extension("1.pcapng").exists(), "a new room needs no new file");
    let (text, status) = replay(&fs::read(&file.0).expect("the file"), "demand-again", &["--json"]);
    assert_eq!(status, 0, "{text}");
    let report: Json = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["verdict"], "same", "{text}");
    for (at, room) in ["", "one", "two"].iter().enumerate() {
        let of_room = &report["rooms"][at];
        assert_eq!((&of_room["room"], number(of_room, "clients")), (&(*room).into(), 1), "{text}");
        assert!(number(of_room, "ticks") > 3 && number(of_room, "not_captured") == 0, "{text}");
    }
}

const TOKEN: &str = "anns-token-0123456789";

/// A server on which holders of a token play, others watch or not, and so many rooms may be made.
fn guarded(max: usize, spectators: bool, empty: Duration) -> ServerHandle {
    server_with(|config| {
        config.identity.set("map_size_px", 1_440);
        (config.rooms_on_demand, config.room_empty_time) = (max, empty);
        let tokens = Some(Tokens::read(&format!("ann {TOKEN}")).expect("a token file"));
        config.players = PlayAccess { tokens, spectators };
        config.address_rate_limits = false;
    })
}

#[test]
fn with_tokens_only_a_request_with_one_of_them_makes_a_room() {
    for spectators in [false, true] {
        let server = guarded(2, spectators, limits::EMPTY_ROOM_TIMEOUT);
        let closed = |path: &str| Peer::connect(server.address(), path).receive_close();
        for at in 0..20 {
            assert_eq!(closed(&format!("/r/flood-{at}/play")), "1008 room_token_missing");
        }
        assert_eq!(closed("/r/den/play?token=a-wrong-token-of-the-test"), "1008 token_wrong");
        assert!(
            closed("/r/den/").contains("room_token_missing"),
            "the packet disconnect goes before the close"
        );
        assert_eq!(rooms(&server), 1, "{}", run(&server, "rooms"));
        let (_ann, ..) = Native::play_at(server.address(), &format!("/r/den/play?token={TOKEN}"), "Ann");
        let offered = [("Sec-WebSocket-Protocol", &*format!("tickwire.v1, {}", credentials::bearer(TOKEN)))];
        let page = Peer::try_connect_with(server.address(), "/r/lair/play", &offered).expect("the upgrade");
        assert_eq!(rooms(&server), 3, "{}", run(&server, "rooms"));
        let mut guest = Native { peer: Peer::connect(server.address(), "/r/den/play") };
        guest.say("hello", &[1.into(), 0.into()]);
        match spectators {
            true => _ = guest.hear("welcome"),
            false => assert_eq!(guest.peer.receive_close(), "1008 token_missing"),
        }
        drop(page);
        server.stop();
    }
}

#[test]
fn with_tokens_clients_without_one_do_not_keep_a_room() {
    let server = guarded(1, true, Duration::from_millis(300));
    let (ann, ..) = Native::play_at(server.address(), &format!("/r/den/play?token={TOKEN}"), "Ann");
    let mut guest = Native { peer: Peer::connect(server.address(), "/r/den/play") };
    guest.say("hello", &[1.into(), 0.into()]);
    guest.hear("welcome");
    assert!(has_room(&server, "den"));
    drop(ann);
    assert_eq!(guest.peer.receive_close(), "1001 going_away");
    until("the room ends", || !has_room(&server, "den"));
    let _again = Native::play_at(server.address(), &format!("/r/lair/play?token={TOKEN}"), "Ann");
    server.stop();
}

#[test]
fn no_path_makes_a_room_with_the_name_that_the_log_gives_to_a_private_one() {
    let server = server(4, limits::EMPTY_ROOM_TIMEOUT);
    let (_ada, ..) = Native::play_at(server.address(), &format!("/r/{SECRET}/play"), "Ada");
    let alias = "p-k7f2xxxxxxxxxxxxxxxxxx-1";
    for name in [alias, "p-k7f2xxxxxxxxxxxxxxxxxx-2", "p-abcdxxxxxxxxxxxxxxxxxxxxxxxx-7"] {
        assert!(Peer::try_connect(server.address(), &format!("/r/{name}/play")).is_err(), "{name}");
        assert_eq!(page(&server, &format!("/r/{name}/"), "").0, 404, "{name}");
    }
    assert_eq!(rooms(&server), 2);
    assert_eq!(run(&server, &format!("room {alias} announce hello")).trim(), "announced");
    server.stop();
}

#[test]
#[cfg(target_os = "linux")]
fn the_log_never_has_the_whole_name_of_a_private_room() {
    let flags =
        ["serve", "--bind", "127.0.0.1:0", "--rooms-on-demand", "2", "--map-size", "1440", "--log", "debug"];
    let mut program = Program::start(&mut tickwire(&flags));
    let get = |path: &str| ask(program.address, &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    assert!(get(&format!("/r/{SECRET}/")).starts_with("HTTP/1.1 200"));
    let (escaped, upper) = (SECRET.replace("p-", "%70%2d"), SECRET.to_uppercase());
    for path in [
        format!("//r/{SECRET}/"),
        format!("/r//{SECRET}/play"),
        format!("/game/r/{SECRET}/"),
        format!("/r/{escaped}/"),
        format!("/r%2f{SECRET}/"),
        format!("/R/{upper}/"),
        format!("/r/{SECRET};v=1/"),
    ] {
        assert!(get(&path).starts_with("HTTP/1.1 404"), "{path}");
    }
    drop(Native::play_at(program.address, &format!("/r/{SECRET}/play"), "Ada"));
    let answers = [
        program.type_line(&format!("room {SECRET} announce hello")),
        program.type_line(&format!("room {SECRET}z players")),
        program.type_line(&format!("room {SECRET} end")),
    ];
    assert_eq!(answers[0], "announced");
    assert!(answers[2].contains("has ended; clients closed: "), "{answers:?}");
    let log = program.stop();
    assert!(log.contains("room made on demand") && log.contains("/r/p-k7f2…/"), "{log}");
    assert!(!log.to_lowercase().contains(&SECRET[6..16]), "{log}");
}
