//! Decodes packets to TCP segments, and encodes segments to packets.
//!
//! ```text
//!   link header, if any ─► VLAN, PPPoE, MPLS ─► IPv4 or IPv6, nested or not ─► TCP ─► payload
//! ```
//!
//! For a packet without TCP, decoding returns its content as a [`Foreign`]. Encoding writes no link
//! header. Checksums are written but not checked, because captures on the sender's machine often
//! lack them. IP fragments are not reassembled, and other tunnels are not decoded.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::Packet;
use crate::limits::CAPTURE_SEGMENT_BYTES;

/// LINKTYPE_RAW: packets begin with an IPv4 or IPv6 header.
pub const LINK_RAW: u32 = 101;
/// LINKTYPE_USER0: packets are records of the world; see [`super::world_record`].
pub const LINK_WORLD: u32 = 147;
const LINK_LOOPBACK: u32 = 0;
const LINK_ETHERNET: u32 = 1;
const LINK_RAW_BSD: u32 = 12;
const LINK_RAW_OPENBSD: u32 = 14;
const LINK_LOOPBACK_OPENBSD: u32 = 108;
const LINK_LINUX_COOKED: u32 = 113;
const LINK_IPV4: u32 = 228;
const LINK_IPV6: u32 = 229;
const LINK_LINUX_COOKED_2: u32 = 276;
/// Link types to try for a packet without its capture.
pub const LIKELY_LINKS: [u32; 5] =
    [LINK_RAW, LINK_ETHERNET, LINK_LINUX_COOKED, LINK_LINUX_COOKED_2, LINK_LOOPBACK];

/// The sender has finished sending.
pub const FIN: u8 = 0b0000_0001;
/// Opens the connection. The first byte has the next sequence number.
pub const SYN: u8 = 0b0000_0010;
/// Resets the connection.
pub const RST: u8 = 0b0000_0100;
/// The receiver should deliver the data at once.
pub const PSH: u8 = 0b0000_1000;
/// The acknowledgement number is valid.
pub const ACK: u8 = 0b0001_0000;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_ARP: u16 = 0x0806;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_PPPOE_DISCOVERY: u16 = 0x8863;
const ETHERTYPE_PPPOE: u16 = 0x8864;
/// The smallest EtherType. A smaller value is a length, and an LLC header follows (IEEE 802.3).
const ETHERTYPE_FIRST: u16 = 0x0600;
/// The tags of IEEE 802.1Q and 802.1ad, and the older tag for two VLAN tags.
const ETHERTYPE_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// Unicast and multicast MPLS (RFC 5332).
const ETHERTYPE_MPLS: [u16; 2] = [0x8847, 0x8848];
/// Version, type, code, session and length (RFC 2516). The protocol number of PPP follows.
const PPPOE_HEADER_BYTES: usize = 6;
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
const MPLS_LABEL_BYTES: usize = 4;
/// Maximum number of nested tags and tunnels before TCP. A packet with more is not decoded.
const NESTED_HEADERS: usize = 16;
const PROTOCOL_IPV4: u8 = 4;
pub(super) const PROTOCOL_UDP: u8 = 17;
const PROTOCOL_IPV6: u8 = 41;
const PROTOCOL_IPV6_FRAGMENT: u8 = 44;
/// The fragment offset and the "more fragments" bit of IPv6. Both are 0 in an atomic fragment (RFC
/// 6946).
const IPV6_FRAGMENT: u16 = 0b1111_1111_1111_1001;
const PROTOCOL_TCP: u8 = 6;
/// IPv6 extension headers that may precede TCP: hop-by-hop options, routing, destination options.
const IPV6_EXTENSIONS: [u8; 3] = [0, 43, 60];
pub(super) const IPV4_HEADER_BYTES: usize = 20;
pub(super) const IPV6_HEADER_BYTES: usize = 40;
const TCP_HEADER_BYTES: usize = 20;
/// The fragment offset and the "more fragments" bit of IPv4. A fragment has at least one of them.
const IPV4_FRAGMENT: u16 = 0b0011_1111_1111_1111;
const IPV4_DO_NOT_FRAGMENT: u16 = 0b0100_0000_0000_0000;
const HOPS: u8 = 64;
/// The largest window. With the largest scale in [`SYN_OPTIONS`], no reader reports a full window.
const WINDOW: u16 = u16::MAX;
/// Options of a SYN: maximum segment size 65,495 bytes, no-operation, window scale 14.
const SYN_OPTIONS: [u8; 8] = [2, 4, 0xff, 0xd7, 1, 3, 3, 14];

