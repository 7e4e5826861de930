//! A reproducible random generator: SplitMix64, with a state of one 64-bit number.
//!
//! It is not for secrets, because the state determines all later numbers.

/// A random generator. Its whole state is one number, which is part of the world's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// Creates a generator for one purpose. With the same seed, generators for different purposes,
    /// such as the map and later events, return unrelated numbers.
    pub fn new(seed: u32, purpose: u32) -> Rng {
        let mut rng = Rng { state: u64::from(seed) << 32 | u64::from(purpose) };
        rng.next_u64();
        rng
    }

    /// Creates a generator with this state.
    pub const fn from_state(state: u64) -> Rng {
        Rng { state }
    }

    /// The whole state.
    pub const fn state(&self) -> u64 {
        self.state
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `bound - 1`; 0 if the bound is 0. The bias is below one in four
    /// billion per unit of the bound, which is too small to matter in a game.
    pub fn below(&mut self, bound: u32) -> u32 {
        let high = self.next_u64() >> 32;
        ((high * u64::from(bound)) >> 32) as u32
    }

    /// Returns a number from `low` to `high`, both included; `low` if `high` is less.
    pub fn between(&mut self, low: i32, high: i32) -> i32 {
        let span = i64::from(high) - i64::from(low);
        if span < 0 {
            return low;
        }
        // A longer span is limited to 32 bits. No caller needs more than the size of the map.
        low.wrapping_add(self.below(span.min(i64::from(u32::MAX) - 1) as u32 + 1) as i32)
    }

    /// Returns a random item; `None` if there are no items.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len() as u32) as usize)
    }

    /// Returns a random index, each with the probability of its weight. `None` if all weights are
    /// 0.
    ///
    /// ```
    /// use tickwire_sim::Rng;
    ///
    /// let mut random = Rng::new(1, 2);
    /// assert_eq!(random.choose_weighted(&[0, 5, 0]), Some(1));
    /// assert_eq!(random.choose_weighted(&[0, 0]), None);
    /// ```
    pub fn choose_weighted(&mut self, weights: &[u32]) -> Option<usize> {
        let total = weights.iter().fold(0u32, |sum, weight| sum.saturating_add(*weight));
        let mut left = self.below(total);
        weights.iter().position(|weight| {
            let is_chosen = left < *weight;
            left = left.saturating_sub(*weight);
            is_chosen
        })
    }

    /// Puts items in a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u32 + 1) as usize);
        }
    }
}
