//! The biomes.

/// A biome. The numbers are those of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Biome {
    /// The north.
    Snow = 0,
    /// Everything else.
    Plains = 1,
    /// Across the middle.
    River = 2,
    /// The south.
    Desert = 3,
}
