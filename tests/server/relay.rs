//! `tickwire netem` between raw sockets: order, completeness, ends and addresses. Times are judged in virtual time
//! (`src/util/netem/tests.rs`), because times measured on a busy machine mean nothing.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use tickwire::client::dial;
use tickwire::internal::limits;
use tickwire::internal::server::net::EchoServer;
use tickwire::internal::server::net::netem_proxy::{NetemProxy, ProxyConfig};
use tickwire::internal::util::os;
use tungstenite::Message;

use crate::support::{NO_SERVER, PATIENCE};

/// Some of everything: jitter that would reorder, losses, a rate.
const ODD: &str = "delay=4ms,jitter=4ms,loss=2%,rate=4MB";

fn relay(to: SocketAddr, conditions: &str) -> NetemProxy {
    let listen = "127.0.0.1:0".parse().expect("an address");
    let conditions = conditions.parse().expect("conditions");
    NetemProxy::start(ProxyConfig { listen, to, conditions, seed: 7 }).expect("a free port")
}

fn listen() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    (listener, address)
}

fn connect(to: SocketAddr, from: &str) -> TcpStream {
    let stream = dial::connect(to, Some(from.parse().expect("an address"))).expect("a connection");
    stream.set_nonblocking(false).expect("a socket");
    patient(stream)
}

