//! A checksum over every field of the state.
//!
//! The input is the sequence of scalars from [`mod@crate::fields`], so no field is omitted. Four
//! lanes receive the scalars in turn, so that a processor works on four at a time. Each lane is
//! 64-bit FNV-1a with scalars instead of bytes and another factor. Every step is invertible, both
//! for the lane's value and for the scalar, and the final mixing is invertible for each lane. Two
//! states that differ in exactly one scalar therefore always have different checksums.
//!
//! The checksum detects worlds that diverged. It is not cryptographic: two worlds with the same
//! checksum can be constructed.

use crate::fields::Sink;

/// Multiplier that spreads a small difference over the high bits.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The checksum of the scalars so far. The first lane receives the next scalar.
#[derive(Clone, Copy, Debug)]
pub struct Checksum([u64; 4]);

impl Default for Checksum {
    fn default() -> Checksum {
        Checksum::new()
    }
}

impl Checksum {
    /// Creates the checksum of no scalars.
    pub fn new() -> Checksum {
        let lane = 0x7469_636b_7769_7265;
        Checksum([lane, lane + 1, lane + 2, lane + 3])
    }

    /// The checksum of all scalars so far.
    pub fn get(self) -> u64 {
        let mut mixed = self.0.into_iter().fold(0, mix);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 31)
    }
}

impl Sink for Checksum {
    #[inline]
    fn put(&mut self, value: u64, _bytes: usize) {
        let [lane, second, third, fourth] = self.0;
        // The factor is odd, so multiplication is invertible.
        self.0 = [second, third, fourth, (lane ^ value).wrapping_mul(FACTOR)];
    }
}

/// Mixes a lane into the result so that it affects all bits. Like the multiplication, xor with a
/// shifted value is invertible.
fn mix(all: u64, lane: u64) -> u64 {
    let mixed = (all ^ lane).wrapping_mul(FACTOR);
    mixed ^ (mixed >> 29)
}
