//! Segments: append-only files of records.

use crc32fast::Hasher;
use tickwire_sim::{Malformed, Reader};

use super::identity::WorldIdentity;
use super::record::{Record, RecordFault, sequence_and_end};

const MAGIC: &[u8; 4] = b"TWG2";
/// Bytes of a header before the identity.
const FIXED_BYTES: usize = 52;

/// The header of a segment. It is synced before the file gets its name, so a file with a damaged
/// header is never the result of a crash.
///
/// ```text
///    0        4        8       12     16      24    28      36      44           52
///    +--------+--------+-------+------+-------+-----+-------+-------+------------+----------
///    | "TWG2" | length | CRC32 | salt | epoch | run | fence | first | created_ms | identity
///    | 4 byte | u32    | u32   | u32  | u64   | u32 | u64   | u64   | u64        | of the world
///    +--------+--------+-------+------+-------+-----+-------+-------+------------+----------
/// ```
///
/// `length` is the length of the whole header in bytes. The CRC covers everything except itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentHeader {
    /// Random number that the CRC of each record includes. The text of a client therefore never
    /// contains a valid record.
    pub salt: u32,
    /// The epoch of the room's run: see `RoomConfig::epoch`.
    pub epoch: u64,
    /// The number of the run, which increases with each start.
    pub run: u32,
    /// The fence of the process that has written the segment; 0 outside a cluster.
    pub fence: u64,
    /// The sequence of the first record.
    pub first_sequence: u64,
    /// Time of creation, in milliseconds since 1970.
    pub created_ms: u64,
    /// The identity of the world.
    pub identity: WorldIdentity,
}

impl SegmentHeader {
    /// Encodes the header.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend([0; 8]);
        out.extend(self.salt.to_le_bytes());
        out.extend(self.epoch.to_le_bytes());
        out.extend(self.run.to_le_bytes());
        out.extend(self.fence.to_le_bytes());
        out.extend(self.first_sequence.to_le_bytes());
        out.extend(self.created_ms.to_le_bytes());
        self.identity.encode(&mut out);
        seal(&mut out);
        out
    }

    /// Decodes the header of a segment. Also returns its length in bytes.
    ///
    /// # Errors
    /// The offset and the rule that the bytes break.
    pub fn decode(bytes: &[u8]) -> Result<(SegmentHeader, usize), (u64, String)> {
        let length = check_seal(bytes, MAGIC, "a segment of a journal")?;
        let malformed = |error: Malformed| (FIXED_BYTES as u64, error.to_string());
        let read = |bytes| {
            let mut reader = Reader::new(bytes);
            let (salt, epoch, run) = (reader.u32()?, reader.u64()?, reader.u32()?);
            let (fence, first_sequence, created_ms) = (reader.u64()?, reader.u64()?, reader.u64()?);
            let identity = WorldIdentity::decode(&mut reader)?;
            Ok(SegmentHeader { salt, epoch, run, fence, first_sequence, created_ms, identity })
        };
        read(&bytes[12..length]).map(|header| (header, length)).map_err(malformed)
    }
}

/// Writes the length and the CRC into a header or file whose first 12 bytes are reserved.
pub fn seal(out: &mut [u8]) {
    let length = out.len() as u32;
    out[4..8].copy_from_slice(&length.to_le_bytes());
    let crc = sealed_crc(out);
    out[8..12].copy_from_slice(&crc.to_le_bytes());
}

/// Checks magic bytes, length and CRC. Returns the length.
///
/// # Errors
/// The offset and the rule that the bytes break.
pub fn check_seal(bytes: &[u8], magic: &[u8; 4], noun: &str) -> Result<usize, (u64, String)> {
    let found = bytes.first_chunk::<4>();
    if found != Some(magic) {
        let is_other = found.is_some_and(|found| found[..3] == magic[..3]);
        let rule =
            if is_other { "another version of the program wrote it" } else { "its first bytes differ" };
        return Err((0, format!("the file is not {noun}: {rule}")));
    }
    let length =
        bytes.get(4..8).and_then(|length| length.try_into().ok()).map_or(0, u32::from_le_bytes) as usize;
    if length < 12 || length > bytes.len() {
        return Err((
            4,
            format!("the length {length} must be 12 to {}, the length of the file", bytes.len()),
        ));
    }
    let crc = bytes.get(8..12).and_then(|crc| crc.try_into().ok()).map_or(0, u32::from_le_bytes);
    if crc != sealed_crc(&bytes[..length]) {
        return Err((8, format!("the CRC of {noun} differs from its bytes")));
    }
    Ok(length)
}

fn sealed_crc(bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new();
    hasher.update(&bytes[..8]);
    hasher.update(&bytes[12..]);
    hasher.finalize()
}

/// The records of a segment up to its end or its first fault.
#[derive(Debug)]
pub struct SegmentScan {
    /// The records.
    pub records: Vec<Record>,
    /// The offset and the rule of the first fault.
    pub fault: Option<(u64, RecordFault)>,
}

/// Decodes the records of a segment from this offset on.
pub fn scan(bytes: &[u8], header: &SegmentHeader, start: usize) -> SegmentScan {
    let (mut at, mut expected, mut records) = (start, header.first_sequence, Vec::new());
    while at < bytes.len() {
        let decoded = Record::decode(&bytes[at..], header.salt);
        let fault = match decoded {
            Ok((record, length)) if record.sequence == expected => {
                (at, expected) = (at + length, expected + 1);
                records.push(record);
                continue;
            }
            Ok((record, _)) => RecordFault::Sequence { expected, found: record.sequence },
            Err(fault) => fault,
        };
        return SegmentScan { records, fault: Some((at as u64, fault)) };
    }
    SegmentScan { records, fault: None }
}

/// Returns whether a fault at this offset is damage to synced records, and not the end of an
/// interrupted write: a later record has a valid CRC, and the record at the offset was known to be
/// synced when the later one was written.
pub fn is_damage(bytes: &[u8], header: &SegmentHeader, offset: u64, expected: u64) -> bool {
    (offset as usize + 1..bytes.len()).any(|at| {
        let rest = &bytes[at..];
        // The CRC, which reads all bytes of the record, is computed for plausible sequences only.
        let is_plausible = sequence_and_end(rest)
            .is_ok_and(|(sequence, _)| sequence > expected && sequence - expected <= bytes.len() as u64);
        let later = if is_plausible { Record::decode(rest, header.salt).ok() } else { None };
        later.is_some_and(|(later, _)| expected < later.sequence.saturating_sub(later.lag.into()))
    })
}
