//! Segments to connections: the bytes of each end, once, in the order of its sequence numbers.
//!
//! ```text
//!   segments as captured      5..9   1..5   3..9   12..14             of one direction
//!   pieces                    1..5   5..9   hole   12..14             each with the packet that brought it first
//! ```
//!
//! The packets of a capture become [`Connection`]s with their [`Piece`]s. A piece is placed where a
//! receiver could have read it: after every earlier piece of its direction, and among the pieces of
//! the other direction by packet order. Of repeated bytes, only the first copy counts. Missing
//! bytes are never filled in.

use core::net::SocketAddr;
use std::collections::HashMap;

use super::Packet;
use super::packet::{self, ACK, FIN, RST, SYN, Segment};

/// One of the two ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// The end that opened the connection.
    Client,
    /// The end that accepted it.
    Server,
}

/// Bytes that one end sent, as one packet brought them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The sender.
    pub from: End,
    /// When their packet was captured, nanoseconds since 1970.
    pub at_ns: u64,
    /// Their packet's number in the file, from 1.
    pub packet: usize,
    /// The bytes.
    pub bytes: &'a [u8],
    /// Whether bytes are missing between this end's previous piece and this one;
    /// [`Connection::holes`] gives their number.
    pub hole_before: bool,
}

/// Bytes that one end sent and that are not in the capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hole {
    /// The sender.
    pub from: End,
    /// When the hole was noticed, nanoseconds since 1970.
    pub at_ns: u64,
    /// The first packet after the hole; the last one of the connection if nothing follows.
    pub packet: usize,
    /// The number of missing bytes.
    pub bytes: u64,
}

/// A TCP connection of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection<'a> {
    /// The end that opened the connection. Without its beginning, the end that sent a request; or
    /// else the end with the higher port.
    pub client: SocketAddr,
    /// The end that accepted it.
    pub server: SocketAddr,
    /// Its first packet's number in the file.
    pub first_packet: usize,
    /// Whether the capture has the beginning, so that the first piece of each end is its first
    /// data.
    pub has_begin: bool,
    /// Whether the capture has the end: both ends sent FIN, or one reset the connection.
    pub has_end: bool,
    /// The data, in the order in which it could be read.
    pub pieces: Vec<Piece<'a>>,
    /// The missing bytes.
    pub holes: Vec<Hole>,
}

/// The connections of these packets, in the order in which they begin.
pub(super) fn connections<'a>(packets: &[Packet<'a>]) -> Vec<Connection<'a>> {
    let mut talks: Vec<Talk<'a>> = Vec::new();
    let mut current: HashMap<(SocketAddr, SocketAddr), usize> = HashMap::new();
    for packet in packets {
        let Some(segment) = packet::decode(packet) else { continue };
        let (from, to) = (segment.head.from, segment.head.to);
        let key = if from < to { (from, to) } else { (to, from) };
        let at = current.get(&key).copied().filter(|at| !talks[*at].begins_anew(&segment));
        let at = at.unwrap_or_else(|| {
            talks.push(Talk::new(from, to, packet.number));
            talks.len() - 1
        });
        current.insert(key, at);
        talks[at].receive(packet, &segment);
    }
    talks.into_iter().map(Talk::finish).collect()
}

/// A connection under construction; `flows[0]` is the data of `ends[0]`.
struct Talk<'a> {
    ends: [SocketAddr; 2],
    first_packet: usize,
    flows: [Flow<'a>; 2],
    given_up: bool,
    last: (u64, usize),
    /// The end that opened the connection, if a SYN shows it.
    asker: Option<usize>,
}

impl<'a> Talk<'a> {
    fn new(from: SocketAddr, to: SocketAddr, first_packet: usize) -> Talk<'a> {
        let flows = [Flow::default(), Flow::default()];
        Talk { ends: [from, to], first_packet, flows, given_up: false, last: (0, 0), asker: None }
    }

    /// The index of the end that sent a segment. A connection from an address to itself has only
    /// one end.
    fn side(&self, segment: &Segment<'_>) -> usize {
        usize::from(segment.head.from != self.ends[0])
    }

    /// Whether a segment opens another connection between the same two ends.
    fn begins_anew(&self, segment: &Segment<'_>) -> bool {
        let flow = &self.flows[self.side(segment)];
        let asks = segment.head.flags & (SYN | ACK) == SYN;
        asks && flow.last.is_some() && flow.first_sequence != Some(segment.head.sequence)
    }

    fn receive(&mut self, packet: &Packet<'a>, segment: &Segment<'a>) {
        let side = self.side(segment);
        let head = &segment.head;
        self.last = (packet.at_ns, packet.number);
        self.given_up |= head.flags & RST != 0;
        if head.flags & SYN != 0 {
            self.asker = Some(if head.flags & ACK == 0 { side } else { 1 - side });
        }
        if head.flags & (ACK | RST) == ACK {
            self.flows[1 - side].acknowledge(head.acknowledged);
        }
        self.flows[side].receive(packet, segment);
    }

    fn finish(self) -> Connection<'a> {
        let client = self.client();
        let end = |side: usize| if side == client { End::Client } else { End::Server };
        let has_begin = self.flows.iter().all(|flow| flow.first_sequence.is_some());
        let has_end = self.given_up || self.flows.iter().all(|flow| flow.fin.is_some());
        let (mut ready, mut holes) = (Vec::new(), Vec::new());
        for (side, flow) in self.flows.into_iter().enumerate() {
            flow.finish(end(side), self.last, &mut ready, &mut holes);
        }
        ready.sort_by_key(|(packet, _)| *packet);
        holes.sort_by_key(|hole| hole.packet);
        Connection {
            client: self.ends[client],
            server: self.ends[1 - client],
            first_packet: self.first_packet,
            has_begin,
            has_end,
            pieces: ready.into_iter().map(|(_, piece)| piece).collect(),
            holes,
        }
    }

    fn client(&self) -> usize {
        let begins = |side: usize, word: &[u8]| {
            let first = self.flows[side].chunks.first();
            first.is_some_and(|(_, chunk)| chunk.bytes.starts_with(word))
        };
        let by_words = || (0..2).find(|side| begins(*side, b"GET ") || begins(1 - side, b"HTTP/1."));
        let by_port = || usize::from(self.ends[1].port() > self.ends[0].port());
        self.asker.or_else(by_words).unwrap_or_else(by_port)
    }
}

