//! Writes a capture: the connections of clients as TCP, and the records of the world beside them.
//!
//! ```text
//!   opened ─► SYN, SYN/ACK, ACK      bytes ─► segments, each acknowledging the other's      ended ─► FIN, FIN, ACK
//! ```
//!
//! The output is blocks of pcapng. Sequence numbers count all bytes, including lost bytes, so a
//! loss shows as a gap. Times are durations since the start of the writer's clock, which is monotonic,
//! and each packet has exactly its own time: a replay judges rate limits by it. Packets of several
//! threads, and the handshake of a client that a file introduces late, may be older than the packet before.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use std::collections::BTreeSet;

use super::Capture;
use super::packet::{self, ACK, FIN, LINK_RAW, LINK_WORLD, PSH, SYN, SegmentHeader};
use super::pcapng::{self, PacketMeta};
use super::reassembly::TcpSide;
use super::world_record::{self, WorldRecord};
use crate::limits;
use crate::util::escape::Untrusted;

/// Number of the interface with the connections, and of the interface with the world's records.
const CLIENTS: u32 = 0;
const WORLD: u32 = 1;

/// See the [module](self).
#[derive(Debug)]
pub struct CaptureWriter {
    /// The blocks, for the caller to take away.
    pub blocks: Vec<u8>,
    /// Packets written so far.
    pub packets: u64,
    /// From 1970 to the start of the clock.
    epoch: Duration,
    packet: Vec<u8>,
}

impl CaptureWriter {
    /// A writer whose clock began at this time since 1970.
    pub fn new(epoch: Duration) -> CaptureWriter {
        CaptureWriter { blocks: Vec::new(), packets: 0, epoch, packet: Vec::new() }
    }

    /// Takes another time for the start of the clock, if it is later: the machine's clock was set forward, or the machine slept.
    pub fn set_epoch(&mut self, epoch: Duration) {
        self.epoch = self.epoch.max(epoch);
    }

    /// Begins a file: an interface for connections, and perhaps one for records of the world.
    pub fn begin(&mut self, has_world: bool) {
        pcapng::write_section(&mut self.blocks, concat!("tickwire ", env!("CARGO_PKG_VERSION")));
        pcapng::write_interface(&mut self.blocks, LINK_RAW as u16, "clients");
        if has_world {
            pcapng::write_interface(&mut self.blocks, LINK_WORLD as u16, "world");
        }
    }

    /// Gives an address a name.
    pub fn name(&mut self, address: IpAddr, name: &str) {
        pcapng::write_name(&mut self.blocks, address, name);
    }

    /// Writes a record of the world of this room.
    pub fn record(&mut self, room: &str, at: Duration, record: &WorldRecord<'_>) {
        self.packet.clear();
        world_record::encode(&mut self.packet, room, record);
        self.packet(WORLD, at, None, "");
    }

    /// Writes the packet tables, as file name and text, in the world's interface: before everything
    /// else, so that a reader has them in time.
    pub fn tables(&mut self, at: Duration, tables: &[(&str, &str)]) {
        // The bounds of the tables keep both numbers far below 65,535.
        let count = tables.len() as u16;
        for (table, (file, text)) in (0..count).zip(tables) {
            let pieces = text.as_bytes().chunks(limits::CAPTURE_CHUNK_BYTES);
            let parts = pieces.len() as u16;
            for (part, bytes) in (0..parts).zip(pieces) {
                let file = Untrusted::new(*file);
                self.record("", at, &WorldRecord::Table { table, tables: count, part, parts, file, bytes });
            }
        }
    }

    fn packet(&mut self, interface: u32, at: Duration, inbound: Option<bool>, comment: &str) {
        let at_ns = u64::try_from((self.epoch + at).as_nanos()).unwrap_or(u64::MAX);
        pcapng::write_packet(
            &mut self.blocks,
            &PacketMeta { interface, at_ns, inbound, comment },
            &self.packet,
        );
        self.packets += 1;
    }
}

