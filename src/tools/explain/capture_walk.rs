//! Explains a capture: every HTTP head and frame of every connection, with the number of the packet
//! that completed it.
//!
//! Items of all connections are reported in packet order. In a connection without its beginning,
//! and after a gap, explaining starts at the first plausible frame; the bytes before it are
//! reported as unread. At most one unfinished message per side is stored.

use core::net::SocketAddr;
use std::sync::Arc;

use super::Conversation;
use super::dialect_choice::DialectChoice;
use super::dialect_guess::DialectGuess;
use super::explanation::{Explanation, Problem};
use super::parse::datagram;
pub(crate) use super::parse::payload::Detail;
use crate::packet::{Dialect, PacketTables, TableError};
use crate::tools::capture::lane_packet::{self, LaneDatagram};
use crate::tools::capture::{self, Capture, Gap, StreamPiece, TcpConnection, TcpSide, packet};
use crate::util::plural::count_noun;
use crate::ws::Side;

/// The beginning, a head, a frame or a gap of one connection.
#[derive(Debug)]
#[non_exhaustive]
pub struct CaptureItem<'c> {
    /// The connection's number, from 1, in order of first packets.
    pub client: usize,
    /// The number in the file of the packet that completed the item, from 1.
    pub packet: usize,
    /// Time of capture, in nanoseconds since 1970.
    pub at_ns: u64,
    /// The content of the item.
    pub what: CaptureItemKind<'c>,
}

/// An opened datagram of a lane.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct CapturedDatagram<'a> {
    /// The number of its packet, from 1.
    pub packet: usize,
    /// Time of capture, in nanoseconds since 1970.
    pub at_ns: u64,
    /// The sender.
    pub from: Side,
    /// The client's end of the connection to which the lane belongs.
    pub connection: SocketAddr,
    /// The header and the messages.
    pub bytes: &'a [u8],
}

/// The opened datagrams of a capture, in order.
pub fn datagrams<'a>(capture: &Capture<'a>) -> Vec<CapturedDatagram<'a>> {
    capture.packets.iter().filter_map(captured_datagram).collect()
}

/// Returns the opened datagram in a packet, if any.
pub(crate) fn captured_datagram<'a>(packet: &capture::Packet<'a>) -> Option<CapturedDatagram<'a>> {
    let LaneDatagram { connection, bytes, .. } = lane_packet::decode(packet)?;
    let from = if packet.inbound == Some(true) { Side::Client } else { Side::Server };
    Some(CapturedDatagram { packet: packet.number, at_ns: packet.at_ns, from, connection, bytes })
}

/// The content of a [`CaptureItem`].
#[derive(Debug)]
pub enum CaptureItemKind<'c> {
    /// The beginning of the connection, or of its captured part if the capture starts later.
    Begin {
        /// The evidence for the dialect, if no captured request selects it.
        guess: Option<DialectGuess<'c>>,
        /// The address of the end that opened the connection.
        client: SocketAddr,
        /// The address of the end that accepted the connection.
        server: SocketAddr,
        /// Whether the capture includes the beginning of the connection.
        is_whole: bool,
    },
    /// A head, a frame or a datagram.
    Item(Explanation<'c>),
    /// A gap: the sender of the missing bytes, and their number.
    Gap(Side, u64),
}

/// Totals of one connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionSummary {
    /// The dialect's name; empty if the connection uses another protocol than tickwire's.
    pub dialect: String,
    /// Whether the dialect is a guess, because no captured request selects it.
    pub is_guess: bool,
    /// Frames sent by the client and by the server.
    pub frames: [usize; 2],
    /// Bytes sent by the client and by the server, including heads.
    pub bytes: [usize; 2],
    /// Datagrams sent by the client and by the server.
    pub datagrams: [usize; 2],
    /// The number of frames and heads that break a rule.
    pub broken: usize,
    /// The number of bytes missing from the capture.
    pub missing_bytes: u64,
}

/// Returns the packet tables for a capture: [its own](PacketTables::for_capture) if it has complete
/// ones, otherwise `given` or the built-in tables. The paths of the captured rooms are added.
///
/// # Errors
/// A message in one line: the capture's tables are invalid, or differ from `given`.
pub fn capture_tables(
    capture: &Capture<'_>,
    given: Option<Arc<PacketTables>>,
) -> Result<Arc<PacketTables>, TableError> {
    let carried = || capture.tables().map_err(|error| TableError::Capture(error.to_string()));
    let tables = if capture.has_truncated_tables() { None } else { carried()? };
    let (codes, paths) = (PacketTables::for_capture(tables, given)?, capture.paths());
    if paths.is_empty() {
        return Ok(codes);
    }
    Ok(Arc::new(Arc::unwrap_or_clone(codes).with_room_paths(paths)))
}

