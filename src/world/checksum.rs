//! One number over every field of the state.
//!
//! Comes in: the scalars of the walk ([`crate::fields`]). Goes out: 64 bits. Never: a field that does not count. Each
//! step is a bijection both of the number so far and of the scalar: whatever single scalar differs, the result differs
//! for certain, not only very likely.
//!
//! This finds worlds that drifted apart. It does not stop anyone from making two worlds of one checksum on purpose.

use crate::fields::Sink;

/// The number so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checksum(u64);

impl Checksum {
    /// Before the first scalar.
    pub(crate) fn new() -> Checksum {
        Checksum(0x7469_636b_7769_7265)
    }

    /// After the last scalar.
    pub(crate) fn get(self) -> u64 {
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed ^ (mixed >> 31)
    }
}

impl Sink for Checksum {
    #[inline]
    fn put(&mut self, value: u64, _bytes: usize) {
        // The factor is odd, so it can be undone; so can a shift that is xored in.
        let mixed = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 29);
    }
}
