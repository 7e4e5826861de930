//! The two ends of a TCP connection, as the headers of its segments tell of them.

use core::net::SocketAddr;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use super::packet::{ACK, FIN, RST, SYN, Segment};

/// Two addresses with their ports, whichever of them sends: what a connection is found by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ConnectionKey {
    /// Two IPv4 addresses in one number, which is hashed at once.
    V4(u128),
    /// Others.
    Other(SocketAddr, SocketAddr),
}

impl ConnectionKey {
    /// The key of the connection that a segment belongs to.
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

/// Hashes [`ConnectionKey`]s: each packet of a file has one, and nearly all are a single number.
#[derive(Debug, Clone)]
pub(super) struct FastHashState {
    seed: u64,
}

/// A hash so far.
pub(super) struct FastHasher {
    state: u64,
    seed: u64,
}

/// The fraction of the golden ratio, odd: nothing up its sleeve.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

impl Default for FastHashState {
    /// With a seed that no file knows.
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

/// A connection, by its headers alone; `lines[0]` is what `addresses[0]` sends.
#[derive(Debug)]
pub(super) struct TcpEndpoints {
    pub(super) addresses: [SocketAddr; 2],
    pub(super) first_packet: usize,
    pub(super) lines: [SequenceTracker; 2],
    is_desynchronized: bool,
    /// The end that opened the connection, if a SYN shows it.
    requester: Option<usize>,
}

impl TcpEndpoints {
    /// A connection that begins with this segment, which is still to be received.
    pub(super) fn new(segment: &Segment<'_>, first_packet: usize) -> TcpEndpoints {
        let (addresses, lines) = ([segment.head.from, segment.head.to], Default::default());
        TcpEndpoints { addresses, first_packet, lines, is_desynchronized: false, requester: None }
    }

    /// The index of the end that sent a segment. A connection from an address to itself has only
    /// one end.
    fn side(&self, segment: &Segment<'_>) -> usize {
        usize::from(segment.head.from != self.addresses[0])
    }

    /// Whether a segment opens another connection between the same two ends.
    pub(super) fn is_new_connection(&self, segment: &Segment<'_>) -> bool {
        let asks = segment.head.flags & (SYN | ACK) == SYN;
        let line = &self.lines[self.side(segment)];
        asks && line.last.is_some() && line.first_sequence != Some(segment.head.sequence)
    }

    /// Takes a segment. Returns the end that sent it, and the offset of its payload; none for a reset,
    /// which has no payload.
    pub(super) fn receive(&mut self, segment: &Segment<'_>) -> (usize, Option<i64>) {
        let (side, head) = (self.side(segment), &segment.head);
        self.is_desynchronized |= head.flags & RST != 0;
        if head.flags & SYN != 0 {
            self.requester = Some(if head.flags & ACK == 0 { side } else { 1 - side });
        }
        if head.flags & (ACK | RST) == ACK {
            self.lines[1 - side].acknowledge(head.acknowledged);
        }
        (side, self.lines[side].receive(segment))
    }

    /// The end that opened the connection. Without its beginning, the end that sent a request; or else the
    /// end with the higher port. `begins` says whether the data of an end begins with these bytes.
    pub(super) fn client(&self, begins: impl Fn(usize, &[u8]) -> bool) -> usize {
        let by_words = || (0..2).find(|side| begins(*side, REQUEST) || begins(1 - side, RESPONSE));
        let by_port = || usize::from(self.addresses[1].port() > self.addresses[0].port());
        self.requester.or_else(by_words).unwrap_or_else(by_port)
    }

    /// Whether the capture has the beginning.
    pub(super) fn has_start(&self) -> bool {
        self.lines.iter().all(|line| line.first_sequence.is_some())
    }

    /// Whether the capture has the end.
    pub(super) fn has_end(&self) -> bool {
        self.is_desynchronized || self.lines.iter().all(|line| line.fin.is_some())
    }
}

/// How the data of a client begins.
pub(super) const REQUEST: &[u8] = b"GET ";
/// How that of a server does.
pub(super) const RESPONSE: &[u8] = b"HTTP/1.";

/// The sequence numbers of one end. Offsets count its bytes; they keep growing when sequence numbers wrap
/// to 0.
#[derive(Debug, Default)]
pub(super) struct SequenceTracker {
    /// The sequence number of its SYN.
    first_sequence: Option<u32>,
    /// The offset of the first byte, if a SYN gives it.
    pub(super) begin: Option<i64>,
    /// The last sequence number seen, and its offset.
    last: Option<(u32, i64)>,
    /// The offset after the last byte known to have been sent.
    known: i64,
    /// The offset of its FIN.
    fin: Option<i64>,
}

impl SequenceTracker {
    /// The offset of a sequence number: the candidate nearest to the last offset.
    fn offset(&mut self, sequence: u32) -> i64 {
        let (last, offset) = *self.last.get_or_insert((sequence, 0));
        let offset = offset + i64::from(sequence.wrapping_sub(last) as i32);
        self.last = Some((sequence, offset));
        offset
    }

    /// The other end has received everything before this sequence number. One more than was seen
    /// may be the FIN.
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
            // The SYN counts as one.
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
            // Sequence numbers after a FIN are one higher, as an acknowledgement shows.
            self.known = end;
        }
        if segment.head.flags & FIN != 0 {
            (self.fin, self.known) = (Some(end), end.max(self.known));
        }
        Some(offset)
    }

    /// The offset after the last byte that was sent, as far as the capture shows it.
    pub(super) fn sent(&self) -> i64 {
        self.fin.unwrap_or(self.known)
    }
}