fn patient(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// Bytes in which a missing, doubled or moved one is noticed.
fn bytes(count: usize, seed: usize) -> Vec<u8> {
    (0..count).map(|at| (at.wrapping_mul(at ^ seed) >> 5) as u8).collect()
}

#[test]
fn bytes_arrive_complete_and_in_order_and_each_half_closes_by_itself() {
    let (listener, address) = listen();
    let relay = relay(address, ODD);
    let mut client = connect(relay.address(), "127.0.0.1");
    let mut server = patient(listener.accept().expect("the onward connection").0);
    let (up, down) = (bytes(300_000, 1), bytes(200_000, 2));
    let mut writer = client.try_clone().expect("a socket");
    let sent = up.clone();
    let writing = thread::spawn(move || {
        writer.write_all(&sent).expect("sent");
        writer.shutdown(Shutdown::Write).expect("closed");
    });
    let mut received = Vec::new();
    server.read_to_end(&mut received).expect("all bytes, then the end");
    assert!(received == up);
    writing.join().expect("sent");
    // The client has closed its half, and the server answers over the other.
    let writing = thread::spawn({
        let sent = down.clone();
        move || server.write_all(&sent).expect("sent")
    });
    received.clear();
    client.read_to_end(&mut received).expect("all bytes, then the end");
    assert!(received == down);
    writing.join().expect("sent");
    let totals = relay.stop();
    assert_eq!((totals.connections, totals.bytes), (1, [300_000, 200_000]));
    assert!(totals.counts.losses > 0 && totals.delays.quantile(500).is_some());
}

#[test]
fn a_reset_is_passed_on_to_the_other_side() {
    let (listener, address) = listen();
    let relay = relay(address, "lan");
    for resets_client in [true, false] {
        let mut client = connect(relay.address(), "127.0.0.1");
        let mut server = patient(listener.accept().expect("the onward connection").0);
        client.write_all(b"x").expect("sent");
        server.read_exact(&mut [0]).expect("a byte");
        let (gone, left) = if resets_client { (client, &mut server) } else { (server, &mut client) };
        os::set_reset_on_close(&gone).expect("a socket");
        drop(gone);
        assert_eq!(left.read(&mut [0]).expect_err("a reset").kind(), ErrorKind::ConnectionReset);
    }
    relay.stop();
}

#[test]
fn without_the_server_a_connection_is_reset_and_counted() {
    let relay = relay(NO_SERVER, "lan");
    // The reset may arrive before `connect` returns.
    let reset = dial::connect(relay.address(), None).and_then(|mut client| {
        client.set_nonblocking(false)?;
        client.set_read_timeout(Some(PATIENCE))?;
        client.read(&mut [0])
    });
    assert_eq!(reset.expect_err("a reset").kind(), ErrorKind::ConnectionReset);
    let totals = relay.stop();
    assert_eq!((totals.connections, totals.failed), (1, 1));
}

#[test]
fn many_clients_keep_their_addresses_and_their_bytes_apart() {
    const CLIENTS: u8 = 60;
    let (listener, address) = listen();
    let relay = relay(address, ODD);
    // Answers with the address that it sees, then with what it is sent.
    let serving = thread::spawn(move || {
        for _ in 0..CLIENTS {
            let (mut stream, peer) = listener.accept().expect("an onward connection");
            thread::spawn(move || {
                let IpAddr::V4(ip) = peer.ip() else { panic!("{peer} is no IPv4 address") };
                stream.write_all(&ip.octets()).expect("sent");
                let mut all = Vec::new();
                stream.read_to_end(&mut all).expect("all bytes, then the end");
                stream.write_all(&all).expect("sent");
            });
        }
    });
    let to = relay.address();
    let clients = (2..2 + CLIENTS).map(|number| {
        thread::spawn(move || {
            let mut client = connect(to, &format!("127.0.3.{number}"));
            let mut seen = [0; 4];
            client.read_exact(&mut seen).expect("an address");
            assert_eq!(seen, [127, 0, 3, number]);
            let sent = bytes(5_000, number.into());
            client.write_all(&sent).expect("sent");
            client.shutdown(Shutdown::Write).expect("closed");
            let mut received = Vec::new();
            client.read_to_end(&mut received).expect("all bytes, then the end");
            assert!(received == sent, "client {number}");
        })
    });
    let clients: Vec<_> = clients.collect();
    clients.into_iter().for_each(|client| client.join().expect("a client"));
    serving.join().expect("the server");
    assert_eq!(relay.stop().connections, u64::from(CLIENTS));
}

#[test]
fn a_server_that_does_not_read_stops_the_client_through_the_relay() {
    let (listener, address) = listen();
    let relay = relay(address, "delay=1ms");
    let mut client = connect(relay.address(), "127.0.0.1");
    let _server = listener.accept().expect("the onward connection").0;
    client.set_nonblocking(true).expect("a socket");
    let (chunk, mut taken) = (vec![0; limits::NETEM_QUEUE_BYTES], 0);
    // The kernel's buffers and the relay's window fill up; without a bound this never ends.
    let mut quiet = 0;
    while quiet < 20 {
        match client.write(&chunk) {
            Ok(count) => (taken, quiet) = (taken + count, 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                quiet += 1;
                let socket = [os::PollInterest::writable(&client)];
                os::poll(&socket, limits::PORTABLE_POLL_INTERVAL).expect("a socket");
            }
            Err(error) => panic!("{error}"),
        }
        assert!(taken < 64 << 20, "{taken} bytes were taken for a server that reads nothing");
    }
    relay.stop();
}

#[test]
fn the_command_prints_its_address_carries_web_sockets_and_ends_with_a_summary() {
    let server =
        EchoServer::start("127.0.0.1:0".parse().expect("an address"), 1024, true).expect("a free port");
    let mut child = Command::new(env!("CARGO_BIN_EXE_tickwire"))
        .args(["netem", "--bind", "127.0.0.1:0", "--preset", "wifi", "--delay", "9ms", "--json"])
        .env("TICKWIRE_NETEM_UPSTREAM", server.address().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut line = || -> serde_json::Value {
        serde_json::from_str(&lines.next().expect("a line").expect("text")).expect("JSON")
    };
    let banner = line();
    let conditions = "delay=9ms,jitter=6ms,loss=0.1%,rate-up=125kB,rate-down=625kB";
    assert_eq!((banner["conditions"].as_str(), &banner["keeps_addresses"]), (Some(conditions), &true.into()));
    assert_eq!(banner["is_exposed"], false);
    let address = banner["address"].as_str().expect("an address");
    let stream = patient(TcpStream::connect(address).expect("a connection"));
    let (mut peer, _) = tungstenite::client(format!("ws://{address}/"), stream).expect("the upgrade");
    peer.send(Message::text("hello")).expect("sent");
    assert_eq!(peer.read().expect("the echo"), Message::text("hello"));
    kill_process(Pid::from_child(&child), Signal::TERM).expect("the signal is sent");
    let summary = line();
    assert_eq!((&summary["connections"], &summary["failed"]), (&1.into(), &0.into()));
    assert!(summary["bytes_up"].as_u64() > Some(100) && summary["delay_p50_ms"].as_f64() >= Some(3.0));
    assert!(child.wait().expect("it ends").success());
    server.stop();
}

#[test]
fn conditions_that_make_no_sense_are_refused_with_the_rule() {
    for (arguments, rule) in [
        (["--jitter", "30ms"], "--jitter 30ms: must be at most the delay, which is 0ms"),
        (["--loss", "60%"], "--loss 60%: must be at most 50%"),
        (["--delay", "5"], "expected a time such as 150ms or 0.5s"),
        (["--preset", "dsl"], "expected one of lan, wifi, 4g, transatlantic, train"),
        (["--upstream", "3000"], "expected a host and a port, such as 127.0.0.1:3000"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_tickwire"))
            .arg("netem")
            .args(arguments)
            .output()
            .expect("it runs");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && error.contains(rule), "{arguments:?}: {error}");
    }
}
