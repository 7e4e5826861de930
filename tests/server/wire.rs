//! `/wire` as a watcher meets it: who is let in, what is told of a client, and that the game does not notice.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use crate::support::{PATIENCE, Peer, server, server_with};
use serde_json::Value as Json;
use tickwire::client::dial;
use tickwire::internal::limits;
use tickwire::internal::server::net::ServerHandle;
use tickwire::internal::server::net::console::admin_token::AdminToken;
use tickwire::internal::tools::inspector::{ExportedClient, Inspector};
use tickwire::packet::{Direction, PacketTables, Value};
use tickwire::ws::frame::{self, Opcode};
use tungstenite::client::IntoClientRequest;
use tungstenite::{Message, WebSocket};

const TOKEN: &str = "a-token-of-the-test";
/// The same as a page says it: base64 behind a word.
const AS_SUBPROTOCOL: &str = "tickwire.wire, bearer.YS10b2tlbi1vZi10aGUtdGVzdA";
const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

fn guarded() -> ServerHandle {
    server_with(|config| config.admin_token = AdminToken::new(TOKEN).expect("long enough"))
}

/// The status of the answer to a request for `/wire`.
fn status(address: SocketAddr, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(format!("GET /wire HTTP/1.1\r\n{headers}\r\n").as_bytes()).expect("sent");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("a status line");
    String::from_utf8_lossy(&answer[9..]).into_owned()
}

/// A watcher by another library, with the inspector of the page.
struct Watcher {
    socket: WebSocket<TcpStream>,
    inspector: Inspector,
}

