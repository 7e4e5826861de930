//! Herds of bots on a server in this process: what they are told makes sense, in each layout, and nobody is told
//! twice or of nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tickwire::client::url::Url;
use tickwire::game::Game as _;
use tickwire::internal::games::moo::Moo;
use tickwire::internal::games::moo::bot::received::ServerPacket;
use tickwire::internal::games::moo::client_packet::{ClientPacket, Mode};
use tickwire::internal::server::net::{ServerConfig, ServerHandle};
use tickwire::internal::testing::abuse::client::MooTestClient;
use tickwire::internal::testing::load::crowd::{self, BotBehavior, CrowdPlan};
use tickwire::internal::testing::load::report::CrowdReport;
use tickwire::packet::{Dialect, PacketTables};

/// Long enough for anything that happens at all, on any machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn start() -> (ServerHandle, Url) {
    let server = ServerHandle::start(ServerConfig::new("127.0.0.1:0".parse().unwrap())).unwrap();
    let url = format!("ws://{}", server.address()).parse().unwrap();
    (server, url)
}

fn dialect(name: &str) -> Arc<Dialect> {
    PacketTables::builtin().dialect(name).unwrap()
}

fn run(url: &Url, name: &str, count: usize) -> CrowdReport {
    let plan = CrowdPlan {
        lane: false,
        late_acks: false,
        game: Moo::INFO,
        url: url.clone(),
        dialects: vec![dialect(name)],
        count,
        time: Duration::from_secs(2),
        source: Some("127.0.x.y".parse().unwrap()),
        behavior: BotBehavior::Walk,
        seed: 7,
        lockstep: false,
        reconnects: None,
    };
    crowd::run(&plan).unwrap().remove(0)
}

fn counter(server: &ServerHandle, name: &str) -> u64 {
    let text = server.metrics_text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

#[test]
fn bots_receive_consistent_packets_in_each_layout() {
    let (server, url) = start();
    for name in ["native", "legacy", "letters-2023", "letters-2024", "letters"] {
        let report = run(&url, name, 24);
        assert!(report.passed(), "{report}");
        assert!(report.tally.updates > 0 && report.in_view() > 0, "{report}");
    }
    assert_eq!(counter(&server, "tickwire_panics_total"), 0);
    assert_eq!(server.stop(), 0);
}

#[test]
fn two_layouts_at_once_and_one_send_a_turn() {
    let (server, url) = start();
    std::thread::scope(|scope| {
        let moomoo = scope.spawn(|| run(&url, "legacy", 20));
        let native = run(&url, "native", 20);
        let moomoo = moomoo.join().unwrap();
        assert!(native.passed() && moomoo.passed(), "{native}{moomoo}");
    });
    let (turns, sends) =
        (counter(&server, "tickwire_client_updates_total"), counter(&server, "tickwire_update_sends_total"));
    assert!(turns > 100, "{turns} turns");
    // An answer that another thread hands over while a turn is being sent goes out in a send of its own.
    assert!(turns.abs_diff(sends) <= turns / 100, "{sends} calls to send for {turns} turns");
    assert_eq!(server.stop(), 0);
}

#[test]
fn an_idle_client_among_idle_players_receives_no_updates() {
    let (server, url) = start();
    let url = url.with_dialect_path(Moo::INFO.paths, "native");
    let mut talks: Vec<MooTestClient> =
        (0..3).map(|_| MooTestClient::connect(&url, None, dialect("native")).unwrap()).collect();
    for talk in &mut talks {
        talk.send_packet(&ClientPacket::Hello { version: 1, mode: Mode::Play, name: None, skin: None })
            .unwrap();
        talk.receive_until(PATIENCE, |heard| matches!(heard, ServerPacket::Spawned { .. })).unwrap();
    }
    // Newcomers are told of one another first, and a cow may walk by. But a second comes in which nobody is told a word,
    // though the world goes on: a turn with nothing to say would be told thirty times in it.
    let (started, quiet) = (Instant::now(), Duration::from_secs(1));
    loop {
        assert!(started.elapsed() < PATIENCE, "somebody is told something all the time");
        let (turns, ticks) =
            (counter(&server, "tickwire_client_updates_total"), counter(&server, "tickwire_ticks_total"));
        std::thread::sleep(quiet);
        assert!(counter(&server, "tickwire_ticks_total") > ticks);
        if counter(&server, "tickwire_client_updates_total") == turns {
            break;
        }
    }
    for talk in &mut talks {
        talk.send_packet(&ClientPacket::Ping { nonce: Some(1) }).unwrap();
        talk.receive_until(PATIENCE, |heard| matches!(heard, ServerPacket::Pong { nonce: Some(1), .. }))
            .unwrap();
    }
    assert_eq!(server.stop(), 0);
}