#[cfg(not(target_family = "wasm"))]
impl Capture<'_> {
    /// The packets without the records of the world, as a file with one link type, which also the tools of libpcap read.
    ///
    /// # Errors
    /// One line: there are no such packets, or they have different link types.
    pub(crate) fn packets_alone(&self) -> Result<Vec<u8>, String> {
        let packets = || self.packets.iter().filter(|packet| packet.link != LINK_WORLD);
        let links: BTreeSet<u32> = packets().map(|packet| packet.link).collect();
        let link = match links.iter().collect::<Vec<_>>()[..] {
            [link] => {
                u16::try_from(*link).map_err(|_| format!("link type {link}: pcapng has no such number"))?
            }
            [] => return Err("the capture has no packets, only records of the world".to_owned()),
            ref several => {
                let numbers: Vec<String> = several.iter().map(ToString::to_string).collect();
                let numbers = numbers.join(" and ");
                return Err(format!(
                    "the packets have the link types {numbers}: a file of packets can have one"
                ));
            }
        };
        let mut out = Vec::new();
        pcapng::write_section(&mut out, concat!("tickwire ", env!("CARGO_PKG_VERSION")));
        pcapng::write_interface(&mut out, link, "clients");
        self.names.iter().for_each(|(address, name)| pcapng::write_name(&mut out, *address, name.raw()));
        for packet in packets() {
            let comment = &packet.comments.join("; ");
            let about =
                PacketMeta { interface: CLIENTS, at_ns: packet.at_ns, inbound: packet.inbound, comment };
            pcapng::write_part(&mut out, &about, packet.bytes, packet.original_length);
        }
        Ok(out)
    }
}

/// One connection while it is written.
#[derive(Debug)]
pub struct TcpFlow {
    /// The client's address, and ours.
    ends: [SocketAddr; 2],
    /// Number of the next byte of each direction: what the client sends, what it is sent.
    next: [u32; 2],
    /// Bytes that are missing before the next packet.
    lost_bytes: u64,
}

impl TcpFlow {
    /// Writes the handshake of TCP between these ends, the client's first. The sequence numbers of
    /// both begin with `next`.
    pub fn open(
        writer: &mut CaptureWriter,
        ends: [SocketAddr; 2],
        next: [u32; 2],
        (at, comment): (Duration, &str),
    ) -> TcpFlow {
        let mut flow = TcpFlow { ends, next, lost_bytes: 0 };
        for (from, flags) in [(TcpSide::Client, SYN), (TcpSide::Server, SYN | ACK), (TcpSide::Client, ACK)] {
            flow.segment(writer, from, (flags, b""), (at, comment));
        }
        flow
    }

    /// Writes bytes, in as many segments as they need.
    pub fn bytes(
        &mut self,
        writer: &mut CaptureWriter,
        from: TcpSide,
        mut bytes: &[u8],
        (at, comment): (Duration, &str),
    ) {
        while !bytes.is_empty() {
            let written = self.segment(writer, from, (PSH | ACK, bytes), (at, comment));
            bytes = &bytes[written..];
        }
    }

    /// Counts bytes as missing: what the client sent, what it was sent.
    pub fn skip(&mut self, bytes: [u64; 2]) {
        for (next, bytes) in self.next.iter_mut().zip(bytes) {
            *next = next.wrapping_add(bytes as u32);
            self.lost_bytes += bytes;
        }
    }

    /// Writes the end of both directions.
    pub fn end(mut self, writer: &mut CaptureWriter, first: TcpSide, (at, comment): (Duration, &str)) {
        let second = if first == TcpSide::Client { TcpSide::Server } else { TcpSide::Client };
        for (from, flags) in [(first, FIN | ACK), (second, FIN | ACK), (first, ACK)] {
            self.segment(writer, from, (flags, b""), (at, comment));
        }
    }

    /// Returns how many bytes of the payload fitted the segment.
    fn segment(
        &mut self,
        writer: &mut CaptureWriter,
        from: TcpSide,
        (flags, payload): (u8, &[u8]),
        (at, comment): (Duration, &str),
    ) -> usize {
        let own = usize::from(from == TcpSide::Server);
        let acknowledged = if flags & ACK != 0 { self.next[1 - own] } else { 0 };
        let (from, to, sequence) = (self.ends[own], self.ends[1 - own], self.next[own]);
        writer.packet.clear();
        let head = SegmentHeader { from, to, sequence, acknowledged, flags };
        let written = packet::encode(&mut writer.packet, &head, payload);
        let counts = u32::from(flags & (SYN | FIN) != 0);
        self.next[own] = sequence.wrapping_add(written as u32 + counts);
        let comment = match std::mem::take(&mut self.lost_bytes) {
            0 => comment,
            lost => &format!("{comment} lost={lost} bytes before"),
        };
        writer.packet(CLIENTS, at, Some(own == 0), comment);
        written
    }
}
