//! The two ends of a TCP connection, derived from segment headers.

use core::net::SocketAddr;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use super::file::{FOREIGN_COMMENT, Packet};
use super::packet::{ACK, FIN, RST, SYN, Segment};

/// The two addresses and ports of a connection, independent of direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ConnectionKey {
    /// Two IPv4 addresses and ports in one number, which is hashed in one step.
    V4(u128),
    /// Other addresses.
    Other(SocketAddr, SocketAddr),
}

impl ConnectionKey {
    /// Returns the key of the connection of a segment.
    pub(super) fn of(segment: &Segment<'_>) -> ConnectionKey {
        let number = |ip: core::net::Ipv4Addr, port: u16| u64::from(ip.to_bits()) << 16 | u64::from(port);
        match (segment.head.from, segment.head.to) {
            (SocketAddr::V4(from), SocketAddr::V4(to)) => {
                let (from, to) = (number(*from.ip(), from.port()), number(*to.ip(), to.port()));
                ConnectionKey::V4(u128::from(from.min(to)) << 64 | u128::from(from.max(to)))
            }
            (from, to) => ConnectionKey::Other(from.min(to), from.max(to)),
        }
    }
}

/// Hashes [`ConnectionKey`]s quickly, because each packet of a file needs one hash, usually of one
/// number.
#[derive(Debug, Clone)]
pub(super) struct FastHashState {
    seed: u64,
}

/// The state of one hash.
pub(super) struct FastHasher {
    state: u64,
    seed: u64,
}

/// The fractional part of the golden ratio, rounded to an odd number.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Default for FastHashState {
    /// Uses a random seed, so that no file can provoke collisions.
    fn default() -> FastHashState {
        FastHashState { seed: RandomState::new().hash_one(MULTIPLIER) }
    }
}

impl BuildHasher for FastHashState {
    type Hasher = FastHasher;

    fn build_hasher(&self) -> FastHasher {
        FastHasher { state: self.seed, seed: self.seed.rotate_left(32) ^ MULTIPLIER }
    }
}

impl Hasher for FastHasher {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(16) {
            let mut number = [0; 16];
            number[..part.len()].copy_from_slice(part);
            self.write_u128(u128::from_le_bytes(number));
        }
    }

    fn write_u128(&mut self, number: u128) {
        let (low, high) = (number as u64 ^ self.state, (number >> 64) as u64 ^ self.seed);
        let product = u128::from(low) * u128::from(high);
        self.state = (product as u64 ^ (product >> 64) as u64).wrapping_mul(MULTIPLIER);
    }

    fn finish(&self) -> u64 {
        self.state ^ self.state >> 32
    }
}

/// The state of a connection without its data. `trackers[i]` has the sequence numbers of
/// `addresses[i]`.
#[derive(Debug, Clone)]
pub(super) struct TcpEndpoints {
    pub(super) addresses: [SocketAddr; 2],
    pub(super) first_packet: usize,
    pub(super) is_foreign: bool,
    pub(super) trackers: [SequenceTracker; 2],
    is_desynchronized: bool,
    /// The index of the end that opened the connection, if a SYN shows it. The first SYN decides.
    pub(super) requester: Option<usize>,
}

impl TcpEndpoints {
    /// Creates the state of the connection of this segment. The caller must still pass the segment
    /// to `receive`.
    pub(super) fn new(segment: &Segment<'_>, packet: &Packet<'_>) -> TcpEndpoints {
        TcpEndpoints {
            addresses: [segment.head.from, segment.head.to],
            first_packet: packet.number,
            is_foreign: packet.comments.iter().any(|comment| comment.raw() == FOREIGN_COMMENT),
            trackers: Default::default(),
            is_desynchronized: false,
            requester: None,
        }
    }

    /// The index of the sender of a segment. A connection from an address to itself has only index
    /// 0.
    fn side(&self, segment: &Segment<'_>) -> usize {
        usize::from(segment.head.from != self.addresses[0])
    }

    /// Whether a segment opens a new connection between the same two ends.
    pub(super) fn is_new_connection(&self, segment: &Segment<'_>) -> bool {
        let is_syn = segment.head.flags & (SYN | ACK) == SYN;
        let line = &self.trackers[self.side(segment)];
        is_syn && line.last.is_some() && line.first_sequence != Some(segment.head.sequence)
    }