/// The addresses and the TCP header of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// Sequence number of the first payload byte.
    pub sequence: u32,
    /// Acknowledgement number: the next sequence number that the sender expects.
    pub acknowledged: u32,
    /// TCP flags, such as [`SYN`].
    pub flags: u8,
}

/// A decoded segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment<'a> {
    /// The addresses and the TCP header.
    pub head: SegmentHeader,
    /// The captured payload.
    pub payload: &'a [u8],
    /// The number of payload bytes missing at the end, because they were not captured.
    pub missing_bytes: usize,
}

/// Whether packets of this link type are decoded, as TCP or as world records.
pub fn is_supported_link(link: u32) -> bool {
    matches!(
        link,
        LINK_RAW
            | LINK_RAW_BSD
            | LINK_RAW_OPENBSD
            | LINK_IPV4
            | LINK_IPV6
            | LINK_LOOPBACK
            | LINK_LOOPBACK_OPENBSD
            | LINK_ETHERNET
            | LINK_LINUX_COOKED
            | LINK_LINUX_COOKED_2
            | LINK_WORLD
    )
}

/// The content of a packet without a readable TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Foreign {
    /// Content with a well-known name.
    Named(&'static str),
    /// An unknown EtherType.
    EtherType(u16),
    /// An unknown IP protocol number.
    Protocol(u8),
}

impl fmt::Display for Foreign {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Foreign::Named(name) => out.write_str(name),
            Foreign::EtherType(number) => write!(out, "Ethernet type 0x{number:04x}"),
            Foreign::Protocol(number) => write!(out, "IP protocol {number}"),
        }
    }
}

/// The content of a packet with truncated or contradictory headers.
const SHORT: Foreign = Foreign::Named("incomplete headers");

/// Decodes the TCP segment of a packet; `None` if it has no readable one.
pub fn decode<'a>(packet: &Packet<'a>) -> Option<Segment<'a>> {
    segment(packet).ok()
}

/// Decodes the TCP segment of a packet.
///
/// # Errors
/// The content of a packet without a readable TCP segment.
pub fn segment<'a>(packet: &Packet<'a>) -> Result<Segment<'a>, Foreign> {
    let bytes = packet.bytes;
    let within = Within { missing: packet.original_length.saturating_sub(bytes.len()), depth: 0 };
    match packet.link {
        LINK_RAW | LINK_RAW_BSD | LINK_RAW_OPENBSD | LINK_IPV4 | LINK_IPV6 => within.ip(bytes),
        // The four bytes of the address family are skipped, because the IP header has the version
        // too.
        LINK_LOOPBACK | LINK_LOOPBACK_OPENBSD => within.ip(bytes.get(4..).ok_or(SHORT)?),
        LINK_ETHERNET => within.ethernet(bytes, 12, 14),
        LINK_LINUX_COOKED => within.ethernet(bytes, 14, 16),
        LINK_LINUX_COOKED_2 => within.ethernet(bytes, 0, 20),
        _ => Err(Foreign::Named("an unsupported link type")),
    }
}

/// A position among the headers of a packet.
#[derive(Clone, Copy)]
struct Within {
    /// The number of bytes at the end of the packet that were not captured.
    missing: usize,
    /// The number of tags and tunnels decoded so far.
    depth: usize,
}

