//! The older format pcap, as tcpdump writes it. Tickwire reads this format, but does not write it.
//!
//! ```text
//!   magic 4 · version 2+2 · time zone 4 · accuracy 4 · snapshot length 4 · link type 4
//!   for each packet:
//!   seconds 4 · micro- or nanoseconds 4 · captured length 4 · original length 4 · captured bytes
//! ```
//!
//! A file begins with one of four magic numbers. The reader stops before a truncated packet.

use super::file::{ByteOrder, CaptureError, Cursor, FormatRule, Packet};

/// The byte order and time unit, determined by the magic number.
#[derive(Debug, Clone, Copy)]
pub(super) struct PcapFormat {
    order: ByteOrder,
    /// Nanoseconds per unit of the fractional seconds.
    unit_ns: u64,
}

impl PcapFormat {
    /// The byte order of numbers.
    pub(super) fn order(self) -> ByteOrder {
        self.order
    }
}

/// The magic number of files in microseconds, in big-endian order.
const MICROSECONDS: [u8; 4] = [0xa1, 0xb2, 0xc3, 0xd4];
/// The magic number of files in nanoseconds, in big-endian order.
const NANOSECONDS: [u8; 4] = [0xa1, 0xb2, 0x3c, 0x4d];
/// The major version of the format, unchanged since 1998.
const MAJOR: u16 = 2;
/// The link type is the lower half of its field. The upper half may declare checksums after
/// packets.
const LINK_TYPE_MASK: u32 = 0xffff;

/// Determines the format by the magic number; `None` if the file is not pcap.
pub(super) fn format(bytes: &[u8]) -> Option<PcapFormat> {
    let magic: [u8; 4] = *bytes.first_chunk()?;
    let mut swapped = magic;
    swapped.reverse();
    let format_for = |magic| match magic {
        MICROSECONDS => Some(1_000),
        NANOSECONDS => Some(1),
        _ => None,
    };
    let big = format_for(magic).map(|unit_ns| PcapFormat { order: ByteOrder::Big, unit_ns });
    big.or_else(|| format_for(swapped).map(|unit_ns| PcapFormat { order: ByteOrder::Little, unit_ns }))
}

/// The size of the file header in bytes.
pub(super) const HEADER_BYTES: usize = 24;

/// Decodes the file header, and returns the link type.
pub(super) fn header(cursor: &mut Cursor<'_>, format: PcapFormat) -> Result<u32, CaptureError> {
    cursor.order = format.order;
    cursor.take(MICROSECONDS.len())?;
    let at_version = *cursor;
    let (major, _minor) = (cursor.u16()?, cursor.u16()?);
    if major != MAJOR {
        return Err(at_version.error(FormatRule::Version(major)));
    }
    let (_zone, _accuracy, _longest) = (cursor.u32()?, cursor.u32()?, cursor.u32()?);
    Ok(cursor.u32()? & LINK_TYPE_MASK)
}

/// Takes the next packet; fails if the packet is truncated.
pub(super) fn packet<'a>(
    cursor: &mut Cursor<'a>,
    format: PcapFormat,
    link: u32,
    number: usize,
) -> Result<Packet<'a>, CaptureError> {
    let (seconds, units) = (u64::from(cursor.u32()?), u64::from(cursor.u32()?));
    let (captured, whole) = (cursor.u32()? as usize, cursor.u32()? as usize);
    Ok(Packet {
        number,
        at_ns: seconds.saturating_mul(1_000_000_000).saturating_add(units.saturating_mul(format.unit_ns)),
        link,
        bytes: cursor.take(captured)?,
        original_length: whole.max(captured),
        inbound: None,
        comments: Vec::new(),
    })
}
