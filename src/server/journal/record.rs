//! Records: the entries of a segment.

use core::net::{IpAddr, Ipv6Addr};
use std::fmt;
use std::sync::Arc;

use crc32fast::Hasher;
use tickwire_sim::{Malformed, PlayerId, Reader};

use crate::limits;
use crate::server::room::{HashedSeat, SeatChange, SeatKeyHash};
use crate::util::address_prefix::AddressPrefix;

/// Bytes of a record before its payload.
pub const RECORD_HEADER_BYTES: usize = 25;
/// Bytes of a seat: player, hash of the key, address prefix.
pub const SEAT_BYTES: usize = 34;

const FRAME: u8 = 1;
const CHECKSUM: u8 = 2;
const SEAT: u8 = 3;
const UNKEYED: u8 = 4;

/// The content of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordBody {
    /// The command frame of the tick, in the format of `tickwire_sim::command_frame`.
    Frame(Arc<[u8]>),
    /// The checksum of the world before the tick.
    Checksum(u64),
    /// A change of a seat. It takes effect before the tick.
    Seat(SeatChange),
}

impl RecordBody {
    /// Returns the bytes of the encoded record.
    pub fn encoded_bytes(&self) -> usize {
        RECORD_HEADER_BYTES
            + match self {
                RecordBody::Frame(frame) => frame.len(),
                RecordBody::Checksum(_) => 8,
                RecordBody::Seat(SeatChange::Keyed(_)) => SEAT_BYTES,
                RecordBody::Seat(SeatChange::Unkeyed(_)) => 2,
            }
    }

    fn kind(&self) -> u8 {
        match self {
            RecordBody::Frame(_) => FRAME,
            RecordBody::Checksum(_) => CHECKSUM,
            RecordBody::Seat(SeatChange::Keyed(_)) => SEAT,
            RecordBody::Seat(SeatChange::Unkeyed(_)) => UNKEYED,
        }
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            RecordBody::Frame(frame) => out.extend_from_slice(frame),
            RecordBody::Checksum(checksum) => out.extend(checksum.to_le_bytes()),
            RecordBody::Seat(SeatChange::Keyed(seat)) => write_seat(seat, out),
            RecordBody::Seat(SeatChange::Unkeyed(player)) => out.extend(player.0.to_le_bytes()),
        }
    }

    fn read(kind: u8, payload: &[u8]) -> Result<RecordBody, Malformed> {
        let mut reader = Reader::new(payload);
        let body = match kind {
            FRAME => return Ok(RecordBody::Frame(payload.into())),
            CHECKSUM => RecordBody::Checksum(reader.u64()?),
            SEAT => RecordBody::Seat(SeatChange::Keyed(read_seat(&mut reader)?)),
            UNKEYED => RecordBody::Seat(SeatChange::Unkeyed(PlayerId(reader.u16()?))),
            kind => return Err(Malformed::Kind(kind)),
        };
        if reader.rest().is_empty() { Ok(body) } else { Err(Malformed::Trailing) }
    }
}

/// Appends a seat: the player (`u16`), the hash of the key (16 bytes), the first address of the
/// prefix as IPv6 (16 bytes).
pub fn write_seat(seat: &HashedSeat, out: &mut Vec<u8>) {
    let address = match seat.from.first_address() {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    out.extend(seat.player.0.to_le_bytes());
    out.extend(seat.key.0);
    out.extend(address.octets());
}

/// Decodes an output of [`write_seat`].
///
/// # Errors
/// [`Malformed::Truncated`].
pub fn read_seat(reader: &mut Reader<'_>) -> Result<HashedSeat, Malformed> {
    let (player, key) = (PlayerId(reader.u16()?), SeatKeyHash(reader.array()?));
    let from = AddressPrefix::from_ip(Ipv6Addr::from(reader.array::<16>()?).into());
    Ok(HashedSeat { player, key, from })
}

/// A record of a segment.
///
/// ```text
///    0        4       8          16     20    24     25
///    +--------+-------+----------+------+-----+------+----------
///    | length | CRC32 | sequence | tick | lag | kind | payload         numbers: little-endian
///    | u32    | u32   | u64      | u32  | u32 | u8   | length bytes
///    +--------+-------+----------+------+-----+------+----------
///
///    kind 1 command frame   2 checksum u64   3 seat, 34 bytes   4 player u16 of a seat without key
/// ```
///
/// The CRC covers the salt of the segment, the length, and everything after the CRC.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The number of the record in the journal of its room. There are no gaps.
    pub sequence: u64,
    /// The number of ticks completed before the tick of the record.
    pub tick: u32,
    /// Number of records before this one that were not known to be synced when it was written.
    /// Damage to an earlier record than these is not the end of an interrupted write.
    pub lag: u32,
    /// The content.
    pub body: RecordBody,
}

