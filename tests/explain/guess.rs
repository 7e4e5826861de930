//! Guessing the dialect of a connection without its upgrade: the table of cases that the Wireshark
//! dissector also runs.

use tickwire::internal::tools::explain::dialect_guess::{DIALECTS_BY_LIKELIHOOD, DialectGuess};
use tickwire::packet::{Dialect, Direction, PacketTables};
use tickwire::ws::Side;
use tickwire::ws::frame::Opcode;

use crate::rows::hex;

const CASES: &str = include_str!("../fixtures/dialect_guess.tsv");

struct Case {
    name: &'static str,
    messages: Vec<(Side, Opcode, Vec<u8>)>,
    /// Candidates, verdict, format, packets.
    expected: [String; 4],
}

fn cases() -> Vec<Case> {
    let mut rows = CASES.lines().filter(|line| !line.starts_with('#'));
    assert_eq!(rows.next(), Some("name\tmessages\tcandidates\tverdict\tformat\tpackets"));
    rows.map(|row| {
        let [name, messages, expected @ ..] = &row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let expected = expected.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let expected = expected.try_into().unwrap_or_else(|_| panic!("six cells: {row}"));
        Case { name, messages: messages.split(' ').map(message).collect(), expected }
    })
    .collect()
}

fn message(text: &str) -> (Side, Opcode, Vec<u8>) {
    let (head, bytes) = text.split_once(':').expect("a colon before the bytes");
    let (side, opcode) = head.split_at(1);
    let side = if side == ">" { Side::Client } else { Side::Server };
    let opcode = if opcode == "text" { Opcode::Text } else { Opcode::Binary };
    (side, opcode, hex::bytes(bytes))
}

fn names(dialects: &[&Dialect]) -> String {
    dialects.iter().map(|dialect| dialect.name()).collect::<Vec<_>>().join(",")
}

/// The packet's name in a dialect, or `-`.
fn packet(dialect: &Dialect, (from, opcode, bytes): &(Side, Opcode, Vec<u8>)) -> String {
    let direction = if *from == Side::Client { Direction::ToServer } else { Direction::ToClient };
    let decoded = match opcode {
        Opcode::Text => dialect.decode_json(direction, std::str::from_utf8(bytes).expect("text")),
        _ => dialect.decode(direction, bytes),
    };
    decoded.map_or("-".to_owned(), |decoded| decoded.row.name.clone())
}

#[test]
fn each_case_of_the_table_that_the_dissector_shares_has_its_candidates_and_verdict() {
    let codes = PacketTables::builtin();
    let mut wrong = Vec::new();
    for Case { name, messages, expected } in cases() {
        let mut guess = DialectGuess::new(&codes);
        for (from, opcode, bytes) in &messages {
            guess.add_evidence(*from, *opcode, bytes);
        }
        let best = guess.best().expect("the tables have dialects");
        let packets: Vec<String> = messages
            .iter()
            .map(|message| {
                let is_sure = guess.differing_candidates(message.0, message.1, &message.2).is_empty();
                packet(best, message) + if is_sure { "" } else { "?" }
            })
            .collect();
        let format = guess.is_json().map_or("-", |json| if json { "JSON" } else { "MessagePack" });
        let found =
            [names(&guess.candidates()), best.name().to_owned(), format.to_owned(), packets.join(" ")];
        if found != expected {
            wrong.push(format!("{name}:\n  {found:?}\n  not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_order_of_the_messages_does_not_change_the_candidates() {
    let codes = PacketTables::builtin();
    for Case { name, mut messages, expected } in cases() {
        messages.reverse();
        let mut guess = DialectGuess::new(&codes);
        messages.iter().for_each(|(from, opcode, bytes)| guess.add_evidence(*from, *opcode, bytes));
        assert_eq!(names(&guess.candidates()), expected[0], "{name}");
    }
}

#[test]
fn every_dialect_of_the_tables_has_its_place_in_the_order_of_likelihood() {
    let codes = PacketTables::builtin();
    let known: Vec<&str> = codes.dialects().map(|dialect| dialect.name()).collect();
    assert_eq!(known.len(), DIALECTS_BY_LIKELIHOOD.len());
    assert!(DIALECTS_BY_LIKELIHOOD.iter().all(|name| known.contains(name)), "{known:?}");
}

#[test]
fn the_guess_in_words_names_every_candidate_and_the_format() {
    let codes = PacketTables::builtin();
    for (message, words) in [
        ("<binary:92a1319107", "dialect: a guess, legacy"),
        ("<binary:92a1439107", "dialect: a guess, letters, letters-2024 or letters-2023"),
        (">text:5b2239222c5b312e355d5d", "dialect: a guess, letters or legacy, as JSON"),
    ] {
        let mut guess = DialectGuess::new(&codes);
        let (from, opcode, bytes) = self::message(message);
        guess.add_evidence(from, opcode, &bytes);
        assert_eq!(guess.describe(), words);
    }
}

#[test]
fn a_final_guess_is_not_changed_by_what_comes_after() {
    let codes = PacketTables::builtin();
    let (from, opcode, bytes) = message("<binary:92a1319107");
    let mut guess = DialectGuess::new(&codes);
    guess.add_evidence(from, opcode, &bytes);
    let mut guess = guess.finalized();
    let (from, opcode, bytes) = message("<binary:92a1439107");
    (0..3).for_each(|_| guess.add_evidence(from, opcode, &bytes));
    assert_eq!(names(&guess.candidates()), "legacy");
}
