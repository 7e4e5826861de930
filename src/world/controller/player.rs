//! The player's controller: walks where the player wants, counts what was walked.

use std::sync::Arc;

use crate::fixed::Angle;

/// What a player wants and has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Player {
    /// Shown above the body; may be empty.
    pub name: Arc<str>,
    /// Colour index.
    pub skin: u8,
    /// The tick in which it joined.
    pub joined_tick: u32,
    /// The last sequence applied; 0 before the first.
    pub sequence: u32,
    /// Where it walks; `None` stands.
    pub direction: Option<Angle>,
    /// Points.
    pub score: u32,
    /// Distance walked since the last point for walking, in 1/65,536 px.
    pub walked: u32,
    /// Somebody pushed it in the last tick, so it must look where it stands.
    pub stirred: bool,
}
