//! The random parameters of a question.

use tickwire_sim::Rng;

use super::check::Expected;
use crate::packet::Dialect;
use crate::tools::explain::hex;
use crate::ws::frame::MASK_KEY_BYTES;

/// A task, and what its answer is compared with.
pub type Draft = (String, Expected);

const WORDS: [&str; 16] = [
    "Ada", "apple", "bell", "bridge", "cloud", "frame", "hello", "kite", "lamp", "mask", "ocean", "packet",
    "river", "tick", "window", "wire",
];

/// Draws the parameters of a question.
pub struct Draw<'c> {
    /// The random generator of the question.
    pub random: Rng,
    /// The dialect of packets.
    pub dialect: &'c Dialect,
}

impl Draw<'_> {
    /// Returns an item of a list that is not empty.
    pub fn choose<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    /// Returns a number from 0 to `bound - 1`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound as u32) as usize
    }

    /// Returns a word of ASCII letters.
    pub fn word(&mut self) -> &'static str {
        self.choose(&WORDS)
    }

    /// Returns random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| self.random.below(256) as u8)
    }

    /// Returns a masking key, and its digits.
    pub fn key(&mut self) -> ([u8; MASK_KEY_BYTES], String) {
        let key = self.bytes();
        (key, hex::print(&key))
    }
}