impl Within {
    fn deeper(self) -> Result<Within, Foreign> {
        let depth = self.depth + 1;
        if depth > NESTED_HEADERS {
            Err(Foreign::Named("too many headers"))
        } else {
            Ok(Within { depth, ..self })
        }
    }

    /// Decodes the payload at offset `payload` by the EtherType at offset `at`.
    fn ethernet(self, bytes: &[u8], at: usize, payload: usize) -> Result<Segment<'_>, Foreign> {
        let kind = u16_at(bytes, at).ok_or(SHORT)?;
        let bytes = bytes.get(payload..).ok_or(SHORT)?;
        match kind {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => self.ip(bytes),
            // A tag is followed by the EtherType of its content.
            _ if ETHERTYPE_VLAN.contains(&kind) => self.deeper()?.ethernet(bytes, 2, 4),
            _ if ETHERTYPE_MPLS.contains(&kind) => self.mpls(bytes),
            ETHERTYPE_PPPOE => {
                let payload = bytes.get(PPPOE_HEADER_BYTES + 2..).ok_or(SHORT)?;
                match u16_at(bytes, PPPOE_HEADER_BYTES).ok_or(SHORT)? {
                    PPP_IPV4 | PPP_IPV6 => self.ip(payload),
                    _ => Err(Foreign::Named("PPP control")),
                }
            }
            ETHERTYPE_PPPOE_DISCOVERY => Err(Foreign::Named("PPPoE discovery")),
            ETHERTYPE_ARP => Err(Foreign::Named("ARP")),
            ..ETHERTYPE_FIRST => Err(Foreign::Named("IEEE 802.3 LLC")),
            other => Err(Foreign::EtherType(other)),
        }
    }

    /// Decodes an MPLS label stack. The lowest bit of the third byte marks the last label (RFC
    /// 3032).
    fn mpls(self, bytes: &[u8]) -> Result<Segment<'_>, Foreign> {
        let is_last = *bytes.get(2).ok_or(SHORT)? & 1 != 0;
        let payload = bytes.get(MPLS_LABEL_BYTES..).ok_or(SHORT)?;
        match payload.first().ok_or(SHORT)? >> 4 {
            _ if !is_last => self.deeper()?.mpls(payload),
            4 | 6 => self.ip(payload),
            _ => Err(Foreign::Named("MPLS without IP")),
        }
    }

    fn ip(self, bytes: &[u8]) -> Result<Segment<'_>, Foreign> {
        match bytes.first().ok_or(SHORT)? >> 4 {
            4 => self.ipv4(bytes),
            6 => self.ipv6(bytes),
            _ => Err(Foreign::Named("IP of an unknown version")),
        }
    }

    fn ipv4(self, bytes: &[u8]) -> Result<Segment<'_>, Foreign> {
        let header_bytes = usize::from(bytes.first().ok_or(SHORT)? & 0b1111) * 4;
        let protocol = *bytes.get(9).ok_or(SHORT)?;
        if header_bytes < IPV4_HEADER_BYTES {
            return Err(SHORT);
        }
        if u16_at(bytes, 6).ok_or(SHORT)? & IPV4_FRAGMENT != 0 {
            return Err(Foreign::Named("IPv4 fragments"));
        }
        // The length is 0 if segmentation is offloaded to the network card.
        let length = match usize::from(u16_at(bytes, 2).ok_or(SHORT)?) {
            0 => bytes.len() + self.missing,
            length => length,
        };
        let address =
            |at: usize| bytes.get(at..)?.first_chunk().map(|octets: &[u8; 4]| Ipv4Addr::from(*octets));
        let (from, to) = (address(12).ok_or(SHORT)?.into(), address(16).ok_or(SHORT)?.into());
        let length = length.checked_sub(header_bytes).ok_or(SHORT)?;
        self.transport(protocol, bytes.get(header_bytes..).ok_or(SHORT)?, length, (from, to))
    }

    fn ipv6(self, bytes: &[u8]) -> Result<Segment<'_>, Foreign> {
        let address =
            |at: usize| bytes.get(at..)?.first_chunk().map(|octets: &[u8; 16]| Ipv6Addr::from(*octets));
        let (from, to) = (address(8).ok_or(SHORT)?.into(), address(24).ok_or(SHORT)?.into());
        let length = match usize::from(u16_at(bytes, 4).ok_or(SHORT)?) {
            0 => (bytes.len() + self.missing).checked_sub(IPV6_HEADER_BYTES).ok_or(SHORT)?,
            length => length,
        };
        let (mut next, mut at) = (*bytes.get(6).ok_or(SHORT)?, IPV6_HEADER_BYTES);
        loop {
            let header = bytes.get(at..).unwrap_or_default();
            if IPV6_EXTENSIONS.contains(&next) {
                at += (usize::from(*header.get(1).ok_or(SHORT)?) + 1) * 8;
            } else if next == PROTOCOL_IPV6_FRAGMENT {
                if u16_at(header, 2).ok_or(SHORT)? & IPV6_FRAGMENT != 0 {
                    return Err(Foreign::Named("IPv6 fragments"));
                }
                at += 8;
            } else {
                break;
            }
            next = *header.first().ok_or(SHORT)?;
        }
        let length = (length + IPV6_HEADER_BYTES).checked_sub(at).ok_or(SHORT)?;
        self.transport(next, bytes.get(at..).ok_or(SHORT)?, length, (from, to))
    }

    /// Decodes the payload of an IP packet. The payload may be truncated, or followed by padding.
    fn transport(
        self,
        protocol: u8,
        bytes: &[u8],
        length: usize,
        (from, to): (IpAddr, IpAddr),
    ) -> Result<Segment<'_>, Foreign> {
        match protocol {
            PROTOCOL_TCP => tcp(bytes, length, from, to).ok_or(SHORT),
            PROTOCOL_IPV4 | PROTOCOL_IPV6 => self.deeper()?.ip(&bytes[..bytes.len().min(length)]),
            PROTOCOL_UDP => Err(Foreign::Named(udp_name(bytes))),
            1 => Err(Foreign::Named("ICMP")),
            2 => Err(Foreign::Named("IGMP")),
            47 => Err(Foreign::Named("GRE")),
            50 => Err(Foreign::Named("ESP")),
            51 => Err(Foreign::Named("AH")),
            58 => Err(Foreign::Named("ICMPv6")),
            132 => Err(Foreign::Named("SCTP")),
            other => Err(Foreign::Protocol(other)),
        }
    }
}

