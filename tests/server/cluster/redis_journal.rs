//! Journals in a real Redis: the same operations as on files, also over connections that break; rooms that
//! return after a kill; and a Redis that returns without its data.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use tickwire::internal::server::journal::JournalStorage as _;
use tickwire::internal::server::net::journal::{JournalPlace, RoomStorage};
use tickwire::sim::Rng;

use super::fixture::{Client, EndsClients, NO_REDIS, Redis};
use super::{owner, serve};
use crate::journal::Directory;
use crate::program::{Program, said_at_its_end, tickwire};

/// The value of `--journal`.
const IN_REDIS: &str = "redis";
const FILES: [&str; 3] = ["one", "two", "three"];

fn place(address: SocketAddr) -> JournalPlace {
    JournalPlace::of_tool(Path::new(&format!("redis://{address}"))).expect("a URL")
}

/// A room in a new directory.
fn files(directory: &Directory) -> RoomStorage {
    JournalPlace::Directory(directory.0.clone()).create_room("room").expect("a directory")
}

/// The name and the bytes of each file.
fn contents(storage: &RoomStorage) -> BTreeMap<String, Vec<u8>> {
    let files = storage.list().expect("a list");
    let read = |name: String| {
        let bytes = storage.read(&name).expect("a file");
        (name, bytes)
    };
    let contents: BTreeMap<String, Vec<u8>> = files.iter().map(|file| read(file.name.clone())).collect();
    assert!(files.iter().all(|file| contents[&file.name].len() as u64 == file.bytes), "{files:?}");
    contents
}

/// Executes a random operation on both storages.
fn act(stores: [&mut RoomStorage; 2], rng: &mut Rng) {
    let name = FILES[rng.below(3) as usize];
    let exists = stores[0].names().expect("a list").iter().any(|known| known == name);
    let operation = if exists { rng.below(5) } else { 0 };
    let bytes: Vec<u8> = (0..rng.below(40)).map(|_| rng.below(256) as u8).collect();
    let to = FILES[rng.below(3) as usize];
    for store in stores {
        match operation {
            0 => store.create(name),
            1 => store.remove(name),
            2 if to != name => store.rename(name, to),
            3 => store.truncate(name, 7.min(store.read(name).expect("a file").len() as u64)),
            _ => store.append(name, &bytes).and_then(|()| store.sync(name)),
        }
        .expect("done");
    }
}

#[test]
fn redis_has_the_same_files_as_a_directory() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("redis-files");
    let place = place(redis.address());
    let (mut of_files, mut of_redis) = (files(&directory), place.create_room("room").expect("no request"));
    let mut rng = Rng::new(1, 0);
    for step in 0..600 {
        act([&mut of_files, &mut of_redis], &mut rng);
        assert_eq!(contents(&of_redis), contents(&of_files), "step {step}");
    }
    for kind in [of_redis.read("none"), of_files.read("none")] {
        assert_eq!(kind.expect_err("no file").kind(), io::ErrorKind::NotFound);
    }
    of_redis.create("one").expect("created");
    assert_eq!(place.rooms().expect("a list"), ["room"]);
    place.set_aside("room").expect("renamed");
    assert_eq!(place.rooms().expect("a list"), ["room.refused-0"]);
    assert!(contents(&of_redis).is_empty() && !contents(&place.room("room.refused-0")).is_empty());
    let lost = of_redis.append("one", b"bytes").expect_err("the file is gone");
    assert_eq!(lost.kind(), io::ErrorKind::NotFound);
}

