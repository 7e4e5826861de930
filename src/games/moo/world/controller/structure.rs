//! The controller of structures, which only advances the timer of turrets. The effects of
//! structures on other entities are in `tick::structure_effects` and `tick::turret`.

use crate::fields::fields;
use crate::rules::{self, Group, Item, Rates};

/// The state of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structure {
    /// The item: an ID of [`rules::ITEMS`].
    pub item: u8,
    /// For a turret, the time until it can shoot, in thirds of a millisecond; otherwise 0.
    pub wait: u16,
}

fields!(Structure: item: u8, wait: u16);

impl Structure {
    /// Advances the timer by one tick.
    pub(crate) fn act(&mut self, rates: &Rates) {
        self.wait = self.wait.saturating_sub(rates.tick_thirds);
    }

    /// Whether a structure of this item can be in this state.
    pub(crate) fn is_possible(&self, item: &Item) -> bool {
        let max_ms = if item.group == Group::Turret { rules::TURRET_PERIOD_MS } else { 0 };
        self.wait <= rules::thirds(max_ms)
    }
}
