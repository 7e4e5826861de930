//! The format pcapng: decodes blocks to packets, and encodes packets to blocks.
//!
//! ```text
//!    0       4        8                          n-4      n
//!    +-------+--------+--------------------------+--------+
//!    | kind  | length | body, padded to 4 bytes  | length |
//!    +-------+--------+--------------------------+--------+
//!
//!    section    0x0a0d0d0a   byte order, version
//!    interface           1   link type, time resolution
//!    names               4   address, name
//!    packet              6   interface, time, bytes, options
//! ```
//!
//! The reader skips blocks of other kinds, as the format requires, and checks every length. The
//! writer uses little-endian order and nanoseconds.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::util::escape::Untrusted;

use super::file::{ByteOrder, CaptureError, Cursor, FormatRule, Packet};

const SECTION_HEADER_BLOCK: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION_BLOCK: u32 = 1;
const OBSOLETE_PACKET_BLOCK: u32 = 2;
const SIMPLE_PACKET_BLOCK: u32 = 3;
const NAME_RESOLUTION_BLOCK: u32 = 4;
const ENHANCED_PACKET_BLOCK: u32 = 6;

/// The byte-order magic of a section.
const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// The supported major version.
const MAJOR: u16 = 1;
/// The size of kind and length before the body, and of the length after it, in bytes.
const FRAME_BYTES: usize = 12;
/// The section length that means "not specified".
const UNKNOWN_LENGTH: u64 = u64::MAX;

const OPTION_END: u16 = 0;
const OPTION_COMMENT: u16 = 1;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_RESOLUTION: u16 = 9;
const INTERFACE_OFFSET: u16 = 14;
const PACKET_FLAGS: u16 = 2;
const NAME_IPV4: u16 = 1;
const NAME_IPV6: u16 = 2;

/// Direction bits of a packet's flags.
const FLAG_DIRECTION: u32 = 0b11;
const FLAG_INBOUND: u32 = 0b01;
const FLAG_OUTBOUND: u32 = 0b10;
/// A time resolution of 10^-9 seconds. If the top bit is set, the other bits are the negative
/// exponent of a power of 2.
const NANOSECONDS: u8 = 9;
const RESOLUTION_OF_TWO: u8 = 0b1000_0000;
const MICROSECONDS: u8 = 6;

/// Whether a file starts like pcapng.
pub(super) fn is_pcapng(bytes: &[u8]) -> bool {
    bytes.starts_with(&SECTION_HEADER_BLOCK.to_le_bytes())
}

/// The properties of an interface that apply to its packets.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: u32,
    snap_length: usize,
    resolution: u8,
    offset_seconds: i64,
}

impl Interface {
    /// Converts a time in units of this interface since 1970 to nanoseconds, saturating.
    fn nanoseconds(&self, units: u64) -> u64 {
        let (units, power) = (u128::from(units), u32::from(self.resolution & !RESOLUTION_OF_TWO));
        let ns = if self.resolution & RESOLUTION_OF_TWO != 0 {
            (units * 1_000_000_000) >> power
        } else if power <= u32::from(NANOSECONDS) {
            units * 10u128.pow(u32::from(NANOSECONDS) - power)
        } else {
            10u128.checked_pow(power - u32::from(NANOSECONDS)).map_or(0, |divisor| units / divisor)
        };
        let offset_ns = i128::from(self.offset_seconds) * 1_000_000_000;
        let ns = i128::try_from(ns).unwrap_or(i128::MAX).saturating_add(offset_ns).max(0);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }
}