impl Watcher {
    fn connect(address: SocketAddr, headers: &[(&'static str, &str)]) -> Result<Watcher, String> {
        Watcher::connect_at(address, "/wire", headers)
    }

    fn connect_at(
        address: SocketAddr,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Watcher, String> {
        let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut request = format!("ws://{address}{path}").into_client_request().expect("a request");
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().expect("a header"));
        }
        let (mut socket, _) = tungstenite::client(request, stream).map_err(|error| error.to_string())?;
        let welcome = socket.read().map_err(|error| error.to_string())?;
        let inspector = Inspector::new(welcome.to_text().expect("text")).expect("a welcome");
        Ok(Watcher { socket, inspector })
    }

    fn here(address: SocketAddr) -> Watcher {
        Watcher::connect(address, &[]).expect("from this machine")
    }

    fn say(&mut self, request: &str) {
        self.socket.send(Message::Text(request.into())).expect("sent");
    }

    /// The next message; the reason when there is none.
    fn read(&mut self) -> Result<Message, String> {
        match self.socket.read() {
            Ok(Message::Close(Some(close))) => Err(format!("{} {}", u16::from(close.code), close.reason)),
            Ok(message) => Ok(message),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The next thing of this name for which something holds, said by the server or found by the inspector.
    fn hear<T>(&mut self, name: &str, wanted: impl Fn(&Json) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            let text = match self.read().unwrap_or_else(|error| panic!("{name}: {error}")) {
                Message::Text(text) => text.to_string(),
                Message::Binary(message) => self.inspector.receive(&message).expect("observed bytes"),
                _ => continue,
            };
            let message: Json = serde_json::from_str(&text).expect("JSON");
            if let Some(found) = message.get(name).and_then(&wanted) {
                return found;
            }
        }
        panic!("{name} never came");
    }

    /// The next frame for which this holds.
    fn frame(&mut self, wanted: impl Fn(&Json) -> bool) -> Json {
        self.hear("frames", |frames| frames.as_array()?.iter().find(|frame| wanted(frame)).cloned())
    }

    /// What the inspector says of a frame.
    fn explain(&self, n: u64) -> Json {
        serde_json::from_str(&self.inspector.explain(n)).expect("JSON")
    }

    /// Watches the client whose player has this name, and waits until it does; gives its number.
    fn watch(&mut self, name: &str) -> u64 {
        let id = self.hear("clients", |clients| {
            let client = clients.as_array()?.iter().find(|client| client["name"] == name)?;
            client["id"].as_u64()
        });
        self.say(&format!(r#"{{"select":{id}}}"#));
        self.inspector.select_client(Some(id));
        let request = self.frame(|frame| frame["opcode"] == "upgrade");
        assert!(
            request["from"] == "client" && request["client"] == id,
            "the handshake comes first: {request}"
        );
        id
    }
}

/// A native client that plays.
struct Player {
    peer: Peer,
}

impl Player {
    fn play(address: SocketAddr, name: &str) -> Player {
        Player::play_at(address, "/play", name)
    }

    fn play_at(address: SocketAddr, target: &str, name: &str) -> Player {
        let mut player = Player { peer: Peer::connect(address, target) };
        player.say("hello", &[1.into(), 1.into(), name.into(), 2.into()]);
        player.hear("spawned");
        player
    }

    fn say(&mut self, name: &str, values: &[Value]) {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        self.peer.send(&dialect.encode(Direction::ToServer, name, values).expect("fits the table"));
    }

    fn hear(&mut self, name: &str) {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let named = |message: &[u8]| {
            dialect.decode(Direction::ToClient, message).is_ok_and(|packet| packet.row.name == name)
        };
        self.peer.receive_until(named).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_watcher_of_a_room_is_shown_only_the_clients_of_that_room() {
    let (server, _) = crate::rooms::two_rooms();
    let address = server.address();
    let mut ann = Player::play(address, "Ann");
    let mut bob = Player::play_at(address, "/r/two/play", "Bob");
    let listed = |clients: &Json| -> Option<Vec<Json>> { clients.as_array().cloned() };
    let mut everywhere = Watcher::here(address);
    let all = everywhere.hear("clients", listed);
    let told: Vec<_> = all.iter().map(|client| (&client["name"], &client["room"])).collect();
    assert_eq!(told, [(&"Ann".into(), &"".into()), (&"Bob".into(), &"two".into())]);
    let mut watcher = Watcher::connect_at(address, "/r/two/wire", &[]).expect("from this machine");
    assert_eq!(watcher.hear("clients", listed), all[1..]);
    // What comes after both requests is of the second client alone.
    watcher.say(&format!(r#"{{"select":{}}}"#, all[0]["id"]));
    watcher.say(&format!(r#"{{"select":{}}}"#, all[1]["id"]));
    watcher.inspector.select_client(all[1]["id"].as_u64());
    assert_eq!(watcher.frame(|frame| frame["opcode"] == "upgrade")["client"], all[1]["id"]);
    watcher.say(&format!(r#"{{"select":{}}}"#, all[0]["id"]));
    watcher.say(r#"{"find_own":"00112233445566778899aabbccddeeff"}"#);
    assert!(watcher.hear("own", |own| Some(own.clone())).is_null());
    // All clients: of all rooms here, of one room there.
    for one in [&mut everywhere, &mut watcher] {
        one.say(r#"{"select":"all"}"#);
        one.inspector.select_all();
    }
    watcher.frame(|frame| frame["opcode"] == "upgrade");
    for (player, client) in [(&mut ann, &all[0]["id"]), (&mut bob, &all[1]["id"])] {
        player.say("move", &[1.into(), Value::Nil, 0.into()]);
        everywhere.frame(|frame| frame["client"] == *client && frame["packet"] == "move");
    }
    // Ann's frames would have come before Bob's.
    let of_bob = watcher.frame(|frame| {
        assert_eq!(frame["client"], all[1]["id"], "{frame}");
        frame["packet"] == "move"
    });
    assert_eq!(of_bob["from"], "client");
    server.stop();
}

/// Connects from 127.9.0.`host`, sends a text frame without a mask, and waits for the end.
fn break_a_rule(server: SocketAddr, host: u8, path: &str) {
    let from = format!("127.9.0.{host}").parse().expect("an address");
    let mut stream = dial::connect(server, Some(from)).expect("a connection");
    stream.set_nonblocking(false).expect("a socket that waits");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
        .write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{UPGRADE}\r\n").as_bytes())
        .expect("sent");
    stream.write_all(b"\x81\x05Hello").expect("sent");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an end");
    assert!(answer.ends_with(b"mask_missing"), "{}", String::from_utf8_lossy(&answer));
}

/// A list of ended clients of this length.
fn ended_list(length: usize) -> impl Fn(&Json) -> Option<Vec<Json>> {
    move |ended| ended.as_array().filter(|ended| ended.len() == length).cloned()
}

#[test]
fn an_ended_client_can_be_inspected_with_the_rule_that_closed_it() {
    let server = server();
    let address = server.address();
    let mut watcher = Watcher::here(address);
    watcher.hear("ended", ended_list(0));
    break_a_rule(address, 1, "/play");
    let ended = watcher.hear("ended", ended_list(1)).remove(0);
    assert_eq!((&ended["ended"], &ended["dialect"]), (&"mask_missing".into(), &"native".into()));
    let id = ended["id"].as_u64().expect("a number");
    watcher.say(&format!(r#"{{"select":{id}}}"#));
    watcher.inspector.select_client(Some(id));
    let frames = watcher.hear("frames", |frames| frames.as_array().cloned());
    let shown: Vec<_> = frames.iter().map(|frame| (frame["from"].as_str(), frame["rule"].as_str())).collect();
    let (client, server_side) = (Some("client"), Some("server"));
    let expected = [(client, None), (server_side, None), (client, Some("mask_missing")), (server_side, None)];
    assert_eq!(shown, expected);
    assert_eq!(frames[3]["opcode"], "close");
    drop(Player::play(address, "Ada"));
    let ada = watcher.hear("ended", ended_list(2)).remove(1);
    assert_eq!((&ada["name"], &ada["ended"]), (&"Ada".into(), &"peer_lost".into()));
    server.stop();
}

#[test]
fn so_many_ended_clients_are_kept_and_of_one_address_fewer() {
    let (server, _) = crate::rooms::two_rooms();
    let address = server.address();
    let mut watcher = Watcher::here(address);
    let mut other = Watcher::connect_at(address, "/r/two/wire", &[]).expect("from this machine");
    watcher.hear("ended", ended_list(0));
    break_a_rule(address, 1, "/r/two/play");
    let private = other.hear("ended", ended_list(1)).remove(0);
    let flood = limits::WIRE_ENDED_PER_ADDRESS + 2;
    (0..flood).for_each(|_| break_a_rule(address, 2, "/play"));
    let of_two = watcher.hear("ended", ended_list(limits::WIRE_ENDED_PER_ADDRESS + 1));
    assert_eq!(of_two[0], private, "an address displaces its own clients");
    (0..flood).for_each(|_| break_a_rule(address, 3, "/play"));
    watcher.hear("ended", ended_list(limits::WIRE_ENDED));
    other.hear("ended", ended_list(0));
    // A watcher of a room is sent nothing of a client of another room.
    let outside = of_two[1]["id"].as_u64().expect("a number");
    other.say(&format!(r#"{{"select":{outside}}}"#));
    other.say(r#"{"find_own":"00112233445566778899aabbccddeeff"}"#);
    while let Ok(message) = other.read() {
        match message {
            Message::Binary(_) => panic!("bytes of another room"),
            Message::Text(text) if text.contains("own") => break,
            _ => {}
        }
    }
    server.stop();
}

fn is_packet(name: &'static str) -> impl Fn(&Json) -> bool {
    move |frame| frame["packet"] == name
}

#[test]
fn a_remote_watcher_needs_the_token() {
    let server = guarded();
    let address = server.address();
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    let listed = format!("Sec-WebSocket-Protocol: {AS_SUBPROTOCOL}\r\n");
    for (headers, expected) in [
        ("Host: localhost:3000\r\n".to_owned(), "200"),
        ("Host: 127.0.0.1\r\nOrigin: http://127.0.0.1\r\n".to_owned(), "200"),
        ("Host: evil.example\r\n".to_owned(), "403"),
        ("Host: localhost\r\nX-Forwarded-For: 203.0.113.9\r\n".to_owned(), "403"),
        ("Host: localhost\r\nForwarded: for=203.0.113.9\r\n".to_owned(), "403"),
        ("Host: localhost\r\nOrigin: http://evil.example\r\n".to_owned(), "403"),
        ("Host: localhost\r\nOrigin: null\r\n".to_owned(), "403"),
        (format!("Host: localhost\r\nOrigin: http://evil.example\r\n{bearer}"), "403"),
        (format!("Host: play.example\r\n{bearer}"), "200"),
        (format!("Host: play.example\r\nOrigin: https://play.example\r\n{bearer}"), "200"),
        (format!("Host: localhost\r\nVia: 1.1 proxy\r\n{listed}"), "200"),
        ("Host: play.example\r\nAuthorization: Bearer wrong\r\n".to_owned(), "401"),
    ] {
        assert_eq!(status(address, &headers), expected, "page: {headers}");
        let expected = if expected == "200" { "101" } else { expected };
        assert_eq!(status(address, &format!("{headers}{UPGRADE}")), expected, "upgrade: {headers}");
    }
    server.stop();
}

#[test]
fn an_origin_that_the_operator_lists_needs_the_token_all_the_same() {
    let server = server_with(|config| {
        config.admin_token = AdminToken::new(TOKEN).expect("long enough");
        config.allowed_origins = vec!["https://play.example".to_owned()];
    });
    let headers = format!("Host: localhost\r\nOrigin: https://play.example\r\n{UPGRADE}");
    assert_eq!(status(server.address(), &headers), "403", "it may play, not watch");
    let with_token = format!("{headers}Authorization: Bearer {TOKEN}\r\n");
    assert_eq!(status(server.address(), &with_token), "101");
    server.stop();
}

#[test]
fn a_watcher_sees_its_client_and_what_each_frame_says() {
    let server = guarded();
    let mut ada = Player::play(server.address(), "Ada");
    let mut bob = Player::play(server.address(), "Bob");
    let elsewhere = [("Host", "play.example"), ("Sec-WebSocket-Protocol", AS_SUBPROTOCOL)];
    let mut watcher = Watcher::connect(server.address(), &elsewhere).expect("the token is right");
    let id = watcher.watch("Ada");
    bob.say("move", &[1.into(), Value::Nil, 0.into()]);
    ada.say("move", &[7.into(), Value::Nil, 16384.into()]);
    let frame = watcher.frame(is_packet("move"));
    assert!(
        frame["line"].as_str().is_some_and(|line| line.contains("move sequence=7")),
        "not Bob's: {frame}"
    );
    assert_eq!((&frame["from"], &frame["opcode"]), (&"client".into(), &"binary".into()));
    let n = frame["n"].as_u64().expect("a number");
    let explained = watcher.explain(n);
    let told = &explained["frames"][0];
    assert_eq!((&told["packet"], &told["masked"], &told["code"]), (&"move".into(), &true.into(), &3.into()));
    let raw = explained["raw"].as_str().expect("hexadecimal");
    assert_eq!(raw.len() as u64, 2 * frame["bytes"].as_u64().expect("a number"));
    assert!(raw.starts_with("82") && told["tree"]["children"][7]["name"] == "masking_key", "{told}");
    watcher.frame(is_packet("update"));
    let fields: Json = serde_json::from_str(&watcher.inspector.fields()).expect("JSON");
    let update = fields.as_array().and_then(|kinds| kinds.iter().find(|kind| kind["packet"] == "update"));
    assert!(
        update.is_some_and(|kind| kind["from"] == "server" && kind["bytes"].as_f64() > Some(10.0)),
        "{fields}"
    );
    let named = [(id, ExportedClient { player: 1, name: "Ada".to_owned() })].into();
    let file = watcher.inspector.save(&named).expect("a handshake");
    let capture = tickwire::capture::read(&file).expect("a capture");
    let connections = capture.connections();
    assert!(connections.len() == 1 && connections[0].gaps.is_empty() && connections[0].has_begin);
    ada.peer.close();
    assert_eq!(watcher.hear("ended", |rule| rule.as_str().map(str::to_owned)), "peer_closed", "client {id}");
    server.stop();
}

#[test]
fn injected_bytes_reach_the_client_that_has_the_key_and_are_marked() {
    let server = guarded();
    let address = server.address();
    let (key, other) = ("0123456789abcdef".repeat(2), "f".repeat(32));
    let mut ann = Player::play_at(address, &format!("/play?inspect_key={key}"), "Ann");
    let mut watcher = Watcher::here(address);
    let id = watcher.watch("Ann");
    watcher.say(&format!(r#"{{"find_own":"{other}"}}"#));
    assert_eq!(watcher.hear("own", |own| Some(own.clone())), Json::Null);
    watcher.say(&format!(r#"{{"find_own":"{key}"}}"#));
    assert_eq!(watcher.hear("own", Json::as_u64), id);
    watcher.say(&format!(r#"{{"inject":"{other}","bytes":"8900"}}"#));
    let why = watcher.hear("error", |why| why.as_str().map(str::to_owned));
    assert_eq!(why, "no connected client has this key");
    // Half of a masked ping, and the rest.
    for half in ["898100", "000000", "41"] {
        watcher.say(&format!(r#"{{"inject":"{key}","bytes":"{half}"}}"#));
        let answer = watcher.hear("injected", |answer| Some(answer.clone()));
        assert_eq!(answer, if half == "898100" { Json::from(id) } else { Json::Null });
    }
    // The client's own bytes complete the frame.
    ann.peer.stream().write_all(&[0, 0, 0, 0x41]).expect("sent");
    let ping = watcher.frame(|frame| frame["opcode"] == "ping" && frame["from"] == "client");
    assert_eq!(ping["injected"], true, "{ping}");
    watcher.say(&format!(r#"{{"inject":"{key}","bytes":"8200"}}"#));
    let broken = watcher.frame(|frame| frame["rule"] == "mask_missing");
    assert_eq!(broken["injected"], true, "{broken}");
    assert_eq!(ann.peer.receive_close(), "1002 mask_missing");
}

#[test]
fn each_watcher_has_its_own_client_and_there_are_so_many_places() {
    let server = server();
    let address = server.address();
    let [mut ada, mut bob] = ["Ada", "Bob"].map(|name| Player::play(address, name));
    // One address has half of the places; `one_address_has_half_of_the_watchers` has the others.
    let mut watchers: Vec<Watcher> =
        (0..limits::MAX_INSPECTORS / 2).map(|_| Watcher::here(address)).collect();
    assert_eq!(status(address, &format!("Host: localhost\r\n{UPGRADE}")), "503");
    let (first, rest) = watchers.split_at_mut(1);
    let (one, two) = (&mut first[0], &mut rest[0]);
    let ids = [one.watch("Ada"), two.watch("Bob")];
    ada.say("map_ping", &[1.into(), Value::Nil]);
    bob.say("move", &[1.into(), Value::Nil, Value::Nil]);
    for (watcher, id, packet) in [(one, ids[0], "map_ping"), (two, ids[1], "move")] {
        let frame = watcher.frame(|frame| frame["from"] == "client");
        assert!(frame["client"] == id && frame["packet"] == packet, "{frame}");
    }
    drop(watchers.pop());
    let deadline = Instant::now() + PATIENCE;
    while Watcher::connect(address, &[]).is_err() {
        assert!(Instant::now() < deadline, "the place did not come back");
        std::thread::sleep(Duration::from_millis(20));
    }
    server.stop();
}

/// How long a player waits at most for an answer while a watcher does not read. The watcher's place comes back.
fn longest_wait_beside_a_deaf_watcher() -> Duration {
    let server = server();
    let address = server.address();
    let mut ada = Player::play(address, "Ada");
    let mut watcher = Watcher::here(address);
    watcher.watch("Ada");
    ada.say("move", &[1.into(), Value::Nil, 0.into()]);
    watcher.frame(is_packet("update"));
    // Far more pongs than the kernel holds, and nobody takes them.
    let stream = watcher.socket.get_mut();
    stream.set_write_timeout(Some(Duration::from_millis(200))).expect("a timeout");
    let mut pings = Vec::new();
    for _ in 0..1000 {
        frame::write(&mut pings, Opcode::Ping, Some([1, 2, 3, 4]), &[0; frame::LENGTH_7_MAX as usize]);
    }
    let taken = (0..1000).take_while(|_| stream.write_all(&pings).is_ok()).count();
    assert!(taken < 1000, "the server reads on, and nobody takes its pongs");
    let waits = (0..20).map(|nonce| {
        let asked = Instant::now();
        ada.say("ping", &[nonce.into()]);
        ada.hear("pong");
        asked.elapsed()
    });
    let longest = waits.max().expect("there are some");
    let others: Vec<Watcher> = (1..limits::MAX_INSPECTORS / 2).map(|_| Watcher::here(address)).collect();
    let deadline = Instant::now() + limits::INSPECTOR_WRITE_TIMEOUT + limits::CLOSE_TIMEOUT + PATIENCE;
    while Watcher::connect(address, &[]).is_err() {
        assert!(Instant::now() < deadline, "its place did not come back");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(others);
    server.stop();
    longest
}

#[test]
fn a_watcher_that_does_not_read_costs_its_place_only_and_only_for_a_while() {
    // A busy machine may be late once; a game that waits for its watchers is late each time.
    let mut waits = (0..3).map(|_| longest_wait_beside_a_deaf_watcher());
    assert!(waits.any(|wait| wait < Duration::from_secs(1)), "the game waits for a watcher");
}

#[test]
fn an_invalid_request_closes_the_watcher_and_so_does_shutdown() {
    let server = server();
    for request in ["{}", "select", r#"{"select":"Ada"}"#, r#"{"save":false}"#] {
        let mut watcher = Watcher::here(server.address());
        watcher.say(request);
        let ending = loop {
            if let Err(ending) = watcher.read() {
                break ending;
            }
        };
        assert_eq!(ending, "1008 inspector_request", "{request}");
    }
    let mut watcher = Watcher::here(server.address());
    let began = Instant::now();
    let reading = std::thread::spawn(move || {
        loop {
            if let Err(ending) = watcher.read() {
                return ending;
            }
        }
    });
    assert_eq!(server.stop(), 0);
    assert!(began.elapsed() < PATIENCE, "{:?}", began.elapsed());
    assert_eq!(reading.join().expect("it ends"), "1001 going_away");
}
