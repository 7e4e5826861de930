//! A server that drains before it stops: `drain`, `--drain-seconds`, `/readyz`.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tickwire::internal::server::net::console::Source;
use tickwire::internal::server::net::{PlayAccess, ServerHandle, Tokens};

use crate::admin::ask;
use crate::clients::{Native, UPGRADE};
use crate::program::{Program, tickwire};
use crate::rooms::page;
use crate::support::{PATIENCE, Peer, server_with};

const KEYED: &str = "/play?inspect_key=00112233445566778899aabbccddeeff";
const ANN: &str = "anns-token-0123456789";
const BOB: &str = "bobs.token~987654321";

fn run(server: &ServerHandle, line: &str) -> (bool, String) {
    let reply = server.console().run(line, Source::Terminal).expect("an answer");
    (reply.is_ok, reply.text)
}

/// The answer to an upgrade request.
fn upgrade(server: &ServerHandle, path: &str) -> String {
    let upgrade = UPGRADE.replace('\n', "\r\n");
    ask(server.address(), &format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n{upgrade}\r\n"))
}

/// Waits until the server has drained.
fn until_drained(server: &ServerHandle) {
    let deadline = Instant::now() + PATIENCE;
    while !server.is_stop_requested() {
        assert!(Instant::now() < deadline, "it waits for nobody");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_draining_server_refuses_new_clients_and_rooms_and_goes_on_for_its_players() {
    let server = server_with(|config| {
        config.seat_time = Duration::from_secs(600);
        config.rooms_on_demand = 5;
    });
    assert_eq!(page(&server, "/readyz", ""), (200, "ok\n".to_owned()));
    let (mut ann, _, player) = Native::play_at(server.address(), KEYED, "Ann");
    let (bob, _, bobs_player) = Native::play_at(server.address(), "/r/den/play", "Bob");
    let (is_ok, text) = run(&server, "drain 600");
    assert!(is_ok && text == "the server drains for at most 600 s; it waits for 2 players\n", "{text}");
    assert_eq!(ann.hear("notice"), ["This server stops in 600 seconds".into()]);
    assert_eq!(page(&server, "/readyz", ""), (503, "draining\n".to_owned()));
    assert_eq!(page(&server, "/healthz", ""), (200, "ok\n".to_owned()), "its rooms tick");
    // A key without a player, a room that exists, a room that does not, and any room.
    let strange = KEYED.replace("00", "ff");
    for path in [&*strange, "/play", "/moomoo", "/r/den/play", "/r/new/play", "/play?room=any"] {
        let answer = upgrade(&server, path);
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("\r\nRetry-After: 5\r\n"), "{answer}");
        assert!(answer.ends_with("\r\n\r\ndraining\n"), "{path}: {answer}");
    }
    // The key of a player in another room.
    let other_room = KEYED.replace("/play", "/r/den/play");
    assert!(upgrade(&server, &other_room).ends_with("\r\n\r\ndraining\n"));
    let (status, body) = page(&server, "/r/new/", "Accept: text/html\r\n");
    assert!(status == 503 && body.contains("This server stops soon and opens no new rooms"), "{body}");
    assert_eq!(page(&server, "/r/den/", "").0, 200, "the page of a room that exists");
    // A request that breaks a rule gets the rule.
    assert!(upgrade(&server, "/play?dialect=none").contains("unknown_dialect"));
    let metrics = server.metrics_text();
    assert!(metrics.contains("\ntickwire_draining 1\n"), "{metrics}");
    assert!(metrics.contains("requests_refused_total{rule=\"draining\"} 8\n"), "{metrics}");
    // A player that loses its connection gets back, and the server waits for it meanwhile.
    drop(ann);
    let (mut ann, _, again) = Native::play_at(server.address(), KEYED, "Ann");
    assert_eq!((again, bobs_player), (player, 1));
    let (is_ok, text) = run(&server, "drain 5");
    assert!(!is_ok && text.contains("the server drains already, for at most "), "{text}");
    assert!(!server.is_stop_requested());
    // Bob has no key, so its player leaves with its connection; Ann is kicked.
    drop(bob);
    assert!(run(&server, &format!("kick {player}")).0);
    assert!(ann.peer.receive_close().contains("kicked"));
    until_drained(&server);
    server.stop();
}

#[test]
fn spectators_may_come_while_players_with_tokens_come_only_for_their_player() {
    let tokens = Some(Tokens::read(&format!("ann {ANN}\nbob {BOB}\n")).expect("a token file"));
    let server = server_with(|config| {
        config.seat_time = Duration::from_secs(600);
        config.players = PlayAccess { tokens, spectators: true };
    });
    let (ann, _, player) = Native::play_at(server.address(), &format!("/play?token={ANN}"), "Ann");
    assert!(run(&server, "drain 600").0);
    let refused = upgrade(&server, &format!("/play?token={BOB}"));
    assert!(refused.ends_with("\r\n\r\ndraining\n"), "{refused}");
    assert!(upgrade(&server, "/play?token=a-wrong-token-of-the-test").ends_with("\r\n\r\ndraining\n"));
    let mut watcher = Native { peer: Peer::connect(server.address(), "/play") };
    watcher.say("hello", &[1.into(), 0.into(), "Cyd".into(), 2.into()]);
    watcher.hear("welcome");
    let (_anns_other, _, again) = Native::play_at(server.address(), &format!("/play?token={ANN}"), "Ann");
    assert_eq!(again, player);
    drop(ann);
    server.stop();
}

#[test]
fn a_drain_without_players_ends_at_once_and_its_argument_is_checked() {
    let server = server_with(|_| {});
    for (line, rule) in [
        ("drain", "usage: drain [SECONDS]; without --drain-seconds, SECONDS must be given"),
        ("drain soon", "usage: drain [SECONDS]; SECONDS must be a whole number"),
        ("drain 0", "0 s: must be 1 to 86400 s"),
        ("drain 86401", "86401 s: must be 1 to 86400 s"),
        ("room x drain 5", "there is no room"),
    ] {
        let (is_ok, text) = run(&server, line);
        assert!(!is_ok && text.contains(rule), "{line}: {text}");
    }
    assert!(!server.is_stop_requested() && !server.drain(), "--drain-seconds is 0");
    let mut watcher = Native { peer: Peer::connect(server.address(), "/play") };
    watcher.say("hello", &[1.into(), 0.into(), "Cyd".into(), 2.into()]);
    watcher.hear("welcome");
    assert!(run(&server, "drain 600").0);
    assert!(server.is_stop_requested(), "it does not wait for a spectator");
    server.stop();
}

/// Sends SIGTERM.
fn terminate(program: &Program) {
    let status = Command::new("kill").args(["-TERM", &program.pid().to_string()]).status();
    assert!(status.expect("kill").success());
}

fn readiness(program: &Program) -> String {
    ask(program.address, "GET /readyz HTTP/1.0\r\n\r\n")
}

#[test]
#[cfg(unix)]
fn a_first_signal_drains_and_a_second_one_stops() {
    let arguments = ["serve", "--bind", "127.0.0.1:0", "--drain-seconds", "3600"];
    let mut program = Program::start(&mut tickwire(&arguments));
    let (mut ann, ..) = Native::play_at(program.address, "/play", "Ann");
    assert!(readiness(&program).starts_with("HTTP/1.1 200 "));
    terminate(&program);
    assert_eq!(ann.hear("notice"), ["This server stops in 3600 seconds".into()]);
    assert!(readiness(&program).ends_with("\r\n\r\ndraining\n"));
    ann.say("ping", &[7.into()]);
    ann.hear("pong");
    terminate(&program);
    assert_eq!(ann.peer.receive_close(), "1001 going_away");
    let (status, log) = program.wait();
    assert!(status.success(), "{status}\n{log}");
    assert!(log.contains("draining: no new clients and rooms"), "{log}");
}

#[test]
#[cfg(unix)]
fn a_drain_ends_with_the_last_player_and_the_program_exits_with_0() {
    let arguments = ["serve", "--bind", "127.0.0.1:0", "--drain-seconds", "3600", "--resume-seconds", "0"];
    let mut program = Program::start(&mut tickwire(&arguments));
    let (mut ann, ..) = Native::play_at(program.address, "/play", "Ann");
    terminate(&program);
    ann.hear("notice");
    ann.peer.close();
    let (status, log) = program.wait();
    assert!(status.success(), "{status}\n{log}");
}
