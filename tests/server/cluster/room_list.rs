//! Each process lists the public rooms of all, `?room=any` finds the fullest of all, and a process with its maximum of
//! rooms lets another one create a room.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use super::fixture::{NO_REDIS, Redis};
use super::{connect, get, serve, serve_with_rooms, wait_for};
use crate::journal::{Directory, Walker};
use crate::program::Program;
use crate::support::PATIENCE;

/// The public rooms on demand that a process lists, by name.
fn rooms(process: &Program) -> Vec<Json> {
    let list: Json = serde_json::from_str(&get(process.address, "/rooms?format=json")).expect("JSON");
    let rooms = list["rooms"].as_array().expect("a list").iter();
    rooms.filter(|room| room["name"] != "").cloned().collect()
}

/// Waits until the rooms of a process meet a condition, and returns them.
fn wait_for_rooms(process: &Program, is_met: impl Fn(&[Json]) -> bool) -> Vec<Json> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let rooms = rooms(process);
        if is_met(&rooms) {
            return rooms;
        }
        assert!(Instant::now() < deadline, "{rooms:?}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Sends an upgrade. Returns the response head, and the connection.
fn upgrade(process: &Program, path: &str) -> (String, TcpStream) {
    let mut stream = TcpStream::connect(process.address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    .expect("sent");
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).expect("a response") == 1 {
        head.push(byte[0]);
    }
    (String::from_utf8(head).expect("text"), stream)
}

#[test]
fn each_process_lists_the_public_rooms_of_all_and_any_room_is_the_fullest_of_all() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("cluster-list");
    let start = || Program::start(&mut serve(&directory.0, redis.address(), &[]));
    let (owner, mut other) = (start(), start());
    let _walker = connect(owner.address, 1);
    let private = format!("/r/p-{}", "a".repeat(24));
    let _hidden = Walker::try_connect(owner.address, &private, 2).expect("a private room");
    let listed = wait_for_rooms(&other, |rooms| rooms.iter().any(|room| room["players"] == 1));
    assert_eq!(listed.len(), 1, "no private room: {listed:?}");
    let expected: [(&str, Json); 6] = [
        ("name", "room-1".into()),
        ("path", "/r/room-1/".into()),
        ("game", "moo".into()),
        ("clients", 1.into()),
        ("here", false.into()),
        ("url", format!("http://{}", owner.address).into()),
    ];
    for (field, value) in &expected {
        assert_eq!(&listed[0][field], value, "{field}: {listed:?}");
    }
    assert_eq!(rooms(&owner)[0]["here"], true);
    let epoch = listed[0]["epoch"].as_str().expect("text");
    let found = get(other.address, &format!("/rooms?format=json&epoch={epoch}"));
    assert!(found.contains("\"name\":\"room-1\"") && !found.contains("\"name\":\"\""), "{found}");
    assert!(get(other.address, "/rooms").contains("<a href=\"r/room-1/\">"));

    // The default room of the other process is empty.
    let (head, any) = upgrade(&other, "/play?room=any");
    assert!(head.starts_with("HTTP/1.1 101") && head.contains("Tickwire-Room: /r/room-1/\r\n"), "{head}");
    wait_for(&other, "tickwire_cluster_relays", "1");
    wait_for(&other, "tickwire_cluster_processes", "2");
    drop(any);
    other.type_only("processes");
    let table = [(); 3].map(|()| other.answer());
    assert!(
        table[1].contains("(this process)") && table[2].contains(&owner.address.to_string()),
        "{table:?}"
    );

    drop(owner);
    wait_for_rooms(&other, <[Json]>::is_empty);
    let (head, _own) = upgrade(&other, "/play?room=any");
    assert!(head.contains("Tickwire-Room: /\r\n"), "{head}");
}

#[test]
fn a_process_with_its_maximum_of_rooms_lets_another_create_one_until_all_are_full() {
    let Some(redis) = Redis::start(None) else { return println!("{NO_REDIS}") };
    let directory = Directory::new("cluster-full");
    let start = |rooms| Program::start(&mut serve_with_rooms(&directory.0, redis.address(), (rooms, &[])));
    let (full, other) = (start("1"), start("2"));
    let _first = connect(full.address, 1);
    let _second = connect(full.address, 2);
    let location = get(full.address, "/rooms/room-2");
    assert!(location.contains(&format!("\"url\":\"http://{}\"", other.address)), "{location}");
    let _third = connect(full.address, 3);
    // Its clients are refused by the process that it is sent to, or by this one once it knows.
    let (head, _stream) = upgrade(&full, "/r/room-4/play");
    assert!(head.starts_with("HTTP/1.1 503"), "{head}");
    assert!(get(other.address, "/rooms/room-4").contains("\"exists\":false"));
}