/// The data of one end. Offsets count its bytes; they keep growing when sequence numbers wrap to 0.
#[derive(Default)]
struct Flow<'a> {
    /// The sequence number of its SYN.
    first_sequence: Option<u32>,
    /// The offset of the first byte, if a SYN gives it.
    begin: Option<i64>,
    /// The last sequence number seen, and its offset.
    last: Option<(u32, i64)>,
    /// Received chunks, in the order of the offsets of their first bytes; no two overlap.
    chunks: Vec<(i64, Chunk<'a>)>,
    /// The offset after the last byte known to have been sent.
    known: i64,
    /// The offset of its FIN.
    fin: Option<i64>,
}

#[derive(Clone, Copy)]
struct Chunk<'a> {
    at_ns: u64,
    packet: usize,
    bytes: &'a [u8],
}

impl<'a> Flow<'a> {
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

    fn receive(&mut self, packet: &Packet<'a>, segment: &Segment<'a>) {
        let mut sequence = segment.head.sequence;
        if segment.head.flags & SYN != 0 {
            self.first_sequence = Some(sequence);
            // The SYN counts as one.
            sequence = sequence.wrapping_add(1);
            let begin = self.offset(sequence);
            self.begin = Some(begin);
            self.known = self.known.max(begin);
        } else if segment.head.flags & RST != 0 {
            return;
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
        self.keep(offset, Chunk { at_ns: packet.at_ns, packet: packet.number, bytes: segment.payload });
    }

    /// Keeps the new part of a chunk.
    fn keep(&mut self, offset: i64, chunk: Chunk<'a>) {
        let end = offset + chunk.bytes.len() as i64;
        let mut at = offset;
        while at < end {
            // Nearly every chunk comes behind all others.
            let is_last = self.chunks.last().is_none_or(|(begin, _)| *begin < at);
            let behind = if is_last {
                self.chunks.len()
            } else {
                self.chunks.partition_point(|(begin, _)| *begin <= at)
            };
            let before = behind.checked_sub(1).map(|before| self.chunks[before]);
            let covered = before.map_or(at, |(begin, known)| begin + known.bytes.len() as i64);
            if covered > at {
                at = covered;
                continue;
            }
            let next = self.chunks.get(behind).map_or(end, |(begin, _)| end.min(*begin));
            let bytes = &chunk.bytes[(at - offset) as usize..(next - offset) as usize];
            self.chunks.insert(behind, (at, Chunk { bytes, ..chunk }));
            at = next;
        }
    }

    /// The pieces, each with the packet after which it could be read, and the holes.
    fn finish(
        self,
        from: End,
        last: (u64, usize),
        ready: &mut Vec<(usize, Piece<'a>)>,
        holes: &mut Vec<Hole>,
    ) {
        let first = self.chunks.first().map(|(begin, _)| *begin);
        let Some(mut at) = self.begin.or(first) else { return };
        let mut readable = 0;
        for (offset, chunk) in self.chunks {
            // Nothing was sent before the first byte: a keep-alive repeats the byte before.
            let skipped = (at - offset).clamp(0, chunk.bytes.len() as i64);
            let (offset, bytes) = (offset + skipped, &chunk.bytes[skipped as usize..]);
            if bytes.is_empty() {
                continue;
            }
            let Chunk { at_ns, packet, .. } = chunk;
            let hole_before = offset > at;
            if hole_before {
                holes.push(Hole { from, at_ns, packet, bytes: (offset - at) as u64 });
            }
            readable = packet.max(readable);
            ready.push((readable, Piece { from, at_ns, packet, bytes, hole_before }));
            at = offset + bytes.len() as i64;
        }
        let known = self.fin.unwrap_or(self.known);
        if known > at {
            let (at_ns, packet) = last;
            holes.push(Hole { from, at_ns, packet, bytes: (known - at) as u64 });
        }
    }
}
