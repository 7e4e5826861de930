//! Several rooms of one server: the default room at `/`, the others below `/r/NAME/`; what happens
//! in one of them, and what the others notice of it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tickwire::internal::limits;
use tickwire::internal::server::clients::dyn_room::DynRoom;
use tickwire::internal::server::net::recorder::{CaptureTarget, Rotation};
use tickwire::internal::server::net::tcp_client::TcpTransport;
use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tickwire::internal::server::room::{RoomHandle, TickRequest, TickResult};
use tickwire::packet::Value;
use tickwire::sim::WorldParams;

use crate::admin::ask;
use crate::clients::Native;
use crate::replay::{File, number, replay};
use crate::support::{PATIENCE, Peer};

/// A room whose next tick panics once it is told to.
#[derive(Debug)]
struct Fragile {
    room: Box<dyn DynRoom<TcpTransport>>,
    panics: Arc<AtomicBool>,
}

impl DynRoom<TcpTransport> for Fragile {
    fn handle(&self) -> &Arc<RoomHandle> {
        self.room.handle()
    }

    fn tick_with(&mut self, now: Duration, wants: TickRequest, after_step: &mut dyn FnMut()) -> TickResult {
        assert!(!self.panics.load(Ordering::Relaxed), "the test asked for this panic");
        self.room.tick_with(now, wants, after_step)
    }

    fn save_named(&self) -> Vec<u8> {
        self.room.save_named()
    }

    fn restarted(&self, epoch: String) -> Box<dyn DynRoom<TcpTransport>> {
        self.room.restarted(epoch)
    }
}

fn config() -> ServerConfig {
    ServerConfig::new("127.0.0.1:0".parse().expect("an address"))
}

fn room(config: &ServerConfig, name: &str, seed: u32) -> Box<dyn DynRoom<TcpTransport>> {
    config.room(name, &WorldParams { seed, ..config.identity.clone() })
}

/// A server with a default room of seed 1 and a room `two` of seed 2, and what makes the latter panic.
pub fn two_rooms() -> (ServerHandle, Arc<AtomicBool>) {
    two_rooms_with(|_| {})
}

/// As [`two_rooms`], with other settings.
pub fn two_rooms_with(set: impl FnOnce(&mut ServerConfig)) -> (ServerHandle, Arc<AtomicBool>) {
    let (mut config, panics) = (config(), Arc::new(AtomicBool::new(false)));
    set(&mut config);
    let fragile = Fragile { room: room(&config, "two", 2), panics: Arc::clone(&panics) };
    let rooms: Vec<Box<dyn DynRoom<TcpTransport>>> = vec![room(&config, "", 1), Box::new(fragile)];
    (ServerHandle::start_rooms(config, rooms).expect("a free port"), panics)
}

/// The status and the body of the answer to a request for a page.
pub fn page(server: &ServerHandle, path: &str, headers: &str) -> (u16, String) {
    let answer = ask(server.address(), &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"));
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head[9..12].parse().expect("a status"), body.to_owned())
}

fn health(server: &ServerHandle) -> (u16, String) {
    page(server, "/healthz", "")
}

fn chat(native: &mut Native, text: &str) {
    native.say("chat", &[1.into(), Value::Nil, text.into()]);
}

