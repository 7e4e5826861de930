//! Which packet a message is: the rows of `rows/packets.rs`, and the generated rows of
//! `rows/wrong.rs`.

#![allow(clippy::print_stdout, reason = "each table says how many rows it ran")]

use crate::rows::packets::{Outcome, ROWS};
use crate::rows::{hex, wrong};
use std::collections::BTreeSet;
use tickwire::internal::games::moo::client_packet::ClientPacket;
use tickwire::packet::{Direction, PacketTables};

#[test]
fn each_row_is_the_packet_that_it_says_or_is_refused_as_it_says() {
    for (what, dialect, bytes, outcome) in ROWS {
        let dialect = PacketTables::builtin().dialect(dialect).expect("built in");
        match (dialect.decode(Direction::ToServer, &hex::bytes(bytes)), *outcome) {
            (Ok(decoded), Outcome::Is(packet)) => assert_eq!(decoded.to_string(), packet, "{what}"),
            (Err(error), Outcome::Drops(rule)) => {
                assert_eq!((error.name(), error.closes_connection()), (rule, false), "{what}")
            }
            (Err(error), Outcome::Closes(rule)) => {
                assert_eq!((error.name(), error.closes_connection()), (rule, true), "{what}")
            }
            (found, expected) => panic!("{what}: {expected:?}, found {found:?}"),
        }
    }
    let names: BTreeSet<&str> = ROWS.iter().map(|row| row.0).collect();
    assert_eq!(names.len(), ROWS.len(), "no two rows of the same name");
    println!("{} packets", ROWS.len());
}

#[test]
fn wrong_types_and_counts_of_every_packet_of_every_dialect() {
    for direction in Direction::ALL {
        let (mut right, mut dropped) = (0, 0);
        for dialect in PacketTables::builtin().dialects() {
            for case in wrong::cases(dialect, direction) {
                match dialect.decode(direction, &case.bytes) {
                    Ok(decoded) => assert!(case.fits, "{}: {decoded}", case.what),
                    Err(error) => {
                        assert!(!case.fits, "{}: {error}", case.what);
                        assert_eq!(error.name(), "wrong_arguments", "{}", case.what);
                    }
                }
                *(if case.fits { &mut right } else { &mut dropped }) += 1;
            }
        }
        println!(
            "{} messages {} with right and {dropped} with wrong types or counts",
            right + dropped,
            direction.name()
        );
        assert!(dropped > right, "{dropped} of {right}");
    }
}

#[test]
fn forgetting_the_keys_is_standing_still() {
    for (dialect, bytes) in [("legacy", &b"\x92\xa3rmd\x90"[..]), ("letters", b"\x92\xa1e\x90")] {
        let dialect = PacketTables::builtin().dialect(dialect).expect("built in");
        let decoded = dialect.decode(Direction::ToServer, bytes).expect("a packet");
        let stop = ClientPacket::Move { sequence: None, tick: None, direction: None };
        assert_eq!(ClientPacket::from_decoded(&decoded), stop);
    }
}
