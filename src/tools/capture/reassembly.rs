//! Reassembles segments to connections: the bytes of each direction once, in sequence order.
//!
//! ```text
//!   captured segments         5..9   1..5   3..9   12..14             of one direction
//!   pieces                    1..5   5..9   gap    12..14             each with its first packet
//! ```
//!
//! The packets of a capture become [`TcpConnection`]s of [`StreamPiece`]s. A piece is placed where
//! its receiver could read it: after all earlier bytes of its direction, and ordered by packet
//! relative to the other direction. Of repeated bytes, only the first copy is used. Missing bytes
//! become gaps.

use core::net::SocketAddr;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, btree_map};
use std::iter::Flatten;
use std::vec::IntoIter;

use super::Packet;
use super::packet::{self, Segment};
use super::tcp_endpoints::{ConnectionKey, FastHashState, SequenceTracker, TcpEndpoints};

/// One of the two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TcpSide {
    /// The end that opened the connection.
    Client,
    /// The end that accepted the connection.
    Server,
}

/// Bytes that one end sent in one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct StreamPiece<'a> {
    /// The sender.
    pub from: TcpSide,
    /// Time of capture of the packet, in nanoseconds since 1970.
    pub at_ns: u64,
    /// The number of the packet in the file, from 1.
    pub packet: usize,
    /// The bytes.
    pub bytes: &'a [u8],
    /// Whether bytes are missing before this piece; [`TcpConnection::gaps`] has the number of
    /// missing bytes.
    pub gap_before: bool,
}

/// A range of bytes that one end sent and the capture lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gap {
    /// The sender.
    pub from: TcpSide,
    /// Time of capture of `packet`, in nanoseconds since 1970.
    pub at_ns: u64,
    /// The first packet after the gap, or the last packet of the connection.
    pub packet: usize,
    /// The number of bytes missing from the capture.
    pub bytes: u64,
}

/// A TCP connection of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TcpConnection<'a> {
    /// The address of the client: the end that opened the connection. If the capture lacks the
    /// handshake, the client is the end that sent a request, otherwise the end with the higher
    /// port.
    pub client: SocketAddr,
    /// The address of the end that accepted the connection.
    pub server: SocketAddr,
    /// The number of the connection's first packet in the file.
    pub first_packet: usize,
    /// Whether the capture states that no message is a packet, whatever the path.
    pub is_foreign: bool,
    /// Whether the capture includes the handshake.
    pub has_begin: bool,
    /// Whether the capture includes the end: both ends sent FIN, or one reset the connection.
    pub has_end: bool,
    /// The data, in the order in which the receivers could read it.
    pub pieces: Vec<StreamPiece<'a>>,
    /// The gaps, in packet order.
    pub gaps: Vec<Gap>,
}

/// Reassembles the connections of these packets, in order of first packets.
pub(super) fn connections<'a>(packets: &[Packet<'a>]) -> Vec<TcpConnection<'a>> {
    let mut assembly = Assembly::default();
    packets.iter().for_each(|packet| assembly.receive(packet));
    assembly.finish().collect()
}

/// Connections per chunk of the [`Assembly`].
const CHUNK: usize = 1024;

/// Reassembles connections while it receives packets one by one.
#[derive(Default)]
pub(crate) struct Assembly<'a> {
    /// In chunks of [`CHUNK`], because a single vector would copy all connections when it grows.
    chunks: Vec<Vec<ConnectionBuilder<'a>>>,
    count: usize,
    current: HashMap<ConnectionKey, usize, FastHashState>,
}

impl<'a> Assembly<'a> {
    /// Receives the next packet.
    pub fn receive(&mut self, packet: &Packet<'a>) {
        let Some(segment) = packet::decode(packet) else { return };
        let chunks = &mut self.chunks;
        let at = match self.current.entry(ConnectionKey::of(&segment)) {
            Entry::Occupied(found)
                if !chunks[*found.get() / CHUNK][*found.get() % CHUNK].ends.is_new_connection(&segment) =>
            {
                *found.get()
            }
            entry => {
                if self.count.is_multiple_of(CHUNK) {
                    chunks.push(Vec::with_capacity(CHUNK));
                }
                chunks[self.count / CHUNK].push(ConnectionBuilder::new(TcpEndpoints::new(&segment, packet)));
                self.count += 1;
                *entry.insert_entry(self.count - 1).get()
            }
        };
        chunks[at / CHUNK][at % CHUNK].receive(packet, &segment);
    }

    /// Returns the connections. Each is completed when the iterator returns it.
    pub fn finish(self) -> Assembled<'a> {
        Assembled { connections: self.chunks.into_iter().flatten(), left: self.count }
    }
}

/// The reassembled connections, in order of first packets.
pub(crate) struct Assembled<'a> {
    connections: Flatten<IntoIter<Vec<ConnectionBuilder<'a>>>>,
    left: usize,
}

impl<'a> Assembled<'a> {
    /// The next connection, to be assembled in steps.
    pub fn begin_next(&mut self) -> Option<ConnectionAssembly<'a>> {
        let connection = self.connections.next()?;
        self.left -= 1;
        Some(connection.finish())
    }
}

