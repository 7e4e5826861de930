//! A server that reports to the sidecar of Agones: what the sidecar gets, and that the game never waits for it.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tickwire::internal::server::clients::dyn_room::DynRoom;
use tickwire::internal::server::net::agones::settings::AgonesSettings;
use tickwire::internal::server::net::console::Source;
use tickwire::internal::server::net::tcp_client::TcpTransport;
use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tickwire::internal::server::room::{RoomHandle, TickRequest, TickResult};

use crate::agones_sidecar::{Mood, STOP_TIME, Sidecar};
use crate::clients::Native;
use crate::program::{Program, said_at_its_end, tickwire};
use crate::rooms::page;
use crate::support::{PATIENCE, server_with};

fn server_of(sidecar: &Sidecar, allocates: bool) -> ServerHandle {
    let sidecar = sidecar.url().parse().expect("a URL");
    server_with(|config| {
        config.max_clients = 40;
        config.agones = Some(AgonesSettings { sidecar, allocates });
    })
}

fn drain(server: &ServerHandle) {
    let reply = server.console().run("drain 600", Source::Terminal).expect("an answer");
    assert!(reply.is_ok, "{}", reply.text);
}

fn until_drained(server: &ServerHandle) {
    let deadline = Instant::now() + PATIENCE;
    while !server.is_stop_requested() {
        assert!(Instant::now() < deadline, "it waits for nobody");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_sidecar_learns_the_life_of_a_server_in_order() {
    let sidecar = Sidecar::start(Mood::Answers);
    let server = server_of(&sidecar, true);
    let ready = sidecar.wait_for("POST /ready {}", 0);
    sidecar.wait_for(r#"PATCH /v1beta1/counters/players {"capacity":"40","count":"0"}"#, ready);
    // The counter `rooms` is not declared, which is no fault.
    sidecar.wait_for(r#"PATCH /v1beta1/counters/rooms {"capacity":"1","count":"1"}"#, ready);
    assert_eq!(sidecar.labels()["agones.dev/sdk-version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(sidecar.labels()["agones.dev/sdk-rules"].len(), 16);
    let (ann, ..) = Native::play_at(server.address(), "/play", "Ann");
    let allocated = sidecar.wait_for("POST /allocate {}", ready);
    let counted = sidecar.wait_for(r#"players {"capacity":"40","count":"1"}"#, allocated);
    sidecar.wait_for("POST /health {}", counted);
    sidecar.wait_for("GET /gameserver", counted);
    drain(&server);
    assert!(!server.is_stop_requested(), "Ann plays");
    drop(ann);
    until_drained(&server);
    // The owner stops it then.
    assert_eq!(server.stop(), 0);
    sidecar.wait_for("POST /shutdown {}", counted);
    let requests = sidecar.requests();
    assert_eq!(requests.last().map(String::as_str), Some("POST /shutdown {}"));
    for once in ["/ready", "/allocate", "/shutdown", "counters/rooms", r#""key":"version""#] {
        assert_eq!(
            requests.iter().filter(|request| request.contains(once)).count(),
            1,
            "{once}: {requests:#?}"
        );
    }
    sidecar.assert_faultless();
}

#[test]
fn a_draining_server_is_allocated_so_that_no_matchmaker_chooses_it() {
    let sidecar = Sidecar::start(Mood::Answers);
    let server = server_of(&sidecar, false);
    let ready = sidecar.wait_for("POST /ready", 0);
    let (_ann, ..) = Native::play_at(server.address(), "/play", "Ann");
    sidecar.wait_for(r#""count":"1""#, ready);
    assert!(!sidecar.requests().contains(&"POST /allocate {}".to_owned()), "without the option");
    drain(&server);
    sidecar.wait_for("POST /allocate {}", ready);
    assert_eq!(server.stop(), 0);
    sidecar.assert_faultless();
}

#[test]
fn a_sidecar_that_starts_later_is_retried_and_one_that_hangs_holds_nothing_up() {
    let sidecar = Sidecar::start(Mood::Closes);
    let server = server_of(&sidecar, false);
    let (mut ann, ..) = Native::play_at(server.address(), "/play", "Ann");
    let failed = || server.metrics_text().contains("agones_requests_failed_total{request=\"health\"}");
    let deadline = Instant::now() + PATIENCE;
    while !failed() {
        assert!(Instant::now() < deadline, "{}", server.metrics_text());
        std::thread::sleep(Duration::from_millis(10));
    }
    sidecar.set_mood(Mood::Answers);
    let ready = sidecar.wait_for("POST /ready", 0);
    sidecar.wait_for(r#""count":"1""#, ready);
    sidecar.set_mood(Mood::Hangs);
    let hung = sidecar.requests().len();
    sidecar.wait_for("POST /health", hung);
    ann.say("ping", &[7.into()]);
    ann.hear("pong");
    let began = Instant::now();
    assert_eq!(server.stop(), 0);
    assert!(began.elapsed() < STOP_TIME, "{:?}", began.elapsed());
    sidecar.assert_faultless();
}

/// A room whose ticks wait for a lock.
#[derive(Debug)]
struct Hanging {
    room: Box<dyn DynRoom<TcpTransport>>,
    lock: Arc<Mutex<()>>,
}

impl DynRoom<TcpTransport> for Hanging {
    fn handle(&self) -> &Arc<RoomHandle> {
        self.room.handle()
    }

    fn tick_with(&mut self, now: Duration, wants: TickRequest, after_step: &mut dyn FnMut()) -> TickResult {
        let _may_tick = self.lock.lock();
        self.room.tick_with(now, wants, after_step)
    }

    fn save_named(&self) -> Vec<u8> {
        self.room.save_named()
    }

    fn restarted(&self, epoch: String) -> Box<dyn DynRoom<TcpTransport>> {
        self.room.restarted(epoch)
    }
}

#[test]
fn a_room_that_hangs_stops_the_health_requests() {
    let (sidecar, lock) = (Sidecar::start(Mood::Answers), Arc::new(Mutex::new(())));
    let mut config = ServerConfig::new("127.0.0.1:0".parse().expect("an address"));
    let url = sidecar.url().parse().expect("a URL");
    config.agones = Some(AgonesSettings { sidecar: url, allocates: false });
    let room = Hanging { room: config.room("", &config.identity), lock: Arc::clone(&lock) };
    let server = ServerHandle::start_rooms(config, vec![Box::new(room)]).expect("a free port");
    let ready = sidecar.wait_for("POST /ready", 0);
    let (mut ann, ..) = Native::play_at(server.address(), "/play", "Ann");
    sidecar.wait_for("POST /health", ready);
    let hangs = lock.lock().expect("no panic");
    let deadline = Instant::now() + PATIENCE;
    while page(&server, "/healthz", "").0 == 200 {
        assert!(Instant::now() < deadline, "a room hangs");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(page(&server, "/healthz", "").1.contains("the default room has not ticked for"));
    assert!(server.metrics_text().contains("\ntickwire_rooms_unhealthy 1\n"));
    // Two of these are five seconds apart, in which a healthy server sends two for health.
    let first = sidecar.wait_for("GET /gameserver", sidecar.requests().len());
    let second = sidecar.wait_for("GET /gameserver", first + 1);
    let between = sidecar.requests()[first..second].to_vec();
    assert!(!between.iter().any(|request| request.contains("/health")), "{between:#?}");
    drop(hangs);
    sidecar.wait_for("POST /health", second);
    ann.hear("update");
    assert_eq!(server.stop(), 0);
    sidecar.assert_faultless();
}

#[test]
fn an_allocation_by_others_is_seen_and_not_repeated() {
    let sidecar = Sidecar::start(Mood::Answers);
    let server = server_of(&sidecar, true);
    let ready = sidecar.wait_for("POST /ready", 0);
    sidecar.set_state("Allocated");
    let seen = sidecar.wait_for("GET /gameserver", sidecar.requests().len().max(ready));
    let (_ann, ..) = Native::play_at(server.address(), "/play", "Ann");
    // Sent after an allocation would have been.
    sidecar.wait_for(r#""count":"1""#, seen);
    assert!(!sidecar.requests().contains(&"POST /allocate {}".to_owned()));
    assert_eq!(server.stop(), 0);
    sidecar.assert_faultless();
}

#[test]
fn the_program_finds_the_sidecar_by_the_port_of_the_environment() {
    let sidecar = Sidecar::start(Mood::Answers);
    let port = sidecar.address.port().to_string();
    let mut command = tickwire(&["serve", "--agones", "--bind", "127.0.0.1:0", "--max-clients", "40"]);
    let mut program = Program::start(command.env("AGONES_SDK_HTTP_PORT", port));
    sidecar.wait_for("POST /ready", 0);
    program.stop();
    sidecar.wait_for("POST /shutdown", 0);
    sidecar.assert_faultless();
}

#[test]
fn a_setting_that_cannot_work_is_refused_with_the_rule() {
    for (arguments, port, rule) in [
        (&["--agones", "https://localhost"][..], "", "must be http://HOST[:PORT], without a path"),
        (&["--agones=localhost:9358"], "", "must be http://HOST[:PORT], without a path"),
        (&["--agones"], "nine", "AGONES_SDK_HTTP_PORT=\"nine\": must be a port, 1 to 65535"),
        (&["--agones-allocate"], "", "--agones-allocate needs --agones"),
        (&["--drain-seconds", "86401"], "", "86401 is not in 0..=86400"),
    ] {
        let mut command = tickwire(&["serve", "--bind", "127.0.0.1:0"]);
        let child = command.args(arguments).env("AGONES_SDK_HTTP_PORT", port).spawn().expect("it starts");
        let output = said_at_its_end(child);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(rule), "{arguments:?}: {text}");
    }
}
