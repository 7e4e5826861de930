//! Writes a capture: the connections of clients as TCP, and the world records.
//!
//! ```text
//!   open ─► SYN, SYN/ACK, ACK    bytes ─► segments, with acknowledgements    end ─► FIN, FIN, ACK
//! ```
//!
//! The output is pcapng blocks. Sequence numbers include lost bytes, so that a loss appears as a
//! gap. Times are relative to the start of the writer's monotonic clock. Each packet has its exact
//! time, because a replay needs it for the rate limits. Timestamps may decrease between packets of
//! different threads. They may also decrease in a new file, because the handshake of a client that
//! connected earlier has its original time.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use super::lane_packet;
use super::packet::{self, ACK, FIN, LINK_RAW, LINK_WORLD, PSH, SYN, SegmentHeader};
use super::pcapng::{self, PacketMeta};
use super::reassembly::TcpSide;
use super::world_record::{self, WorldRecord};
use crate::limits;
use crate::util::escape::Untrusted;

/// Number of the interface for connections.
const CLIENTS: u32 = 0;
/// Number of the interface for world records.
const WORLD: u32 = 1;

/// Writes pcapng blocks to a buffer.
#[derive(Debug)]
pub struct CaptureWriter {
    /// The written blocks. The caller removes them.
    pub blocks: Vec<u8>,
    /// The number of packets written so far.
    pub packets: u64,
    /// The start of the clock, as time since 1970.
    epoch: Duration,
    packet: Vec<u8>,
}

impl CaptureWriter {
    /// Creates a writer for a clock that started at `epoch`, a time since 1970.
    pub fn new(epoch: Duration) -> CaptureWriter {
        CaptureWriter { blocks: Vec::new(), packets: 0, epoch, packet: Vec::new() }
    }

    /// Moves the start of the clock to a later time, because the system clock was set forward or
    /// the machine was suspended. An earlier time is ignored.
    pub fn set_epoch(&mut self, epoch: Duration) {
        self.epoch = self.epoch.max(epoch);
    }

    /// Starts a file with an interface for connections and, if `has_world`, one for world records.
    pub fn begin(&mut self, has_world: bool) {
        pcapng::write_section(&mut self.blocks, concat!("tickwire ", env!("CARGO_PKG_VERSION")));
        pcapng::write_interface(&mut self.blocks, LINK_RAW as u16, "clients");
        if has_world {
            pcapng::write_interface(&mut self.blocks, LINK_WORLD as u16, "world");
        }
    }

    /// Writes a name for an address.
    pub fn name(&mut self, address: IpAddr, name: &str) {
        pcapng::write_name(&mut self.blocks, address, name);
    }

    /// Writes a record of the world of a room.
    pub fn record(&mut self, room: &str, at: Duration, record: &WorldRecord<'_>) {
        self.packet.clear();
        world_record::encode(&mut self.packet, room, record);
        self.packet(WORLD, at, None, "");
    }

    /// Writes the packet tables, as file names and texts, to the world interface. They must precede
    /// everything else, because a reader needs them first.
    pub fn tables(&mut self, at: Duration, tables: &[(&str, &str)]) {
        // The limits on tables keep both numbers far below 65,535.
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

    /// Writes an opened datagram of a lane as UDP.
    pub fn datagram(
        &mut self,
        [from, to]: [SocketAddr; 2],
        is_inbound: bool,
        payload: &[u8],
        (at, comment): (Duration, &str),
    ) {
        self.packet.clear();
        lane_packet::encode(&mut self.packet, [from, to], payload);
        self.packet(CLIENTS, at, Some(is_inbound), comment);
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
impl super::Capture<'_> {
    /// Returns the packets without the world records, as a file with one link type, which libpcap
    /// tools can read.
    ///
    /// # Errors
    /// A message in one line: the capture has no such packets, or their link types differ.
    pub(crate) fn packets_alone(&self) -> Result<Vec<u8>, String> {
        let packets = || self.packets.iter().filter(|packet| packet.link != LINK_WORLD);
        let links: std::collections::BTreeSet<u32> = packets().map(|packet| packet.link).collect();
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
            let meta =
                PacketMeta { interface: CLIENTS, at_ns: packet.at_ns, inbound: packet.inbound, comment };
            pcapng::write_part(&mut out, &meta, packet.bytes, packet.original_length);
        }
        Ok(out)
    }
}

/// Writes one connection.
#[derive(Debug)]
pub struct TcpFlow {
    /// The addresses of client and server.
    ends: [SocketAddr; 2],
    /// The next sequence numbers of client and server.
    next: [u32; 2],
    /// The number of bytes lost before the next packet.
    lost_bytes: u64,
}

impl TcpFlow {
    /// Writes the TCP handshake between `ends`, client first. `next` has the initial sequence
    /// numbers.
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

    /// Writes bytes in one or more segments.
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

    /// Counts lost bytes that the client and the server sent.
    pub fn count_missing(&mut self, bytes: [u64; 2]) {
        for (next, bytes) in self.next.iter_mut().zip(bytes) {
            *next = next.wrapping_add(bytes as u32);
            self.lost_bytes += bytes;
        }
    }

    /// Writes the closing handshake. `first` closes first.
    pub fn end(mut self, writer: &mut CaptureWriter, first: TcpSide, (at, comment): (Duration, &str)) {
        let second = if first == TcpSide::Client { TcpSide::Server } else { TcpSide::Client };
        for (from, flags) in [(first, FIN | ACK), (second, FIN | ACK), (first, ACK)] {
            self.segment(writer, from, (flags, b""), (at, comment));
        }
    }

    /// Writes one segment, and returns the number of payload bytes that fit.
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
