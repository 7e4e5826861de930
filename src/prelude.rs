//! The imports of a simple game: `use tickwire::prelude::*;`.
//!
//! Only names that nearly every game uses. A name of the program that is equal to one of these has
//! precedence.

pub use crate::game::simple::{ActionResult, Joining, Simple, SimpleGame, StateRows, TickContext, rows};
pub use crate::sim::{PlayerId, WorldParams, fields};
