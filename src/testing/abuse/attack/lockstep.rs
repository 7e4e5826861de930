//! The packets of attackers in lockstep.

use crate::game::lockstep_packets::{CHECKSUM, MODE_LOCKSTEP, STATE_SYNC_REQUEST};
use crate::limits;
use crate::packet::{Direction, Value};
use crate::testing::abuse::client::native;
use crate::testing::hostile::write_frame;
use crate::ws::frame::Opcode;

/// Number of checksums in a block: for the checksum ticks of the first minutes.
pub const CHECKSUMS: u32 = 80;

/// A packet of the native dialect, in a frame.
fn packet(name: &str, values: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    // The built-in table has these packets. If it lacked a packet, the attacker would send nothing.
    if let Ok(message) = native().encode(Direction::ToServer, name, values) {
        write_frame(&mut bytes, Opcode::Binary, &message);
    }
    bytes
}

/// Requests lockstep as a spectator.
pub fn hello() -> Vec<u8> {
    packet("hello", &[1.into(), MODE_LOCKSTEP.into(), Value::Nil, Value::Nil])
}

/// Requests a snapshot.
pub fn request() -> Vec<u8> {
    packet(STATE_SYNC_REQUEST, &[])
}

/// False checksums for consecutive checksum ticks, so that at least one checksum arrives before its
/// tick is due. Each attacker sends different checksums.
pub fn false_checksums(index: usize) -> Vec<u8> {
    let tick = |number: u32| number * limits::LOCKSTEP_CHECKSUM_TICKS;
    let checksum = format!("{:016x}", index + 1);
    (1..=CHECKSUMS)
        .flat_map(|number| packet(CHECKSUM, &[tick(number).into(), checksum.as_str().into()]))
        .collect()
}
