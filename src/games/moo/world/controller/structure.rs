//! The controller of structures, which stand and sleep. Their effects on other entities are in
//! `touch`.

use crate::fields::fields;

/// The state of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// The item: a number of [`crate::rules::ITEMS`].
    pub item: u8,
    /// Time until it can shoot, if it is a turret, in thirds of a millisecond.
    pub wait: u16,
}

fields!(Structure: item: u8, wait: u16);