/// Passes connections to Redis, and cuts each after a random number of bytes of its replies.
fn cutting_proxy(redis: SocketAddr, cuts: &'static AtomicU32) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    // Its threads end with the test program.
    thread::spawn(move || {
        let mut rng = Rng::new(2, 0);
        for mut client in listener.incoming().map_while(Result::ok) {
            let Ok(mut server) = TcpStream::connect(redis) else { return };
            let mut requests = (client.try_clone().expect("a socket"), server.try_clone().expect("a socket"));
            thread::spawn(move || io::copy(&mut requests.0, &mut requests.1));
            let mut left = 100 + rng.below(400) as usize;
            thread::spawn(move || {
                let mut buffer = [0; 64];
                while let Ok(count @ 1..) = server.read(&mut buffer) {
                    let passed = count.min(left);
                    if client.write_all(&buffer[..passed]).is_err() {
                        break;
                    }
                    left -= passed;
                    if left == 0 {
                        cuts.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                }
                let _ = (client.shutdown(Shutdown::Both), server.shutdown(Shutdown::Both));
            });
        }
    });
    address
}

#[test]
fn no_operation_is_lost_or_executed_twice_over_connections_that_break() {
    static CUTS: AtomicU32 = AtomicU32::new(0);
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("redis-cuts");
    let mut of_files = files(&directory);
    let mut of_redis = place(cutting_proxy(redis.address(), &CUTS)).room("room");
    of_redis.wait_for_store();
    let mut rng = Rng::new(3, 0);
    for _ in 0..400 {
        act([&mut of_files, &mut of_redis], &mut rng);
    }
    let whole = place(redis.address()).room("room");
    assert_eq!(contents(&whole), contents(&of_files));
    assert!(CUTS.load(Ordering::Relaxed) > 5, "{CUTS:?}");
}

#[test]
fn a_room_with_its_journal_in_redis_returns_after_a_kill() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let start = || Program::start(&mut serve(Path::new(IN_REDIS), redis.address(), &[]));
    let mut programs = vec![start(), start()];
    let (client, is_over) = (Client::at(programs[0].address), AtomicBool::new(false));
    let url = format!("redis://{}", redis.address());
    let text = |arguments: &[&str]| {
        let output = said_at_its_end(tickwire(arguments).spawn().expect("started"));
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text")).concat();
        (output.status.success(), text)
    };
    thread::scope(|scope| {
        let _ends = EndsClients(&is_over);
        scope.spawn(|| client.run(0, &is_over));
        client.wait_for_acks(20);
        let (is_good, checked) = text(&["journal", "check", &url]);
        assert!(is_good && checked.contains("room room-0: moo seed="), "{checked}");
        let (is_good, refused) = text(&["journal", "truncate", &url]);
        assert!(!is_good && refused.contains("a process has this room"), "{refused}");
        let victim = owner(&programs, 0);
        client.move_to(programs[1 - victim].address);
        drop(programs.remove(victim));
        client.wait_for_acks(client.acks.load(Ordering::Relaxed) + 20);
    });
    assert!(client.check(0, &place(redis.address())) >= 20);
    let (is_good, replayed) = text(&["replay", &url, "--minutes", "5"]);
    assert!(is_good && replayed.contains("same"), "{replayed}");
}

#[test]
fn a_redis_that_returns_without_its_data_gets_the_journal_again() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let port = redis.port;
    let start = |redis: &Redis| Program::start(&mut serve(Path::new(IN_REDIS), redis.address(), &[]));
    let program = start(&redis);
    let (client, is_over) = (Client::at(program.address), AtomicBool::new(false));
    let (redis, _other) = thread::scope(|scope| {
        let _ends = EndsClients(&is_over);
        scope.spawn(|| client.run(0, &is_over));
        client.wait_for_acks(20);
        drop(redis);
        thread::sleep(Duration::from_millis(300));
        let redis = Redis::start(Some(port)).expect("installed");
        client.wait_for_acks(client.acks.load(Ordering::Relaxed) + 20);
        assert_eq!(client.connections.load(Ordering::Relaxed), 1, "the client stays connected");
        // The journal is complete again: the room continues elsewhere.
        let other = start(&redis);
        client.move_to(other.address);
        drop(program);
        client.wait_for_acks(client.acks.load(Ordering::Relaxed) + 20);
        (redis, other)
    });
    assert!(client.check(0, &place(redis.address())) >= 20);
}
