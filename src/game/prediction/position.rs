//! Positions.

/// A position in 1/65,536 px from the left and from the top.
pub type Position = (i32, i32);
