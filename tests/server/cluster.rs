//! Three processes with a real Redis and journals in one directory: a killed process loses no acknowledged command,
//! and its rooms and bodies return in another process; so they do after a stop, and while Redis is away.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tickwire::internal::games::moo::world::Action;
use tickwire::internal::server::journal::{FileKind, FilePosition, Record, RecordBody, SegmentHeader};
use tickwire::internal::server::net::NetemProxy;
use tickwire::internal::server::net::netem_proxy::ProxyConfig;
use tickwire::sim::command_frame;

use crate::journal::{Directory, Walker, metric};
use crate::program::{Program, said_at_its_end, tickwire};
use crate::support::PATIENCE;

/// Rooms, with one client each.
const ROOMS: usize = 6;
/// Kills of one run of the tests. The variable of this name sets another number; then a room must be back within
/// 5 s. A busy machine may take longer.
const KILLS: u32 = 2;
const KILLS_VARIABLE: &str = "TICKWIRE_CLUSTER_KILLS";
const RETURN_TIME: Duration = Duration::from_secs(5);
/// Sequence numbers between two connections of a client.
const SEQUENCES: u32 = 1_000_000;

/// A Redis server on a free port, without files.
struct Redis {
    child: Child,
    port: u16,
}

impl Redis {
    /// Starts it. `None`, with a line that says so, if it is not installed.
    fn start(port: Option<u16>) -> Option<Redis> {
        let free = || TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
        let port = port.unwrap_or_else(free);
        let mut command = Command::new("redis-server");
        command.args([
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--port",
            &port.to_string(),
        ]);
        let Ok(child) = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn() else {
            println!("NOT RUN: redis-server is not installed");
            return None;
        };
        let redis = Redis { child, port };
        let deadline = Instant::now() + PATIENCE;
        while !redis.responds() {
            assert!(Instant::now() < deadline, "Redis does not respond at port {port}");
            thread::sleep(Duration::from_millis(20));
        }
        Some(redis)
    }

    fn responds(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(self.address()) else { return false };
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut line = String::new();
        stream.write_all(b"PING\r\n").is_ok()
            && BufReader::new(stream).read_line(&mut line).is_ok()
            && line.starts_with("+PONG")
    }

    fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(directory: &Path, store: SocketAddr, more: &[&str]) -> Command {
    let (directory, store) = (directory.to_str().expect("text"), format!("redis://{store}"));
    let mut arguments =
        vec!["serve", "--bind", "127.0.0.1:0", "--journal", directory, "--durability", "tick"];
    arguments.extend(["--cluster", &store, "--rooms-on-demand", "100", "--address-rate-limits", "off"]);
    arguments.extend(["--max-clients-per-address", "1000", "--log", "info"]);
    arguments.extend(more);
    tickwire(&arguments)
}

fn prefix(room: usize) -> String {
    format!("/r/room-{room}")
}

/// The body of a page.
fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the page");
    text.split_once("\r\n\r\n").expect("a head").1.to_owned()
}

/// Waits until a metric has this value.
fn wait_for(program: &Program, name: &str, value: &str) {
    let deadline = Instant::now() + PATIENCE;
    while metric(program, name) != value {
        assert!(Instant::now() < deadline, "{name} is {}", metric(program, name));
        thread::sleep(Duration::from_millis(50));
    }
}

