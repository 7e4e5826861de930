//! A capture as conversations: every head and frame of every connection, with the packet that
//! completed it.
//!
//! Items are reported in the order of the packets over all connections. A connection without its
//! beginning is read from the first frame that makes sense, and so is a connection after a hole;
//! the bytes before that frame are reported as unread. At most one unfinished message per side is
//! kept.

use core::net::SocketAddr;

use super::Conversation;
use super::explanation::{Explanation, Problem};
use super::guess::Guess;
use crate::capture::{Capture, Connection, End, Hole, Piece};
use crate::packet::{Codes, Dialect};
use crate::ws::Side;

/// A finding in a connection.
#[derive(Debug)]
pub struct Found<'c> {
    /// The connection's number, from 1, in the order in which connections begin.
    pub client: usize,
    /// The packet's number in the file, from 1.
    pub packet: usize,
    /// When it was captured, nanoseconds since 1970.
    pub at_ns: u64,
    /// The finding.
    pub what: What<'c>,
}

/// The kinds of findings.
#[derive(Debug)]
pub enum What<'c> {
    /// The connection begins, or the capture does.
    Begin {
        /// The evidence for the dialect, if the capture has no request that selects it.
        guess: Option<Guess<'c>>,
        /// The end that opened the connection.
        client: SocketAddr,
        /// The end that accepted it.
        server: SocketAddr,
        /// Whether the capture has its beginning.
        is_whole: bool,
    },
    /// A head or a frame.
    Item(Explanation<'c>),
    /// Bytes that one side sent and that the capture lacks.
    Hole(Side, u64),
}

/// The summary of a connection at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Its dialect.
    pub dialect: String,
    /// Whether the dialect is a guess, because the capture has no request that names it.
    pub is_guess: bool,
    /// Frames of the client and of the server.
    pub frames: [usize; 2],
    /// Bytes of the client and of the server, heads included.
    pub bytes: [usize; 2],
    /// Frames and heads that break a rule.
    pub broken: usize,
    /// The number of missing bytes.
    pub missing_bytes: u64,
}

/// A connection being read.
struct Reading<'a, 'c> {
    number: usize,
    connection: &'a Connection<'a>,
    conversation: Conversation<'c>,
    has_begun: bool,
    pieces_left: usize,
    /// Which of its holes have been reported.
    told: Vec<bool>,
    tally: Tally,
}

/// Reads the connections of a capture; all, or one by its number. The dialect is `dialect` if
/// given, else the dialect of the request's path; a connection without a request is read twice, so
/// that its dialect is [guessed](Guess) from all of it. Returns the tallies of all connections
/// read, with their numbers.
pub fn walk<'c>(
    capture: &Capture<'_>,
    codes: &'c Codes,
    (dialect, otherwise): (Option<&'c Dialect>, &'c Dialect),
    only: Option<usize>,
    mut each: impl FnMut(Found<'c>),
) -> Vec<(usize, Tally)> {
    let connections = capture.connections();
    let numbered = connections.iter().enumerate().map(|(index, connection)| (index + 1, connection));
    let wanted = numbered.filter(|(number, _)| only.is_none_or(|only| only == *number));
    let mut readings: Vec<Reading<'_, 'c>> = Vec::new();
    let mut pieces: Vec<(usize, usize, &Piece<'_>)> = Vec::new();
    for (number, connection) in wanted {
        let mut readable = connection.first_packet;
        for piece in &connection.pieces {
            readable = readable.max(piece.packet);
            pieces.push((readable, readings.len(), piece));
        }
        let mut conversation = match dialect {
            Some(dialect) => Conversation::in_dialect(dialect),
            None => Conversation::new(codes, otherwise),
        };
        if let Some(guess) = dialect.map_or_else(|| survey(connection, codes, otherwise), |_| None) {
            conversation.take_guess(guess);
        }
        if !connection.has_begin {
            conversation.begin_midway();
        }
        let (has_begun, pieces_left, tally) = (false, connection.pieces.len(), Tally::default());
        let told = vec![false; connection.holes.len()];
        readings.push(Reading { number, connection, conversation, has_begun, pieces_left, told, tally });
    }
    // Within a connection the pieces are already in order.
    pieces.sort_by_key(|(readable, ..)| *readable);
    for (readable, index, piece) in pieces {
        readings[index].receive(readable, piece, &mut each);
    }
    readings.into_iter().map(|reading| (reading.number, reading.tally)).collect()
}

/// The evidence for a connection's dialect, from everything that the capture has of it; `None` if a
/// request names the dialect.
fn survey<'c>(connection: &Connection<'_>, codes: &'c Codes, otherwise: &'c Dialect) -> Option<Guess<'c>> {
    if connection.has_begin && connection.holes.is_empty() {
        return None;
    }
    let mut conversation = Conversation::new(codes, otherwise);
    if !connection.has_begin {
        conversation.begin_midway();
    }
    for piece in &connection.pieces {
        if piece.hole_before {
            conversation.skip(side(piece.from));
        }
        conversation.receive_each(side(piece.from), piece.bytes, |_| {});
        if conversation.is_settled() {
            return None;
        }
        if conversation.guess().is_some_and(Guess::is_decided) {
            break;
        }
    }
    [Side::Client, Side::Server].into_iter().for_each(|from| drop(conversation.finish(from)));
    conversation.guess().cloned().map(Guess::made_final)
}

