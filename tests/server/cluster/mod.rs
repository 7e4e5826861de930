//! Three processes with a real Redis and journals in one directory: a killed process loses no acknowledged command,
//! and its rooms and bodies return in another process; so they do after a stop, and while Redis is away.

mod fixture;
mod load;
mod redis_journal;
mod room_list;
mod shared_settings;
mod tokens;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tickwire::internal::server::net::NetemProxy;
use tickwire::internal::server::net::journal::JournalPlace;
use tickwire::internal::server::net::netem_proxy::ProxyConfig;

use self::fixture::{Balancer, Client, EndsClients, NO_REDIS, Redis, prefix};
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

/// The number of kills of a long run.
fn long_kills() -> Option<u32> {
    std::env::var(KILLS_VARIABLE).ok().and_then(|text| text.parse().ok())
}

fn serve(directory: &Path, store: SocketAddr, more: &[&str]) -> Command {
    serve_at(([127, 0, 0, 1], 0).into(), directory, store, ("100", more))
}

/// As `serve`, with this maximum of rooms on demand.
fn serve_with_rooms(directory: &Path, store: SocketAddr, rooms_and_more: (&str, &[&str])) -> Command {
    serve_at(([127, 0, 0, 1], 0).into(), directory, store, rooms_and_more)
}

