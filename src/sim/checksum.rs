//! A checksum over every field of the state.
//!
//! The input is the sequence of scalars from [`crate::fields`], so no field is left out. Each step
//! is a bijection of both the current value and the scalar: if exactly one scalar differs, the
//! result certainly differs.
//!
//! The checksum detects worlds that diverged. It does not prevent anyone from constructing two
//! worlds with the same checksum.

use crate::fields::Sink;

/// The checksum of the scalars so far.
#[derive(Clone, Copy, Debug)]
pub struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Checksum {
        Checksum::new()
    }
}

impl Checksum {
    /// The value before the first scalar.
    pub fn new() -> Checksum {
        Checksum(0x7469_636b_7769_7265)
    }

    /// The value after the last scalar.
    pub fn get(self) -> u64 {
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 31)
    }
}

impl Sink for Checksum {
    #[inline]
    fn put(&mut self, value: u64, _bytes: usize) {
        // The factor is odd, so multiplication is invertible; so is xor with a shifted value.
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }
}
