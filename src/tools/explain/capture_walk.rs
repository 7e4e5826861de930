//! A capture as conversations: every head and frame of every connection, with the packet that
//! completed it.
//!
//! Items are reported in the order of the packets over all connections. A connection without its
//! beginning is read from the first frame that makes sense, and so is a connection after a hole;
//! the bytes before that frame are reported as unread. At most one unfinished message per side is
//! kept.

use core::net::SocketAddr;
use std::sync::Arc;

use super::Conversation;
use super::dialect_guess::DialectGuess;
use super::explanation::{Explanation, Problem};
use crate::packet::{Dialect, PacketTables};
use crate::tools::capture::{self, Capture, Gap, StreamPiece, TcpConnection, TcpSide, packet};
use crate::util::plural::count_noun;
use crate::ws::Side;

/// A finding in a connection.
#[derive(Debug)]
pub struct CaptureItem<'c> {
    /// The connection's number, from 1, in the order in which connections begin.
    pub client: usize,
    /// The packet's number in the file, from 1.
    pub packet: usize,
    /// When it was captured, nanoseconds since 1970.
    pub at_ns: u64,
    /// The finding.
    pub what: CaptureItemKind<'c>,
}

/// The kinds of findings.
#[derive(Debug)]
pub enum CaptureItemKind<'c> {
    /// The connection begins, or the capture does.
    Begin {
        /// The evidence for the dialect, if the capture has no request that selects it.
        guess: Option<DialectGuess<'c>>,
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
pub struct ConnectionSummary {
    /// Its dialect; empty if the connection is not one of tickwire.
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

/// The packet tables by which a capture is read: [its own](PacketTables::for_capture) if it carries any, with
/// the paths of its rooms. Tables of which the capture left out a part are not used.
///
/// # Errors
/// One line: the tables cannot be used, or others were given.
pub fn codes(capture: &Capture<'_>, given: Option<Arc<PacketTables>>) -> Result<Arc<PacketTables>, String> {
    let tables = if capture.has_truncated_tables() { None } else { capture.tables()? };
    let (codes, paths) = (PacketTables::for_capture(tables, given)?, capture.paths());
    if paths.is_empty() {
        return Ok(codes);
    }
    Ok(Arc::new(Arc::unwrap_or_clone(codes).with_room_paths(paths)))
}

/// A connection being read, piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionReader<'c> {
    number: usize,
    ends: [SocketAddr; 2],
    is_whole: bool,
    holes: Vec<Gap>,
    conversation: Conversation<'c>,
    has_begun: bool,
    pieces_left: usize,
    /// Which of its holes have been reported.
    reported_gaps: Vec<bool>,
    tally: ConnectionSummary,
}

/// Reads the [connections](Capture::connections) of a capture; all, or one by its number. The dialect is `dialect` if
/// given, else the dialect of the request's path; a connection without a request is read twice, so
/// that its dialect is [guessed](DialectGuess) from all of it. Returns the tallies of all connections
/// read, with their numbers.
pub fn walk<'c>(
    connections: &[TcpConnection<'_>],
    codes: &'c PacketTables,
    (dialect, otherwise): (Option<&'c Dialect>, &'c Dialect),
    only: Option<usize>,
    mut each: impl FnMut(CaptureItem<'c>),
) -> Vec<(usize, ConnectionSummary)> {
    let numbered = connections.iter().enumerate().map(|(index, connection)| (index + 1, connection));
    let wanted = numbered.filter(|(number, _)| only.is_none_or(|only| only == *number));
    let (numbers, wanted): (Vec<_>, Vec<_>) = wanted.unzip();
    let begin = |(number, connection): (&usize, &&TcpConnection<'_>)| {
        let conversation = match dialect {
            Some(dialect) => midway(connection, Conversation::in_dialect(dialect)),
            None => conversation(connection, connection.pieces.iter().copied(), codes, otherwise),
        };
        ConnectionReader::new(*number, connection, conversation)
    };
    let mut readings: Vec<ConnectionReader<'c>> = numbers.iter().zip(&wanted).map(begin).collect();
    for (readable, index, at) in order(wanted.iter().copied()) {
        readings[index].receive(readable, &wanted[index].pieces[at], &mut each);
    }
    readings.into_iter().map(|reading| (reading.number, reading.tally)).collect()
}

/// The pieces of connections in the order in which they could be read: each as the packet after
/// which it could, the index of its connection, and its index there.
pub(crate) fn order<'a, 'b: 'a>(
    connections: impl Iterator<Item = &'a TcpConnection<'b>>,
) -> Vec<(usize, usize, usize)> {
    let mut order = Vec::new();
    for (index, connection) in connections.enumerate() {
        let mut readable = connection.first_packet;
        for (at, piece) in connection.pieces.iter().enumerate() {
            readable = readable_after(readable, piece);
            order.push((readable, index, at));
        }
    }
    // Within a connection the pieces are already in order.
    order.sort_by_key(|(readable, ..)| *readable);
    order
}

/// The packet after which a piece could be read. `before` is the same number of the previous piece,
/// or the first packet of the connection.
pub(crate) fn readable_after(before: usize, piece: &StreamPiece<'_>) -> usize {
    before.max(piece.packet)
}

/// The conversation of a connection before its first piece, in the dialect that its request will
/// name, or that is guessed from all of its pieces. Of `connection` only the beginning and the holes
/// are used.
pub(crate) fn conversation<'a, 'c>(
    connection: &TcpConnection<'_>,
    pieces: impl Iterator<Item = StreamPiece<'a>>,
    codes: &'c PacketTables,
    otherwise: &'c Dialect,
) -> Conversation<'c> {
    let mut survey = Survey::new(connection, codes, otherwise);
    if let Some(survey) = &mut survey {
        let _ = pieces.into_iter().find(|piece| survey.receive(piece));
    }
    conversation_with(connection, survey.and_then(Survey::finish), codes, otherwise)
}

