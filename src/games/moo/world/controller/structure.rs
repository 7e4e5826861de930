//! The controller of structures that only stand, and of turrets, whose timer it advances. Their
//! effects on other entities are in `touch` and `turret`.

use crate::fields::fields;
use crate::rules::{self, Group, Item, Rates};

/// The state of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// The item: a number of [`rules::ITEMS`].
    pub item: u8,
    /// Time until it can shoot, if it is a turret, in thirds of a millisecond.
    pub wait: u16,
}

fields!(Structure: item: u8, wait: u16);

impl Structure {
    /// Advances its timer by one tick.
    pub(crate) fn act(&mut self, rates: &Rates) {
        self.wait = self.wait.saturating_sub(rates.tick_thirds);
    }

    /// Whether a structure of this item can be in this state.
    pub(crate) fn is_possible(&self, item: &Item) -> bool {
        let most_ms = if item.group == Group::Turret { rules::TURRET_PERIOD_MS } else { 0 };
        self.wait <= rules::thirds(most_ms)
    }
}