fn side(end: End) -> Side {
    match end {
        End::Client => Side::Client,
        End::Server => Side::Server,
    }
}

/// The size of the hole before a piece, which is then marked as reported. Holes are in the order of
/// their packets.
fn hole_before(holes: &[Hole], piece: &Piece<'_>, told: &mut [bool]) -> u64 {
    let first = holes.partition_point(|hole| hole.packet < piece.packet);
    let here = holes.iter().enumerate().skip(first).take_while(|(_, hole)| hole.packet == piece.packet);
    let mut here = here.filter(|(_, hole)| hole.from == piece.from);
    let found = here.find(|(at, _)| !told[*at]);
    found.map_or(0, |(at, hole)| {
        told[at] = true;
        hole.bytes
    })
}

impl<'c> Reading<'_, 'c> {
    fn receive(&mut self, packet: usize, piece: &Piece<'_>, each: &mut impl FnMut(Found<'c>)) {
        let (client, at_ns, from) = (self.number, piece.at_ns, side(piece.from));
        let mut tell = |what| each(Found { client, packet, at_ns, what });
        if !std::mem::replace(&mut self.has_begun, true) {
            let Connection { client, server, has_begin, .. } = *self.connection;
            let guess = self.conversation.guess().cloned();
            tell(What::Begin { guess, client, server, is_whole: has_begin });
        }
        if piece.hole_before {
            let bytes = hole_before(&self.connection.holes, piece, &mut self.told);
            self.conversation.skip(from).into_iter().for_each(|item| self.tally.item(item, &mut tell));
            self.tally.missing_bytes += bytes;
            tell(What::Hole(from, bytes));
        }
        self.conversation.receive_each(from, piece.bytes, |item| self.tally.item(item, &mut tell));
        self.pieces_left -= 1;
        if self.pieces_left == 0 {
            self.end(&mut tell);
        }
        self.conversation.dialect().name().clone_into(&mut self.tally.dialect);
        self.tally.is_guess = self.conversation.guess().is_some();
    }

    /// Reports the leftover bytes, and the holes that nothing follows.
    fn end(&mut self, tell: &mut impl FnMut(What<'c>)) {
        for end in [End::Client, End::Server] {
            for item in self.conversation.finish(side(end)) {
                self.tally.item(item, tell);
            }
            let holes = self.connection.holes.iter().zip(&self.told);
            for (hole, _) in holes.filter(|(hole, is_told)| hole.from == end && !**is_told) {
                self.tally.missing_bytes += hole.bytes;
                tell(What::Hole(side(end), hole.bytes));
            }
        }
    }
}

impl Tally {
    fn item<'c>(&mut self, item: Explanation<'c>, tell: &mut impl FnMut(What<'c>)) {
        let place = usize::from(item.from == Side::Server);
        self.bytes[place] += item.bytes.len();
        self.frames[place] += item.frames.iter().filter(|frame| frame.header.is_some()).count();
        let problems = item.frames.iter().filter_map(|frame| frame.problem.as_ref());
        self.broken += problems.filter(|problem| matches!(problem, Problem::Broken { .. })).count();
        tell(What::Item(item));
    }
}