impl<'a> Iterator for Assembled<'a> {
    type Item = TcpConnection<'a>;

    fn next(&mut self) -> Option<TcpConnection<'a>> {
        self.begin_next().map(ConnectionAssembly::finish)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Assembled<'_> {}

/// A connection under construction.
pub(super) struct ConnectionBuilder<'a> {
    ends: TcpEndpoints,
    flows: [DirectionBuilder<'a>; 2],
    /// For each end, the offset after the bytes that [`super::streaming_reassembler`] has already
    /// returned. `None` if there are no such bytes.
    placed: [Option<i64>; 2],
    last: (u64, usize),
}

impl<'a> ConnectionBuilder<'a> {
    fn new(ends: TcpEndpoints) -> ConnectionBuilder<'a> {
        ConnectionBuilder { ends, flows: Default::default(), placed: [None; 2], last: (0, 0) }
    }

    /// Creates a connection whose bytes before the offsets `placed` are placed already. `last` are
    /// the time and number of its last packet.
    pub fn after(ends: TcpEndpoints, placed: [Option<i64>; 2], last: (u64, usize)) -> ConnectionBuilder<'a> {
        ConnectionBuilder { placed, last, ..ConnectionBuilder::new(ends) }
    }

    /// Adds the bytes that one end sent in a packet with this time and number.
    pub fn add(&mut self, side: usize, offset: i64, (at_ns, packet): (u64, usize), bytes: &'a [u8]) {
        self.flows[side].add(offset, Chunk { at_ns, packet, bytes });
    }

    fn receive(&mut self, packet: &Packet<'a>, segment: &Segment<'a>) {
        self.last = (packet.at_ns, packet.number);
        let (side, offset) = self.ends.receive(segment);
        if let Some(offset) = offset {
            self.add(side, offset, self.last, segment.payload);
        }
    }

    /// Ends the collection of segments. The result assembles their bytes.
    pub fn finish(self) -> ConnectionAssembly<'a> {
        let ConnectionBuilder { ends, flows, placed, last } = self;
        let client = ends.client(|side, word| {
            let first = flows[side].chunks.first_key_value();
            first.is_some_and(|(_, chunk)| chunk.bytes.starts_with(word))
        });
        let chunks = flows.iter().map(|flow| flow.chunks.len()).sum();
        let mut sides = [TcpSide::Client, TcpSide::Server];
        sides.rotate_right(client);
        let [first, second] = flows;
        let flows = [
            DirectionAssembly::new(first, placed[0], &ends.trackers[0], sides[0], last),
            DirectionAssembly::new(second, placed[1], &ends.trackers[1], sides[1], last),
        ];
        let connection = TcpConnection {
            client: ends.addresses[client],
            server: ends.addresses[1 - client],
            first_packet: ends.first_packet,
            is_foreign: ends.is_foreign,
            has_begin: ends.has_start(),
            has_end: ends.has_end(),
            pieces: Vec::with_capacity(chunks),
            gaps: Vec::new(),
        };
        ConnectionAssembly { connection, flows, gaps: BTreeMap::new(), chunks }
    }
}

/// A connection with all its segments, during the assembly of its bytes. Each [`step`](Self::step)
/// handles at most one chunk, so that a page can draw in between.
pub(crate) struct ConnectionAssembly<'a> {
    connection: TcpConnection<'a>,
    flows: [DirectionAssembly<'a>; 2],
    /// Gaps, ordered by packet, then by the end that sent the bytes, then by offset.
    gaps: BTreeMap<(usize, usize, i64), Gap>,
    /// The number of chunks. Each becomes at most one piece.
    chunks: usize,
}

impl<'a> ConnectionAssembly<'a> {
    /// Executes one step: reads a chunk, or appends a piece or a gap to the connection. Returns
    /// `false` if no step is left.
    pub fn step(&mut self) -> bool {
        let ConnectionAssembly { connection, flows, gaps, .. } = self;
        if let Some(side) = flows.iter().position(DirectionAssembly::needs_chunk) {
            if let Some((offset, gap)) = flows[side].read_chunk() {
                gaps.insert((gap.packet, side, offset), gap);
            }
            return true;
        }
        let readable = flows.each_ref().map(|flow| flow.next.as_ref().map(|(readable, _)| *readable));
        let side = match readable {
            [Some(first), Some(second)] => usize::from(second < first),
            [Some(_), None] => 0,
            [None, _] => 1,
        };
        if let Some((_, piece)) = flows[side].next.take() {
            connection.pieces.push(piece);
            return true;
        }
        let gap = gaps.pop_first();
        connection.gaps.extend(gap.map(|(_, gap)| gap));
        gap.is_some()
    }

    /// The connection, with the pieces placed so far.
    pub fn connection(&self) -> &TcpConnection<'a> {
        &self.connection
    }

    /// An upper bound of the number of pieces that are not placed yet.
    pub fn left(&self) -> usize {
        self.chunks - self.connection.pieces.len()
    }

    /// The number of chunks.
    pub fn chunks(&self) -> usize {
        self.chunks
    }

    /// Executes the remaining steps, and returns the connection.
    pub fn finish(mut self) -> TcpConnection<'a> {
        while self.step() {}
        self.connection
    }
}