#[test]
fn each_room_has_its_own_world_player_numbers_and_chat() {
    let (server, _) = two_rooms();
    let at = |path, name| Native::play_at(server.address(), path, name);
    let (mut ada, ada_welcome, ada_id) = at("/play", "Ada");
    let (mut bob, bob_welcome, bob_id) = at("/r/two/play", "Bob");
    let (seed, epoch) = (2, 6);
    assert_eq!([&ada_welcome[seed], &bob_welcome[seed]], [&Value::from(1), &Value::from(2)]);
    assert_ne!(ada_welcome[epoch], bob_welcome[epoch]);
    assert_eq!((ada_id, bob_id), (1, 1), "each room counts its own players");
    let (mut cy, _, cy_id) = at("/r/two/server?dialect=native", "Cy");
    let (mut dan, ..) = at("/play", "Dan");
    chat(&mut ada, "in the default room");
    assert_eq!(dan.hear("chat"), [ada_id.into(), "in the default room".into()]);
    chat(&mut cy, "in room two");
    assert_eq!(bob.hear("chat"), [cy_id.into(), "in room two".into()], "the first that it hears");
    for path in ["/r/three/play", "/r/two", "/r//play", "/r/two/nothing", "/r/three/wire"] {
        let error = Peer::try_connect(server.address(), path).err().expect("there is no such room");
        assert!(error.contains("404"), "{path}: {error}");
    }
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_panic_in_one_room_closes_its_clients_and_leaves_the_others_alone() {
    let (server, panics) = two_rooms();
    let began = Instant::now();
    let at = |path, name| Native::play_at(server.address(), path, name);
    let (mut ada, _, ada_id) = at("/play", "Ada");
    let (mut bob, before, _) = at("/r/two/play", "Bob");
    panics.store(true, Ordering::Relaxed);
    assert_eq!(bob.peer.receive_close(), "1011 internal_error");
    let error = Peer::try_connect(server.address(), "/r/two/play").err().expect("the room is over");
    assert!(error.contains("503"), "{error}");
    assert_eq!(health(&server), (503, "room two has ended by a panic and begins anew soon\n".to_owned()));
    let (mut dan, ..) = at("/play", "Dan");
    chat(&mut ada, "still here");
    assert_eq!(dan.hear("chat"), [ada_id.into(), "still here".into()]);
    assert!(server.is_ticking());
    let has = |line: &str| server.metrics_text().contains(line);
    assert!(has("tickwire_panics_total 1\n") && has("tickwire_players 2\n"), "{}", server.metrics_text());
    // It begins anew, with another epoch, and not at once.
    let soon = Instant::now() + limits::ROOM_RESTART_EVERY + PATIENCE;
    while !has("tickwire_room_restarts_total{room=\"two\"} 1\n") {
        assert!(Instant::now() < soon, "{}", server.metrics_text());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(began.elapsed() >= limits::ROOM_RESTART_EVERY);
    let (_eve, after, eve_id) = at("/r/two/play", "Eve");
    let (seed, epoch) = (2, 6);
    assert_eq!((&after[seed], eve_id), (&before[seed], 1));
    assert_ne!(after[epoch], before[epoch]);
    assert_eq!(health(&server), (200, "ok\n".to_owned()));
    chat(&mut dan, "and nothing happened here");
    while ada.hear("chat")[1] != "and nothing happened here".into() {}
    assert_eq!(server.stop(), 0);
}

#[test]
fn each_file_of_a_capture_of_two_rooms_replays_both_as_they_were() {
    let file = File::new("rooms");
    let mut config = config();
    config.rotation = Rotation { time: Some(Duration::from_millis(500)), ..Rotation::default() };
    let rooms = ["", "two"].map(|name| room(&config, name, 7)).into();
    let server = ServerHandle::start_rooms(config, rooms).expect("a free port");
    let at = |path, name| Native::play_at(server.address(), path, name).0;
    let mut early = [at("/play", "Ada"), at("/r/two/play", "Bob")];
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    let mut late = [at("/play", "Cy"), at("/r/two/server?dialect=native", "Dan")];
    let second = file.0.with_extension("1.pcapng");
    // Each client speaks in the second file too: of one that does not, the file does not know whose commands are left from before.
    let (mut sequence, mut in_second) = (0, 0);
    while in_second < 4 {
        sequence += 1;
        for client in early.iter_mut().chain(&mut late) {
            client.say("move", &[sequence.into(), Value::Nil, (sequence * 1_000).into()]);
        }
        std::thread::sleep(Duration::from_millis(50));
        in_second += u32::from(second.exists());
    }
    let _ = (late[0].hear("update"), late[1].hear("update"));
    assert_eq!(server.stop(), 0);
    for name in [&file.0, &second] {
        let (text, status) = replay(&fs::read(name).expect("the file"), "rooms-again", &["--json"]);
        assert_eq!(status, 0, "{}: {text}", name.display());
        let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(report["verdict"], "same", "{text}");
        for (at, room) in ["", "two"].iter().enumerate() {
            let of_room = &report["rooms"][at];
            assert_eq!((&of_room["room"], number(of_room, "clients")), (&(*room).into(), 2), "{text}");
            let ticks = number(of_room, "ticks");
            assert!(ticks > 0 && number(of_room, "not_captured") == 0, "{text}");
        }
        let (text, _) = replay(&fs::read(name).expect("the file"), "rooms-text", &[]);
        assert!(text.starts_with("default room\n") && text.contains("\nroom two\n"), "{text}");
    }
    let _ = fs::remove_file(second);
}

/// Replays a capture, which has to come out the same in both rooms; returns the ticks of each.
fn replayed(file: &std::path::Path, scratch: &str) -> [u64; 2] {
    let (text, status) = replay(&fs::read(file).expect("the file"), scratch, &["--json"]);
    assert_eq!(status, 0, "{}: {text}", file.display());
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["verdict"], "same", "{text}");
    [0, 1].map(|room| number(&report["rooms"][room], "ticks"))
}

#[test]
fn a_capture_has_the_worlds_of_rooms_that_sleep_and_what_they_do_when_they_wake() {
    let file = File::new("asleep");
    let (server, _) = two_rooms();
    std::thread::sleep(Duration::from_millis(200));
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    // The rooms fall asleep again before somebody comes.
    std::thread::sleep(Duration::from_millis(200));
    let (mut bob, ..) = Native::play_at(server.address(), "/r/two/play", "Bob");
    for sequence in 1..5 {
        bob.say("move", &[sequence.into(), Value::Nil, (sequence * 1_000).into()]);
        bob.hear("update");
    }
    assert_eq!(server.stop(), 0);
    let [default, two] = replayed(&file.0, "asleep-again");
    assert!((1..5).contains(&default) && two >= 5, "{default} and {two} ticks");
}

#[test]
fn a_room_that_begins_anew_does_so_in_the_next_file_of_a_capture() {
    let file = File::new("anew");
    let (server, panics) = two_rooms();
    let at = |path, name| Native::play_at(server.address(), path, name).0;
    let (mut ada, mut bob) = (at("/play", "Ada"), at("/r/two/play", "Bob"));
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    let walk = |client: &mut Native, sequence: u64| {
        client.say("move", &[sequence.into(), Value::Nil, (sequence * 1_000).into()]);
        client.hear("update");
    };
    for sequence in 1..5 {
        [&mut ada, &mut bob].into_iter().for_each(|client| walk(client, sequence));
    }
    panics.store(true, Ordering::Relaxed);
    assert_eq!(bob.peer.receive_close(), "1011 internal_error");
    let (second, soon) =
        (file.0.with_extension("1.pcapng"), Instant::now() + limits::ROOM_RESTART_EVERY + PATIENCE);
    while !second.exists() {
        assert!(Instant::now() < soon, "the capture goes on in the next file");
        std::thread::sleep(Duration::from_millis(50));
    }
    let mut eve = at("/r/two/play", "Eve");
    walk(&mut ada, 5);
    (1..5).for_each(|sequence| walk(&mut eve, sequence));
    assert_eq!(server.stop(), 0);
    for (name, scratch) in [(&file.0, "anew-first"), (&second, "anew-second")] {
        let [default, two] = replayed(name, scratch);
        assert!(default > 0 && two > 0, "{default} and {two} ticks");
    }
    let _ = fs::remove_file(second);
}

#[test]
fn the_rooms_of_a_server_have_different_names_that_fit_a_path() {
    for names in [&["one"][..], &["", ""], &["", "a/b"], &["", "two", "two"], &[]] {
        let config = config();
        let rooms = names.iter().map(|name| room(&config, name, 1)).collect();
        let error = ServerHandle::start_rooms(config, rooms).expect_err("refused");
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{names:?}");
    }
}