/// Names a UDP datagram by its destination port. Tunnels have their own names, because they may
/// contain TCP.
fn udp_name(bytes: &[u8]) -> &'static str {
    match u16_at(bytes, 2) {
        Some(4789) => "VXLAN",
        Some(6081) => "GENEVE",
        _ => "UDP",
    }
}

/// Decodes a segment of `length` bytes, possibly truncated, or followed by padding.
fn tcp(bytes: &[u8], length: usize, from: IpAddr, to: IpAddr) -> Option<Segment<'_>> {
    let bytes = &bytes[..bytes.len().min(length)];
    let header_bytes = usize::from(*bytes.get(12)? >> 4) * 4;
    if header_bytes < TCP_HEADER_BYTES {
        return None;
    }
    let payload = bytes.get(header_bytes..)?;
    Some(Segment {
        head: SegmentHeader {
            from: SocketAddr::new(from, u16_at(bytes, 0)?),
            to: SocketAddr::new(to, u16_at(bytes, 2)?),
            sequence: u32_at(bytes, 4)?,
            acknowledged: u32_at(bytes, 8)?,
            flags: *bytes.get(13)?,
        },
        payload,
        missing_bytes: length - bytes.len(),
    })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_be_bytes(*bytes))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// Appends a packet of [`LINK_RAW`] with up to [`CAPTURE_SEGMENT_BYTES`] of the payload, and