/// The content of a block.
pub(super) enum Block<'a> {
    /// A packet without a number.
    Packet(Packet<'a>),
    /// A list of addresses and names.
    Names(Cursor<'a>),
    /// Nothing to read.
    Other,
}

/// The byte order and interfaces of the current section.
#[derive(Debug)]
pub(super) struct Blocks {
    order: ByteOrder,
    interfaces: Vec<Interface>,
}

impl Blocks {
    /// Creates the state before the first block.
    pub(super) fn new() -> Blocks {
        Blocks { order: ByteOrder::Little, interfaces: Vec::new() }
    }

    /// Takes the next block. If the bytes end within the block, returns `None` and takes no bytes.
    /// `room` is an empty vector, reused for the comments of a packet.
    pub(super) fn next<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        room: Vec<Untrusted<&'a str>>,
    ) -> Result<Option<Block<'a>>, CaptureError> {
        if cursor.bytes.len() < FRAME_BYTES {
            return Ok(None);
        }
        let begin = *cursor;
        if let Some(order) = section_order(*cursor)? {
            self.order = order;
            self.interfaces.clear();
        }
        cursor.order = self.order;
        let Some((kind, body)) = block(cursor)? else {
            *cursor = begin;
            return Ok(None);
        };
        match kind {
            SECTION_HEADER_BLOCK => section(body)?,
            INTERFACE_DESCRIPTION_BLOCK => self.interfaces.push(interface(body)?),
            NAME_RESOLUTION_BLOCK => return Ok(Some(Block::Names(body))),
            ENHANCED_PACKET_BLOCK | OBSOLETE_PACKET_BLOCK | SIMPLE_PACKET_BLOCK => {
                return packet(kind, body, &self.interfaces, room).map(|packet| Some(Block::Packet(packet)));
            }
            _ => {}
        }
        Ok(Some(Block::Other))
    }
}

/// Determines the byte order if a section starts here; `None` if not. The length field of the
/// section already has this order.
fn section_order(mut cursor: Cursor<'_>) -> Result<Option<ByteOrder>, CaptureError> {
    if !is_pcapng(cursor.bytes) {
        return Ok(None);
    }
    cursor.take(8).ok();
    let at_magic = cursor;
    cursor.order = ByteOrder::Little;
    match cursor.u32().map(|magic| (magic, magic.swap_bytes())) {
        Ok((BYTE_ORDER, _)) => Ok(Some(ByteOrder::Little)),
        Ok((_, BYTE_ORDER)) => Ok(Some(ByteOrder::Big)),
        Ok(_) => Err(at_magic.error(FormatRule::ByteOrder)),
        Err(_) => Ok(None),
    }
}

/// Takes the kind and body of the next block; `None` if the file ends within it.
fn block<'a>(cursor: &mut Cursor<'a>) -> Result<Option<(u32, Cursor<'a>)>, CaptureError> {
    if cursor.bytes.len() < FRAME_BYTES {
        return Ok(None);
    }
    let kind = cursor.u32()?;
    let at_length = *cursor;
    let length = cursor.u32()?;
    if (length as usize) < FRAME_BYTES || !length.is_multiple_of(4) {
        return Err(at_length.error(FormatRule::BlockLength(length)));
    }
    let body_bytes = length as usize - FRAME_BYTES;
    if cursor.bytes.len() < body_bytes + 4 {
        return Ok(None);
    }
    let mut body = *cursor;
    body.bytes = cursor.take(body_bytes)?;
    let at_end = *cursor;
    match cursor.u32()? {
        again if again == length => Ok(Some((kind, body))),
        other => Err(at_end.error(FormatRule::BlockEnd(other))),
    }
}

fn section(mut body: Cursor<'_>) -> Result<(), CaptureError> {
    body.take(4)?;
    match body.u16()? {
        MAJOR => Ok(()),
        major => Err(body.error(FormatRule::Version(major))),
    }
}

/// Takes the number and value of the next option; `None` after the last one.
fn option<'a>(body: &mut Cursor<'a>) -> Result<Option<(u16, Cursor<'a>)>, CaptureError> {
    if body.bytes.is_empty() {
        return Ok(None);
    }
    let (number, length) = (body.u16()?, body.u16()?);
    if number == OPTION_END {
        return Ok(None);
    }
    let mut value = *body;
    value.bytes = body.take_padded(length.into())?;
    Ok(Some((number, value)))
}

