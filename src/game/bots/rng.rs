//! Random numbers for bots: a small seeded generator (SplitMix64), so that a run can be repeated.
//!
//! These numbers are not for secrets. Mask keys and upgrade keys come from the kernel; see
//! `client::dial`.

use std::time::Duration;

/// A small seeded random generator for bots. Not for secrets.
#[derive(Debug, Clone)]
pub struct BotRng(u64);

impl BotRng {
    /// Creates a generator. Equal seeds give equal numbers.
    pub fn new(seed: u64) -> BotRng {
        BotRng(seed)
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number in `0..bound`.
    ///
    /// # Panics
    /// `bound` is 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        (self.bits() % u64::from(bound)) as u32
    }

    /// Returns a random duration from `min` to `max`, in whole milliseconds.
    pub fn between(&mut self, min: Duration, max: Duration) -> Duration {
        let span = max.saturating_sub(min).as_millis() as u32;
        min + Duration::from_millis(self.below(span + 1).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_and_times_stay_in_their_bounds() {
        let (mut one, mut two) = (BotRng::new(7), BotRng::new(7));
        assert_eq!(one.bits(), two.bits());
        let (min, max) = (Duration::from_millis(300), Duration::from_secs(2));
        for _ in 0..1_000 {
            let time = one.between(min, max);
            assert!(time >= min && time <= max, "{time:?}");
            assert!(one.below(3) < 3);
        }
    }
}