/// returns the number of payload bytes written. IPv4-mapped IPv6 addresses are written as IPv4 if
/// both addresses allow this.
pub fn encode(out: &mut Vec<u8>, head: &SegmentHeader, payload: &[u8]) -> usize {
    let payload = &payload[..payload.len().min(CAPTURE_SEGMENT_BYTES)];
    let options: &[u8] = if head.flags & SYN != 0 { &SYN_OPTIONS } else { &[] };
    let segment_bytes = TCP_HEADER_BYTES + options.len() + payload.len();
    let pseudo = write_ip_header(out, (head.from.ip(), head.to.ip()), PROTOCOL_TCP, segment_bytes);
    let begin = out.len();
    out.extend_from_slice(&head.from.port().to_be_bytes());
    out.extend_from_slice(&head.to.port().to_be_bytes());
    out.extend_from_slice(&head.sequence.to_be_bytes());
    out.extend_from_slice(&head.acknowledged.to_be_bytes());
    out.push(((TCP_HEADER_BYTES + options.len()) as u8 / 4) << 4);
    out.push(head.flags);
    out.extend_from_slice(&WINDOW.to_be_bytes());
    let at_checksum = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(options);
    out.extend_from_slice(payload);
    let sum = pseudo + sum(&out[begin..]);
    out[at_checksum..at_checksum + 2].copy_from_slice(&checksum(sum).to_be_bytes());
    payload.len()
}

/// Writes an IP header for a payload of this protocol and length. Returns the sum of the pseudo
/// header for the checksum of the payload.
pub(super) fn write_ip_header(
    out: &mut Vec<u8>,
    (from, to): (IpAddr, IpAddr),
    protocol: u8,
    bytes: usize,
) -> u64 {
    let addresses = match (from.to_canonical(), to.to_canonical()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => write_ipv4(out, from, to, protocol, bytes),
        (from, to) => write_ipv6(out, as_ipv6(from), as_ipv6(to), protocol, bytes),
    };
    addresses + u64::from(protocol) + bytes as u64
}

fn as_ipv6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// Writes an IPv4 header, and returns the sum of the addresses.
fn write_ipv4(out: &mut Vec<u8>, from: Ipv4Addr, to: Ipv4Addr, protocol: u8, bytes: usize) -> u64 {
    let begin = out.len();
    let length = (IPV4_HEADER_BYTES + bytes) as u16;
    out.extend_from_slice(&[0x45, 0]);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&[0; 2]);
    out.extend_from_slice(&IPV4_DO_NOT_FRAGMENT.to_be_bytes());
    out.extend_from_slice(&[HOPS, protocol, 0, 0]);
    out.extend_from_slice(&from.octets());
    out.extend_from_slice(&to.octets());
    let sum_of_header = checksum(sum(&out[begin..]));
    out[begin + 10..begin + 12].copy_from_slice(&sum_of_header.to_be_bytes());
    sum(&from.octets()) + sum(&to.octets())
}

fn write_ipv6(out: &mut Vec<u8>, from: Ipv6Addr, to: Ipv6Addr, protocol: u8, bytes: usize) -> u64 {
    out.extend_from_slice(&[0x60, 0, 0, 0]);
    out.extend_from_slice(&(bytes as u16).to_be_bytes());
    out.extend_from_slice(&[protocol, HOPS]);
    out.extend_from_slice(&from.octets());
    out.extend_from_slice(&to.octets());
    sum(&from.octets()) + sum(&to.octets())
}

/// Sums the bytes as 16-bit numbers, without folding carries (RFC 1071).
pub(super) fn sum(bytes: &[u8]) -> u64 {
    let (pairs, last) = bytes.as_chunks::<2>();
    let pairs: u64 = pairs.iter().map(|pair| u64::from(u16::from_be_bytes(*pair))).sum();
    pairs + last.first().map_or(0, |byte| u64::from(*byte) << 8)
}

pub(super) fn checksum(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum >> 16) + (sum & u64::from(u16::MAX));
    }
    !(sum as u16)
}
