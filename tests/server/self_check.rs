//! `--self-check` on a whole server: a planted fault comes up in the log and in the metrics, and sound servers raise no alarm.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tickwire::internal::games;
use tickwire::internal::limits;
use tickwire::internal::server::net::ServerHandle;
use tickwire::internal::server::net::tap::EventSource;
use tickwire::internal::server::room::lockstep::{LockstepAccess, LockstepConfig};
use tickwire::internal::testing::load::crowd::{self, BotBehavior, CrowdPlan};
use tickwire::internal::testing::load::resume_test;
use tickwire::packet::{Direction, Value};
use tickwire::ws::frame;
use tracing::Level;

use crate::clients::Native;
use crate::lockstep::metric;
use crate::rooms::two_rooms_with;
use crate::support::{PATIENCE, server_with};
use crate::tanks::{ABOUT, server_with as tanks_with};

/// What was logged of `--self-check` in this process.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

struct Log;

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        log().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn log() -> MutexGuard<'static, Vec<u8>> {
    LOG.lock().expect("no panic while it is written")
}

fn until(server: &ServerHandle, what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}: {}", server.metrics_text());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_fault_in_what_a_client_is_sent_is_in_the_log_and_in_the_metrics() {
    let log_errors = tracing_subscriber::fmt().with_max_level(Level::ERROR).with_ansi(false);
    log_errors.with_writer(|| Log).try_init().expect("no other test of this program listens to the log");
    let server = server_with(|config| config.self_check = true);
    let (mut ann, _, player) = Native::play_at(server.address(), "/play", "Ann");
    let compared = || metric(&server, "self_check_compared_total");
    ann.say("move", &[1.into(), Value::Nil, 0.into()]);
    while compared() < 10 {
        ann.hear("update");
    }
    assert_eq!(metric(&server, "self_check_faults_total"), 0);

    // The next update once more, with the own player at another place.
    let mut values = ann.hear("update");
    let tick = values[0].as_u64().expect("a tick") as u32;
    let Value::Array(own) = &mut values[1] else { panic!("it walks: {values:?}") };
    own[2] = Value::from(own[2].as_i64().expect("x") + 70_000);
    let dialect = server.config().codes.dialect("native").expect("built in");
    let message = dialect.encode(Direction::ToClient, "update", &values).expect("by the table");
    let mut frames = Vec::new();
    frame::write_binary(&mut frames, &message);
    server
        .tap()
        .record_sent(EventSource { client: 1, player: player as u16, at: Duration::ZERO, tick }, &frames);
    until(&server, "the fault is counted", || metric(&server, "self_check_faults_total") == 1);
    until(&server, "the fault is logged", || !log().is_empty());
    let line = String::from_utf8_lossy(&log()).into_owned();
    let expected = format!("self-check: client 1, player 1, tick {tick}: stream: ");
    assert!(line.contains("ERROR") && line.contains(&expected), "{line}");
    assert_eq!(server.stop(), 0);
}

#[test]
fn clients_that_come_back_and_bots_in_lockstep_raise_no_alarm() {
    let server = server_with(|config| {
        (config.self_check, config.address_rate_limits) = (true, false);
        config.max_clients_per_address = config.max_clients;
        config.seat_time = Duration::from_secs(60);
        config.lockstep = LockstepConfig { access: LockstepAccess::Open, ..LockstepConfig::default() };
    });
    let url = || format!("ws://{}/play", server.address()).parse().expect("a URL");
    let returned = resume_test::run(&resume_test::Plan {
        url: url(),
        source: "127.79.x.y".parse().expect("a pattern"),
        count: 6,
        per_second: 20,
        time: Duration::from_millis(1_500),
    });
    assert!(returned.expect("on this machine").passed());
    let crowd = |lockstep| CrowdPlan {
        lane: false,
        late_acks: false,
        url: url(),
        game: games::INFO[0],
        dialects: vec![games::built_in_tables().dialect("native").expect("built in")],
        count: 6,
        time: Duration::from_secs(4),
        source: None,
        behavior: BotBehavior::Play,
        seed: 3,
        lockstep,
        reconnects: None,
    };
    std::thread::scope(|scope| {
        let streams = scope.spawn(|| crowd::run(&crowd(false)).expect("a crowd"));
        crowd::run(&crowd(true)).expect("a crowd");
        streams.join().expect("no panic");
    });
    let compared = metric(&server, "self_check_compared_total");
    assert!(compared > 300, "{compared}");
    assert_eq!(metric(&server, "self_check_faults_total"), 0, "{}", String::from_utf8_lossy(&log()));
    assert_eq!(server.stop(), 0);
}

#[test]
fn tanks_raise_no_alarm() {
    let server = tanks_with(|config| config.self_check = true);
    let plan = CrowdPlan {
        lane: false,
        late_acks: false,
        url: format!("ws://{}/r/arena/", server.address()).parse().expect("a URL"),
        game: ABOUT,
        dialects: vec![games::built_in_tables().dialect("tanks").expect("the game's")],
        count: 6,
        time: Duration::from_secs(4),
        source: None,
        behavior: BotBehavior::Play,
        seed: 1,
        lockstep: false,
        reconnects: None,
    };
    crowd::run(&plan).expect("a crowd");
    let compared = metric(&server, "self_check_compared_total");
    assert!(compared > 300, "{compared}");
    assert_eq!(metric(&server, "self_check_faults_total"), 0, "{}", String::from_utf8_lossy(&log()));
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_room_that_begins_anew_raises_no_alarm_and_is_followed_again() {
    let (server, panics) = two_rooms_with(|config| config.self_check = true);
    let compared = || metric(&server, "self_check_compared_total");
    let at = |name| Native::play_at(server.address(), "/r/two/play", name);
    let (mut bob, ..) = at("Bob");
    bob.say("move", &[1.into(), Value::Nil, 0.into()]);
    while compared() < 10 {
        bob.hear("update");
    }
    panics.store(true, Ordering::Relaxed);
    assert_eq!(bob.peer.receive_close(), "1011 internal_error");
    let soon = Instant::now() + limits::ROOM_RESTART_EVERY + PATIENCE;
    while !server.metrics_text().contains("tickwire_room_restarts_total{room=\"two\"} 1\n") {
        assert!(Instant::now() < soon, "{}", server.metrics_text());
        std::thread::sleep(Duration::from_millis(50));
    }
    panics.store(false, Ordering::Relaxed);
    let before = compared();
    let (mut eve, ..) = at("Eve");
    eve.say("move", &[1.into(), Value::Nil, 0.into()]);
    while compared() < before + 10 {
        eve.hear("update");
    }
    assert_eq!(metric(&server, "self_check_faults_total"), 0, "{}", String::from_utf8_lossy(&log()));
    assert_eq!(server.stop(), 0);
}
