//! A whole network packet instead of its data, as Wireshark copies it from a selected packet.

use crate::tools::capture::Packet;
use crate::tools::capture::packet::{self, LIKELY_LINKS};

/// Returns the data of a complete TCP segment, if the bytes are a packet that begins with a link
/// header or an IP header. The first byte of a frame is no IP version, and an Ethernet packet has
/// an IP header with matching lengths.
pub fn tcp_payload(bytes: &[u8]) -> Option<&[u8]> {
    LIKELY_LINKS.into_iter().find_map(|link| {
        let (number, at_ns, inbound, comments) = (1, 0, None, Vec::new());
        let packet = Packet { number, at_ns, link, bytes, original_length: bytes.len(), inbound, comments };
        let segment = packet::decode(&packet).filter(|segment| segment.missing_bytes == 0)?;
        (!segment.payload.is_empty()).then_some(segment.payload)
    })
}