/// The conversation of a connection, with the result of a [`Survey`].
pub(crate) fn conversation_with<'c>(
    connection: &TcpConnection<'_>,
    guess: Option<DialectGuess<'c>>,
    codes: &'c PacketTables,
    otherwise: &'c Dialect,
) -> Conversation<'c> {
    let mut conversation = Conversation::new(codes, otherwise);
    guess.into_iter().for_each(|guess| conversation.take_guess(guess));
    midway(connection, conversation)
}

fn midway<'c>(connection: &TcpConnection<'_>, mut conversation: Conversation<'c>) -> Conversation<'c> {
    if !connection.has_begin {
        conversation.begin_midway();
    }
    conversation
}

/// Collects the evidence for a connection's dialect, piece by piece.
#[derive(Debug)]
pub(crate) struct Survey<'c> {
    conversation: Conversation<'c>,
    /// Pieces received.
    read: usize,
}

impl<'c> Survey<'c> {
    /// Begins before the first piece; `None` if the connection needs no guess.
    pub fn new(
        connection: &TcpConnection<'_>,
        codes: &'c PacketTables,
        otherwise: &'c Dialect,
    ) -> Option<Survey<'c>> {
        let is_needed = !connection.has_begin || !connection.holes.is_empty();
        is_needed.then(|| {
            let mut conversation = midway(connection, Conversation::new(codes, otherwise));
            conversation.be_brief(true);
            Survey { conversation, read: 0 }
        })
    }

    /// The number of pieces received.
    pub fn read(&self) -> usize {
        self.read
    }

    /// Receives the next piece; returns whether later ones cannot change the result.
    pub fn receive(&mut self, piece: &StreamPiece<'_>) -> bool {
        self.read += 1;
        let (conversation, from) = (&mut self.conversation, side(piece.from));
        if piece.hole_before {
            conversation.skip(from);
        }
        conversation.receive_each(from, piece.bytes, |_| {});
        conversation.is_settled() || conversation.guess().is_some_and(DialectGuess::is_decided)
    }

    /// The guess; `None` if a request names the dialect.
    pub fn finish(self) -> Option<DialectGuess<'c>> {
        let mut conversation = self.conversation;
        if conversation.is_settled() {
            return None;
        }
        [Side::Client, Side::Server].into_iter().for_each(|from| drop(conversation.finish(from)));
        conversation.guess().cloned().map(DialectGuess::made_final)
    }
}

/// The items that a piece completes, without the holes between: what [`ConnectionReader::receive`] reports of
/// them.
pub(crate) fn items<'c>(
    conversation: &mut Conversation<'c>,
    piece: &StreamPiece<'_>,
    is_last: bool,
    mut each: impl FnMut(Explanation<'c>),
) {
    let from = side(piece.from);
    if piece.hole_before {
        conversation.skip(from).into_iter().for_each(&mut each);
    }
    conversation.receive_each(from, piece.bytes, &mut each);
    if is_last {
        let ends = [Side::Client, Side::Server].into_iter();
        ends.flat_map(|from| conversation.finish(from)).for_each(each);
    }
}

/// Words about the packets that are not read, with the supported link types if the capture has another one.
pub(crate) fn with_links(mut words: String, capture: &Capture<'_>) -> String {
    if capture.packets.iter().any(|packet| !packet::is_read(packet.link)) {
        words += " (of the link types, only Ethernet, Linux cooked, loopback and raw IP are supported)";
    }
    words
}

/// How much of the packets was left out when they were captured, in words; `None` if they are whole.
pub(crate) fn truncated(capture: &Capture<'_>) -> Option<String> {
    let missing = |packet: &capture::Packet<'_>| packet.whole_bytes.saturating_sub(packet.bytes.len());
    let (packets, bytes) = capture
        .packets
        .iter()
        .map(missing)
        .filter(|missing| *missing > 0)
        .fold((0, 0), |(packets, bytes), missing| (packets + 1, bytes + missing));
    (packets > 0).then(|| {
        let (packets, all, bytes) =
            (packets, count_noun(capture.packets.len(), "packet"), count_noun(bytes, "byte"));
        let own = if capture.has_truncated_tables() {
            "; the packet tables in it are not complete, so others are used"
        } else {
            ""
        };
        format!("{packets} of {all} truncated by the capture (snapshot length): {bytes} missing{own}")
    })
}

