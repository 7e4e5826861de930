//! Reassembles connections without storing data: the payload of each segment is returned at once.
//!
//! This works only for segments in order and without gaps, as the recorder writes them. For other
//! segments the result is [`OutOfOrder`], and [`super::Capture::connections`] must reassemble the
//! file. The same applies if a later segment shows that the client was mistaken for the server. For
//! ordered segments, both ways of reassembly give the same result.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::packet::{self, Segment};
use super::tcp_endpoints::{ConnectionKey, FastHashState, REQUEST, RESPONSE, TcpEndpoints};
use super::{Packet, TcpConnection, TcpSide};

/// The segments are not in order, or have gaps, or the client was mistaken for the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfOrder;

/// Reassembles connections from ordered segments.
#[derive(Debug, Default)]
pub struct StreamingReassembler {
    connections: Vec<StreamedConnection>,
    current: HashMap<ConnectionKey, usize, FastHashState>,
}

/// The state of a connection.
#[derive(Debug)]
struct StreamedConnection {
    ends: TcpEndpoints,
    /// The index of the end that was assumed to be the client at the first data.
    client: Option<usize>,
    sides: [DirectionProgress; 2],
}

/// The received data of one end.
#[derive(Debug, Default)]
struct DirectionProgress {
    /// The offset of the first byte, and the offset after the last byte.
    data: Option<(i64, i64)>,
    /// Whether the data starts like a request.
    is_request: bool,
    /// Whether the data starts like a response.
    is_response: bool,
}

/// The payload of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PayloadChunk<'a> {
    /// The number of the connection, from 0, in order of first packets.
    pub connection: usize,
    /// The sender.
    pub from: TcpSide,
    /// The payload; never empty.
    pub bytes: &'a [u8],
}

impl StreamingReassembler {
    /// Receives the next packet, and returns its payload, if any.
    ///
    /// # Errors
    /// [`OutOfOrder`]: [`super::Capture::connections`] must reassemble the file.
    pub fn receive<'a>(&mut self, packet: &Packet<'a>) -> Result<Option<PayloadChunk<'a>>, OutOfOrder> {
        let Some(segment) = packet::decode(packet) else { return Ok(None) };
        let connection = match self.current.entry(ConnectionKey::of(&segment)) {
            Entry::Occupied(found) if !self.connections[*found.get()].ends.is_new_connection(&segment) => {
                *found.get()
            }
            entry => {
                let ends = TcpEndpoints::new(&segment, packet.number);
                self.connections.push(StreamedConnection { ends, client: None, sides: Default::default() });
                *entry.insert_entry(self.connections.len() - 1).get()
            }
        };
        let from = self.connections[connection].receive(&segment)?;
        Ok(from.map(|from| PayloadChunk { connection, from, bytes: segment.payload }))
    }

    /// Returns the connections, without their pieces.
    ///
    /// # Errors
    /// [`OutOfOrder`], as for [`receive`](Self::receive).
    pub fn finish(self) -> Result<Vec<TcpConnection<'static>>, OutOfOrder> {
        self.connections.into_iter().map(StreamedConnection::finish).collect()
    }
}

impl StreamedConnection {
    fn receive(&mut self, segment: &Segment<'_>) -> Result<Option<TcpSide>, OutOfOrder> {
        let (side, offset) = self.ends.receive(segment);
        if segment.missing_bytes > 0 || segment.head.from == segment.head.to {
            return Err(OutOfOrder);
        }
        let (Some(begin), false) = (offset, segment.payload.is_empty()) else { return Ok(None) };
        let end = begin + segment.payload.len() as i64;
        let data = &mut self.sides[side].data;
        match data {
            None => *data = Some((begin, end)),
            Some((_, last)) if *last == begin => {
                *last = end;
                return Ok(Some(self.end(side)));
            }
            Some(_) => return Err(OutOfOrder),
        }
        self.sides[side].is_request = segment.payload.starts_with(REQUEST);
        self.sides[side].is_response = segment.payload.starts_with(RESPONSE);
        Ok(Some(self.end(side)))
    }

    fn client(&self) -> usize {
        self.ends.client(|side, word| {
            let side = &self.sides[side];
            if word == REQUEST { side.is_request } else { side.is_response }
        })
    }

    fn end(&mut self, side: usize) -> TcpSide {
        let client = match self.client {
            Some(client) => client,
            None => *self.client.insert(self.client()),
        };
        if side == client { TcpSide::Client } else { TcpSide::Server }
    }

    fn finish(self) -> Result<TcpConnection<'static>, OutOfOrder> {
        let client = self.client();
        if self.client.is_some_and(|taken| taken != client) {
            return Err(OutOfOrder);
        }
        for (line, side) in self.ends.lines.iter().zip(&self.sides) {
            let (begin, end) = match (line.begin, side.data) {
                (begin, Some((first, end))) => (begin.unwrap_or(first), end),
                (Some(begin), None) => (begin, begin),
                (None, None) => continue,
            };
            let has_gap = line.sent() > end || side.data.is_some_and(|(first, _)| first != begin);
            if has_gap {
                return Err(OutOfOrder);
            }
        }
        Ok(TcpConnection {
            client: self.ends.addresses[client],
            server: self.ends.addresses[1 - client],
            first_packet: self.ends.first_packet,
            has_begin: self.ends.has_start(),
            has_end: self.ends.has_end(),
            pieces: Vec::new(),
            holes: Vec::new(),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::packet::{ACK, FIN, LINK_RAW, SYN, SegmentHeader, encode};
    use super::super::{Capture, StreamPiece};
    use super::*;

    /// Reassembles the connections of a capture incrementally.
    fn passed<'a>(capture: &Capture<'a>) -> Result<Vec<TcpConnection<'a>>, OutOfOrder> {
        let (mut passing, mut pieces) = (StreamingReassembler::default(), Vec::<Vec<StreamPiece<'a>>>::new());
        for packet in &capture.packets {
            let Some(PayloadChunk { connection, from, bytes }) = passing.receive(packet)? else { continue };
            pieces.resize(pieces.len().max(connection + 1), Vec::new());
            let (at_ns, packet) = (packet.at_ns, packet.number);
            pieces[connection].push(StreamPiece { from, at_ns, packet, bytes, gap_before: false });
        }
        let connections: Vec<TcpConnection<'static>> = passing.finish()?;
        pieces.resize(connections.len(), Vec::new());
        Ok(connections.into_iter().zip(pieces).map(|(one, pieces)| TcpConnection { pieces, ..one }).collect())
    }

    /// Whether the segments of a capture are in order. Checks that both ways of reassembly give the
    /// same result.
    pub fn is_orderly(capture: &Capture<'_>) -> bool {
        let passed = passed(capture);
        if let Ok(connections) = &passed {
            assert_eq!(*connections, capture.connections());
        }
        passed.is_ok()
    }

    /// Whether these segments are in order. Each has: sent by the client, flags, sequence number,
    /// acknowledgement number, payload.
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
    fn what_is_not_in_order_or_mistaken_does_not_pass() {
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
        // By the ports, the sender of the first segment is the server. A later request agrees; a
        // later response or handshake contradicts.
        let first = (false, ACK, 1, 5, &b"?"[..]);
        assert!(are_orderly(&[first, (true, ACK, 5, 2, b"GET /")]));
        assert!(!are_orderly(&[first, (true, ACK, 5, 2, b"HTTP/1.1 101")]));
        assert!(!are_orderly(&[first, (true, SYN | ACK, 4, 2, b"")]));
    }
}
