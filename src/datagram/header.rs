//! The header of a datagram. The [module](super) draws its layout.

/// Length of the header in bytes.
pub const HEADER_BYTES: usize = 12;

/// The header of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramHeader {
    /// Number of the lane, chosen by the server.
    pub connection: u32,
    /// The lower 16 bits of the datagram's sequence number.
    pub sequence: u16,
    /// The lower 16 bits of the newest sequence number that the sender has received; 0 for none.
    pub newest: u16,
    /// Bit `n` is 1 if the sender has received the datagram `newest - 1 - n`.
    pub received: u32,
}

impl DatagramHeader {
    /// Reads the header of a datagram. `None` if the datagram is too short.
    pub fn read(datagram: &[u8]) -> Option<DatagramHeader> {
        let header: &[u8; HEADER_BYTES] = datagram.first_chunk()?;
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *header;
        Some(DatagramHeader {
            connection: u32::from_be_bytes([a, b, c, d]),
            sequence: u16::from_be_bytes([e, f]),
            newest: u16::from_be_bytes([g, h]),
            received: u32::from_be_bytes([i, j, k, l]),
        })
    }

    /// Encodes the header.
    pub fn bytes(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[..4].copy_from_slice(&self.connection.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.newest.to_be_bytes());
        bytes[8..].copy_from_slice(&self.received.to_be_bytes());
        bytes
    }
}
