//! Several requests on one connection, as browsers send them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use tickwire::internal::limits;
use tickwire::internal::server::net::ServerHandle;

use crate::support::{PATIENCE, server, server_with};

/// A connection that reads one response at a time.
struct Browser(BufReader<TcpStream>);

impl Browser {
    fn connect(server: &ServerHandle) -> Browser {
        let stream = TcpStream::connect(server.address()).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Browser(BufReader::new(stream))
    }

    fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).expect("sent");
    }

    /// Status, the option of the Connection header, and the body.
    fn receive(&mut self) -> (u16, String, Vec<u8>) {
        let (mut head, mut line) = (Vec::new(), String::new());
        while self.0.read_line(&mut line).expect("a line") > 2 {
            head.push(std::mem::take(&mut line));
        }
        let status = head.first().expect("a response")[9..12].parse().expect("a status");
        let value = |name: &str| {
            let line = head.iter().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim().to_owned()
        };
        let mut body = vec![0; value("Content-Length: ").parse().unwrap_or(0)];
        self.0.read_exact(&mut body).expect("the body");
        (status, value("Connection: "), body)
    }

    /// Whether the server has closed the connection, with nothing left to read.
    fn has_ended(&mut self) -> bool {
        self.0.read(&mut [0]).is_ok_and(|count| count == 0)
    }
}

fn get(path: &str, option: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: {option}\r\n\r\n")
}

#[test]
fn files_and_an_upgrade_use_one_connection_also_when_requests_are_pipelined() {
    let server = server();
    let mut browser = Browser::connect(&server);
    for (path, status, text) in [
        ("/", 200, "<!doctype html>"),
        ("/game/main.js", 200, "@module game/main"),
        ("/nothing", 404, "no such page"),
    ] {
        browser.send(&get(path, "keep-alive"));
        let (answered, option, body) = browser.receive();
        assert_eq!((answered, &*option), (status, "keep-alive"), "{path}");
        assert!(String::from_utf8_lossy(&body).contains(text), "{path}");
    }
    // Split anywhere, and answered in order.
    let both = get("/healthz", "keep-alive") + &get("/codes.json", "keep-alive");
    let (first, second) = both.split_at(both.len() - 9);
    browser.send(first);
    assert_eq!(browser.receive().2, b"ok\n");
    browser.send(second);
    assert_eq!(browser.receive().2.first(), Some(&b'{'));
    browser.send(
        "GET /play HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    assert_eq!(browser.receive().0, 101);
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_connection_ends_when_the_client_wants_it_or_breaks_a_rule_or_is_idle() {
    let server = server();
    for (request, status) in [
        (get("/healthz", "close"), 200),
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned(), 200),
        ("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".to_owned(), 200),
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc".to_owned(), 400),
        ("POST /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n".to_owned(), 405),
    ] {
        let mut browser = Browser::connect(&server);
        browser.send(&get("/healthz", "keep-alive"));
        browser.receive();
        browser.send(&request);
        let (answered, option, _) = browser.receive();
        assert_eq!((answered, &*option), (status, "close"), "{request}");
        assert!(browser.has_ended(), "{request}");
    }
    let mut idle = Browser::connect(&server);
    idle.send(&get("/healthz", "keep-alive"));
    idle.receive();
    let from = Instant::now();
    assert!(idle.has_ended());
    assert!(from.elapsed() > limits::KEEP_ALIVE_TIMEOUT - Duration::from_secs(1));
    server.stop();
}

#[test]
fn the_number_of_requests_is_limited_on_a_connection_and_for_an_address() {
    let server = server_with(|config| config.address_rate_limits = true);
    let mut browser = Browser::connect(&server);
    for count in 1..=limits::MAX_REQUESTS_PER_CONNECTION {
        browser.send(&get("/healthz", "keep-alive"));
        let option = if count < limits::MAX_REQUESTS_PER_CONNECTION { "keep-alive" } else { "close" };
        assert_eq!(browser.receive().1, option, "request {count}");
    }
    assert!(browser.has_ended());
    // Pipelined requests use up the burst like connections.
    let mut refused = None;
    for _ in 0..2 * limits::ADDRESS_CONNECTIONS_BURST / limits::MAX_REQUESTS_PER_CONNECTION {
        let mut browser = Browser::connect(&server);
        browser.send(&get("/healthz", "keep-alive").repeat(limits::MAX_REQUESTS_PER_CONNECTION as usize));
        refused =
            (0..limits::MAX_REQUESTS_PER_CONNECTION).map(|_| browser.receive()).find(|one| one.0 != 200);
        if refused.is_some() {
            break;
        }
    }
    let (status, option, _) = refused.expect("a refusal");
    assert_eq!((status, &*option), (429, "close"));
    server.stop();
}

#[test]
fn an_idle_connection_gives_its_slot_to_a_new_one_and_ends_at_a_shutdown() {
    let server = server();
    let mut idle: Vec<Browser> = Vec::new();
    for _ in 0..limits::MAX_PENDING_REQUESTS_PER_ADDRESS + 2 {
        let mut browser = Browser::connect(&server);
        browser.send(&get("/healthz", "keep-alive"));
        assert_eq!(browser.receive().0, 200);
        idle.push(browser);
    }
    assert!(idle[0].has_ended() && idle[1].has_ended(), "the oldest two");
    let from = Instant::now();
    assert_eq!(server.stop(), 0);
    assert!(from.elapsed() < limits::SHUTDOWN_CLOSE_TIMEOUT, "{:?}", from.elapsed());
    assert!(idle.last_mut().expect("many").has_ended());
}
