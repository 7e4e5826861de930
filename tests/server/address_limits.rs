//! Budgets of an address: what its clients may do together, however often they reconnect, and what each is told beyond it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tickwire::client::url::Url;
use tickwire::internal::games::moo::bot::received::ServerPacket;
use tickwire::internal::games::moo::client_packet::{ClientPacket, Mode};
use tickwire::internal::limits;
use tickwire::internal::server::net::ServerHandle;
use tickwire::internal::server::net::recorder::CaptureTarget;
use tickwire::internal::testing::abuse::attack;
use tickwire::internal::testing::abuse::client::MooTestClient;
use tickwire::internal::testing::hostile::HostileKind;
use tickwire::packet::PacketTables;

use crate::replay::{File, number, replay};
use crate::support::{PATIENCE, Peer, server, server_with};

fn url(server: &ServerHandle) -> Url {
    format!("ws://{}/play", server.address()).parse().expect("a URL")
}

/// A native client that wants to play; all come from one address.
fn player(server: &ServerHandle) -> MooTestClient {
    let native = PacketTables::builtin().dialect("native").expect("built in");
    let mut talk = MooTestClient::connect(&url(server), None, native).expect("let in");
    let hello = ClientPacket::Hello { version: 1, mode: Mode::Play, name: None, skin: None };
    talk.send_packet(&hello).expect("said");
    talk
}

fn is_error(heard: &ServerPacket, name: &str) -> bool {
    matches!(heard, ServerPacket::Error { rule, .. } if rule == name)
}

/// Whether the client is given a body, or is told that its address joins too often.
fn joins(talk: &mut MooTestClient) -> bool {
    let is_answer = |heard: &ServerPacket| {
        matches!(heard, ServerPacket::Spawned { .. }) || is_error(heard, "address_join_rate")
    };
    let answer = talk.receive_until(PATIENCE, is_answer).expect("an answer");
    matches!(answer, ServerPacket::Spawned { .. })
}

/// More clients than may speak at once chat until one is told the rule.
fn chats_until_rejected(server: &ServerHandle) {
    let mut talks: Vec<MooTestClient> = (0..16).map(|_| player(server)).collect();
    assert!(talks.iter_mut().all(joins), "a class joins at once");
    let deadline = Instant::now() + PATIENCE;
    for sequence in 1.. {
        for talk in &mut talks {
            let text = "all at once".to_owned();
            talk.send_packet(&ClientPacket::Chat { sequence: Some(sequence), tick: None, text })
                .expect("said");
        }
        let is_rejected = |talk: &mut MooTestClient| {
            let has_ack_packets = |heard: &ServerPacket| match heard {
                ServerPacket::Rejected(list) => list.iter().any(|(_, reason)| reason == "address_chat_rate"),
                _ => false,
            };
            talk.receive_until(limits::CHAT_INTERVAL, has_ack_packets).is_ok()
        };
        if talks.iter_mut().any(is_rejected) {
            return;
        }
        assert!(Instant::now() < deadline, "no line was rejected");
    }
}

/// One client after the other joins until one is rejected; that one commands all the same, joins later, and commands again.
fn joins_until_rejected(server: &ServerHandle) {
    let deadline = Instant::now() + PATIENCE;
    let mut talk = player(server);
    while joins(&mut talk) {
        assert!(Instant::now() < deadline, "no join was rejected");
        talk = player(server);
    }
    let walk = |talk: &mut MooTestClient, direction| {
        for sequence in 1..4 {
            let direction = Some(direction);
            talk.send_packet(&ClientPacket::Move { sequence: Some(sequence), tick: None, direction })
                .expect("said");
        }
    };
    // Without a body; a replay that takes the rejected join for one has these in the place of those below.
    walk(&mut talk, 7);
    let enter = ClientPacket::EnterGame { name: Some("late".to_owned()), skin: None, moofoll: false };
    talk.send_packet(&enter).expect("said");
    while !joins(&mut talk) {
        assert!(Instant::now() < deadline, "the budget never fills again");
        thread::sleep(Duration::from_millis(100));
        talk.send_packet(&enter).expect("said");
    }
    walk(&mut talk, 40_000);
    let has_walked = |heard: &ServerPacket| matches!(heard, ServerPacket::Update(_));
    (0..3).for_each(|_| drop(talk.receive_until(PATIENCE, has_walked).expect("updates go on")));
}

