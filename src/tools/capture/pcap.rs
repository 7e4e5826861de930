//! The older format, pcap, as tcpdump writes it: read only.
//!
//! ```text
//!   magic 4 · version 2+2 · time zone 4 · accuracy 4 · snapshot length 4 · link type 4     then, for each packet:
//!   seconds 4 · micro- or nanoseconds 4 · captured length 4 · original length 4 · captured bytes
//! ```
//!
//! A file of this format begins with one of four magic numbers. A packet that is shorter than it
//! declares is not returned; the capture ends before it.

use super::file::{ByteOrder, CaptureError, Cursor, FormatRule, Packet};

/// The format as given by the first four bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct PcapFormat {
    order: ByteOrder,
    /// Nanoseconds per unit of the fraction of a second.
    unit_ns: u64,
}

impl PcapFormat {
    /// The order of the bytes of its numbers.
    pub(super) fn order(self) -> ByteOrder {
        self.order
    }
}

/// The magic of files in microseconds, most significant byte first.
const MICROSECONDS: [u8; 4] = [0xa1, 0xb2, 0xc3, 0xd4];
/// The magic of files in nanoseconds.
const NANOSECONDS: [u8; 4] = [0xa1, 0xb2, 0x3c, 0x4d];
/// The only version written since 1998.
const MAJOR: u16 = 2;
/// The link's number is the lower half; the upper half may describe checksums after packets.
const LINK_TYPE_MASK: u32 = 0xffff;

/// The format of a file by its first bytes; `None` if it is not pcap.
pub(super) fn format(bytes: &[u8]) -> Option<PcapFormat> {
    let magic: [u8; 4] = *bytes.first_chunk()?;
    let mut swapped = magic;
    swapped.reverse();
    let by = |magic| match magic {
        MICROSECONDS => Some(1_000),
        NANOSECONDS => Some(1),
        _ => None,
    };
    let big = by(magic).map(|unit_ns| PcapFormat { order: ByteOrder::Big, unit_ns });
    big.or_else(|| by(swapped).map(|unit_ns| PcapFormat { order: ByteOrder::Little, unit_ns }))
}

/// The bytes before the first packet.
pub(super) const HEADER_BYTES: usize = 24;

/// Reads the header of the file; returns the link of its packets.
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

/// Takes the next packet; an error if the bytes end before it does.
pub(super) fn packet<'a>(
    cursor: &mut Cursor<'a>,
    format: PcapFormat,
    link: u32,
    number: usize,
) -> Result<Packet<'a>, CaptureError> {
    let (seconds, units) = (u64::from(cursor.u32()?), u64::from(cursor.u32()?));
    let (here, whole) = (cursor.u32()? as usize, cursor.u32()? as usize);
    Ok(Packet {
        number,
        at_ns: seconds.saturating_mul(1_000_000_000).saturating_add(units.saturating_mul(format.unit_ns)),
        link,
        bytes: cursor.take(here)?,
        original_length: whole.max(here),
        inbound: None,
        comments: Vec::new(),
    })
}
