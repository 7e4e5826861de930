//! Captures: packet files in the format of Wireshark. [`read`] reads them.
//!
//! ```text
//!   file    pcapng, pcap ──► packets with time and comment              ──► pcapng
//!   packet  link, IPv4 or IPv6, TCP ──► a segment                       ──► LINKTYPE_RAW
//!   stream  segments ──► connections: both directions in sequence order
//!   record  LINKTYPE_USER0 ──► the world, its commands and checksums    ──► bytes
//!   tables  records ──► the packet tables of the server
//!   writer                                    connections and records ──► blocks
//! ```
//!
//! ```
//! use tickwire::capture::{self, TcpSide};
//!
//! let file = std::fs::read("scripts/wireshark/samples/packets.pcapng")?;
//! let capture = capture::read(&file)?;
//! for connection in capture.connections() {
//!     let of_client = connection.pieces.iter().filter(|piece| piece.from == TcpSide::Client);
//!     let bytes: usize = of_client.map(|piece| piece.bytes.len()).sum();
//!     println!("{} sent {bytes} bytes to {}", connection.client, connection.server);
//! }
//! # assert_eq!(capture.connections().len(), 5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Reading returns the packets of a file, borrowed from its bytes, its TCP connections, and its
//! world records. [`capture_walk`](crate::tools::explain::capture_walk) explains them. Writing
//! appends block by block. The reader never allocates by a declared length, never panics on a
//! damaged file, and reports missing bytes as a gap.

use std::collections::BTreeMap;

use crate::util::plural::count_noun;

pub(crate) mod compressed_file;
mod file;
pub(crate) mod lane_packet;
pub(crate) mod packet;
mod pcap;
pub(crate) mod pcapng;
mod reader;
mod reassembly;
mod stream_reader;
mod streaming_reassembler;
mod tables;
mod tables_error;
mod tcp_endpoints;
pub(crate) mod world_record;
pub(crate) mod writer;

pub(crate) use file::FOREIGN_COMMENT;
pub use file::{Capture, CaptureError, FormatRule, Packet};
pub(crate) use reader::Reader;
pub(crate) use reassembly::{Assembled, Assembly, ConnectionAssembly};
pub use reassembly::{Gap, StreamPiece, TcpConnection, TcpSide};
pub(crate) use stream_reader::StreamReader;
pub(crate) use streaming_reassembler::{Payload, StreamingReassembler};
pub use tables_error::CapturedTablesError;
pub use world_record::{WorldRecord, WorldRecordError};

pub use crate::util::escape::Untrusted;

impl<'a> Capture<'a> {
    /// The TCP connections, in order of first packets.
    pub fn connections(&self) -> Vec<TcpConnection<'a>> {
        reassembly::connections(&self.packets)
    }

    /// Returns the name of a connection's player: the name in the comments of its packets,
    /// otherwise the name of its client's address, if no other client has this address.
    pub fn name_of(&self, connection: &TcpConnection<'_>, is_only: bool) -> Option<Untrusted<&str>> {
        let packet = |number: usize| self.packets.get(number.checked_sub(1)?);
        let packets = connection.pieces.iter().filter_map(|piece| packet(piece.packet));
        let mut comments = packets.flat_map(|packet| &packet.comments);
        let of_player = comments.find_map(|comment| name_in_comment(comment.raw()));
        let address = connection.client.ip().to_canonical();
        let by_address = || self.names.iter().find(|(known, _)| is_only && *known == address);
        of_player.map(Untrusted::new).or_else(|| by_address().map(|(_, name)| *name))
    }

    /// Describes the packets that contain neither a TCP segment nor a record, with counts by
    /// content; `None` if there are none.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn unread(&self) -> Option<String> {
        let mut unread = Unread::default();
        self.packets.iter().for_each(|packet| unread.add(packet));
        unread.words()
    }

    /// Whether the capture contains a TCP segment or a record.
    pub(crate) fn is_readable(&self) -> bool {
        let mut packets = self.packets.iter();
        packets.any(|packet| packet.link == packet::LINK_WORLD || packet::segment(packet).is_ok())
    }

    /// The world records, each with its packet and the name of its room.
    pub fn records(
        &self,
    ) -> impl Iterator<Item = (&Packet<'a>, Result<(Untrusted<&'a str>, WorldRecord<'a>), WorldRecordError>)>
    {
        let of_world = self.packets.iter().filter(|packet| packet.link == packet::LINK_WORLD);
        of_world.map(|packet| (packet, world_record::decode(packet.bytes)))
    }
}

/// The name in `tick=3 player=2 Ann`. `None` if another word may follow it.
fn name_in_comment(comment: &str) -> Option<&str> {
    let (_, player) = comment.strip_prefix("tick=")?.split_once(" player=")?;
    let (_, name) = player.split_once(' ')?;
    (!name.is_empty() && !name.ends_with("injected")).then_some(name)
}

/// Counts packets that contain neither a TCP segment nor a record, by content.
#[derive(Debug, Default)]
pub(crate) struct Unread(BTreeMap<String, usize>);

impl Unread {
    /// Counts the packet, unless it contains a TCP segment or a record.
    pub fn add(&mut self, packet: &Packet<'_>) {
        if packet.link == packet::LINK_WORLD {
            return;
        }
        if lane_packet::decode(packet).is_some() {
            return;
        }
        let content = match packet::segment(packet) {
            Ok(_) => return,
            Err(_) if !packet::is_supported_link(packet.link) => format!("link type {}", packet.link),
            Err(foreign) => foreign.to_string(),
        };
        *self.0.entry(content).or_default() += 1;
    }

    /// Describes the counts; `None` if there are none.
    pub fn words(&self) -> Option<String> {
        let all: usize = self.0.values().sum();
        let named: Vec<String> = self.0.iter().map(|(content, one)| format!("{one} of {content}")).collect();
        (all > 0).then(|| format!("{} without readable TCP: {}", count_noun(all, "packet"), named.join(", ")))
    }
}

/// Reads a complete capture file: pcapng or pcap, in either byte order.
///
/// # Errors
/// [`CaptureError`] gives the offset of the defect and the violated rule.
pub fn read(bytes: &[u8]) -> Result<Capture<'_>, CaptureError> {
    let mut reader = Reader::new(bytes)?;
    while reader.left() > 0 {
        reader.step()?;
    }
    Ok(reader.finish())
}

#[cfg(test)]
mod tests;