fn serve_at(
    bind: SocketAddr,
    directory: &Path,
    store: SocketAddr,
    (rooms, more): (&str, &[&str]),
) -> Command {
    let (directory, store) = (directory.to_str().expect("text"), format!("redis://{store}"));
    let bind = bind.to_string();
    let mut arguments = vec!["serve", "--bind", &bind, "--journal", directory, "--durability", "tick"];
    arguments.extend(["--cluster", &store, "--rooms-on-demand", rooms, "--address-rate-limits", "off"]);
    arguments.extend(["--max-clients-per-address", "1000", "--log", "info"]);
    arguments.extend(["--cluster-public", "http://127.0.0.1"]);
    arguments.extend(more);
    tickwire(&arguments)
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

/// Waits until a metric is above a number.
fn metric_above(program: &Program, name: &str, number: u64) {
    let deadline = Instant::now() + PATIENCE;
    while metric(program, name).parse::<u64>().expect("a number") <= number {
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

/// The index of the process that has a room.
fn owner(programs: &[Program], room: usize) -> usize {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let location = get(programs[0].address, &format!("/rooms/room-{room}"));
        if let Some(found) = programs.iter().position(|one| location.contains(&format!("{}\"", one.address)))
        {
            return found;
        }
        assert!(Instant::now() < deadline, "room {room} has no owner: {location}");
        thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_killed_process_loses_no_acknowledged_command_and_its_rooms_return_elsewhere() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("cluster-kills");
    let start = || Program::start(&mut serve(&directory.0, redis.address(), &[]));
    let mut programs: Vec<Program> = (0..3).map(|_| start()).collect();
    let balancer = Balancer::start(&programs);
    let (clients, is_over): (Vec<Client>, _) =
        ((0..ROOMS).map(|_| Client::at(balancer.address)).collect(), AtomicBool::new(false));
    let kills = long_kills();
    let mut slowest = Duration::ZERO;
    thread::scope(|scope| {
        let _ends = EndsClients(&is_over);
        for (room, client) in clients.iter().enumerate() {
            let is_over = &is_over;
            scope.spawn(move || client.run(room, is_over));
        }
        clients.iter().for_each(|client| client.wait_for_acks(10));
        for kill in 0..kills.unwrap_or(KILLS) {
            thread::sleep(Duration::from_millis(u64::from(kill * 7919 % 700)));
            let victim = owner(&programs, kill as usize % ROOMS);
            let is_moved = |room: &usize| owner(&programs, *room) == victim;
            let moved: Vec<&Client> = (0..ROOMS).filter(is_moved).map(|room| &clients[room]).collect();
            let before: Vec<u64> =
                moved.iter().map(|client| client.connections.load(Ordering::Relaxed)).collect();
            // SIGKILL.
            drop(programs.remove(victim));
            let killed = Instant::now();
            for (client, before) in moved.iter().zip(before) {
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
            programs.push(start());
            balancer.set(&programs);
        }
    });
    let total: usize = clients
        .iter()
        .enumerate()
        .map(|(room, client)| client.check(room, &JournalPlace::Directory(directory.0.clone())))
        .sum();
    let (count, ms) = (kills.unwrap_or(KILLS), slowest.as_millis());
    println!("{count} kills, {total} acknowledged commands, slowest return {ms} ms");
    assert!(total > 0 && (kills.is_none() || slowest < RETURN_TIME), "{slowest:?}");
}

#[test]
fn a_client_reaches_a_room_through_any_process_and_every_process_names_its_owner() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("cluster-relay");
    let start = || Program::start(&mut serve(&directory.0, redis.address(), &[]));
    let (owner, other) = (start(), start());
    assert!(get(other.address, "/rooms/room-1").contains("\"exists\":false"));
    let first = connect(owner.address, 1);
    let relayed = Walker::try_connect(other.address, &prefix(1), 77).expect("a relayed player");
    assert_ne!(first.player, relayed.player, "two players of one room");
    for program in [&owner, &other] {
        let location = get(program.address, "/rooms/room-1");
        assert!(location.contains(&format!("\"url\":\"http://{}\"", owner.address)), "{location}");
    }
    // A figure of the last renewal.
    wait_for(&owner, "tickwire_cluster_leases", "1");
    assert_eq!(metric(&other, "tickwire_cluster_leases"), "0");
    assert_eq!(metric(&other, "tickwire_cluster_relays"), "1");
    let bytes: u64 = metric(&other, "tickwire_cluster_relayed_bytes_total").parse().expect("a number");
    assert!(bytes > 100, "{bytes}");
    // Clients that cannot be redirected: their protocol has no packet for it.
    let url = format!("ws://{}{}/", other.address, prefix(1));
    let flags = ["--dialect", "legacy,letters", "--count", "4", "--seconds", "2", "--game", "moo"];
    let output = tickwire(&[&["bots", &url], &flags[..]].concat()).output().expect("ended");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("cluster-drain");
    let start = || Program::start(&mut serve(&directory.0, redis.address(), &[]));
    let (mut first, second) = (start(), start());
    let mut walker = connect(first.address, 1);
    let player = walker.player;
    walker.client.send("move", &[1.into(), tickwire::packet::Value::Nil, 7.into()]).expect("sent");
    let is_ack =
        |packet: &tickwire::client::blocking_client::ReceivedPacket| packet.name == "command_accepted";
    walker.client.receive_until(PATIENCE, is_ack).expect("an ack");
    let stopped = Instant::now();
    let log = first.stop();
    println!("stopped in {} ms", stopped.elapsed().as_millis());
    assert!(log.contains("the leases of the rooms are released"), "{log}");
    while walker.client.receive(PATIENCE).is_ok_and(|packet| packet.is_some()) {}
    assert_eq!(walker.client.close_reason(), Some("1001 going_away"));
    assert_eq!(connect(second.address, 1).player, player);
    println!("resumed {} ms after the stop", stopped.elapsed().as_millis());
    assert_eq!(metric(&second, "tickwire_cluster_takeovers_total"), "1");
}

#[test]
fn without_redis_rooms_continue_without_acks_and_new_rooms_wait() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("cluster-away");
    let program = Program::start(&mut serve(&directory.0, redis.address(), &[]));
    let (client, is_over) = (Client::at(program.address), AtomicBool::new(false));
    thread::scope(|scope| {
        let _ends = EndsClients(&is_over);
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
        let list = get(program.address, "/rooms?format=json");
        assert!(list.contains("\"name\":\"room-0\"") && list.contains("\"complete\":false"), "{list}");
        assert_ne!(metric(&program, "tickwire_cluster_renewals_failed_total"), "0");
        let later: u64 = metric(&program, "tickwire_ticks_total{room=\"room-0\"}").parse().expect("a number");
        assert!(later > ticks, "the room continues");
        let _redis = Redis::start(Some(port)).expect("installed");
        client.wait_for_acks(before + 5);
        assert_eq!(client.connections.load(Ordering::Relaxed), 1, "the client stays connected");
    });
    client.check(0, &JournalPlace::Directory(directory.0.clone()));
}

#[test]
fn a_process_that_is_separated_from_redis_ends_its_room_when_another_has_taken_it() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("cluster-separated");
    let listen = "127.0.0.1:0".parse().expect("an address");
    let conditions = "delay=0ms".parse().expect("conditions");
    let proxy = NetemProxy::start(ProxyConfig { listen, to: redis.address(), conditions, seed: 1 })
        .expect("a free port");
    let separated = Program::start(&mut serve(&directory.0, proxy.address(), &[]));
    let other = Program::start(&mut serve(&directory.0, redis.address(), &[]));
    let (client, is_over) = (Client::at(separated.address), AtomicBool::new(false));
    thread::scope(|scope| {
        let _ends = EndsClients(&is_over);
        scope.spawn(|| client.run(0, &is_over));
        client.wait_for_acks(5);
        proxy.stop();
        // The other process has the room once the lease is over.
        client.move_to(other.address);
        let taken = connect_until_taken(&other);
        drop(taken);
        client.wait_for_acks(client.acks.load(Ordering::Relaxed) + 5);
    });
    wait_for(&separated, "tickwire_cluster_rooms_lost_total", "1");
    client.check(0, &JournalPlace::Directory(directory.0.clone()));
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