/// Connects until it succeeds. Panics after `PATIENCE`.
fn connect(address: SocketAddr, room: usize) -> Walker {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match Walker::try_connect(address, &prefix(room), room) {
            Ok(walker) => return walker,
            Err(error) => assert!(Instant::now() < deadline, "room {room}: {error}"),
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The tick of each command that a recovery of the room includes, by player and sequence: the records of each
/// fence up to the first record of the next one.
fn journaled(room: &Path) -> BTreeMap<(u16, u64), Vec<u32>> {
    let names = fs::read_dir(room)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
    let positions: BTreeSet<(FilePosition, String)> =
        names.filter_map(|name| Some((FilePosition::of(&name)?, name))).collect();
    let mut commands: BTreeMap<(u16, u64), Vec<u32>> = BTreeMap::new();
    for (position, name) in positions.iter().filter(|(_, name)| FileKind::Segment.position_of(name).is_some())
    {
        let later = positions.iter().filter(|(other, _)| other.fence > position.fence);
        let end = later.map(|(other, _)| other.sequence).min().unwrap_or(u64::MAX);
        let bytes = fs::read(room.join(name)).expect("a segment");
        let (header, mut at) = SegmentHeader::decode(&bytes).expect("a header");
        while let Ok((record, length)) = Record::decode(&bytes[at..], header.salt) {
            at += length;
            let RecordBody::Frame(frame) = record.body else { continue };
            if record.sequence < end {
                for command in command_frame::decode::<Action>(&frame).expect("a frame").commands {
                    commands.entry((command.player.0, command.sequence)).or_default().push(record.tick);
                }
            }
        }
    }
    commands
}

/// A client that reconnects, and what it has seen.
#[derive(Default)]
struct Client {
    /// Where it connects.
    address: Mutex<Option<SocketAddr>>,
    /// Player, sequence and tick of each acknowledged command.
    acknowledged: Mutex<BTreeMap<(u16, u64), u32>>,
    /// Number of acks so far.
    acks: AtomicU64,
    /// Number of connections that got a player.
    connections: AtomicU64,
    players: Mutex<BTreeSet<u16>>,
}

impl Client {
    fn run(&self, room: usize, is_over: &AtomicBool) {
        for attempt in 1.. {
            if is_over.load(Ordering::Relaxed) {
                return;
            }
            let address = self.address.lock().expect("no panic").expect("an address");
            let Ok(walker) = Walker::try_connect(address, &prefix(room), room) else {
                thread::sleep(Duration::from_millis(50));
                continue;
            };
            let player = walker.player;
            self.players.lock().expect("no panic").insert(player);
            self.connections.fetch_add(1, Ordering::Relaxed);
            let mut on_ack = |_| {
                self.acks.fetch_add(1, Ordering::Relaxed);
            };
            let acks = walker.walk_from(attempt * SEQUENCES, is_over, &mut on_ack);
            let acks = acks.into_iter().map(|(sequence, tick)| ((player, sequence), tick));
            self.acknowledged.lock().expect("no panic").extend(acks);
        }
    }

    /// Waits until this many acks have arrived.
    fn wait_for_acks(&self, count: u64) {
        let deadline = Instant::now() + PATIENCE * 2;
        while self.acks.load(Ordering::Relaxed) < count {
            assert!(Instant::now() < deadline, "no ack arrives");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Checks that each acknowledged command is in the journal once, and that the body was always the same.
    fn check(&self, room: usize, directory: &Path) -> usize {
        let journaled = journaled(&directory.join(format!("room-{room}")));
        let acknowledged = self.acknowledged.lock().expect("no panic");
        for (command, tick) in &*acknowledged {
            assert_eq!(journaled.get(command), Some(&vec![*tick]), "command {command:?} of room {room}");
        }
        assert_eq!(self.players.lock().expect("no panic").len(), 1, "room {room}: the body");
        acknowledged.len()
    }
}

#[test]
fn a_killed_process_loses_no_acknowledged_command_and_its_rooms_return_elsewhere() {
    let Some(redis) = Redis::start(None) else { return };
    let directory = Directory::new("cluster-kills");
    let start = || Program::start(&mut serve(&directory.0, redis.address(), &[]));
    let mut programs: Vec<Program> = (0..3).map(|_| start()).collect();
    let long = std::env::var(KILLS_VARIABLE).ok().and_then(|text| text.parse().ok());
    let (clients, is_over): (Vec<Client>, _) =
        ((0..ROOMS).map(|_| Client::default()).collect(), AtomicBool::new(false));
    // The first process that a client asks has the room.
    for (room, client) in clients.iter().enumerate() {
        *client.address.lock().expect("no panic") = Some(programs[room % 3].address);
    }
    let mut slowest = Duration::ZERO;
    thread::scope(|scope| {
        for (room, client) in clients.iter().enumerate() {
            let is_over = &is_over;
            scope.spawn(move || client.run(room, is_over));
        }
        clients.iter().for_each(|client| client.wait_for_acks(10));
        for kill in 0..long.unwrap_or(KILLS) {
            let victim = kill as usize % 3;
            thread::sleep(Duration::from_millis(u64::from(kill * 7919 % 700)));
            let moved: Vec<&Client> = clients
                .iter()
                .filter(|client| *client.address.lock().expect("no panic") == Some(programs[victim].address))
                .collect();
            assert!(!moved.is_empty(), "the process has rooms");
            let acks: Vec<u64> =
                moved.iter().map(|client| client.connections.load(Ordering::Relaxed)).collect();
            // SIGKILL.
            drop(programs.remove(victim));
            let killed = Instant::now();
            // As with a balancer: the clients reach the next process.
            for (at, client) in moved.iter().enumerate() {
                *client.address.lock().expect("no panic") = Some(programs[at % 2].address);
            }
            for (client, before) in moved.iter().zip(acks) {
                let deadline = Instant::now() + PATIENCE;
                while client.connections.load(Ordering::Relaxed) == before {
                    assert!(Instant::now() < deadline, "kill {kill}: a room does not return");
                    thread::sleep(Duration::from_millis(5));
                }
            }
            slowest = slowest.max(killed.elapsed());
            for client in &moved {
                client.wait_for_acks(client.acks.load(Ordering::Relaxed) + 5);
            }
            programs.insert(victim, start());
            // A process without rooms gets one for the next kill.
            *clients[kill as usize % ROOMS].address.lock().expect("no panic") =
                Some(programs[(victim + 1) % 3].address);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    let total: usize =
        clients.iter().enumerate().map(|(room, client)| client.check(room, &directory.0)).sum();
    println!(
        "{} kills, {total} acknowledged commands, slowest return {} ms",
        long.unwrap_or(KILLS),
        slowest.as_millis()
    );
    assert!(total > 0 && (long.is_none() || slowest < RETURN_TIME), "{slowest:?}");
}

#[test]
fn a_client_reaches_a_room_through_any_process_and_every_process_names_its_owner() {
    let Some(redis) = Redis::start(None) else { return };
    let directory = Directory::new("cluster-relay");
    let start = || Program::start(&mut serve(&directory.0, redis.address(), &[]));
    let (owner, other) = (start(), start());
    assert!(get(other.address, "/rooms/room-1").contains("\"address\":null"));
    let first = connect(owner.address, 1);
    let relayed = Walker::try_connect(other.address, &prefix(1), 77).expect("a relayed player");
    assert_ne!(first.player, relayed.player, "two players of one room");
    for program in [&owner, &other] {
        let location = get(program.address, "/rooms/room-1");
        assert!(location.contains(&format!("\"address\":\"http://{}\"", owner.address)), "{location}");
    }
    // A figure of the last renewal.
    wait_for(&owner, "tickwire_cluster_leases", "1");
    assert_eq!(metric(&other, "tickwire_cluster_leases"), "0");
    assert_eq!(metric(&other, "tickwire_cluster_relays"), "1");
    let bytes: u64 = metric(&other, "tickwire_cluster_relayed_bytes_total").parse().expect("a number");
    assert!(bytes > 100, "{bytes}");
    // A request with the header of relays and another key is refused.
    let mut stream = TcpStream::connect(owner.address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    write!(stream, "GET / HTTP/1.1\r\nHost: localhost\r\nTickwire-Relay: key 192.0.2.1\r\n\r\n")
        .expect("sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("a response");
    assert!(text.starts_with("HTTP/1.1 503") && text.contains("relay_key_wrong"), "{text}");
}

#[test]
fn a_stopped_process_hands_its_rooms_over() {
    let Some(redis) = Redis::start(None) else { return };
    let directory = Directory::new("cluster-drain");
    let start = || Program::start(&mut serve(&directory.0, redis.address(), &[]));
    let (mut first, second) = (start(), start());
    let mut walker = connect(first.address, 1);
    let player = walker.player;
    walker.client.send("move", &[1.into(), tickwire::packet::Value::Nil, 7.into()]).expect("sent");
    let is_ack =
        |packet: &tickwire::client::blocking_client::ReceivedPacket| packet.name == "command_accepted";
    walker.client.receive_until(PATIENCE, is_ack).expect("an ack");
    let log = first.stop();
    assert!(log.contains("the leases of the rooms are released"), "{log}");
    while walker.client.receive(PATIENCE).is_ok_and(|packet| packet.is_some()) {}
    assert_eq!(walker.client.close_reason(), Some("1001 going_away"));
    assert_eq!(connect(second.address, 1).player, player);
    assert_eq!(metric(&second, "tickwire_cluster_takeovers_total"), "1");
}

#[test]
fn without_redis_rooms_continue_without_acks_and_new_rooms_wait() {
    let Some(redis) = Redis::start(None) else { return };
    let directory = Directory::new("cluster-away");
    let program = Program::start(&mut serve(&directory.0, redis.address(), &[]));
    let (client, is_over) = (Client::default(), AtomicBool::new(false));
    *client.address.lock().expect("no panic") = Some(program.address);
    thread::scope(|scope| {
        scope.spawn(|| client.run(0, &is_over));
        client.wait_for_acks(5);
        let port = redis.port;
        drop(redis);
        // The acks end with the lease.
        let deadline = Instant::now() + PATIENCE * 2;
        let mut before = u64::MAX;
        loop {
            let acks = client.acks.load(Ordering::Relaxed);
            if acks == before && metric(&program, "tickwire_cluster_leases") == "0" {
                break;
            }
            assert!(Instant::now() < deadline, "commands are acknowledged without a lease");
            before = acks;
            thread::sleep(Duration::from_millis(500));
        }
        let ticks: u64 = metric(&program, "tickwire_ticks_total{room=\"room-0\"}").parse().expect("a number");
        assert!(
            ticks > 0 && Walker::try_connect(program.address, &prefix(5), 5).is_err(),
            "a new room waits"
        );
        assert!(get(program.address, "/rooms/room-5").contains("lease_store_away"));
        let later: u64 = metric(&program, "tickwire_ticks_total{room=\"room-0\"}").parse().expect("a number");
        assert!(later > ticks, "the room continues");
        let _redis = Redis::start(Some(port)).expect("installed");
        client.wait_for_acks(before + 5);
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(client.connections.load(Ordering::Relaxed), 1, "the client stays connected");
    });
    client.check(0, &directory.0);
}

#[test]
fn a_process_that_is_separated_from_redis_ends_its_room_when_another_has_taken_it() {
    let Some(redis) = Redis::start(None) else { return };
    let directory = Directory::new("cluster-separated");
    let listen = "127.0.0.1:0".parse().expect("an address");
    let conditions = "delay=0ms".parse().expect("conditions");
    let proxy = NetemProxy::start(ProxyConfig { listen, to: redis.address(), conditions, seed: 1 })
        .expect("a free port");
    let separated = Program::start(&mut serve(&directory.0, proxy.address(), &[]));
    let other = Program::start(&mut serve(&directory.0, redis.address(), &[]));
    let (client, is_over) = (Client::default(), AtomicBool::new(false));
    *client.address.lock().expect("no panic") = Some(separated.address);
    thread::scope(|scope| {
        scope.spawn(|| client.run(0, &is_over));
        client.wait_for_acks(5);
        proxy.stop();
        // The other process has the room once the lease is over.
        *client.address.lock().expect("no panic") = Some(other.address);
        let taken = connect_until_taken(&other);
        drop(taken);
        client.wait_for_acks(client.acks.load(Ordering::Relaxed) + 5);
        is_over.store(true, Ordering::Relaxed);
    });
    wait_for(&separated, "tickwire_cluster_rooms_lost_total", "1");
    client.check(0, &directory.0);
}

/// Connects another client through a process until that process has the room itself.
fn connect_until_taken(program: &Program) -> Walker {
    let deadline = Instant::now() + PATIENCE * 2;
    loop {
        let walker = Walker::try_connect(program.address, &prefix(0), 50);
        if let (Ok(walker), "1") = (walker, &*metric(program, "tickwire_cluster_leases")) {
            return walker;
        }
        assert!(Instant::now() < deadline, "the room is not taken");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn the_flags_of_a_cluster_are_checked() {
    let refused = |arguments: &[&str]| {
        let output = said_at_its_end(tickwire(arguments).spawn().expect("started"));
        assert!(!output.status.success());
        String::from_utf8(output.stderr).expect("text")
    };
    let base = ["serve", "--bind", "127.0.0.1:0", "--cluster"];
    for (more, rule) in [
        (&["http://a"][..], "must be redis://HOST:PORT"),
        (&["redis://127.0.0.1:1"], "needs rooms on demand"),
        (
            &["redis://127.0.0.1:1", "--rooms-on-demand", "2", "--room", "two"],
            "cannot be combined with other rooms",
        ),
        (
            &["redis://127.0.0.1:1", "--rooms-on-demand", "2", "--cluster-address", "a:1"],
            "must be http://HOST",
        ),
    ] {
        let told = refused(&[&base[..], more].concat());
        assert!(told.contains(rule), "{told}");
    }
    let told = refused(&[
        "serve",
        "--bind",
        "0.0.0.0:0",
        "--cluster",
        "redis://127.0.0.1:1",
        "--rooms-on-demand",
        "2",
    ]);
    assert!(told.contains("--cluster-address: 0.0.0.0 is no address"), "{told}");
}