/// Explains one connection piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionReader<'c> {
    number: usize,
    ends: [SocketAddr; 2],
    is_whole: bool,
    gaps: Vec<Gap>,
    conversation: Conversation<'c>,
    has_begun: bool,
    pieces_left: usize,
    /// For each gap, whether it has been reported.
    reported_gaps: Vec<bool>,
    tally: ConnectionSummary,
}

/// Explains the [connections](Capture::connections) of a capture and their [`datagrams`]: all, or
/// only number `only`. If
/// `dialect` is `None`, the path of the request selects the dialect; the default is `otherwise`. A
/// connection without a request is then read twice, because its dialect is [guessed](DialectGuess)
/// from all its messages. Returns the totals of each connection, with its number.
pub fn walk<'c>(
    (connections, datagrams): (&[TcpConnection<'_>], &[CapturedDatagram<'_>]),
    codes: &'c PacketTables,
    (dialect, otherwise): (Option<&'c Dialect>, &'c Dialect),
    only: Option<usize>,
    each: impl FnMut(CaptureItem<'c>),
) -> Vec<(usize, ConnectionSummary)> {
    let choice = dialect.map_or(DialectChoice::FromPath(otherwise), DialectChoice::Fixed);
    walk_in_detail((connections, datagrams), codes, choice, (only, Detail::Tree), each)
}

/// Like [`walk`], also without packets, with the detail in which payloads are explained.
pub(crate) fn walk_in_detail<'c>(
    (connections, datagrams): (&[TcpConnection<'_>], &[CapturedDatagram<'_>]),
    codes: &'c PacketTables,
    choice: DialectChoice<'c>,
    (only, detail): (Option<usize>, Detail),
    mut each: impl FnMut(CaptureItem<'c>),
) -> Vec<(usize, ConnectionSummary)> {
    let numbered = connections.iter().enumerate().map(|(index, connection)| (index + 1, connection));
    let wanted = numbered.filter(|(number, _)| only.is_none_or(|only| only == *number));
    let (numbers, wanted): (Vec<_>, Vec<_>) = wanted.unzip();
    let begin = |(number, connection): (&usize, &&TcpConnection<'_>)| {
        let mut conversation = match choice {
            DialectChoice::FromPath(otherwise) => {
                conversation(connection, connection.pieces.iter().copied(), codes, otherwise)
            }
            fixed => start_midstream(connection, fixed.conversation(codes)),
        };
        conversation.set_detail(detail);
        ConnectionReader::new(*number, connection, conversation)
    };
    let mut readings: Vec<ConnectionReader<'c>> = numbers.iter().zip(&wanted).map(begin).collect();
    let mut datagrams = datagrams.iter().peekable();
    let mut explain_before = |packet: usize, readings: &mut [ConnectionReader<'c>], each: &mut _| {
        while let Some(datagram) = datagrams.next_if(|datagram| datagram.packet < packet) {
            let is_its = |(_, one): &(usize, &&TcpConnection<'_>)| {
                one.client == datagram.connection && one.first_packet < datagram.packet
            };
            // A later connection may have the same address.
            if let Some((index, _)) = wanted.iter().enumerate().rfind(is_its) {
                readings[index].receive_datagram(datagram, each);
            }
        }
    };
    for (readable, index, at) in order(wanted.iter().copied()) {
        explain_before(readable, &mut readings, &mut each);
        readings[index].receive(readable, &wanted[index].pieces[at], &mut each);
    }
    explain_before(usize::MAX, &mut readings, &mut each);
    readings.into_iter().map(|reading| (reading.number, reading.tally)).collect()
}

/// Returns the pieces of all connections in the order in which their receivers could read them.
/// Each has the number of the packet that made the piece readable, the index of the connection, and
/// the index of the piece in the connection.
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
    // A stable sort keeps the order within a connection.
    order.sort_by_key(|(readable, ..)| *readable);
    order
}

/// The packet after which a piece could be read. `before` is the result for the previous piece, or
/// the first packet of the connection.
pub(crate) fn readable_after(before: usize, piece: &StreamPiece<'_>) -> usize {
    before.max(piece.packet)
}

/// Creates the conversation of a connection, before its first piece. The dialect comes from the
/// request, or is guessed from all `pieces`. Only the beginning and the gaps of `connection` are
/// used.
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