fn interface(mut body: Cursor<'_>) -> Result<Interface, CaptureError> {
    let (link, _reserved) = (body.u16()?, body.u16()?);
    let snap_length = match body.u32()? {
        0 => usize::MAX,
        bytes => bytes as usize,
    };
    let mut interface =
        Interface { link: link.into(), snap_length, resolution: MICROSECONDS, offset_seconds: 0 };
    while let Some((number, mut value)) = option(&mut body)? {
        match number {
            INTERFACE_RESOLUTION => interface.resolution = value.array::<1>()?[0],
            INTERFACE_OFFSET => {
                let bytes = value.array()?;
                interface.offset_seconds = match value.order {
                    ByteOrder::Little => i64::from_le_bytes(bytes),
                    ByteOrder::Big => i64::from_be_bytes(bytes),
                };
            }
            _ => {}
        }
    }
    Ok(interface)
}

/// Decodes a packet without its number.
fn packet<'a>(
    kind: u32,
    mut body: Cursor<'a>,
    interfaces: &[Interface],
    comments: Vec<Untrusted<&'a str>>,
) -> Result<Packet<'a>, CaptureError> {
    let at_interface = body;
    let number = match kind {
        ENHANCED_PACKET_BLOCK => body.u32()?,
        OBSOLETE_PACKET_BLOCK => {
            let (interface, _drops) = (body.u16()?, body.u16()?);
            interface.into()
        }
        _ => 0,
    };
    let interface = interfaces.get(number as usize);
    let interface = interface.ok_or_else(|| at_interface.error(FormatRule::Interface(number)))?;
    if kind == SIMPLE_PACKET_BLOCK {
        let original_length = body.u32()? as usize;
        let bytes = body.take(original_length.min(interface.snap_length))?;
        let link = interface.link;
        return Ok(Packet { number: 0, at_ns: 0, link, bytes, original_length, inbound: None, comments });
    }
    let units = u64::from(body.u32()?) << 32 | u64::from(body.u32()?);
    let (captured, whole) = (body.u32()? as usize, body.u32()? as usize);
    let mut packet = Packet {
        number: 0,
        at_ns: interface.nanoseconds(units),
        link: interface.link,
        bytes: body.take_padded(captured)?,
        original_length: whole.max(captured),
        inbound: None,
        comments,
    };
    while let Some((number, mut value)) = option(&mut body)? {
        match number {
            OPTION_COMMENT => packet.comments.extend(str::from_utf8(value.bytes).map(Untrusted::new)),
            PACKET_FLAGS => {
                packet.inbound = match value.u32()? & FLAG_DIRECTION {
                    FLAG_INBOUND => Some(true),
                    FLAG_OUTBOUND => Some(false),
                    _ => None,
                };
            }
            _ => {}
        }
    }
    Ok(packet)
}

/// Decodes a names block. A record ends with one or more names, each terminated by a zero byte;
/// only the first is used.
pub(super) fn names<'a>(
    mut body: Cursor<'a>,
    names: &mut Vec<(IpAddr, Untrusted<&'a str>)>,
) -> Result<(), CaptureError> {
    while let Some((kind, mut value)) = option(&mut body)? {
        let address: IpAddr = match kind {
            NAME_IPV4 => Ipv4Addr::from(value.array::<4>()?).into(),
            NAME_IPV6 => Ipv6Addr::from(value.array::<16>()?).into(),
            _ => continue,
        };
        let name = value.bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        names.extend(str::from_utf8(name).map(|name| (address, Untrusted::new(name))));
    }
    Ok(())
}

/// Appends a section header, which starts a file, with the name of the application.
pub fn write_section(out: &mut Vec<u8>, application: &str) {
    write_block(out, SECTION_HEADER_BLOCK, |out| {
        out.extend_from_slice(&BYTE_ORDER.to_le_bytes());
        out.extend_from_slice(&MAJOR.to_le_bytes());
        out.extend_from_slice(&0u16.to_le_bytes());
        out.extend_from_slice(&UNKNOWN_LENGTH.to_le_bytes());
        write_option(out, SECTION_APPLICATION, application.as_bytes());
        write_option(out, OPTION_END, b"");
    });
}