impl Record {
    /// Appends the record, with the salt of its segment.
    pub fn encode(&self, salt: u32, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([0; 8]);
        out.extend(self.sequence.to_le_bytes());
        out.extend(self.tick.to_le_bytes());
        out.extend(self.lag.to_le_bytes());
        out.push(self.body.kind());
        self.body.write(out);
        let length = (out.len() - start - RECORD_HEADER_BYTES) as u32;
        out[start..start + 4].copy_from_slice(&length.to_le_bytes());
        let crc = crc(salt, &out[start..start + 4], &out[start + 8..]);
        out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
    }

    /// Decodes the first record of these bytes. Also returns its length.
    ///
    /// # Errors
    /// The rule that the bytes break.
    pub fn decode(bytes: &[u8], salt: u32) -> Result<(Record, usize), RecordFault> {
        let (sequence, end) = sequence_and_end(bytes)?;
        let bytes = &bytes[..end];
        let mut reader = Reader::new(&bytes[4..]);
        let crc_found = reader.u32()?;
        if crc_found != crc(salt, &bytes[..4], &bytes[8..]) {
            return Err(RecordFault::Crc);
        }
        reader.u64()?;
        let (tick, lag, kind) = (reader.u32()?, reader.u32()?, reader.u8()?);
        let body = RecordBody::read(kind, reader.rest()).map_err(RecordFault::Payload)?;
        Ok((Record { sequence, tick, lag, body }, end))
    }
}

/// Returns the sequence and the end of the first record, without a check of its CRC.
///
/// # Errors
/// The bytes are too short, or the length is not allowed.
pub fn sequence_and_end(bytes: &[u8]) -> Result<(u64, usize), RecordFault> {
    let mut reader = Reader::new(bytes);
    let (length, _, sequence) = (reader.u32()? as usize, reader.u32()?, reader.u64()?);
    if length > limits::JOURNAL_RECORD_BYTES {
        return Err(RecordFault::Length(length));
    }
    let end = RECORD_HEADER_BYTES + length;
    if end > bytes.len() { Err(RecordFault::Truncated) } else { Ok((sequence, end)) }
}

fn crc(salt: u32, length: &[u8], rest: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&salt.to_le_bytes());
    hasher.update(length);
    hasher.update(rest);
    hasher.finalize()
}

/// The rule that the bytes of a record break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordFault {
    /// The file ends within the record.
    Truncated,
    /// The length exceeds [`limits::JOURNAL_RECORD_BYTES`].
    Length(usize),
    /// The CRC differs.
    Crc,
    /// The sequence is not the next one.
    Sequence {
        /// The next sequence.
        expected: u64,
        /// The sequence in the record.
        found: u64,
    },
    /// The CRC is right, but this version cannot decode the payload.
    Payload(Malformed),
}

impl From<Malformed> for RecordFault {
    fn from(_: Malformed) -> RecordFault {
        RecordFault::Truncated
    }
}

impl fmt::Display for RecordFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordFault::Truncated => out.write_str("the file ends within a record"),
            RecordFault::Length(length) => {
                let max = limits::JOURNAL_RECORD_BYTES;
                write!(out, "a record has {length} bytes: at most {max} are allowed")
            }
            RecordFault::Crc => out.write_str("the CRC of a record differs from its bytes"),
            RecordFault::Sequence { expected, found } => {
                write!(out, "record {found} follows, but the next one must be {expected}")
            }
            RecordFault::Payload(rule) => write!(out, "a record cannot be decoded: {rule}"),
        }
    }
}
