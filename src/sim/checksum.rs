//! A checksum over every field of the state.
//!
//! The input is the sequence of scalars from [`crate::fields`], so no field is left out. Four lanes take
//! turns, so that a processor works on four scalars at a time; each is FNV-1a of 64 bits with scalars in
//! place of bytes. Each step is a bijection of both the lane's value and the scalar, and so is the end of
//! each lane: if exactly one scalar differs, the result certainly differs.
//!
//! The checksum detects worlds that diverged. It does not prevent anyone from constructing two
//! worlds with the same checksum.

use crate::fields::Sink;

/// Spreads a small difference over the high bits.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// The checksum of the scalars so far: the lane of the next scalar is the first.
#[derive(Clone, Copy, Debug)]
pub struct Checksum([u64; 4]);

impl Default for Checksum {
    fn default() -> Checksum {
        Checksum::new()
    }
}

impl Checksum {
    /// The value before the first scalar.
    pub fn new() -> Checksum {
        let lane = 0x7469_636b_7769_7265;
        Checksum([lane, lane + 1, lane + 2, lane + 3])
    }

    /// The value after the last scalar.
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

/// The end of a lane reaches all bits: xor with a shifted value is invertible too.
fn mix(all: u64, lane: u64) -> u64 {
    let mixed = (all ^ lane).wrapping_mul(FACTOR);
    mixed ^ (mixed >> 29)
}
