//! Clients that misbehave, against a server in this process: each is closed for its own rule, and an honest client is
//! served before, meanwhile and afterwards.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tickwire::client::url::Url;
use tickwire::internal::client::connect_with_recv_buffer;
use tickwire::internal::games::moo::bot::received::ServerPacket;
use tickwire::internal::games::moo::client_packet::{ClientPacket, Mode};
use tickwire::internal::limits;
use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tickwire::internal::testing::abuse::attack::{self, AttackPlan};
use tickwire::internal::testing::abuse::client::MooTestClient;
use tickwire::internal::testing::hostile::HostileKind;
use tickwire::packet::{Dialect, PacketTables};
use tickwire::ws::frame::{self, Opcode};

/// Long enough for anything that happens at all, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);
const KEY: Option<[u8; 4]> = Some([1, 2, 3, 4]);

fn start() -> (ServerHandle, Url) {
    let server = ServerHandle::start(ServerConfig::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let url = format!("ws://{}/play", server.address()).parse().unwrap();
    (server, url)
}

fn native() -> Arc<Dialect> {
    PacketTables::builtin().dialect("native").unwrap()
}

fn hostile_address() -> IpAddr {
    "127.0.9.9".parse().unwrap()
}

/// A client that walks, and asks the server whether it still listens.
struct Honest {
    talk: MooTestClient,
    asked: u32,
}

impl Honest {
    fn join(url: &Url) -> Honest {
        let mut talk = MooTestClient::connect(url, None, native()).unwrap();
        talk.send_packet(&ClientPacket::Hello { version: 1, mode: Mode::Play, name: None, skin: None })
            .unwrap();
        talk.receive_until(PATIENCE, |heard| matches!(heard, ServerPacket::Spawned { .. })).unwrap();
        Honest { talk, asked: 0 }
    }

    /// A ping is answered, and a step reaches the world and comes back.
    fn is_served(&mut self) {
        self.asked += 1;
        let asked = self.asked;
        self.talk.send_packet(&ClientPacket::Ping { nonce: Some(asked) }).unwrap();
        let direction = Some((asked * 16_384) as u16);
        self.talk.send_packet(&ClientPacket::Move { sequence: Some(asked), tick: None, direction }).unwrap();
        let is_pong =
            |heard: &ServerPacket| matches!(heard, ServerPacket::Pong { nonce, .. } if *nonce == Some(asked));
        self.talk.receive_until(PATIENCE, is_pong).unwrap();
        let is_step = |heard: &ServerPacket| match heard {
            ServerPacket::Update(update) => update.own.is_some_and(|own| own.sequence == asked),
            _ => false,
        };
        self.talk.receive_until(PATIENCE, is_step).unwrap();
    }

    /// Is served over and over until a thread is done; gives what the thread found.
    fn is_served_until<T>(&mut self, thread: thread::JoinHandle<T>) -> T {
        while !thread.is_finished() {
            self.is_served();
        }
        self.is_served();
        thread.join().unwrap()
    }
}

fn has_line(server: &ServerHandle, line: &str) -> bool {
    server.metrics_text().lines().any(|found| found == line)
}

fn assert_well(server: ServerHandle) {
    assert!(has_line(&server, "tickwire_panics_total 0"), "{}", server.metrics_text());
    assert_eq!(server.stop(), 0, "a connection was left behind");
}

/// Disconnect reasons of hostile clients. Each client connects once.
fn attacked(kind: HostileKind, count: usize, url: &Url) -> BTreeMap<String, u64> {
    let source = "127.0.9.9".parse().unwrap();
    let (url, addresses, time) = (url.clone(), Some(1), PATIENCE);
    attack::run(&AttackPlan { kind, url, source, addresses, count, time, reconnects: false }).unwrap().endings
}

#[test]
fn each_hostile_client_gets_an_end_of_its_kind() {
    let (server, url) = start();
    let mut honest = Honest::join(&url);
    honest.is_served();
    for (kind, count) in [
        (HostileKind::MessageFlood, 1),
        (HostileKind::PingFlood, 1),
        (HostileKind::ByteFlood, 1),
        (HostileKind::TinyFragments, 1),
        (HostileKind::Bombs, 8),
        (HostileKind::Garbage, 40),
        (HostileKind::Slowloris, 1),
        (HostileKind::Idle, 40),
    ] {
        let to = url.clone();
        let endings = honest.is_served_until(thread::spawn(move || attacked(kind, count, &to)));
        assert_eq!(endings.values().sum::<u64>(), count as u64, "{}: {endings:?}", kind.name());
        assert!(endings.keys().all(|ending| kind.must_get(ending)), "{}: {endings:?}", kind.name());
    }
    assert_well(server);
}

/// Frames that break a rule, and how the server says so.
fn broken() -> [(Vec<u8>, &'static str); 8] {
    let framed = |opcode, payload: &[u8]| {
        let mut bytes = Vec::new();
        frame::write(&mut bytes, opcode, KEY, payload);
        bytes
    };
    [
        (b"GET / HTTP/1.1\r\n\r\n".to_vec(), "1002 reserved_bit"),
        (b"\x82\x03\x92\x06\x90".to_vec(), "1002 mask_missing"),
        (b"\x83\x80\x01\x02\x03\x04".to_vec(), "1002 reserved_opcode"),
        (b"\x80\x80\x01\x02\x03\x04".to_vec(), "1002 continuation_without_start"),
        (framed(Opcode::Text, b"[1,[1,1]]"), "1003 wrong_frame_type"),
        (framed(Opcode::Binary, b"\x92\x01"), "1007 "),
        (framed(Opcode::Binary, b"\x92\x06\x91\x01"), "1008 hello_first"),
        (framed(Opcode::Binary, &[0xc0; 4 * 1024 + 1]), "1009 message_too_long"),
    ]
}

#[test]
fn garbage_is_answered_with_the_rule_that_it_breaks() {
    let (server, url) = start();
    let mut honest = Honest::join(&url);
    for (bytes, expected) in broken() {
        let mut talk = MooTestClient::connect(&url, Some(hostile_address()), native()).unwrap();
        talk.send_bytes(&bytes).unwrap();
        while talk.receive(PATIENCE).unwrap().is_some() {}
        let ending = talk.close_reason().unwrap();
        assert!(ending.starts_with(expected), "{expected}: {ending}");
        honest.is_served();
    }
    honest.is_served();
    assert_well(server);
}

#[test]
fn a_client_that_reads_nothing_is_closed_as_slow() {
    let (server, url) = start();
    let mut honest = Honest::join(&url);
    honest.is_served();
    // It reads nothing, so it cannot see its end either: the server is asked.
    let deaf = thread::spawn(move || attacked(HostileKind::StalledReaders, 1, &url));
    let slow = "tickwire_clients_closed_total{rule=\"slow_client\"} 1";
    let started = Instant::now();
    while !has_line(&server, slow) {
        assert!(started.elapsed() < PATIENCE, "{}", server.metrics_text());
        honest.is_served();
        thread::sleep(Duration::from_millis(50));
    }
    honest.is_served();
    assert_well(server);
    drop(deaf);
}

fn hear_to_the_end(talk: &mut MooTestClient) -> io::Result<Option<String>> {
    while talk.receive(PATIENCE)?.is_some() {}
    Ok(talk.close_reason().map(str::to_owned))
}

/// A client reads nothing until it is closed as slow, and then reads all. How it ended; nothing when it may have come too late to
/// read what it was told.
fn read_again_when_slow() -> Option<io::Result<Option<String>>> {
    let (server, url) = start();
    let stream = connect_with_recv_buffer(server.address(), Some(hostile_address()), Some(4 * 1024)).unwrap();
    let mut talk = MooTestClient::start(stream, &url, native()).unwrap();
    talk.send_packet(&ClientPacket::Hello { version: 1, mode: Mode::Play, name: None, skin: None }).unwrap();
    let mut pings = Vec::new();
    (0..2).for_each(|_| frame::write(&mut pings, Opcode::Ping, KEY, &[b'x'; 125]));
    let slow = "tickwire_clients_closed_total{rule=\"slow_client\"} 1";
    let started = Instant::now();
    let mut last_open = started;
    let heard = loop {
        let look = Instant::now();
        if has_line(&server, slow) {
            break hear_to_the_end(&mut talk);
        }
        last_open = look;
        assert!(started.elapsed() < PATIENCE, "{}", server.metrics_text());
        if let Err(error) = talk.send_bytes(&pings) {
            break Err(error);
        }
        thread::sleep(Duration::from_millis(20));
    };
    let in_time = last_open.elapsed() < limits::CLOSE_TIMEOUT / 2;
    assert_well(server);
    in_time.then_some(heard)
}

#[test]
fn a_slow_client_that_resumes_reading_gets_the_close_reason() {
    let mut tries = (0..4).map(|_| read_again_when_slow());
    let heard = tries.find_map(|heard| heard).expect("it reads all before its time is over");
    assert_eq!(heard.unwrap().as_deref(), Some("1008 slow_client"));
}

#[test]
fn a_late_hello_is_closed() {
    let (server, url) = start();
    let mut talk = MooTestClient::connect(&url, None, native()).unwrap();
    assert_eq!(talk.receive(PATIENCE).unwrap(), None);
    assert_eq!(talk.close_reason(), Some("1008 hello_late"));
    assert_well(server);
}

#[test]
fn a_stop_says_goodbye_to_all() {
    let (server, url) = start();
    let (mut honest, mut silent) =
        (Honest::join(&url), MooTestClient::connect(&url, None, native()).unwrap());
    honest.is_served();
    let stopping = thread::spawn(move || server.stop());
    while honest.talk.receive(PATIENCE).unwrap().is_some() {}
    assert_eq!(honest.talk.close_reason(), Some("1001 going_away"));
    assert_eq!(silent.receive(PATIENCE).unwrap(), None);
    assert_eq!(silent.close_reason(), Some("1001 going_away"));
    assert_eq!(stopping.join().unwrap(), 0);
    let after = MooTestClient::connect(&url, None, native()).unwrap_err();
    assert_eq!(after.kind(), ErrorKind::ConnectionRefused);
}
