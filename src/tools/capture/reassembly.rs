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
use std::collections::{BTreeMap, HashMap};
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
    /// The end that accepted it.
    Server,
}

/// Bytes that one end sent in one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamPiece<'a> {
    /// The sender.
    pub from: TcpSide,
    /// Time of capture of the packet, in nanoseconds since 1970.
    pub at_ns: u64,
    /// The number of the packet in the file, from 1.
    pub packet: usize,
    /// The bytes.
    pub bytes: &'a [u8],
    /// Whether bytes are missing before this piece; [`TcpConnection::holes`] has their number.
    pub gap_before: bool,
}

/// A range of bytes that one end sent and the capture lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The sender.
    pub from: TcpSide,
    /// Time of capture of `packet`, in nanoseconds since 1970.
    pub at_ns: u64,
    /// The first packet after the gap, or the last packet of the connection.
    pub packet: usize,
    /// The number of missing bytes.
    pub bytes: u64,
}

/// A TCP connection of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpConnection<'a> {
    /// The end that opened the connection. If the capture lacks the handshake, the end that sent a
    /// request, otherwise the end with the higher port.
    pub client: SocketAddr,
    /// The end that accepted the connection.
    pub server: SocketAddr,
    /// The number in the file of the first packet.
    pub first_packet: usize,
    /// Whether the capture includes the handshake.
    pub has_begin: bool,
    /// Whether the capture includes the end: both ends sent FIN, or one reset the connection.
    pub has_end: bool,
    /// The data, in the order in which the receivers could read it.
    pub pieces: Vec<StreamPiece<'a>>,
    /// The gaps, in packet order.
    pub holes: Vec<Gap>,
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
                chunks[self.count / CHUNK]
                    .push(ConnectionBuilder::new(TcpEndpoints::new(&segment, packet.number)));
                self.count += 1;
                *entry.insert_entry(self.count - 1).get()
            }
        };
        chunks[at / CHUNK][at % CHUNK].receive(packet, &segment);
    }

    /// Returns the connections. Each is completed when the iterator returns it.
    pub fn finish(self) -> Assembled<'a> {
        Assembled { talks: self.chunks.into_iter().flatten(), left: self.count }
    }
}

/// The reassembled connections, in order of first packets.
pub(crate) struct Assembled<'a> {
    talks: Flatten<IntoIter<Vec<ConnectionBuilder<'a>>>>,
    left: usize,
}

impl<'a> Iterator for Assembled<'a> {
    type Item = TcpConnection<'a>;

    fn next(&mut self) -> Option<TcpConnection<'a>> {
        let talk = self.talks.next()?;
        self.left -= 1;
        Some(talk.finish())
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Assembled<'_> {}

/// A connection under construction.
struct ConnectionBuilder<'a> {
    ends: TcpEndpoints,
    flows: [DirectionBuilder<'a>; 2],
    last: (u64, usize),
}

impl<'a> ConnectionBuilder<'a> {
    fn new(ends: TcpEndpoints) -> ConnectionBuilder<'a> {
        ConnectionBuilder { ends, flows: Default::default(), last: (0, 0) }
    }

    fn receive(&mut self, packet: &Packet<'a>, segment: &Segment<'a>) {
        self.last = (packet.at_ns, packet.number);
        let (side, offset) = self.ends.receive(segment);
        if let Some(offset) = offset {
            let (at_ns, packet, bytes) = (packet.at_ns, packet.number, segment.payload);
            self.flows[side].add(offset, Chunk { at_ns, packet, bytes });
        }
    }

    fn finish(self) -> TcpConnection<'a> {
        let ConnectionBuilder { ends, flows, last } = self;
        let client = ends.client(|side, word| {
            let first = flows[side].chunks.first_key_value();
            first.is_some_and(|(_, chunk)| chunk.bytes.starts_with(word))
        });
        let end = |side: usize| if side == client { TcpSide::Client } else { TcpSide::Server };
        let (mut ready, mut holes) = (Vec::new(), Vec::new());
        for (side, flow) in flows.into_iter().enumerate() {
            flow.finish(&ends.lines[side], end(side), last, &mut ready, &mut holes);
        }
        ready.sort_by_key(|(packet, _)| *packet);
        holes.sort_by_key(|hole| hole.packet);
        TcpConnection {
            client: ends.addresses[client],
            server: ends.addresses[1 - client],
            first_packet: ends.first_packet,
            has_begin: ends.has_start(),
            has_end: ends.has_end(),
            pieces: ready.into_iter().map(|(_, piece)| piece).collect(),
            holes,
        }
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

    /// Appends the pieces, each with the packet after which it could be read, and the gaps.
    fn finish(
        self,
        line: &SequenceTracker,
        from: TcpSide,
        last: (u64, usize),
        ready: &mut Vec<(usize, StreamPiece<'a>)>,
        holes: &mut Vec<Gap>,
    ) {
        let first = self.chunks.first_key_value().map(|(begin, _)| *begin);
        let Some(mut at) = line.begin.or(first) else { return };
        let mut readable = 0;
        for (offset, chunk) in self.chunks {
            // Bytes before the first one are dropped, because a keep-alive repeats the preceding
            // byte.
            let skipped = (at - offset).clamp(0, chunk.bytes.len() as i64);
            let (offset, bytes) = (offset + skipped, &chunk.bytes[skipped as usize..]);
            if bytes.is_empty() {
                continue;
            }
            let Chunk { at_ns, packet, .. } = chunk;
            let gap_before = offset > at;
            if gap_before {
                holes.push(Gap { from, at_ns, packet, bytes: (offset - at) as u64 });
            }
            readable = packet.max(readable);
            ready.push((readable, StreamPiece { from, at_ns, packet, bytes, gap_before }));
            at = offset + bytes.len() as i64;
        }
        if line.sent() > at {
            let (at_ns, packet) = last;
            holes.push(Gap { from, at_ns, packet, bytes: (line.sent() - at) as u64 });
        }
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