/// Creates the conversation of a connection from the result of a [`Survey`].
pub(crate) fn conversation_with<'c>(
    connection: &TcpConnection<'_>,
    guess: Option<DialectGuess<'c>>,
    codes: &'c PacketTables,
    otherwise: &'c Dialect,
) -> Conversation<'c> {
    if connection.is_foreign {
        return start_midstream(connection, Conversation::foreign(otherwise));
    }
    let mut conversation = Conversation::new(codes, otherwise);
    guess.into_iter().for_each(|guess| conversation.set_guess(guess));
    start_midstream(connection, conversation)
}

fn start_midstream<'c>(
    connection: &TcpConnection<'_>,
    mut conversation: Conversation<'c>,
) -> Conversation<'c> {
    if !connection.has_begin {
        conversation.start_midstream();
    }
    conversation
}

/// Collects evidence for the dialect of one connection, piece by piece.
#[derive(Debug)]
pub(crate) struct Survey<'c> {
    conversation: Conversation<'c>,
    /// The number of pieces received.
    read: usize,
}

impl<'c> Survey<'c> {
    /// Creates a survey; `None` if the connection needs no guess.
    pub fn new(
        connection: &TcpConnection<'_>,
        codes: &'c PacketTables,
        otherwise: &'c Dialect,
    ) -> Option<Survey<'c>> {
        let is_needed = !connection.is_foreign && (!connection.has_begin || !connection.gaps.is_empty());
        is_needed.then(|| {
            let mut conversation = start_midstream(connection, Conversation::new(codes, otherwise));
            conversation.set_brief(true);
            Survey { conversation, read: 0 }
        })
    }

    /// The number of pieces received.
    pub fn read(&self) -> usize {
        self.read
    }

    /// Receives the next piece. Returns whether the result is final.
    pub fn receive(&mut self, piece: &StreamPiece<'_>) -> bool {
        self.read += 1;
        let (conversation, from) = (&mut self.conversation, side(piece.from));
        if piece.gap_before {
            conversation.skip_gap(from);
        }
        conversation.receive_each(from, piece.bytes, |_| {});
        conversation.is_settled() || conversation.guess().is_some_and(DialectGuess::is_decided)
    }

    /// Returns the guess; `None` if a request selects the dialect.
    pub fn finish(self) -> Option<DialectGuess<'c>> {
        let mut conversation = self.conversation;
        if conversation.is_settled() {
            return None;
        }
        [Side::Client, Side::Server].into_iter().for_each(|from| drop(conversation.finish(from)));
        conversation.guess().cloned().map(DialectGuess::finalized)
    }
}

/// Reports the items that a piece completes, as [`ConnectionReader::receive`] does, but without
/// gaps.
pub(crate) fn items<'c>(
    conversation: &mut Conversation<'c>,
    piece: &StreamPiece<'_>,
    is_last: bool,
    mut each: impl FnMut(Explanation<'c>),
) {
    let from = side(piece.from);
    if piece.gap_before {
        conversation.skip_gap(from).into_iter().for_each(&mut each);
    }
    conversation.receive_each(from, piece.bytes, &mut each);
    if is_last {
        let ends = [Side::Client, Side::Server].into_iter();
        ends.flat_map(|from| conversation.finish(from)).for_each(each);
    }
}

/// Appends the list of supported link types if a packet has an unsupported one.
pub(crate) fn with_links(mut words: String, capture: &Capture<'_>) -> String {
    if capture.packets.iter().any(|packet| !packet::is_supported_link(packet.link)) {
        words += " (of the link types, only Ethernet, Linux cooked, loopback and raw IP are supported)";
    }
    words
}

