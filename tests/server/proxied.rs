//! A trusted proxy in front, played by the test: whose limits count, and that nobody else is believed. `tests/proxy/` has real ones.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::program::{Program, tickwire};
use crate::support::{PATIENCE, server_with};
use tickwire::client::dial;
use tickwire::internal::limits;
use tickwire::internal::server::net::ServerHandle;
use tickwire::internal::server::net::console::Source;

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const PROXY: &str = "127.0.3.1";
const STRANGER: &str = "127.0.4.1";

/// Two clients an address, and one proxy that is believed.
fn behind_a_proxy() -> ServerHandle {
    server_with(|config| {
        config.max_clients_per_address = 2;
        config.trusted_proxies = vec![PROXY.parse().expect("a network")];
    })
}

/// Asks from this address with these headers; gives the connection and the status.
fn ask(server: &ServerHandle, from: &str, path: &str, headers: &str) -> (TcpStream, String) {
    let from: IpAddr = from.parse().expect("an address");
    let mut stream = dial::connect(server.address(), Some(from)).expect("a connection");
    stream.set_nonblocking(false).expect("a socket that waits");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).expect("a status line");
    (stream, String::from_utf8_lossy(&answer[9..]).into_owned())
}

/// Upgrades with this in `X-Forwarded-For`.
fn join(server: &ServerHandle, from: &str, forwarded_for: &str) -> (TcpStream, String) {
    ask(server, from, "/", &format!("{UPGRADE}X-Forwarded-For: {forwarded_for}\r\n"))
}

fn counts(server: &ServerHandle, line: &str) -> bool {
    server.metrics_text().lines().any(|found| found == line)
}

#[test]
fn each_client_behind_a_trusted_proxy_has_its_own_limits() {
    let server = behind_a_proxy();
    let mut kept = Vec::new();
    for (forwarded_for, expected) in [
        ("203.0.113.7", "101"),
        ("203.0.113.7", "101"),
        ("203.0.113.7", "503"),
        ("203.0.113.8", "101"),
        // What the client itself claims stands to the left.
        ("203.0.113.99, 203.0.113.7", "503"),
        ("203.0.113.7, 203.0.113.8", "101"),
        ("203.0.113.8", "503"),
        ("2001:db8::8", "101"),
    ] {
        let (stream, status) = join(&server, PROXY, forwarded_for);
        assert_eq!(status, expected, "{forwarded_for}");
        kept.push(stream);
    }
    assert!(counts(&server, "tickwire_connections_refused_total{limit=\"clients_for_address\"} 3"));
    drop(kept);
    server.stop();
}

#[test]
fn each_client_behind_a_trusted_proxy_has_its_own_budget_of_handshakes() {
    let server = behind_a_proxy();
    let mut tries = (0..3 * limits::ADDRESS_CLIENTS_BURST).map(|_| join(&server, PROXY, "203.0.113.7").1);
    assert!(tries.any(|status| status == "429"), "no handshake was refused");
    assert_eq!(join(&server, PROXY, "203.0.113.8").1, "101");
    assert!(!server.metrics_text().contains("address_connection_rate"), "the proxy itself has no budget");
    server.stop();
}

#[test]
fn from_anyone_else_the_header_is_ignored() {
    let server = behind_a_proxy();
    let kept: Vec<_> = (0..3).map(|last| join(&server, STRANGER, &format!("203.0.113.{last}"))).collect();
    let told: Vec<&str> = kept.iter().map(|(_, status)| status.as_str()).collect();
    assert_eq!(told, ["101", "101", "503"], "three addresses were claimed, and one counts");
    assert_eq!(join(&server, STRANGER, "nonsense").1, "503", "what is not believed is not read either");
    assert_eq!(join(&server, PROXY, "203.0.113.1").1, "101", "nobody took the place of who was named");
    server.stop();
}

#[test]
fn a_proxy_that_names_no_address_is_refused_and_one_that_names_nobody_is_itself() {
    let server = behind_a_proxy();
    for (said, entry) in [
        ("", ""),
        ("unknown", "unknown"),
        ("203.0.113.7:80:80", "203.0.113.7:80:80"),
        ("203.0.113.7,", ""),
        ("a\tb", "a\\tb"),
    ] {
        let (mut stream, status) = join(&server, PROXY, said);
        let mut rest = String::new();
        stream.read_to_string(&mut rest).expect("an answer that ends");
        assert!(
            status == "400"
                && rest.ends_with(&format!(
                    "\r\n\r\nforwarded_for_malformed\nan entry of X-Forwarded-For is not an IP address with \
                     or without a port: \"{entry}\"\n"
                )),
            "{said}: {status}{rest}"
        );
    }
    assert!(counts(&server, "tickwire_requests_refused_total{rule=\"forwarded_for_malformed\"} 5"));
    let itself: Vec<_> = (0..3).map(|_| ask(&server, PROXY, "/", UPGRADE)).collect();
    let told: Vec<&str> = itself.iter().map(|(_, status)| status.as_str()).collect();
    assert_eq!(told, ["101", "101", "503"]);
    server.stop();
}

