//! Guesses the dialect of a connection whose upgrade was not seen, from the messages that decode.
//!
//! The algorithm is shared with the Wireshark dissector (`scripts/wireshark/parts/8-dissect.lua`):
//!
//! 1. A **message** is whole: a text or a binary frame, or its fragments joined. Control frames are
//!    no evidence.
//! 2. A dialect **reads** a message if it is a packet of that dialect in that direction: its code
//!    is in the table and its arguments have the right types. A binary message is read as
//!    MessagePack, a text message as JSON.
//! 3. Each message of either side counts for every dialect that reads it. A message that no dialect
//!    reads counts for none, so that a broken packet rules out no dialect.
//! 4. The **candidates** are the dialects that read the most messages. Until a message is read,
//!    every dialect is a candidate.
//! 5. The **best guess** is the first of the candidates in the order of [`LIKELY`]. The format is
//!    that of most messages that were read.
//! 6. A dialect that has read [`DIALECT_GUESS_MAX_DEFICIT`](limits::DIALECT_GUESS_MAX_DEFICIT) messages fewer
//!    than the best is no longer tried.
//! 7. A message **reads alike** if all candidates read it as the same packet with the same values,
//!    or none of them reads it. Its content is then certain. Otherwise the best guess is shown, and
//!    marked as a guess.
//!
//! The order of the messages matters only for rule 6. `tests/fixtures/dialect_guess.tsv` has cases
//! that both programs run.

use crate::limits;
use crate::packet::{DecodedPacket, Dialect, Direction, PacketError, PacketTables};
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// The dialects from most to least likely. Dialects of other tables follow in table order.
pub const DIALECTS_BY_LIKELIHOOD: [&str; 5] = ["native", "letters", "legacy", "letters-2024", "letters-2023"];

/// The evidence for the dialect of a connection without its upgrade.
#[derive(Clone, Debug)]
pub struct DialectGuess<'c> {
    /// In the order of [`LIKELY`].
    tried: Vec<Candidate<'c>>,
    /// Messages that some dialect read as MessagePack, and as JSON.
    formats: [usize; 2],
    is_final: bool,
}

#[derive(Clone, Copy, Debug)]
struct Candidate<'c> {
    dialect: &'c Dialect,
    /// Messages that this dialect read.
    read: usize,
}

impl<'c> DialectGuess<'c> {
    /// Every dialect of the tables, before any message.
    pub fn new(codes: &'c PacketTables) -> DialectGuess<'c> {
        let mut tried: Vec<_> =
            codes.dialects().map(|dialect| Candidate { dialect: dialect.as_ref(), read: 0 }).collect();
        let place =
            |one: &Candidate<'_>| DIALECTS_BY_LIKELIHOOD.iter().position(|name| *name == one.dialect.name());
        tried.sort_by_key(|one| place(one).unwrap_or(DIALECTS_BY_LIKELIHOOD.len()));
        DialectGuess { tried, formats: [0; 2], is_final: false }
    }

    /// The same guess, fixed against later messages: for the second pass over a connection that was
    /// read to its end.
    pub fn finalized(mut self) -> DialectGuess<'c> {
        let best = self.max_read();
        self.tried.retain(|one| one.read == best);
        self.is_final = true;
        self
    }

    /// Adds a message as evidence.
    pub fn add_evidence(&mut self, from: Side, opcode: Opcode, message: &[u8]) {
        if self.is_final {
            return;
        }
        let mut is_read = false;
        for one in &mut self.tried {
            if decode(one.dialect, from, opcode, message).is_some_and(|read| read.is_ok()) {
                one.read += 1;
                is_read = true;
            }
        }
        self.formats[usize::from(opcode == Opcode::Text)] += usize::from(is_read);
        let best = self.max_read();
        self.tried.retain(|one| one.read + limits::DIALECT_GUESS_MAX_DEFICIT > best);
    }

    fn max_read(&self) -> usize {
        self.tried.iter().map(|one| one.read).max().unwrap_or_default()
    }

    /// The dialects that read the most messages, the likelier first.
    pub fn candidates(&self) -> Vec<&'c Dialect> {
        let best = self.max_read();
        self.tried.iter().filter(|one| one.read == best).map(|one| one.dialect).collect()
    }

    /// Whether no later message can change the guess.
    pub fn is_decided(&self) -> bool {
        self.is_final || self.tried.len() == 1
    }

    /// The dialects still tried: the candidates and those that may become one.
    pub fn remaining_candidates(&self) -> Vec<&'c Dialect> {
        self.tried.iter().map(|one| one.dialect).collect()
    }

    /// The first candidate; `None` if the tables have no dialect.
    pub fn best(&self) -> Option<&'c Dialect> {
        self.candidates().first().copied()
    }

    /// Whether packets travel as JSON; `None` before a packet was read.
    pub fn is_json(&self) -> Option<bool> {
        let [binary, text] = self.formats;
        (binary + text > 0).then_some(text > binary)
    }

    /// The candidates that read a message differently from the best guess; none if it reads alike.
    pub fn differing_candidates(&self, from: Side, opcode: Opcode, message: &[u8]) -> Vec<&'c Dialect> {
        let candidates = self.candidates();
        let Some((best, others)) = candidates.split_first().filter(|(_, others)| !others.is_empty()) else {
            return Vec::new();
        };
        let shown = decode(best, from, opcode, message).and_then(Result::ok);
        let is_other = |other: &&&Dialect| {
            let read = decode(other, from, opcode, message).and_then(Result::ok);
            match (&shown, &read) {
                (Some(shown), Some(read)) => !is_alike(shown, read),
                (shown, read) => shown.is_some() != read.is_some(),
            }
        };
        others.iter().filter(is_other).copied().collect()
    }

    /// The guess in words, printed once per connection.
    pub fn words(&self) -> String {
        let names = join_names(&self.candidates(), "or");
        let format = if self.is_json() == Some(true) { ", as JSON" } else { "" };
        format!("dialect: a guess, {names}{format}")
    }
}

/// Lists the names of dialects, with a word before the last.
pub fn join_names(dialects: &[&Dialect], word: &str) -> String {
    let names: Vec<&str> = dialects.iter().map(|dialect| dialect.name()).collect();
    match names.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} {word} {last}", before.join(", ")),
        _ => names.concat(),
    }
}

/// A message in a dialect; `None` if its frames carry no packets.
fn decode<'c>(
    dialect: &'c Dialect,
    from: Side,
    opcode: Opcode,
    message: &[u8],
) -> Option<Result<DecodedPacket<'c>, PacketError>> {
    let direction = match from {
        Side::Client => Direction::ToServer,
        Side::Server => Direction::ToClient,
    };
    match opcode {
        Opcode::Binary => Some(dialect.decode(direction, message)),
        Opcode::Text => Some(dialect.decode_json(direction, std::str::from_utf8(message).ok()?)),
        _ => None,
    }
}

/// Whether two dialects read the same packet: equal names, and values of equal names and types.
fn is_alike(one: &DecodedPacket<'_>, other: &DecodedPacket<'_>) -> bool {
    one.row.name == other.row.name && one.row.arguments == other.row.arguments && one.values == other.values
}
