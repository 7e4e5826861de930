//! A client comes back to its player by its key: a capture of it replays, and who was removed stays away.

use std::fs;
use std::time::Duration;

use tickwire::internal::games;
use tickwire::internal::server::net::ServerHandle;
use tickwire::internal::server::net::console::Source;
use tickwire::internal::server::net::recorder::CaptureTarget;
use tickwire::internal::testing::load::resume_test::{self, ResumeReport};
use tickwire::internal::tools::replay;
use tickwire::packet::Value;

use crate::clients::Native;
use crate::replay::File;
use crate::support::{Peer, server_with};

const PATH: &str = "/play?inspect_key=00112233445566778899aabbccddeeff";

fn server() -> ServerHandle {
    server_with(|config| config.seat_time = Duration::from_secs(60))
}

/// Three moves for this tick, which the server has taken when this returns.
fn walk(native: &mut Native, first_heading: u32, tick: Value) {
    for sequence in 1..=3_u32 {
        native.say("move", &[sequence.into(), tick.clone(), (first_heading + sequence).into()]);
    }
    native.say("ping", &[7.into()]);
    native.hear("pong");
}

#[test]
fn a_capture_of_a_reload_and_of_a_take_over_by_an_older_connection_comes_out_the_same() {
    let (server, file) = (server(), File::new("resume"));
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    let address = server.address();
    let mut older = Native { peer: Peer::connect(address, PATH) };
    older.say("hello", &[1.into(), 0.into(), Value::Nil, Value::Nil]);
    older.hear("welcome");
    let (mut newer, welcome, player) = Native::play_at(address, PATH, "Ann");
    // They wait for a later tick, and are dropped when the other one takes over.
    let later = welcome[7].as_u64().expect("a tick") + 25;
    walk(&mut newer, 100, later.into());
    // At once, before the tick that ends what the other one does.
    older.say("join", &["Ann".into(), 2.into()]);
    walk(&mut older, 200, Value::Nil);
    assert!(newer.peer.receive_close().contains("taken_over"));
    let last_of = |values: &[Value]| values[1].as_array().and_then(|own| own.first()?.as_u64());
    while last_of(&older.hear("update")) != Some(3) {}
    drop(older);
    let (mut last, _, again) = Native::play_at(address, PATH, "Ann");
    assert_eq!(again, player, "after the reload");
    walk(&mut last, 300, Value::Nil);
    // Beyond the tick of the commands that were dropped.
    while last.hear("update")[0].as_u64() <= Some(later) {}
    server.stop();
    let bytes = fs::read(&file.0).expect("the file");
    let report = replay::json::of_file(&bytes, games::INFO, None).expect("a capture");
    assert_eq!(report["verdict"], "same", "{report:#}");
}

#[test]
fn a_kicked_client_and_an_absent_player_are_gone_though_they_have_a_key() {
    let server = server();
    // By number: the name of one who has just left may still be taken.
    let kick = |player: u64| {
        let done = server.console().run(&format!("kick {player}"), Source::Terminal).expect("an answer");
        assert!(done.is_ok, "{}", done.text);
    };
    let (one, _, first) = Native::play_at(server.address(), PATH, "Ann");
    kick(first);
    // It does not answer the close frame, and connects anew at once.
    let (two, _, second) = Native::play_at(server.address(), PATH, "Ann");
    assert_ne!(first, second);
    drop((one, two));
    let (_other, ..) = Native::play_at(server.address(), "/play", "Bob");
    // Whether or not the server has noticed the end of the connection.
    kick(second);
    let (_three, _, third) = Native::play_at(server.address(), PATH, "Ann");
    assert_ne!(second, third);
    server.stop();
}

#[test]
fn a_client_that_comes_back_is_told_what_it_missed_or_that_its_player_is_gone_and_a_replay_agrees() {
    let (server, file) = (server(), File::new("missed"));
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    let run = |line: &str| {
        let done = server.console().run(line, Source::Terminal).expect("an answer");
        assert!(done.is_ok, "{}", done.text);
    };
    let (one, welcome, player) = Native::play_at(server.address(), PATH, "Ann");
    let resume_tick = welcome[7].clone();
    drop(one);
    run("announce the server restarts at noon");
    let come_back = || {
        let mut native = Native { peer: Peer::connect(server.address(), PATH) };
        native.say("hello", &[1.into(), 1.into(), "Ann".into(), 2.into(), resume_tick.clone()]);
        native
    };
    let mut two = come_back();
    assert_eq!(two.hear("notice"), ["the server restarts at noon".into()]);
    run(&format!("kick {player}"));
    assert!(two.peer.receive_close().contains("kicked"));
    drop(two);
    let mut three = come_back();
    assert_eq!(three.hear("error")[0], "player_left".into());
    assert_ne!(three.hear("spawned")[0], player.into());
    server.stop();
    let bytes = fs::read(&file.0).expect("the file");
    let report = replay::json::of_file(&bytes, games::INFO, None).expect("a capture");
    assert_eq!(report["verdict"], "same", "{report:#}");
}

/// Six clients of which one after the other loses its connection and comes back, twice each.
fn returned(seat_time: Duration) -> ResumeReport {
    let server = server_with(|config| config.seat_time = seat_time);
    let plan = resume_test::Plan {
        url: format!("ws://{}/play", server.address()).parse().expect("a URL"),
        source: "127.78.x.y".parse().expect("a pattern"),
        count: 6,
        per_second: 50,
        time: Duration::from_millis(240),
    };
    let returned = resume_test::run(&plan).expect("on this machine");
    server.stop();
    assert_eq!(returned.came, 6, "{returned:?}");
    returned
}

#[test]
fn clients_that_come_back_all_the_time_get_their_own_players_and_those_that_do_not_are_counted() {
    let kept = returned(Duration::from_secs(60));
    assert!(kept.passed() && kept.same.len() as u64 == kept.returns, "{kept:?}");
    // Without a seat time, each connection is a new player.
    let lost = returned(Duration::ZERO);
    assert!(!lost.passed() && lost.lost == lost.returns && lost.same.is_empty(), "{lost:?}");
}
