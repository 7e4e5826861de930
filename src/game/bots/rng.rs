//! Random numbers for bots: a small seeded generator (SplitMix64), so that a run can be repeated.
//!
//! These numbers are not for secrets. Mask keys and upgrade keys come from the kernel; see
//! `client::dial`.

use std::time::Duration;

use tickwire_sim::Rng;

/// A small seeded random generator for bots. Not for secrets.
#[derive(Debug, Clone)]
pub struct BotRng(Rng);

impl BotRng {
    /// Creates a generator. Equal seeds give equal numbers.
    pub fn new(seed: u64) -> BotRng {
        BotRng(Rng::from_state(seed))
    }

    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number in `0..bound`.
    ///
    /// # Panics
    /// `bound` is 0.
    pub fn below(&mut self, bound: u32) -> u32 {
        (self.bits() % u64::from(bound)) as u32
    }

    /// Returns a random item; `None` if there are no items.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        (!items.is_empty()).then(|| &items[self.below(items.len() as u32) as usize])
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
        assert_eq!(one.choose::<u8>(&[]), None);
        let (min, max) = (Duration::from_millis(300), Duration::from_secs(2));
        for _ in 0..1_000 {
            let time = one.between(min, max);
            assert!(time >= min && time <= max, "{time:?}");
            assert!(one.below(3) < 3);
            assert!(one.choose(&[4, 6]).is_some_and(|item| [4, 6].contains(item)));
        }
    }
}