/// The end of a file in the middle of a block, in words; `None` if the file is whole.
pub(crate) fn cut(capture: &Capture<'_>) -> Option<String> {
    capture.cut_at.map(|offset| format!("the file ends in the middle of the block at byte {offset}"))
}

/// The side that an end is.
pub(crate) fn side(end: TcpSide) -> Side {
    match end {
        TcpSide::Client => Side::Client,
        TcpSide::Server => Side::Server,
    }
}

/// The size of the hole before a piece, which is then marked as reported. Holes are in the order of
/// their packets.
fn hole_before(holes: &[Gap], piece: &StreamPiece<'_>, told: &mut [bool]) -> u64 {
    let first = holes.partition_point(|hole| hole.packet < piece.packet);
    let here = holes.iter().enumerate().skip(first).take_while(|(_, hole)| hole.packet == piece.packet);
    let mut here = here.filter(|(_, hole)| hole.from == piece.from);
    let found = here.find(|(at, _)| !told[*at]);
    found.map_or(0, |(at, hole)| {
        told[at] = true;
        hole.bytes
    })
}

impl<'c> ConnectionReader<'c> {
    /// Starts at the first byte of the connection with this number.
    pub fn new(
        number: usize,
        connection: &TcpConnection<'_>,
        conversation: Conversation<'c>,
    ) -> ConnectionReader<'c> {
        let (ends, is_whole) = ([connection.client, connection.server], connection.has_begin);
        let (holes, told) = (connection.holes.clone(), vec![false; connection.holes.len()]);
        let (has_begun, pieces_left, tally) = (false, connection.pieces.len(), ConnectionSummary::default());
        ConnectionReader {
            number,
            ends,
            is_whole,
            holes,
            conversation,
            has_begun,
            pieces_left,
            reported_gaps: told,
            tally,
        }
    }

    /// The conversation so far.
    pub fn conversation(&mut self) -> &mut Conversation<'c> {
        &mut self.conversation
    }

    /// The summary so far.
    pub fn tally(&self) -> &ConnectionSummary {
        &self.tally
    }

    /// Reports what a piece completes, which could be read after this packet.
    pub fn receive(
        &mut self,
        packet: usize,
        piece: &StreamPiece<'_>,
        each: &mut impl FnMut(CaptureItem<'c>),
    ) {
        let (client, at_ns, from) = (self.number, piece.at_ns, side(piece.from));
        let mut tell = |what| each(CaptureItem { client, packet, at_ns, what });
        if !std::mem::replace(&mut self.has_begun, true) {
            let ([client, server], is_whole) = (self.ends, self.is_whole);
            let guess = self.conversation.guess().cloned();
            tell(CaptureItemKind::Begin { guess, client, server, is_whole });
        }
        if piece.hole_before {
            let bytes = hole_before(&self.holes, piece, &mut self.reported_gaps);
            self.conversation.skip(from).into_iter().for_each(|item| self.tally.item(item, &mut tell));
            self.tally.missing_bytes += bytes;
            tell(CaptureItemKind::Hole(from, bytes));
        }
        self.conversation.receive_each(from, piece.bytes, |item| self.tally.item(item, &mut tell));
        self.pieces_left -= 1;
        if self.pieces_left == 0 {
            self.end(&mut tell);
        }
        let is_foreign = self.conversation.is_foreign();
        let dialect = if is_foreign { "" } else { self.conversation.dialect().name() };
        dialect.clone_into(&mut self.tally.dialect);
        self.tally.is_guess = self.conversation.guess().is_some();
    }

    /// Reports the leftover bytes, and the holes that nothing follows.
    fn end(&mut self, tell: &mut impl FnMut(CaptureItemKind<'c>)) {
        for end in [TcpSide::Client, TcpSide::Server] {
            for item in self.conversation.finish(side(end)) {
                self.tally.item(item, tell);
            }
            let holes = self.holes.iter().zip(&self.reported_gaps);
            for (hole, _) in holes.filter(|(hole, is_told)| hole.from == end && !**is_told) {
                self.tally.missing_bytes += hole.bytes;
                tell(CaptureItemKind::Hole(side(end), hole.bytes));
            }
        }
    }
}

impl ConnectionSummary {
    fn item<'c>(&mut self, item: Explanation<'c>, tell: &mut impl FnMut(CaptureItemKind<'c>)) {
        let place = usize::from(item.from == Side::Server);
        self.bytes[place] += item.bytes.len();
        self.frames[place] += item.frames.iter().filter(|frame| frame.header.is_some()).count();
        let problems = item.frames.iter().filter_map(|frame| frame.problem.as_ref());
        self.broken += problems.filter(|problem| matches!(problem, Problem::Broken { .. })).count();
        tell(CaptureItemKind::Item(item));
    }
}
