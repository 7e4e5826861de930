//! A checksum over every field of the state.
//!
//! The input is the sequence of scalars from [`crate::fields`], so no field is left out. Four lanes take
//! turns, so that a processor works on four scalars at a time. Each step is a bijection of both the lane's
//! value and the scalar, and so is the end of each lane: if exactly one scalar differs, the result
//! certainly differs.
//!
//! The checksum detects worlds that diverged. It does not prevent anyone from constructing two
//! worlds with the same checksum.

use crate::fields::Sink;

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
        self.0 = [second, third, fourth, mix(lane, value)];
    }
}

/// The factor is odd, so multiplication is invertible; so is xor with a shifted value.
#[inline]
fn mix(lane: u64, value: u64) -> u64 {
    let mixed = (lane ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}
