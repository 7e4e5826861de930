//! Reassembles connections while their packets arrive, and stores as little as possible.
//!
//! The payload of a segment in order is returned at once, and is not stored. From the first segment
//! of a connection that is not in order, or has no handshake before it, all segments of the
//! connection are stored, and [`StreamingReassembler::connection`] puts them in order. The result
//! is the same as from [`super::Capture::connections`].

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::packet::Segment;
use super::reassembly::ConnectionBuilder;
use super::tcp_endpoints::{ConnectionKey, FastHashState, TcpEndpoints};
use super::{Packet, TcpConnection, TcpSide};

/// Reassembles connections from segments.
#[derive(Debug, Default)]
pub struct StreamingReassembler {
    connections: Vec<StreamedConnection>,
    current: HashMap<ConnectionKey, usize, FastHashState>,
}

/// The state of a connection.
#[derive(Debug)]
struct StreamedConnection {
    ends: TcpEndpoints,
    /// For each end, the offset after the bytes that were returned.
    placed: [Option<i64>; 2],
    /// The segments from the first one that is not in order.
    stored: Vec<StoredSegment>,
    /// The time and number of the last packet.
    last: (u64, usize),
}

/// A stored segment.
#[derive(Debug)]
struct StoredSegment {
    side: usize,
    offset: i64,
    /// The time and number of its packet.
    place: (u64, usize),
    payload: Vec<u8>,
}

/// The payload of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// The next bytes of a direction: the number of the connection, from 0, in order of first
    /// packets, and the sender.
    InOrder(usize, TcpSide),
    /// The payload is stored.
    Stored,
}

impl StreamingReassembler {
    /// Receives the segment of the next packet. Returns what was done with its payload, or `None`
    /// if the payload is empty.
    pub fn receive(&mut self, packet: &Packet<'_>, segment: &Segment<'_>) -> Option<Payload> {
        let connection = match self.current.entry(ConnectionKey::of(segment)) {
            Entry::Occupied(found) if !self.connections[*found.get()].ends.is_new_connection(segment) => {
                *found.get()
            }
            entry => {
                let ends = TcpEndpoints::new(segment, packet);
                let (placed, stored, last) = ([None; 2], Vec::new(), (0, 0));
                self.connections.push(StreamedConnection { ends, placed, stored, last });
                *entry.insert_entry(self.connections.len() - 1).get()
            }
        };
        let from = self.connections[connection].receive((packet.at_ns, packet.number), segment)?;
        Some(from.map_or(Payload::Stored, |from| Payload::InOrder(connection, from)))
    }

    /// The number of connections.
    pub fn len(&self) -> usize {
        self.connections.len()
    }

    /// Returns a connection with only the pieces of its stored segments. They follow the payloads
    /// that were in order.
    pub fn connection(&self, number: usize) -> TcpConnection<'_> {
        let StreamedConnection { ends, placed, stored, last } = &self.connections[number];
        let mut builder = ConnectionBuilder::after(ends.clone(), *placed, *last);
        for segment in stored {
            builder.add(segment.side, segment.offset, segment.place, &segment.payload);
        }
        builder.finish().finish()
    }
}

