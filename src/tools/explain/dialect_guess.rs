//! Guesses the dialect of a connection without its upgrade from the messages that decode.
//!
//! The Wireshark dissector (`scripts/wireshark/parts/8-dissect.lua`) uses the same algorithm:
//!
//! 1. A **message** is a complete text or binary message; fragments are joined. Control frames are
//!    no evidence.
//! 2. A dialect **reads** a message if the message is a packet of that dialect and direction: the
//!    table has its code, and its arguments have the right types. Binary messages are decoded as
//!    MessagePack, text messages as JSON.
//! 3. Each message counts for every dialect that reads it, in both directions. A message that no
//!    dialect reads counts for none, so that a broken packet excludes no dialect.
//! 4. The **candidates** are the dialects that read the most messages. Before the first message,
//!    every dialect is a candidate.
//! 5. The **best guess** is the first candidate in the order of `DIALECTS_BY_LIKELIHOOD`. The
//!    format is MessagePack or JSON, whichever more of the read messages use.
//! 6. A dialect that has read [`DIALECT_GUESS_MAX_DEFICIT`](limits::DIALECT_GUESS_MAX_DEFICIT)
//!    messages fewer than the best is no longer tried.
//! 7. A message **reads alike** if all candidates decode it to the same packet with the same
//!    values, or none decodes it. Its content is then certain. Otherwise the explanation uses the
//!    best guess and is marked as a guess.
//!
//! The order of messages matters only for rule 6. Both programs run the cases in
//! `tests/fixtures/dialect_guess.tsv`.

use crate::limits;
use crate::packet::{DecodedPacket, Dialect, Direction, PacketError, PacketTables};
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// Dialects from most to least likely. Dialects of other tables follow, in table order.
pub const DIALECTS_BY_LIKELIHOOD: [&str; 5] = ["native", "letters", "legacy", "letters-2024", "letters-2023"];

/// The dialects of the tables, from most to least likely. They are found by name and not sorted,
/// because a sort takes 10 KB of the WebAssembly.
pub fn by_likelihood(codes: &PacketTables) -> Vec<&Dialect> {
    let all = || codes.dialects().map(|dialect| dialect.as_ref());
    let is_known = |dialect: &&Dialect| DIALECTS_BY_LIKELIHOOD.contains(&dialect.name());
    let known = DIALECTS_BY_LIKELIHOOD.iter();
    let known = known.filter_map(|name| all().find(|dialect| dialect.name() == *name));
    known.chain(all().filter(|dialect| !is_known(dialect))).collect()
}

/// The evidence for the dialect of a connection without its upgrade.
#[derive(Clone, Debug)]
pub struct DialectGuess<'c> {
    /// The dialects still tried, in the order of `DIALECTS_BY_LIKELIHOOD`.
    tried: Vec<Candidate<'c>>,
    /// The number of messages that some dialect read as MessagePack, and as JSON.
    formats: [usize; 2],
    is_final: bool,
}

#[derive(Clone, Copy, Debug)]
struct Candidate<'c> {
    dialect: &'c Dialect,
    /// The number of messages that this dialect read.
    read: usize,
}

impl<'c> DialectGuess<'c> {
    /// Creates a guess with every dialect of the tables, before any message.
    pub fn new(codes: &'c PacketTables) -> DialectGuess<'c> {
        let dialects = by_likelihood(codes).into_iter();
        let tried = dialects.map(|dialect| Candidate { dialect, read: 0 }).collect();
        DialectGuess { tried, formats: [0; 2], is_final: false }
    }

    /// Ignores later messages. Used for the second pass over a connection, after the first has read
    /// all of it.
    pub fn finalized(mut self) -> DialectGuess<'c> {
        let best = self.max_read();
        self.tried.retain(|one| one.read == best);
        self.is_final = true;
        self
    }

    /// Counts a message as evidence.
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

    /// The dialects that read the most messages, in the order of `DIALECTS_BY_LIKELIHOOD`.
    pub fn candidates(&self) -> Vec<&'c Dialect> {
        let best = self.max_read();
        self.tried.iter().filter(|one| one.read == best).map(|one| one.dialect).collect()
    }

    /// Whether no later message can change the guess.
    pub fn is_decided(&self) -> bool {
        self.is_final || self.tried.len() == 1
    }

    /// The dialects still tried: the candidates, and dialects that may become one.
    pub fn remaining_candidates(&self) -> Vec<&'c Dialect> {
        self.tried.iter().map(|one| one.dialect).collect()
    }

    /// The best guess; `None` if the tables have no dialect.
    pub fn best(&self) -> Option<&'c Dialect> {
        self.candidates().first().copied()
    }

    /// Whether packets are JSON; `None` before the first read message.
    pub fn is_json(&self) -> Option<bool> {
        let [binary, text] = self.formats;
        (binary + text > 0).then_some(text > binary)
    }

    /// The candidates that decode a message differently from the best guess; empty if all
    /// candidates decode it alike.
    pub fn differing_candidates(&self, from: Side, opcode: Opcode, message: &[u8]) -> Vec<&'c Dialect> {
        let candidates = self.candidates();
        let Some((best, others)) = candidates.split_first().filter(|(_, others)| !others.is_empty()) else {
            return Vec::new();
        };
        let decoded = decode(best, from, opcode, message).and_then(Result::ok);
        let is_other = |other: &&&Dialect| {
            let read = decode(other, from, opcode, message).and_then(Result::ok);
            match (&decoded, &read) {
                (Some(shown), Some(read)) => !is_alike(shown, read),
                (shown, read) => shown.is_some() != read.is_some(),
            }
        };
        others.iter().filter(is_other).copied().collect()
    }

    /// Describes the guess; printed once per connection.
    pub fn describe(&self) -> String {
        let names = join_names(&self.candidates(), "or");
        let format = if self.is_json() == Some(true) { ", as JSON" } else { "" };
        format!("dialect: a guess, {names}{format}")
    }
}

/// Joins the names of dialects with commas, and `word` before the last.
pub fn join_names(dialects: &[&Dialect], word: &str) -> String {
    let names: Vec<&str> = dialects.iter().map(|dialect| dialect.name()).collect();
    match names.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} {word} {last}", before.join(", ")),
        _ => names.concat(),
    }
}

/// Decodes a message in a dialect; `None` if frames of this opcode carry no packets.
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

/// Whether two dialects decode to the same packet: equal name, arguments and values.
fn is_alike(one: &DecodedPacket<'_>, other: &DecodedPacket<'_>) -> bool {
    one.row.name == other.row.name && one.row.arguments == other.row.arguments && one.values == other.values
}
