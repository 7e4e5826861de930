//! Whole conversations over real sockets, in the order that third-party clients of the MooMoo protocol need.
//!
//! The rows are in `fixtures/conversations.tsv`; their bytes were made by another MessagePack library than ours (see
//! `conversations.py` beside it), and the sockets are spoken to by another WebSocket library than ours.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::support;
use crate::support::{Peer, server_with};

/// One line of a conversation.
struct Step {
    who: String,
    direction: String,
    bytes: Vec<u8>,
    what: String,
}

fn steps(dialect: &str) -> Vec<Step> {
    let rows = include_str!("../fixtures/conversations.tsv")
        .lines()
        .skip(1)
        .map(|row| row.split('\t').collect::<Vec<_>>());
    rows.filter(|row| row[0] == dialect)
        .map(|row| Step {
            who: row[1].to_owned(),
            direction: row[2].to_owned(),
            bytes: support::hex(row[3]),
            what: row[4].to_owned(),
        })
        .collect()
}

/// Updates, lists of animals and leaderboards are repeated; they may come before the expected message.
fn is_repeated(message: &[u8], legacy: bool) -> bool {
    let legacy_codes: [&[u8]; 3] = [b"\x92\xa233", b"\x92\xa1a", b"\x92\xa15"];
    let letters: [&[u8]; 3] = [b"\x92\xa1a", b"\x92\xa1I", b"\x92\xa1G"];
    let codes = if legacy { legacy_codes } else { letters };
    codes.iter().any(|code| message.starts_with(code))
}

fn converse(dialect: &str, path: &str) {
    let steps = steps(dialect);
    assert!(steps.len() > 30, "the rows of {dialect} are missing");
    let server = server_with(|config| config.identity.set("map_size_px", 1_440));
    let mut peers: BTreeMap<String, Peer> = BTreeMap::new();
    for (number, step) in steps.iter().enumerate() {
        let place = format!("{dialect}, step {number}: {} {}", step.who, step.what);
        let peer = peers.entry(step.who.clone()).or_insert_with(|| Peer::connect(server.address(), path));
        let asked = Instant::now();
        match (&*step.direction, step.bytes.is_empty()) {
            (">", true) => peer.close(),
            (">", false) => peer.send(&step.bytes),
            (direction, _) => loop {
                assert!(asked.elapsed() < support::PATIENCE, "{place}: it never came");
                let message = peer.receive().unwrap_or_else(|error| panic!("{place}: {error}"));
                let fits =
                    if direction == "<*" { message.starts_with(&step.bytes) } else { message == step.bytes };
                if fits {
                    break;
                }
                assert!(
                    is_repeated(&message, dialect == "legacy"),
                    "{place}\n expected {}\n received {}",
                    support::to_hex(&step.bytes),
                    support::to_hex(&message)
                );
            },
        }
    }
    drop(peers);
    assert_eq!(server.stop(), 0);
}

#[test]
fn legacy_clients_get_packets_in_the_order_that_they_need() {
    converse("legacy", "/");
}

#[test]
fn letters_2023_clients_are_told_in_the_order_they_need() {
    converse("letters-2023", "/server?dialect=letters-2023");
}

#[test]
fn letters_clients_get_packets_in_the_order_that_they_need() {
    converse("letters", "/server");
}