/// Appends an interface with this link type and a time resolution of nanoseconds. Interfaces are
/// numbered from 0.
pub fn write_interface(out: &mut Vec<u8>, link: u16, name: &str) {
    write_block(out, INTERFACE_DESCRIPTION_BLOCK, |out| {
        out.extend_from_slice(&link.to_le_bytes());
        out.extend_from_slice(&0u16.to_le_bytes());
        out.extend_from_slice(&0u32.to_le_bytes());
        write_option(out, INTERFACE_NAME, name.as_bytes());
        write_option(out, INTERFACE_RESOLUTION, &[NANOSECONDS]);
        write_option(out, OPTION_END, b"");
    });
}

/// Appends a name for an address. The name is truncated at a zero byte, because zero terminates
/// names.
pub fn write_name(out: &mut Vec<u8>, address: IpAddr, name: &str) {
    let name = name.split('\0').next().unwrap_or_default();
    write_block(out, NAME_RESOLUTION_BLOCK, |out| {
        let (kind, mut record) = match address {
            IpAddr::V4(address) => (NAME_IPV4, address.octets().to_vec()),
            IpAddr::V6(address) => (NAME_IPV6, address.octets().to_vec()),
        };
        record.extend_from_slice(name.as_bytes());
        record.push(0);
        write_option(out, kind, &record);
        write_option(out, OPTION_END, b"");
    });
}

/// The metadata of a packet.
#[derive(Debug, Clone, Copy)]
pub struct PacketMeta<'a> {
    /// The number of the interface.
    pub interface: u32,
    /// Time of capture, in nanoseconds since 1970.
    pub at_ns: u64,
    /// Whether the machine received or sent the packet; `None` if unknown.
    pub inbound: Option<bool>,
    /// A comment; not written if empty.
    pub comment: &'a str,
}

/// Appends a complete packet.
pub fn write_packet(out: &mut Vec<u8>, meta: &PacketMeta<'_>, bytes: &[u8]) {
    write_part(out, meta, bytes, bytes.len());
}

/// Appends the captured part of a packet of `original_length` bytes.
pub fn write_part(out: &mut Vec<u8>, meta: &PacketMeta<'_>, bytes: &[u8], original_length: usize) {
    write_block(out, ENHANCED_PACKET_BLOCK, |out| {
        out.extend_from_slice(&meta.interface.to_le_bytes());
        out.extend_from_slice(&((meta.at_ns >> 32) as u32).to_le_bytes());
        out.extend_from_slice(&(meta.at_ns as u32).to_le_bytes());
        out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(&(original_length as u32).to_le_bytes());
        out.extend_from_slice(bytes);
        pad(out, bytes.len());
        if !meta.comment.is_empty() {
            write_option(out, OPTION_COMMENT, meta.comment.as_bytes());
        }
        if let Some(inbound) = meta.inbound {
            let flags = if inbound { FLAG_INBOUND } else { FLAG_OUTBOUND };
            write_option(out, PACKET_FLAGS, &flags.to_le_bytes());
        }
        if !meta.comment.is_empty() || meta.inbound.is_some() {
            write_option(out, OPTION_END, b"");
        }
    });
}

fn write_block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    let length = (out.len() - begin + 4) as u32;
    out[begin + 4..begin + 8].copy_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
}

/// Appends an option. A value longer than 65,535 bytes is truncated; only text can be that long.
fn write_option(out: &mut Vec<u8>, number: u16, value: &[u8]) {
    let value = &value[..value.len().min(u16::MAX.into())];
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    out.extend_from_slice(value);
    pad(out, value.len());
}

fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(&[0; 3][..length.wrapping_neg() % 4]);
}