    /// Receives a segment. Returns the index of its sender, and the offset of its payload; `None`
    /// for a reset, which has no payload.
    pub(super) fn receive(&mut self, segment: &Segment<'_>) -> (usize, Option<i64>) {
        let (side, head) = (self.side(segment), &segment.head);
        self.is_desynchronized |= head.flags & RST != 0;
        if head.flags & SYN != 0 {
            self.requester.get_or_insert(if head.flags & ACK == 0 { side } else { 1 - side });
        }
        if head.flags & (ACK | RST) == ACK {
            self.trackers[1 - side].acknowledge(head.acknowledged);
        }
        (side, self.trackers[side].receive(segment))
    }

    /// The index of the client: the end that opened the connection. If the capture lacks the
    /// handshake, the end that sent a request, otherwise the end with the higher port. `begins`
    /// returns whether the data of an end starts with these bytes.
    pub(super) fn client(&self, begins: impl Fn(usize, &[u8]) -> bool) -> usize {
        let by_words = || (0..2).find(|side| begins(*side, REQUEST) || begins(1 - side, RESPONSE));
        let by_port = || usize::from(self.addresses[1].port() > self.addresses[0].port());
        self.requester.or_else(by_words).unwrap_or_else(by_port)
    }

    /// Whether the capture includes the handshake.
    pub(super) fn has_start(&self) -> bool {
        self.trackers.iter().all(|line| line.first_sequence.is_some())
    }

    /// Whether the capture includes the end.
    pub(super) fn has_end(&self) -> bool {
        self.is_desynchronized || self.trackers.iter().all(|line| line.fin.is_some())
    }
}

/// The start of a client's data.
pub(super) const REQUEST: &[u8] = b"GET ";
/// The start of a server's data.
pub(super) const RESPONSE: &[u8] = b"HTTP/1.";

/// The sequence numbers of one end, converted to offsets, which do not wrap.
#[derive(Debug, Clone, Default)]
pub(super) struct SequenceTracker {
    /// The sequence number of the SYN.
    first_sequence: Option<u32>,
    /// The offset of the first byte, if a SYN gives it.
    pub(super) begin: Option<i64>,
    /// The last sequence number, and its offset.
    last: Option<(u32, i64)>,
    /// The offset after the last byte that is known to have been sent.
    known: i64,
    /// The offset of the FIN.
    fin: Option<i64>,
}

impl SequenceTracker {
    /// Converts a sequence number to the matching offset that is nearest to the last offset.
    fn offset(&mut self, sequence: u32) -> i64 {
        let (last, offset) = *self.last.get_or_insert((sequence, 0));
        let offset = offset + i64::from(sequence.wrapping_sub(last) as i32);
        self.last = Some((sequence, offset));
        offset
    }

    /// Records that the other end received everything before `sequence`. One number beyond the
    /// known data may be the FIN, which is not data.
    fn acknowledge(&mut self, sequence: u32) {
        if let Some(before) = self.last {
            let offset = self.offset(sequence);
            self.last = Some(before);
            if offset > self.known + 1 {
                self.known = offset;
            }
        }
    }

    fn receive(&mut self, segment: &Segment<'_>) -> Option<i64> {
        let mut sequence = segment.head.sequence;
        if segment.head.flags & SYN != 0 {
            self.first_sequence = Some(sequence);
            // The SYN takes one sequence number.
            sequence = sequence.wrapping_add(1);
            let begin = self.offset(sequence);
            self.begin = Some(begin);
            self.known = self.known.max(begin);
        } else if segment.head.flags & RST != 0 {
            return None;
        }
        let is_first = self.last.is_none();
        let offset = self.offset(sequence);
        let end = offset + (segment.payload.len() + segment.missing_bytes) as i64;
        let is_empty = end == offset;
        if is_first {
            self.known = end;
        } else if end > self.known + i64::from(is_empty) {
            // An empty segment after the FIN is numbered 1 higher, because the FIN takes one
            // number.
            self.known = end;
        }
        if segment.head.flags & FIN != 0 {
            (self.fin, self.known) = (Some(end), end.max(self.known));
        }
        Some(offset)
    }

    /// The offset after the last byte that was sent, according to the capture.
    pub(super) fn sent(&self) -> i64 {
        self.fin.unwrap_or(self.known)
    }
}