impl StreamedConnection {
    /// Returns the sender if the segment is in order. Otherwise stores the segment and returns
    /// `Some(None)`. Returns `None` if the segment is empty.
    fn receive(&mut self, place: (u64, usize), segment: &Segment<'_>) -> Option<Option<TcpSide>> {
        let (side, offset) = self.ends.receive(segment);
        self.last = place;
        let offset = offset.filter(|_| !segment.payload.is_empty())?;
        let next = self.placed[side].or(self.ends.trackers[side].begin);
        // A connection from an address to itself has one direction only.
        let is_in_order =
            self.stored.is_empty() && next == Some(offset) && segment.head.from != segment.head.to;
        let Some(client) = self.ends.requester.filter(|_| is_in_order) else {
            self.stored.push(StoredSegment { side, offset, place, payload: segment.payload.to_vec() });
            return Some(None);
        };
        self.placed[side] = Some(offset + segment.payload.len() as i64);
        Some(Some(if side == client { TcpSide::Client } else { TcpSide::Server }))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::packet::{self, ACK, FIN, LINK_RAW, SYN, SegmentHeader, encode};
    use super::super::{Capture, StreamPiece};
    use super::*;

    /// Whether the segments of a capture are in order. Checks that both ways of reassembly give the
    /// same result.
    pub fn is_orderly(capture: &Capture<'_>) -> bool {
        let (mut passing, mut pieces) = (StreamingReassembler::default(), Vec::<Vec<StreamPiece<'_>>>::new());
        let mut is_orderly = true;
        for packet in &capture.packets {
            let Some(segment) = packet::decode(packet) else { continue };
            match passing.receive(packet, &segment) {
                None => {}
                Some(Payload::Stored) => is_orderly = false,
                Some(Payload::InOrder(connection, from)) => {
                    pieces.resize(pieces.len().max(connection + 1), Vec::new());
                    let (at_ns, packet, bytes) = (packet.at_ns, packet.number, segment.payload);
                    pieces[connection].push(StreamPiece { from, at_ns, packet, bytes, gap_before: false });
                }
            }
        }
        pieces.resize(passing.len(), Vec::new());
        let connections = pieces.into_iter().enumerate().map(|(number, mut pieces)| {
            let connection = passing.connection(number);
            pieces.extend_from_slice(&connection.pieces);
            TcpConnection { pieces, ..connection }
        });
        let connections: Vec<_> = connections.collect();
        assert_eq!(connections, capture.connections());
        is_orderly && connections.iter().all(|connection| connection.gaps.is_empty())
    }

    /// Whether these segments are in order. The fields of a segment: whether the client sent it,
    /// flags, sequence number, acknowledgement number, payload.
    fn are_orderly(segments: &[(bool, u8, u32, u32, &[u8])]) -> bool {
        let ends = ["192.0.2.7:50000", "198.51.100.1:3000"].map(|end| end.parse().expect("an address"));
        let encoded = |(is_client, flags, sequence, acknowledged, payload): &(bool, _, _, _, &[u8])| {
            let [from, to] = if *is_client { ends } else { [ends[1], ends[0]] };
            let (sequence, acknowledged) = (*sequence, *acknowledged);
            let mut bytes = Vec::new();
            encode(&mut bytes, &SegmentHeader { from, to, sequence, acknowledged, flags: *flags }, payload);
            bytes
        };
        let encoded: Vec<Vec<u8>> = segments.iter().map(encoded).collect();
        let packets = encoded.iter().zip(1..).map(|(bytes, number)| {
            let (at_ns, original_length, comments) = (number as u64, bytes.len(), Vec::new());
            Packet { number, at_ns, link: LINK_RAW, bytes, original_length, inbound: None, comments }
        });
        is_orderly(&Capture { packets: packets.collect(), ..Capture::default() })
    }

    #[test]
    fn segments_that_are_not_in_order_are_stored_and_reassembled() {
        let begin = [(true, SYN, 0, 0, &b""[..]), (false, SYN | ACK, 0, 1, b"")];
        let of_client = |sequence, payload| (true, ACK, sequence, 1, payload);
        let answer = |acknowledged| (false, ACK, 1, acknowledged, &b""[..]);
        for (more, expected) in [
            (&[of_client(1, &b"abc"[..]), of_client(4, b"def"), answer(7)][..], true),
            (&[of_client(4, b"def"), of_client(1, b"abc")], false),
            (&[of_client(1, b"abc"), of_client(1, b"abc")], false),
            (&[of_client(1, b"abc"), of_client(3, b"cd")], false),
            (&[of_client(2, b"bc")], false),
            (&[of_client(1, b"ab"), answer(9)], false),
            (&[of_client(1, b"ab"), (true, ACK | FIN, 5, 1, b"")], false),
        ] {
            assert_eq!(are_orderly(&[&begin, more].concat()), expected, "{more:?}");
        }
        // Without a handshake before the data, the client may be unknown until the capture ends.
        let first = (false, ACK, 1, 5, &b"?"[..]);
        for second in [&b"GET /"[..], b"HTTP/1.1 101"] {
            assert!(!are_orderly(&[first, (true, ACK, 5, 2, second)]));
        }
        assert!(!are_orderly(&[first, (true, SYN | ACK, 4, 2, b"")]));
    }
}
