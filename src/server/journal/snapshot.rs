//! Snapshots: the world and the seats at a sequence, each in a file.

use std::sync::Arc;

use tickwire_sim::{Malformed, Reader};

use super::identity::WorldIdentity;
use super::record::{SEAT_BYTES, read_seat, write_seat};
use super::segment::{check_seal, seal};
#[cfg(doc)]
use super::storage::FileKind;
use crate::server::room::HashedSeat;

const MAGIC: &[u8; 4] = b"TWP2";

/// A snapshot file.
///
/// ```text
///   0        4        8       12    16      24      32         40     44         52      56
///   +--------+--------+-------+-----+-------+-------+----------+------+----------+-------+------
///   | "TWP2" | length | CRC32 | run | epoch | fence | sequence | tick | checksum | seats | world
///   | 4 byte | u32    | u32   | u32 | u64   | u64   | u64      | u32  | u64      | u32   | ident.
///   +--------+--------+-------+-----+-------+-------+----------+------+----------+-------+------
///   then each seat in 34 bytes, and the bytes of the world up to the end
/// ```
///
/// `length` is the length of the file in bytes. The CRC covers everything except itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalSnapshot {
    /// The number of the run.
    pub run: u32,
    /// The epoch of the run.
    pub epoch: u64,
    /// The fence of the process that has written the snapshot; 0 outside a cluster.
    pub fence: u64,
    /// The sequence of the first record that the snapshot does not include.
    pub sequence: u64,
    /// Ticks completed.
    pub tick: u32,
    /// The checksum of the world.
    pub checksum: u64,
    /// The identity of the world.
    pub identity: WorldIdentity,
    /// The seats that clients can resume.
    pub seats: Vec<HashedSeat>,
    /// The bytes for `Sim::restore`; in a file of [`FileKind::Named`], those for `Sim::migrate`.
    pub world: Arc<[u8]>,
}

impl JournalSnapshot {
    /// Encodes the file.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.world.len() + self.seats.len() * SEAT_BYTES + 256);
        out.extend(MAGIC);
        out.extend([0; 8]);
        out.extend(self.run.to_le_bytes());
        out.extend(self.epoch.to_le_bytes());
        out.extend(self.fence.to_le_bytes());
        out.extend(self.sequence.to_le_bytes());
        out.extend(self.tick.to_le_bytes());
        out.extend(self.checksum.to_le_bytes());
        out.extend((self.seats.len() as u32).to_le_bytes());
        self.identity.encode(&mut out);
        self.seats.iter().for_each(|seat| write_seat(seat, &mut out));
        out.extend_from_slice(&self.world);
        seal(&mut out);
        out
    }

    /// Decodes a file.
    ///
    /// # Errors
    /// The offset and the rule that the bytes break.
    pub fn decode(bytes: &[u8]) -> Result<JournalSnapshot, (u64, String)> {
        let length = check_seal(bytes, MAGIC, "a snapshot of a journal")?;
        if length != bytes.len() {
            return Err((4, format!("the length {length} must be {}, the length of the file", bytes.len())));
        }
        JournalSnapshot::read(&bytes[12..]).map_err(|error| (12, error.to_string()))
    }

    fn read(bytes: &[u8]) -> Result<JournalSnapshot, Malformed> {
        let mut reader = Reader::new(bytes);
        let (run, epoch, fence, sequence) = (reader.u32()?, reader.u64()?, reader.u64()?, reader.u64()?);
        let (tick, checksum, seats) = (reader.u32()?, reader.u64()?, reader.u32()?);
        let identity = WorldIdentity::decode(&mut reader)?;
        let seats = (0..seats).map(|_| read_seat(&mut reader)).collect::<Result<_, _>>()?;
        let world = reader.rest().into();
        Ok(JournalSnapshot { run, epoch, fence, sequence, tick, checksum, identity, seats, world })
    }
}
