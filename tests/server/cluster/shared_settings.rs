//! Bans and the notice hold in all processes of a cluster: for connected, relayed and new clients, after a restart of
//! the processes, and after Redis has lost its data.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tickwire::internal::server::net::NetemProxy;
use tickwire::internal::server::net::netem_proxy::ProxyConfig;

use super::fixture::{NO_REDIS, Redis};
use super::{get, serve, wait_for};
use crate::journal::{Directory, metric};
use crate::program::Program;
use crate::support::PATIENCE;

const BANNED: &str = "203.0.113.9";
const OTHER: &str = "203.0.113.10";

/// A process that trusts this test as a proxy, so that its clients have addresses of their own.
fn behind_a_proxy(directory: &Path, store: SocketAddr, more: &[&str]) -> Command {
    serve(directory, store, &[&["--trusted-proxy", "127.0.0.1"], more].concat())
}

/// Sends a request of a client at this address. Returns the status, and the connection.
fn request(process: &Program, (path, headers): (&str, &str), client: &str) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(process.address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let more = format!("Host: localhost\r\nX-Forwarded-For: {client}\r\n{headers}");
    write!(stream, "GET {path} HTTP/1.1\r\n{more}\r\n").expect("sent");
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).expect("a response") == 1 {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("text");
    (head.split(' ').nth(1).unwrap_or_default().to_owned(), stream)
}

/// Enters a room as a client at this address.
fn enter(process: &Program, room: &str, client: &str) -> TcpStream {
    let headers = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let (status, stream) = request(process, (&format!("/r/{room}/play"), headers), client);
    assert_eq!(status, "101", "{room}");
    stream
}

/// The status of a page for a client at this address.
fn status(process: &Program, client: &str) -> String {
    request(process, ("/healthz", "Connection: close\r\n"), client).0
}

/// Waits until a client at this address gets this status.
fn wait_for_status(process: &Program, client: &str, expected: &str) {
    let deadline = Instant::now() + PATIENCE;
    while status(process, client) != expected {
        assert!(Instant::now() < deadline, "{client} does not get {expected}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Reads until the server closes the connection. Returns the bytes.
fn read_to_end(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            panic!("the connection stays open")
        }
        _ => bytes,
    }
}

fn is_banned_close(bytes: &[u8]) -> bool {
    bytes.windows(6).any(|part| part == b"banned")
}

#[test]
fn a_ban_in_one_process_holds_in_each_also_after_a_restart_until_any_lifts_it() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("cluster-ban");
    let start = || Program::start(&mut behind_a_proxy(&directory.0, redis.address(), &[]));
    let (mut first, mut second) = (start(), start());
    let here = enter(&first, "room-1", BANNED);
    let relayed = enter(&second, "room-1", BANNED);
    let there = enter(&second, "room-2", BANNED);
    let other = enter(&second, "room-1", OTHER);
    let reply = first.type_line(&format!("ban {BANNED}"));
    // Within a second, or on a busy machine when Redis has responded in time.
    let expected = "connections closed: 2; the other processes follow";
    assert!(reply.contains(expected), "{reply}");
    for closed in [here, relayed, there] {
        assert!(is_banned_close(&read_to_end(closed)), "closed with a reason");
    }
    for process in [&first, &second] {
        assert_eq!([BANNED, OTHER].map(|client| status(process, client)), ["403", "200"]);
    }
    assert!(is_open(&other), "another address stays connected");
    drop(other);
    first.stop();
    second.stop();

    let (first, mut second) = (start(), start());
    for process in [&first, &second] {
        wait_for_status(process, BANNED, "403");
    }
    let reply = second.type_line(&format!("unban {BANNED}"));
    assert!(reply.starts_with(&format!("{BANNED} is no longer banned")), "{reply}");
    wait_for_status(&first, BANNED, "200");
}

#[test]
fn a_relay_of_a_banned_client_ends_also_if_the_owner_does_not_know_of_the_ban() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("cluster-ban-relay");
    let (listen, conditions) =
        ("127.0.0.1:0".parse().expect("an address"), "delay=0ms".parse().expect("conditions"));
    let proxy = NetemProxy::start(ProxyConfig { listen, to: redis.address(), conditions, seed: 1 })
        .expect("a free port");
    let owner = Program::start(&mut behind_a_proxy(&directory.0, proxy.address(), &[]));
    let mut other = Program::start(&mut behind_a_proxy(&directory.0, redis.address(), &[]));
    let here = enter(&owner, "room-1", BANNED);
    let relayed = enter(&other, "room-1", BANNED);
    proxy.stop();
    other.type_line(&format!("ban {BANNED}"));
    read_to_end(relayed);
    assert_eq!((status(&owner, BANNED), status(&other, BANNED)), ("200".to_owned(), "403".to_owned()));
    assert!(is_open(&here));
}

/// Whether the server has not closed this connection.
fn is_open(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    stream.read(&mut [0]).map_or_else(|error| error.kind() == ErrorKind::WouldBlock, |count| count > 0)
}

#[test]
fn a_notice_holds_in_each_process_and_is_counted() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("cluster-notice");
    let start = |more: &[&str]| Program::start(&mut serve(&directory.0, redis.address(), more));
    let (mut first, mut second) = (start(&[]), start(&["--cluster-address", "http://127.0.0.2"]));
    first.type_line("notice Noon");
    wait_for(&second, "tickwire_cluster_setting_changes_total", "1");
    assert!(get(second.address, "/rooms?format=json").contains("\"notice\":\"Noon\""));
    second.type_line("notice off");
    type_until(&mut first, "notice", "the pages show no notice");
    assert_eq!(metric(&second, "tickwire_cluster_setting_changes_total"), "1", "its own");
    wait_for(&first, "tickwire_cluster_processes", "2");
    let reply = first.type_line("ban 127.0.0.2");
    assert!(reply.contains("is the address of a process of the cluster"), "{reply}");
}

#[test]
fn processes_write_their_bans_again_when_redis_has_lost_them_and_a_database_outlasts_all() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("cluster-ban-lost");
    let (port, store) = (redis.port, redis.address());
    let database = directory.0.with_extension("database");
    let flags = ["--database", database.to_str().expect("text")];
    let start = |more: &[&str]| Program::start(&mut behind_a_proxy(&directory.0, store, more));
    let (stored, mut second) = (start(&flags), start(&[]));
    second.type_line(&format!("ban {OTHER}"));
    wait_for_status(&stored, OTHER, "403");
    drop(redis);
    type_until(&mut second, "notice Noon", "follow when Redis responds again");
    second.type_line(&format!("ban {BANNED}"));
    assert_eq!(status(&stored, BANNED), "200", "the other process cannot know of it");
    let redis = Redis::start(Some(port)).expect("installed");
    let third = start(&[]);
    for process in [&stored, &second, &third] {
        wait_for_status(process, BANNED, "403");
        wait_for_status(process, OTHER, "403");
    }
    let mut stored = stored;
    stored.stop();
    drop((second, third, redis));
    let _redis = Redis::start(Some(port)).expect("installed");
    let without = start(&[]);
    let _stored = start(&flags);
    wait_for_status(&without, BANNED, "403");
    let _ = std::fs::remove_file(database);
}

/// Types a line until the reply contains this text.
fn type_until(process: &mut Program, line: &str, expected: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let reply = process.type_line(line);
        if reply.contains(expected) {
            return;
        }
        assert!(Instant::now() < deadline, "{line}: {reply}");
        thread::sleep(Duration::from_millis(50));
    }
}
