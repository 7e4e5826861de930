//! MessagePack that claims to be large or deeply nested.
//!
//! Each number selects one value, in a whole masked frame. The server must close the connection on
//! receipt of any of these values.

use crate::limits;
use crate::testing::hostile::write_frame;
use crate::ws::frame::Opcode;

/// Number of different values.
pub const COUNT: usize = 8;

/// The value with this number, in a frame.
pub fn frame(number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_frame(&mut bytes, Opcode::Binary, &message(number));
    bytes
}

/// The bytes of the value with this number.
pub fn message(number: usize) -> Vec<u8> {
    let full = limits::MESSAGE_BYTES;
    match number % COUNT {
        // Nested arrays: a recursive reader overflows its stack.
        0 => vec![0x91; full],
        // Nested maps: each map is the key of the outer map.
        1 => vec![0x81; full],
        // Sizes that no message can contain: an array, a map, a string, binary data and an
        // extension of 4 GiB.
        2 => declare_huge(0xdd),
        3 => declare_huge(0xdf),
        4 => declare_huge(0xdb),
        5 => declare_huge(0xc6),
        6 => declare_huge(0xc9),
        // Almost every byte is an empty array, the smallest value for which a reader creates an
        // object.
        _ => {
            let mut bytes = vec![0x92, 0x06, 0xdc, 0x0f, 0xf0];
            bytes.resize(full, 0x90);
            bytes
        }
    }
}

/// A packet with arguments of this type that claim the largest possible size.
fn declare_huge(marker: u8) -> Vec<u8> {
    vec![0x92, 0x06, marker, 0xff, 0xff, 0xff, 0xff, 0x01]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Direction, PacketTables};

    #[test]
    fn each_is_refused_and_closes() {
        let native = PacketTables::builtin().dialect("native").expect("built in");
        for number in 0..COUNT {
            let error = native.decode(Direction::ToServer, &message(number)).expect_err("a bomb");
            assert!(error.closes_connection(), "{number}: {error}");
        }
    }
}
