//! Threads come with connections and go with them, however these end. In a file of its own, since it counts the
//! threads of the whole process.

use std::collections::BTreeMap;
use std::fs;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tickwire::client::url::Url;
use tickwire::internal::games::moo::bot::received::ServerPacket;
use tickwire::internal::games::moo::client_packet::{ClientPacket, Mode};
use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tickwire::internal::testing::abuse::attack::{self, AttackPlan};
use tickwire::internal::testing::abuse::client::MooTestClient;
use tickwire::internal::testing::hostile::HostileKind;
use tickwire::packet::PacketTables;

/// Long enough for anything that happens at all, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Threads of this process that serve connections: first a thread for requests, then a thread for the client.
fn client_threads() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| ["connection", "client"].contains(&name.trim())).count()
}

fn wait_for_threads(wanted: impl Fn(usize) -> bool) {
    let started = Instant::now();
    while !wanted(client_threads()) {
        assert!(started.elapsed() < PATIENCE, "{} threads", client_threads());
        thread::sleep(Duration::from_millis(20));
    }
}

/// Disconnect reasons of hostile clients. Each client connects once.
fn attacked(kind: HostileKind, count: usize, url: &Url, source: &str) -> BTreeMap<String, u64> {
    let (url, source) = (url.clone(), source.parse().unwrap());
    let plan = AttackPlan { kind, url, source, addresses: None, count, time: PATIENCE, reconnects: false };
    attack::run(&plan).unwrap().endings
}

/// Lets 60 clients wait for nothing, and checks that each has a thread. Nothing if they were never open all at once: on a
/// loaded machine the first may have ended before the last came.
fn idle_at_once(url: &Url) -> Option<JoinHandle<BTreeMap<String, u64>>> {
    wait_for_threads(|threads| threads == 0);
    let url = url.clone();
    let idle = thread::spawn(move || attacked(HostileKind::Idle, 60, &url, "127.2.x.y"));
    while !idle.is_finished() {
        if client_threads() == 60 {
            return Some(idle);
        }
        thread::sleep(Duration::from_millis(20));
    }
    None
}

#[test]
fn the_number_of_threads_returns_to_what_it_was() {
    let server = ServerHandle::start(ServerConfig::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let url: Url = format!("ws://{}/play", server.address()).parse().unwrap();
    assert_eq!(client_threads(), 0);
    // A thread for each connection, and none for a message: those that come at once are handled one after another.
    let mut talk =
        MooTestClient::connect(&url, None, PacketTables::builtin().dialect("native").unwrap()).unwrap();
    talk.send_packet(&ClientPacket::Hello { version: 1, mode: Mode::Spectate, name: None, skin: None })
        .unwrap();
    for nonce in 0..100 {
        talk.send_packet(&ClientPacket::Ping { nonce: Some(nonce) }).unwrap();
        // The second takes over from the first.
        assert!(client_threads() <= 2, "a thread for a message");
    }
    talk.receive_until(PATIENCE, |heard| matches!(heard, ServerPacket::Pong { nonce: Some(99), .. }))
        .unwrap();
    wait_for_threads(|threads| threads == 1);
    drop(talk);
    wait_for_threads(|threads| threads == 0);
    let mut tries = (0..5).map(|_| idle_at_once(&url));
    let idle = tries.find_map(|idle| idle).expect("a thread for each idle client");
    let floods = [
        HostileKind::MessageFlood,
        HostileKind::PingFlood,
        HostileKind::ByteFlood,
        HostileKind::TinyFragments,
        HostileKind::Garbage,
    ];
    thread::scope(|scope| {
        for (number, kind) in floods.into_iter().enumerate() {
            let url = &url;
            scope.spawn(move || attacked(kind, 4, url, &format!("127.3.{number}.1")));
        }
    });
    assert_eq!(idle.join().unwrap().len(), 1, "all idle ones end alike");
    wait_for_threads(|threads| threads == 0);
    assert!(server.metrics_text().contains("tickwire_panics_total 0\n"));
    assert_eq!(server.stop(), 0);
}
