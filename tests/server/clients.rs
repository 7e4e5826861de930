//! The server as a client meets it: pages, upgrades, the native conversation, JSON, caps.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use crate::support::{PATIENCE, Peer, server, server_with};
use tickwire::internal::limits;
use tickwire::packet::{Direction, PacketTables, Value};

/// Sends a request as it stands and reads the answer to its end.
fn ask(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.write_all(request.replace('\n', "\r\n").as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer that ends");
    answer
}

pub const UPGRADE: &str = "Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\n";

#[test]
fn pages_and_what_is_none() {
    let server = server();
    for (request, expected) in [
        ("GET / HTTP/1.1\nHost: localhost\n\n", "HTTP/1.1 200 OK"),
        ("GET /game/main.js HTTP/1.1\nHost: localhost\n\n", "Content-Type: text/javascript"),
        ("HEAD / HTTP/1.1\nHost: localhost\n\n", "Content-Type: text/html"),
        ("GET /../Cargo.toml HTTP/1.1\nHost: localhost\n\n", "HTTP/1.1 404"),
        ("GET /play HTTP/1.1\nHost: localhost\n\n", "HTTP/1.1 426 Upgrade Required"),
        ("GET /nothing HTTP/1.1\nHost: localhost\n\n", "HTTP/1.1 404"),
        ("POST / HTTP/1.1\nHost: localhost\n\n", "Allow: GET, HEAD"),
        ("GET /tab HTTP/1.1\nHost: localhost\n\n", "HTTP/1.1 308 Permanent Redirect"),
        ("GET /tab HTTP/1.1\nHost: localhost\n\n", "Location: tab/"),
        ("GET /tab/ HTTP/1.1\nHost: localhost\n\n", "<title>tickwire</title>"),
        ("GET /tab/?inspector HTTP/1.1\nHost: localhost\n\n", "Content-Type: text/html"),
        ("GET /tab/wasm/edition.js HTTP/1.1\nHost: localhost\n\n", "EDITION = 'tab'"),
        ("GET /wasm/edition.js HTTP/1.1\nHost: localhost\n\n", "EDITION = 'server'"),
        ("HEAD /tab/wasm/tickwire.wasm HTTP/1.1\nHost: localhost\n\n", "Content-Type: application/wasm"),
        ("GET /tab/tab-files.js HTTP/1.1\nHost: localhost\n\n", "self.TAB_FILES = {"),
        ("GET /tab/admin HTTP/1.1\nHost: localhost\n\n", "HTTP/1.1 404"),
        ("GET /tab//game/main.js HTTP/1.1\nHost: localhost\n\n", "HTTP/1.1 404"),
        ("GET /metrics HTTP/1.1\nHost: localhost:3000\n\n", "tickwire_clients 0"),
        ("GET /metrics HTTP/1.1\nHost: evil.example\n\n", "HTTP/1.1 403"),
        ("GET /metrics HTTP/1.1\nHost: localhost\nX-Forwarded-For: 203.0.113.9\n\n", "HTTP/1.1 403"),
    ] {
        let answer = ask(server.address(), request);
        assert!(answer.contains(expected), "{request}\n{answer}");
        assert!(answer.contains("Content-Security-Policy: default-src 'self'"), "{answer}");
    }
    let head = ask(server.address(), "HEAD / HTTP/1.1\nHost: localhost\n\n");
    assert!(head.ends_with("\r\n\r\n"), "HEAD has no body");
    server.stop();
}

#[test]
fn every_file_of_the_page_is_served_with_its_type() {
    let server = server();
    let web = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/web"));
    let mut files = Vec::new();
    let mut folders = vec![web.to_owned()];
    while let Some(directory) = folders.pop() {
        for entry in std::fs::read_dir(&directory).expect("the folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    for file in files {
        let name = file.strip_prefix(web).expect("below the folder").to_str().expect("text");
        let head = ask(server.address(), &format!("HEAD /{name} HTTP/1.1\nHost: localhost\n\n"));
        let expected = match name.rsplit('.').next() {
            Some("sources") => "HTTP/1.1 404",
            Some("css") => "Content-Type: text/css; charset=utf-8",
            Some("html") => "Content-Type: text/html; charset=utf-8",
            Some("js") => "Content-Type: text/javascript; charset=utf-8",
            Some("json") => "Content-Type: application/json",
            Some("svg") => "Content-Type: image/svg+xml",
            Some("ts") => "Content-Type: text/plain; charset=utf-8",
            _ => "Content-Type: application/wasm",
        };
        assert!(
            head.contains(expected),
            "list the files of src/web/ in src/server/net/pages/mod.rs: {name}\n{head}"
        );
    }
    server.stop();
}

#[test]
fn upgrades_are_refused_with_the_right_status() {
    let server = server_with(|config| config.allowed_origins = vec!["https://play.example".to_owned()]);
    for (path, more, expected) in [
        ("/nowhere", "", "404"),
        ("/server?dialect=klingon", "", "400"),
        ("/play?format=xml", "", "400"),
        ("/play", "Origin: https://evil.example\n", "403"),
        ("/play", "Content-Length: 5\n", "400"),
    ] {
        let answer = ask(server.address(), &format!("GET {path} HTTP/1.1\nHost: h\n{UPGRADE}{more}\n"));
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{path} {more}\n{answer}");
    }
    let older = UPGRADE.replace("13", "8");
    let answer = ask(server.address(), &format!("GET /play HTTP/1.1\nHost: h\n{older}\n"));
    assert!(answer.starts_with("HTTP/1.1 426 ") && answer.contains("Sec-WebSocket-Version: 13"), "{answer}");
    server.stop();
}

#[test]
fn a_full_server_says_503() {
    let server = server_with(|config| config.max_clients = 1);
    let _first = Peer::connect(server.address(), "/");
    let answer = ask(server.address(), &format!("GET / HTTP/1.1\nHost: h\n{UPGRADE}\n"));
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    server.stop();
}

#[test]
fn one_address_can_have_so_many_clients_and_the_place_comes_back() {
    let server = server_with(|config| config.max_clients_per_address = 2);
    let (mut first, _second) = (Peer::connect(server.address(), "/"), Peer::connect(server.address(), "/"));
    assert!(Peer::try_connect(server.address(), "/").is_err());
    first.close();
    drop(first);
    let patience = std::time::Instant::now() + PATIENCE;
    while Peer::try_connect(server.address(), "/").is_err() {
        assert!(std::time::Instant::now() < patience, "the place did not come back");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    server.stop();
}

/// A native client: packets by name.
pub struct Native {
    pub peer: Peer,
}

impl Native {
    fn connect(address: SocketAddr) -> Native {
        Native { peer: Peer::connect(address, "/play") }
    }

    pub fn say(&mut self, name: &str, values: &[Value]) {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        self.peer.send(&dialect.encode(Direction::ToServer, name, values).expect("fits the table"));
    }

    /// The values of the next packet of this name.
    pub fn hear(&mut self, name: &str) -> Vec<Value> {
        let dialect = PacketTables::builtin().dialect("native").expect("built in");
        let named = |message: &[u8]| {
            dialect.decode(Direction::ToClient, message).is_ok_and(|packet| packet.row.name == name)
        };
        let message = self.peer.receive_until(named).unwrap_or_else(|error| panic!("{name}: {error}"));
        dialect.decode(Direction::ToClient, &message).expect("our own packet").values
    }

    fn play(address: SocketAddr, name: &str) -> (Native, u64) {
        let (native, welcome, player) = Native::play_at(address, "/play", name);
        assert_eq!(welcome[0], Value::from(1));
        (native, player)
    }

    /// A client that plays at this path, its welcome, and its player.
    pub fn play_at(address: SocketAddr, path: &str, name: &str) -> (Native, Vec<Value>, u64) {
        let mut native = Native { peer: Peer::connect(address, path) };
        native.say("hello", &[1.into(), 1.into(), name.into(), 2.into()]);
        let welcome = native.hear("welcome");
        let player = native.hear("spawned")[0].as_u64().expect("a number");
        (native, welcome, player)
    }
}

#[test]
fn native_clients_meet_walk_and_talk() {
    let server = server();
    let (mut ada, ada_id) = Native::play(server.address(), "Ada");
    let (mut bob, bob_id) = Native::play(server.address(), "Bob");
    assert_ne!(ada_id, bob_id);
    bob.say("move", &[1.into(), Value::Nil, 0.into()]);
    let walks = |values: &[Value]| values[1].as_array().is_some_and(|own| own[4].as_i64() > Some(100_000));
    while !walks(&bob.hear("update")) {}
    bob.say("chat", &[2.into(), Value::Nil, "hi".into()]);
    assert_eq!(ada.hear("chat"), [Value::from(bob_id), Value::from("hi")]);
    ada.say("ping", &[99.into()]);
    assert_eq!(ada.hear("pong")[0], Value::from(99));
    ada.say("chat", &[1.into(), Value::Nil, "one".into()]);
    ada.say("chat", &[2.into(), Value::Nil, "two".into()]);
    let rejected = Value::Array(vec![2.into(), "chat_too_soon".into()]);
    assert_eq!(ada.hear("command_rejected"), [rejected]);
    let place = ada.hear("leaderboard");
    assert!(place[1].as_u64().is_some_and(|place| place <= 2) && place[2].as_u64() == Some(2), "{place:?}");
    server.stop();
}

#[test]
fn a_watcher_follows_the_leader_and_then_plays() {
    let server = server();
    let (_ada, ada_id) = Native::play(server.address(), "Ada");
    let mut watcher = Native::connect(server.address());
    watcher.say("hello", &[1.into(), 0.into()]);
    assert_eq!(watcher.hear("spectating"), [Value::from(ada_id)]);
    watcher.say("join", &["Bob".into(), 1.into()]);
    assert_ne!(watcher.hear("spawned")[0], Value::from(ada_id));
    server.stop();
}

#[test]
fn rules_of_the_native_dialect_close_with_their_names() {
    let server = server();
    let cases: [(&str, &[u8], &str); 5] = [
        ("/play", &[0x92, 0x06, 0x91, 0x01], "1008 hello_first"),
        ("/play", &[0x92, 0x01, 0x92, 0x63, 0x01], "1008 hello_version"),
        ("/play", &[0xc1], "1007 packet_reserved_byte"),
        ("/play?format=json", &[0x92, 0x06, 0x91, 0x01], "1003 wrong_frame_type"),
        ("/", &[0x92, 0xa2, b'p', b'p', 0x90, 0x00], "1007 packet_trailing_bytes"),
    ];
    for (path, message, expected) in cases {
        let mut peer = Peer::connect(server.address(), path);
        peer.send(message);
        assert_eq!(peer.receive_close(), expected, "{path} {message:02x?}");
    }
    server.stop();
}

#[test]
fn json_carries_the_same_packets() {
    let server = server();
    let mut peer = Peer::connect(server.address(), "/?format=json");
    peer.send_text(r#"["sp",[{"name":"ann","skin":3}]]"#);
    let is_setup = |message: &[u8]| message == br#"["1",[1]]"#;
    peer.receive_until(is_setup).expect("setup as text");
    peer.send_text(r#"["ping",[]]"#);
    peer.receive_until(|message| message == br#"["pp",[]]"#).expect("names stand for codes");
    peer.send_text("[1,");
    assert!(peer.receive_close().starts_with("1007 "));
    server.stop();
}

#[test]
fn shutdown_leaks_neither_idle_connections_nor_clients_that_do_not_read() {
    let server = server();
    let _silent = TcpStream::connect(server.address()).expect("a connection");
    let mut deaf = TcpStream::connect(server.address()).expect("a connection");
    deaf.write_all(b"GET /wasm/tickwire.wasm HTTP/1.1\r\nHost: h\r\n\r\n").expect("sent");
    while !server.metrics_text().contains("tickwire_connections_accepted_total 2\n") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(server.stop(), 0);
}

/// The metrics as soon as no player is connected any more, after somebody has said goodbye who
/// keeps the connection; nothing when it may have had its time meanwhile.
fn metrics_after_a_goodbye() -> Option<String> {
    let server = server();
    let (mut ada, _) = Native::play(server.address(), "Ada");
    let asked = std::time::Instant::now();
    ada.peer.stream().write_all(b"\x88\x82\0\0\0\0\x03\xe8").expect("sent");
    let gone = loop {
        let text = server.metrics_text();
        if text.contains("tickwire_players 0\n") || asked.elapsed() > PATIENCE {
            break text;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    let in_time = asked.elapsed() < limits::CLOSE_TIMEOUT;
    assert!(gone.contains("tickwire_players 0\n"), "{gone}");
    server.stop();
    in_time.then_some(gone)
}

#[test]
fn a_closed_client_leaves_the_world_at_once_even_if_its_socket_stays_open() {
    let mut tries = (0..5).map(|_| metrics_after_a_goodbye());
    let gone =
        tries.find_map(|gone| gone).expect("no player is connected before the connection has had its time");
    assert!(gone.contains("tickwire_clients 1\n"), "its connection has {:?} to end", limits::CLOSE_TIMEOUT);
}
