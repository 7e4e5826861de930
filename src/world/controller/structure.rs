//! The controller of what was built: it stands and sleeps.
//!
//! Comes in: nothing. Goes out: nothing. Never: a turn. What it does to others is the world's business (`touch`).

use crate::fields::fields;

/// What was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// What it is: a number of [`crate::rules::ITEMS`].
    pub item: u8,
    /// Time until it can shoot, if it does, in thirds of a millisecond.
    pub wait: u16,
}

fields!(Structure: item: u8, wait: u16);
