//! Every row of bad input against a live server: heads, frames, MessagePack, each whole, byte by byte and at places that a seed
//! chooses. The bytes of the answer are what the row says, and after each row a second client, connected all along, is served.
//!
//! `TICKWIRE_ROWS_SEED` runs the places of a failure again.

#![allow(clippy::print_stdout, reason = "each table says how many rows it ran")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tickwire::internal::games::moo::bot::received::ServerPacket;
use tickwire::internal::games::moo::client_packet::{ClientPacket, Mode};
use tickwire::internal::server::net::ServerHandle;
use tickwire::internal::testing::abuse::client::MooTestClient;
use tickwire::packet::{Direction, PacketTables};

use crate::rows::heads::ALLOWED;
use crate::rows::pieces;
use crate::rows_answers::{Ask, asks};
use crate::rows_wire::{Answer, send};
use crate::support::{PATIENCE, server_with};

/// Connections at once, each with a second client beside it.
const LANES: usize = 4;

/// A client that was connected all along.
struct Second {
    talk: MooTestClient,
    asked: u32,
}

impl Second {
    fn join(server: SocketAddr) -> Second {
        let url = format!("ws://{server}/play").parse().expect("a URL");
        let native = PacketTables::builtin().dialect("native").expect("built in");
        let mut talk = MooTestClient::connect(&url, None, native).expect("the upgrade");
        let hello = ClientPacket::Hello { version: 1, mode: Mode::Spectate, name: None, skin: None };
        talk.send_packet(&hello).expect("sent");
        Second { talk, asked: 0 }
    }

    /// Asks, and gets its answer.
    fn is_served(&mut self, after: &str) {
        self.asked += 1;
        let asked = Some(self.asked);
        self.talk
            .send_packet(&ClientPacket::Ping { nonce: asked })
            .unwrap_or_else(|error| panic!("{after}: {error}"));
        let is_pong =
            |heard: &ServerPacket| matches!(heard, ServerPacket::Pong { nonce, .. } if *nonce == asked);
        self.talk.receive_until(PATIENCE, is_pong).unwrap_or_else(|error| panic!("{after}: {error}"));
    }
}

/// What the server is expected to have counted.
#[derive(Default)]
struct Counts {
    /// By the name of the counter and its rule.
    lines: Mutex<BTreeMap<(&'static str, &'static str), usize>>,
    sent: AtomicUsize,
}

impl Counts {
    fn add(&self, answer: &Answer) {
        let mut lines = self.lines.lock().expect("no lane panicked");
        for (counter, rule, times) in answer.counted() {
            *lines.entry((counter, rule)).or_default() += times;
        }
        self.sent.fetch_add(1, Ordering::Relaxed);
    }

    /// The server counted the same, rule by rule.
    fn assert_counted(&self, server: &ServerHandle) {
        let text = server.metrics_text();
        for ((counter, rule), times) in self.lines.lock().expect("no lane panicked").iter() {
            let line = format!("tickwire_{counter}_total{{rule=\"{rule}\"}} {times}");
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}

/// Takes asks off the list until none is left.
fn run_lane(server: SocketAddr, asks: &[Ask], next: &AtomicUsize, seed: u64, counts: &Counts) {
    let mut second = Second::join(server);
    while let Some(ask) = asks.get(next.fetch_add(1, Ordering::Relaxed)) {
        for (how, pieces) in pieces::ways(&ask.bytes, seed) {
            let heard = send(server, &ask.before, &pieces, &ask.after);
            ask.answer.check(&heard, &format!("{}, {how}", ask.name));
            counts.add(&ask.answer);
        }
        second.is_served(&ask.name);
    }
}

#[test]
fn every_row_is_answered_and_a_second_client_is_served_all_along() {
    let server = server_with(|config| {
        config.allowed_origins = vec![ALLOWED.to_owned()];
        // Each row connects several times, all from one address.
        config.address_rate_limits = false;
    });
    let (address, seed) = (server.address(), pieces::seed());
    println!("seed {seed}");
    let tables = asks();
    let counts = Counts::default();
    for (table, asks) in &tables {
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..LANES {
                scope.spawn(|| run_lane(address, asks, &next, seed, &counts));
            }
        });
        println!("{} {table}", asks.len());
    }
    println!("{} connections", counts.sent.load(Ordering::Relaxed));
    counts.assert_counted(&server);
    let text = server.metrics_text();
    assert!(text.lines().any(|line| line == "tickwire_panics_total 0"), "{text}");
    assert_eq!(server.stop(), 0, "a connection was left behind");
}

/// The tables are as long as they have to be, and nothing stands in them twice.
#[test]
fn the_tables_are_long_enough() {
    let tables = asks();
    let rows = |table: &str| tables.iter().find(|(name, _)| *name == table).map_or(0, |(_, asks)| asks.len());
    assert!(rows("request heads") >= 120);
    assert!(rows("sequences of frames") >= 150);
    assert!(rows("MessagePack values") + rows("packets") >= 80);
    let dialects = PacketTables::builtin().dialects().count();
    let packets: usize =
        PacketTables::builtin().dialects().map(|dialect| dialect.rows(Direction::ToServer).count()).sum();
    assert!(rows("lists of wrong types and counts") >= dialects, "{packets} packets");
}

/// A page is the last that a connection is answered: what stands behind the request is not read as another one.
#[test]
fn a_second_request_behind_one_for_a_page_is_not_answered() {
    let server = server_with(|config| config.address_rate_limits = false);
    let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").into_bytes();
    for (first, status) in [("/", "200 OK"), ("/nothing", "404 Not Found")] {
        let alone = send(server.address(), &[], &[&get(first)], &[]);
        assert!(alone.starts_with(format!("HTTP/1.1 {status}\r\nConnection: close\r\n").as_bytes()));
        let both = [get(first), get("/metrics")].concat();
        for (how, pieces) in pieces::ways(&both, pieces::seed()) {
            assert!(send(server.address(), &[], &pieces, &[]) == alone, "{first}, {how}");
        }
    }
    assert_eq!(server.stop(), 0);
}