/// Describes the bytes that the snapshot length cut off; `None` if all packets are complete.
pub(crate) fn truncated(capture: &Capture<'_>) -> Option<String> {
    let missing = |packet: &capture::Packet<'_>| packet.original_length.saturating_sub(packet.bytes.len());
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

/// Describes where the file ends within a block; `None` if it is complete.
pub(crate) fn truncation_note(capture: &Capture<'_>) -> Option<String> {
    capture.truncated_at.map(|offset| format!("the file ends in the middle of the block at byte {offset}"))
}

/// Converts the end of a TCP connection to the side of a WebSocket connection.
pub(crate) fn side(end: TcpSide) -> Side {
    match end {
        TcpSide::Client => Side::Client,
        TcpSide::Server => Side::Server,
    }
}

/// Returns the size of the gap before a piece, and marks the gap as reported. `gaps` is sorted by
/// packet number.
fn gap_before(gaps: &[Gap], piece: &StreamPiece<'_>, is_reported: &mut [bool]) -> u64 {
    let first = gaps.partition_point(|gap| gap.packet < piece.packet);
    let at_packet = gaps.iter().enumerate().skip(first).take_while(|(_, gap)| gap.packet == piece.packet);
    let mut at_packet = at_packet.filter(|(_, gap)| gap.from == piece.from);
    let found = at_packet.find(|(at, _)| !is_reported[*at]);
    found.map_or(0, |(at, gap)| {
        is_reported[at] = true;
        gap.bytes
    })
}

impl<'c> ConnectionReader<'c> {
    /// Creates a reader before the first byte of connection `number`.
    pub fn new(
        number: usize,
        connection: &TcpConnection<'_>,
        conversation: Conversation<'c>,
    ) -> ConnectionReader<'c> {
        let (ends, is_whole) = ([connection.client, connection.server], connection.has_begin);
        let (gaps, is_reported) = (connection.gaps.clone(), vec![false; connection.gaps.len()]);
        let (has_begun, pieces_left, tally) = (false, connection.pieces.len(), ConnectionSummary::default());
        ConnectionReader {
            number,
            ends,
            is_whole,
            gaps,
            conversation,
            has_begun,
            pieces_left,
            reported_gaps: is_reported,
            tally,
        }
    }

    /// The conversation up to the last received piece.
    pub fn conversation(&mut self) -> &mut Conversation<'c> {
        &mut self.conversation
    }

    /// The totals up to the last received piece.
    pub fn tally(&self) -> &ConnectionSummary {
        &self.tally
    }

    /// Reports the items that `piece` completes. `packet` is the number of the packet that made the
    /// piece readable.
    pub fn receive(
        &mut self,
        packet: usize,
        piece: &StreamPiece<'_>,
        each: &mut impl FnMut(CaptureItem<'c>),
    ) {
        let (client, at_ns, from) = (self.number, piece.at_ns, side(piece.from));
        let mut emit = |what| each(CaptureItem { client, packet, at_ns, what });
        if !std::mem::replace(&mut self.has_begun, true) {
            let ([client, server], is_whole) = (self.ends, self.is_whole);
            let guess = self.conversation.guess().cloned();
            emit(CaptureItemKind::Begin { guess, client, server, is_whole });
        }
        if piece.gap_before {
            let bytes = gap_before(&self.gaps, piece, &mut self.reported_gaps);
            self.conversation.skip_gap(from).into_iter().for_each(|item| self.tally.item(item, &mut emit));
            self.tally.missing_bytes += bytes;
            emit(CaptureItemKind::Gap(from, bytes));
        }
        self.conversation.receive_each(from, piece.bytes, |item| self.tally.item(item, &mut emit));
        self.pieces_left -= 1;
        if self.pieces_left == 0 {
            self.end(&mut emit);
        }
        let is_foreign = self.conversation.is_foreign();
        let dialect = if is_foreign { "" } else { self.conversation.dialect().name() };
        dialect.clone_into(&mut self.tally.dialect);
        self.tally.is_guess = self.conversation.guess().is_some();
    }

    /// Reports a datagram of the connection's lane.
    pub(crate) fn receive_datagram(
        &mut self,
        datagram: &CapturedDatagram<'_>,
        each: &mut impl FnMut(CaptureItem<'c>),
    ) {
        let CapturedDatagram { packet, at_ns, from, bytes, .. } = *datagram;
        let item = datagram::explain(bytes, from, self.conversation.dialect());
        self.tally.datagrams[usize::from(from == Side::Server)] += 1;
        self.tally.broken += usize::from(item.problem().is_some());
        each(CaptureItem { client: self.number, packet, at_ns, what: CaptureItemKind::Item(item) });
    }

    /// Reports the leftover bytes, and the gaps at the end.
    fn end(&mut self, emit: &mut impl FnMut(CaptureItemKind<'c>)) {
        for end in [TcpSide::Client, TcpSide::Server] {
            for item in self.conversation.finish(side(end)) {
                self.tally.item(item, emit);
            }
            let gaps = self.gaps.iter().zip(&self.reported_gaps);
            for (gap, _) in gaps.filter(|(gap, is_reported)| gap.from == end && !**is_reported) {
                self.tally.missing_bytes += gap.bytes;
                emit(CaptureItemKind::Gap(side(end), gap.bytes));
            }
        }
    }
}

impl ConnectionSummary {
    fn item<'c>(&mut self, item: Explanation<'c>, emit: &mut impl FnMut(CaptureItemKind<'c>)) {
        let place = usize::from(item.from == Side::Server);
        self.bytes[place] += item.bytes.len();
        self.frames[place] += item.frames.iter().filter(|frame| frame.header.is_some()).count();
        let problems = item.frames.iter().filter_map(|frame| frame.problem.as_ref());
        self.broken += problems.filter(|problem| matches!(problem, Problem::Violation { .. })).count();
        emit(CaptureItemKind::Item(item));
    }
}
