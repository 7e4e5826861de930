//! The kinds of land.

/// A kind of land. The numbers are those of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Biome {
    /// The north.
    Snow = 0,
    /// What is not one of the others.
    Plains = 1,
    /// Across the middle.
    River = 2,
    /// The south.
    Desert = 3,
}
