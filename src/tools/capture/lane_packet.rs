//! Opened datagrams of lanes as UDP packets.
//!
//! A capture of the server has each datagram as it was before it was sealed: its header and its
//! messages, without a tag. The last word of its comment, `tcp=ADDRESS`, names the client's
//! connection.

use core::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::Packet;
use super::packet::{
    IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, LINK_RAW, PROTOCOL_UDP, checksum, sum, write_ip_header,
};

const UDP_HEADER_BYTES: usize = 8;

/// The word of a comment that names the client's connection.
const CONNECTION_WORD: &str = "tcp=";

/// An opened datagram of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneDatagram<'a> {
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// The client's end of the TCP connection to which the lane belongs.
    pub connection: SocketAddr,
    /// The header of the datagram and its messages.
    pub bytes: &'a [u8],
}

/// Returns the comment of a datagram of this connection.
pub fn comment(comment: &str, connection: SocketAddr) -> String {
    format!("{comment} {CONNECTION_WORD}{connection}")
}

/// Encodes a datagram as a UDP packet with an IP header.
pub fn encode(out: &mut Vec<u8>, [from, to]: [SocketAddr; 2], payload: &[u8]) {
    let bytes = UDP_HEADER_BYTES + payload.len();
    let pseudo = write_ip_header(out, (from.ip(), to.ip()), PROTOCOL_UDP, bytes);
    let begin = out.len();
    out.extend_from_slice(&from.port().to_be_bytes());
    out.extend_from_slice(&to.port().to_be_bytes());
    out.extend_from_slice(&(bytes as u16).to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    out.extend_from_slice(payload);
    // A checksum of 0 means that there is none (RFC 768).
    let sum = match checksum(pseudo + sum(&out[begin..])) {
        0 => u16::MAX,
        sum => sum,
    };
    out[begin + 6..begin + 8].copy_from_slice(&sum.to_be_bytes());
}

/// Decodes a packet that [`encode`] wrote, with the comment of a lane. `None` for other packets.
pub fn decode<'a>(packet: &Packet<'a>) -> Option<LaneDatagram<'a>> {
    if packet.link != LINK_RAW || packet.bytes.len() != packet.original_length {
        return None;
    }
    let words = packet.comments.iter().flat_map(|comment| comment.raw().rsplit(' ').next());
    let connection = words.filter_map(|word| word.strip_prefix(CONNECTION_WORD)?.parse().ok()).next()?;
    let bytes = packet.bytes;
    let (from_ip, to_ip, protocol, udp) = match bytes.first()? >> 4 {
        4 => {
            let address = |at: usize| Some(Ipv4Addr::from(*bytes.get(at..)?.first_chunk::<4>()?).into());
            (address(12)?, address(16)?, *bytes.get(9)?, bytes.get(IPV4_HEADER_BYTES..)?)
        }
        _ => {
            let address = |at: usize| Some(Ipv6Addr::from(*bytes.get(at..)?.first_chunk::<16>()?).into());
            (address(8)?, address(24)?, *bytes.get(6)?, bytes.get(IPV6_HEADER_BYTES..)?)
        }
    };
    let (header, payload) = udp.split_at_checked(UDP_HEADER_BYTES)?;
    let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    (protocol == PROTOCOL_UDP).then_some(LaneDatagram {
        from: SocketAddr::new(from_ip, port(0)),
        to: SocketAddr::new(to_ip, port(2)),
        connection,
        bytes: payload,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::util::escape::Untrusted;

    #[test]
    fn a_datagram_is_read_as_it_was_written() {
        for ends in [["192.0.2.7", "198.51.100.1"], ["2001:db8::7", "2001:db8::1"]] {
            let [from, to] = ends.map(|end| end.parse().expect("an address"));
            let connection = SocketAddr::new(from, 50_000);
            let ends = [SocketAddr::new(from, 50_001), SocketAddr::new(to, 3_000)];
            let (mut bytes, comment) = (Vec::new(), comment("tick=3 player=2 tcp=no", connection));
            encode(&mut bytes, ends, b"payload");
            let packet = |comment| Packet {
                number: 1,
                at_ns: 0,
                link: LINK_RAW,
                bytes: &bytes,
                original_length: bytes.len(),
                inbound: None,
                comments: vec![Untrusted::new(comment)],
            };
            let [from, to] = ends;
            let expected = LaneDatagram { from, to, connection, bytes: b"payload" };
            assert_eq!(decode(&packet(&comment)), Some(expected));
            assert_eq!(decode(&packet("tick=3 player=2 Ann")), None);
            for end in 0..bytes.len() {
                let cut = Packet { bytes: &bytes[..end], original_length: end, ..packet(&comment) };
                assert!(decode(&cut).is_none_or(|cut| cut.bytes.len() < 7), "{end} bytes");
            }
        }
    }
}