#[test]
fn rejected_chat_and_joins_name_the_rule_and_the_session_replays_as_the_same() {
    let (server, file) = (server(), File::new("budgets"));
    server.capture(CaptureTarget::File(file.0.clone())).expect("a new file");
    chats_until_rejected(&server);
    joins_until_rejected(&server);
    let metrics = server.metrics_text();
    for rule in ["address_chat_rate", "address_join_rate"] {
        assert!(metrics.contains(&format!("commands_rejected_total{{reason=\"{rule}\"}}")), "{metrics}");
    }
    assert_eq!(server.stop(), 0);
    let bytes = fs::read(&file.0).expect("the file");
    let (text, status) = replay(&bytes, "budgets-again", &["--json"]);
    assert_eq!(status, 0, "{text}");
    let report: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["verdict"], "same");
    let dropped =
        ["dropped_while_connected", "dropped_on_leave", "after_end"].map(|name| number(&report, name));
    assert!(dropped.iter().sum::<u64>() > 0, "the rejected lines were decoded: {report}");
}

#[test]
fn lane_requests_above_the_limit_of_the_address_are_rejected() {
    let server = server();
    // [hello, [version 1, mode 0]], then [lane_request, []], within the message rate of a client.
    let joined = || {
        let mut peer = Peer::connect(server.address(), "/play?dialect=native");
        peer.send(&[0x92, 1, 0x92, 1, 0]);
        peer
    };
    let request = |peer: &mut Peer, count: u32, reason: &str| {
        (0..count).for_each(|_| peer.send(&[0x92, 126, 0x90]));
        let has_reason = |message: &[u8]| message.windows(reason.len()).any(|text| text == reason.as_bytes());
        (0..count).for_each(|_| drop(peer.receive_until(has_reason).expect(reason)));
    };
    // Each client waits for its answers, so that the last one requests above the burst.
    let half = limits::ADDRESS_LANES_BURST / 2;
    let mut peers = [joined(), joined(), joined()];
    request(&mut peers[0], half, "no_lane");
    request(&mut peers[1], half, "no_lane");
    (0..half).for_each(|_| peers[2].send(&[0x92, 126, 0x90]));
    request(&mut peers[2], 1, "address_lane_rate");
    assert_eq!(server.stop(), 0);
}

/// What an upgrade from this machine is answered with.
fn upgrade(server: &ServerHandle) -> String {
    let mut stream = TcpStream::connect(server.address()).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let request = "GET /play HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("sent");
    let mut buffer = [0; 1024];
    let count = stream.read(&mut buffer).expect("an answer");
    String::from_utf8_lossy(&buffer[..count]).into_owned()
}

/// The first answer to an upgrade that is neither a handshake nor for want of a place, however often the address reconnects.
fn first_refusal(server: &ServerHandle) -> Option<String> {
    let answers = (0..3 * limits::ADDRESS_CLIENTS_BURST).map(|_| upgrade(server));
    let mut refused = answers.filter(|answer| !["101", "503"].contains(&&answer[9..12]));
    refused.next()
}

#[test]
fn an_address_that_reconnects_too_often_gets_429_and_when_to_come_again_unless_budgets_are_lifted() {
    let limited = server();
    let answer = first_refusal(&limited).expect("a refusal");
    assert!(answer.starts_with("HTTP/1.1 429 ") && answer.contains("\r\nRetry-After: 1\r\n"), "{answer}");
    assert!(answer.ends_with("address_client_rate\n"), "{answer}");
    assert!(limited.metrics_text().contains("connections_refused_total{limit=\"address_client_rate\"}"));
    limited.stop();

    let lifted = server_with(|config| config.address_rate_limits = false);
    assert_eq!(first_refusal(&lifted), None);
    lifted.stop();
}

#[test]
fn a_victim_hears_no_more_than_four_clients_may_say_from_an_address_that_reconnects() {
    // The map is so small that everyone is in view of everyone.
    let server = server_with(|config| config.identity.set("map_size_px", 1_440));
    let started = Instant::now();
    let plan = attack::AttackPlan {
        kind: HostileKind::Reconnect,
        url: url(&server),
        source: "127.77.9.1".parse().expect("an address"),
        addresses: None,
        count: 300,
        time: Duration::from_secs(3),
        reconnects: true,
    };
    let pressure = attack::run(&plan).expect("on this machine");
    let intervals = started.elapsed().as_millis() / limits::CHAT_INTERVAL.as_millis() + 1;
    let allowed = u64::from(limits::ADDRESS_ACTION_RATE_FACTOR) * (intervals as u64 + 1);
    let heard = pressure.chat_lines_received.expect("there was a victim");
    assert!(heard <= allowed, "{heard} lines, {allowed} are allowed: {pressure:?}");
    server.stop();
}
