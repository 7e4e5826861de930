//! The biomes.

/// A biome. The web page uses the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Biome {
    /// The northernmost band.
    Snow = 0,
    /// The bands between snow and desert, except the river.
    Plains = 1,
    /// The band across the middle.
    River = 2,
    /// The southernmost band.
    Desert = 3,
}