#[test]
fn a_ban_is_for_the_client_and_not_for_its_proxy() {
    let server = behind_a_proxy();
    let (mut banned, status) = join(&server, PROXY, "203.0.113.7");
    assert_eq!(status, "101");
    let started = Instant::now();
    while !counts(&server, "tickwire_clients 1") {
        assert!(started.elapsed() < PATIENCE, "it is no client: {}", server.metrics_text());
        thread::sleep(Duration::from_millis(10));
    }
    let console = server.console();
    let answer = console.run("ban 203.0.113.7", Source::Terminal).expect("an answer");
    assert_eq!(answer.text.trim_end(), "203.0.113.7 is banned; connections closed: 1");
    let mut told = Vec::new();
    banned.read_to_end(&mut told).expect("an end");
    assert!(told.ends_with(b"\x03\xf0banned"), "1008 with the rule's name");
    for (path, headers) in [("/", UPGRADE), ("/", ""), ("/game/main.js", "")] {
        let from =
            |address: &str| ask(&server, PROXY, path, &format!("{headers}X-Forwarded-For: {address}\r\n")).1;
        assert_eq!(from("203.0.113.7"), "403", "{path}");
        assert_ne!(from("203.0.113.8"), "403", "{path}");
    }
    server.stop();
}

#[test]
fn a_ban_of_an_ipv6_address_is_for_its_64() {
    let server = behind_a_proxy();
    let (mut banned, status) = join(&server, PROXY, "2001:db8::7");
    assert_eq!(status, "101");
    let started = Instant::now();
    while !counts(&server, "tickwire_clients 1") {
        assert!(started.elapsed() < PATIENCE, "it is no client: {}", server.metrics_text());
        thread::sleep(Duration::from_millis(10));
    }
    let console = server.console();
    let operate =
        |line: &str| console.run(line, Source::Terminal).expect("an answer").text.trim_end().to_owned();
    assert_eq!(operate("ban 2001:db8::9"), "2001:db8::/64 is banned; connections closed: 1");
    let mut told = Vec::new();
    banned.read_to_end(&mut told).expect("an end");
    assert!(told.ends_with(b"\x03\xf0banned"), "1008 with the rule's name");
    assert_eq!(operate("bans"), "2001:db8::/64");
    assert_eq!(join(&server, PROXY, "2001:db8::ffff:1").1, "403");
    assert_eq!(join(&server, PROXY, "2001:db8:0:1::1").1, "101");
    assert_eq!(operate("unban 2001:db8::1"), "2001:db8::/64 is no longer banned");
    assert_eq!(join(&server, PROXY, "2001:db8::7").1, "101");
    server.stop();
}

#[test]
fn a_client_behind_a_proxy_is_not_local() {
    let server = behind_a_proxy();
    for (path, headers) in [("/metrics", ""), ("/wire", ""), ("/wire", UPGRADE)] {
        for named in ["127.0.0.1", "::1", "203.0.113.7", "127.0.0.1, 127.0.0.1"] {
            let (_, status) = ask(&server, PROXY, path, &format!("{headers}X-Forwarded-For: {named}\r\n"));
            assert_eq!(status, "403", "{path} {named}");
        }
        let (_, status) = ask(&server, PROXY, path, headers);
        assert_eq!(status, "403", "{path}: a declared proxy is never this machine, whatever it leaves out");
        let (_, status) = ask(&server, STRANGER, path, headers);
        assert_ne!(status, "403", "{path}: another address of this machine is");
    }
    server.stop();
}

#[test]
fn the_flag_takes_several_and_the_log_names_the_client() {
    let flags =
        ["--bind", "127.0.0.1:0", "--trusted-proxy", "127.0.3.0/24,10.0.0.1", "--trusted-proxy", "::1"];
    let mut program = Program::start(&mut tickwire(&flags));
    assert!(
        program.banner.contains("\n  trusted proxies 127.0.3.0/24, 10.0.0.1/32, ::1/128,\n"),
        "{}",
        program.banner
    );
    let mut stream = dial::connect(program.address, PROXY.parse().ok()).expect("a connection");
    stream.set_nonblocking(false).expect("a socket that waits");
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{UPGRADE}X-Forwarded-For: 203.0.113.7\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("sent");
    stream.read_exact(&mut [0; 12]).expect("a status line");
    let log = program.stop();
    assert!(log.contains("address=203.0.113.7:") && !log.contains("address=127.0.3.1"), "{log}");
    let output = tickwire(&["--trusted-proxy", "10.0.0.0/0"]).output().expect("the program runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && error.contains("would trust every address"), "{error}");
}