/// The data of one direction.
#[derive(Default)]
struct DirectionBuilder<'a> {
    /// Received chunks by the offset of their first byte, without overlap. A map limits the cost to
    /// n log n for segments in any order.
    chunks: BTreeMap<i64, Chunk<'a>>,
    /// The number of chunks visited while others were inserted.
    #[cfg(test)]
    steps: usize,
}

#[derive(Clone, Copy)]
struct Chunk<'a> {
    at_ns: u64,
    packet: usize,
    bytes: &'a [u8],
}

impl<'a> DirectionBuilder<'a> {
    /// Stores the bytes of a chunk that were not received before.
    fn add(&mut self, offset: i64, chunk: Chunk<'a>) {
        let end = offset + chunk.bytes.len() as i64;
        let mut at = offset;
        while at < end {
            #[cfg(test)]
            {
                self.steps += 1;
            }
            let before = self.chunks.range(..=at).next_back();
            let covered = before.map_or(at, |(begin, known)| begin + known.bytes.len() as i64);
            if covered > at {
                at = covered;
                continue;
            }
            let next = self.chunks.range(at..).next().map_or(end, |(begin, _)| end.min(*begin));
            let bytes = &chunk.bytes[(at - offset) as usize..(next - offset) as usize];
            self.chunks.insert(at, Chunk { bytes, ..chunk });
            at = next;
        }
    }
}

/// The data of one end, while its chunks become pieces in the order of their offsets.
struct DirectionAssembly<'a> {
    from: TcpSide,
    chunks: btree_map::IntoIter<i64, Chunk<'a>>,
    /// The offset after the last piece; `None` once all chunks and the last gap were read.
    at: Option<i64>,
    /// The offset after the last byte that was sent.
    sent: i64,
    /// Time and number of the last packet of the connection.
    last: (u64, usize),
    /// The packet after which the receiver could read the last piece.
    readable: usize,
    /// The next piece, with the packet after which the receiver could read the piece.
    next: Option<(usize, StreamPiece<'a>)>,
}

impl<'a> DirectionAssembly<'a> {
    fn new(
        flow: DirectionBuilder<'a>,
        placed: Option<i64>,
        line: &SequenceTracker,
        from: TcpSide,
        last: (u64, usize),
    ) -> DirectionAssembly<'a> {
        let first = flow.chunks.first_key_value().map(|(begin, _)| *begin);
        let (at, chunks) = (placed.or(line.begin).or(first), flow.chunks.into_iter());
        DirectionAssembly { from, chunks, at, sent: line.sent(), last, readable: 0, next: None }
    }

    /// Whether the next piece is not known yet.
    fn needs_chunk(&self) -> bool {
        self.next.is_none() && self.at.is_some()
    }

    /// Reads the next chunk, or the end after the last chunk. Returns the gap before it, with the
    /// offset at which the gap ends.
    fn read_chunk(&mut self) -> Option<(i64, Gap)> {
        let (from, at) = (self.from, self.at?);
        let Some((offset, chunk)) = self.chunks.next() else {
            self.at = None;
            let (at_ns, packet) = self.last;
            let missing = u64::try_from(self.sent - at).ok().filter(|missing| *missing > 0);
            return missing.map(|bytes| (self.sent, Gap { from, at_ns, packet, bytes }));
        };
        // Bytes before the current offset are dropped, because a keep-alive repeats the preceding
        // byte.
        let skipped = (at - offset).clamp(0, chunk.bytes.len() as i64);
        let (offset, bytes) = (offset + skipped, &chunk.bytes[skipped as usize..]);
        if bytes.is_empty() {
            return None;
        }
        let Chunk { at_ns, packet, .. } = chunk;
        let gap_before = offset > at;
        self.readable = packet.max(self.readable);
        self.next = Some((self.readable, StreamPiece { from, at_ns, packet, bytes, gap_before }));
        self.at = Some(offset + bytes.len() as i64);
        gap_before.then(|| (offset, Gap { from, at_ns, packet, bytes: (offset - at) as u64 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of steps to store one-byte chunks at these offsets.
    fn steps(offsets: impl Iterator<Item = i64>) -> usize {
        let mut flow = DirectionBuilder::default();
        offsets.for_each(|offset| flow.add(offset, Chunk { at_ns: 0, packet: 1, bytes: b"x" }));
        flow.steps
    }

    #[test]
    fn chunks_in_any_order_are_placed_in_a_number_of_steps_that_grows_with_their_number() {
        const CHUNKS: i64 = 20_000;
        for (order, steps) in [
            ("rising", steps(0..CHUNKS)),
            ("falling", steps((0..CHUNKS).rev())),
            ("every other one, then those between", steps((0..CHUNKS).map(|at| at * 2 % (CHUNKS - 1)))),
            ("mixed", steps((0..CHUNKS).map(|at| at * 7_919 % CHUNKS))),
        ] {
            assert!(steps <= 2 * CHUNKS as usize, "{order}: {steps} steps for {CHUNKS} chunks");
        }
    }
}
