//! Tests of the traffic log: order, bounds, held messages and ends.

use super::*;

fn log_with(connections: u64) -> TrafficLog {
    let log = TrafficLog::new(Instant::now(), Vec::new());
    for connection in 1..=connections {
        let handshake = Handshake {
            address: "127.0.0.1:40000".parse().expect("an address"),
            local: "127.0.0.1:3000".parse().expect("an address"),
            dialect: "none".to_owned(),
            json: false,
            request: b"GET /chat HTTP/1.1\r\n\r\n".to_vec(),
            response: b"HTTP/1.1 101 Switching Protocols\r\n\r\n".to_vec(),
        };
        log.open(connection, handshake);
    }
    log
}

fn message(log: &TrafficLog, connection: u64, bytes: &[u8], outcome: Outcome) {
    let (received, sent) = (bytes, bytes);
    let seen = Observation {
        from: Side::Server,
        outcome,
        received,
        content: None,
        explained: &[],
        sent,
        sent_explained: &[],
    };
    log.record(connection, &seen, Duration::ZERO);
}

#[test]
fn a_page_reads_from_its_position_and_receives_the_number_of_dropped_records() {
    let log = log_with(1);
    let part = vec![0; limits::INTERCEPT_LOG_BYTES / 4];
    for _ in 0..2 {
        message(&log, 1, &part, Outcome::Forwarded);
    }
    let mut positions = BTreeMap::from([(1, 0)]);
    let read = |positions: &mut BTreeMap<u64, u64>| {
        let [piece] = &log.read(positions)[..] else { panic!("one connection") };
        (piece.records.len(), piece.lost)
    };
    assert_eq!(read(&mut positions), (3, 0));
    assert_eq!(log.read(&mut positions), []);
    for _ in 0..6 {
        message(&log, 1, &part, Outcome::Forwarded);
    }
    assert_eq!(read(&mut positions), (3, 3));
    assert_eq!(positions[&1], 9);
    assert_eq!(read(&mut BTreeMap::from([(1, 0)])), (4, 6), "with the handshake");
}

#[test]
fn a_page_reads_all_connections_in_the_order_of_their_messages() {
    let log = log_with(2);
    let mut positions = BTreeMap::from([(1, 1), (2, 1)]);
    for connection in [2, 1, 1, 2] {
        message(&log, connection, &[0x81, 0], Outcome::Forwarded);
    }
    let pieces = log.read(&mut positions);
    let order: Vec<_> = pieces.iter().map(|piece| (piece.connection, piece.records.len())).collect();
    assert_eq!(order, [(2, 1), (1, 2), (2, 1)]);
    assert_eq!(positions, BTreeMap::from([(1, 3), (2, 3)]));
}

#[test]
fn ended_connections_are_dropped_first() {
    let log = log_with(40);
    log.record_end(7, "over");
    let part = vec![0; limits::INTERCEPT_LOG_BYTES / 2];
    for connection in 1..=40 {
        message(&log, connection, &part, Outcome::Forwarded);
    }
    let state = log.state.lock();
    assert!(state.bytes <= limits::INTERCEPT_TOTAL_LOG_BYTES);
    assert!(!state.connections.contains_key(&7) && state.connections.len() == 39);
    assert_eq!(state.bytes, state.connections.values().map(|log| log.bytes).sum::<usize>());
}

#[test]
fn a_decision_is_for_a_held_message_of_an_open_connection() {
    let log = log_with(1);
    message(&log, 1, &[0x81, 0], Outcome::Held(4));
    let (version, held) = log.held(0).expect("changed");
    assert!(held.contains("\"id\":4"));
    assert_eq!(log.held(version), None);
    log.side_ended(1, Side::Client);
    let (_, held) = log.held(version).expect("changed");
    assert!(held.contains(r#""has_left":["client"]"#), "{held}");
    let decide = |id| PageCommand::Decide(id, Decision::Forward);
    assert_eq!(log.request(1, decide(5)), Err("the message is not held any more"));
    assert_eq!(log.request(1, decide(4)), Ok(()));
    assert_eq!(log.request(1, decide(4)), Err("the message is not held any more"));
    assert_eq!(log.take_commands(1).len(), 1);
    log.record_end(1, "over");
    assert_eq!(log.request(1, decide(4)), Err("no such connection is open"));
}
