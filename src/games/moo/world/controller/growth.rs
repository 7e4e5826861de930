//! Experience and ages of a player.

use crate::fields::fields;
use crate::rules;

/// A player's age and experience.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// Age: 1 to [`rules::MAX_AGE`].
    pub age: u8,
    /// Experience gained since the last age; 0 at the last age.
    pub xp: u32,
    /// The first age with a pending upgrade. The upgrades of all reached ages from this one on are
    /// pending.
    pub choice_age: u8,
}

fields!(Growth: age: u8, xp: u32, choice_age: u8);

impl Growth {
    /// The first age, without experience.
    pub(crate) fn new() -> Growth {
        Growth { age: 1, xp: 0, choice_age: rules::FIRST_CHOICE_AGE }
    }

    /// The reached ages with a pending upgrade.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u8> {
        self.choice_age..=self.age.min(rules::LAST_CHOICE_AGE)
    }

    /// Adds experience. Returns the number of ages gained. At the last age, experience has no
    /// effect.
    pub(crate) fn gain(&mut self, xp: u32) -> u8 {
        let before = self.age;
        self.xp = self.xp.saturating_add(xp);
        while self.age < rules::MAX_AGE && self.xp >= rules::xp_next(self.age) {
            self.xp -= rules::xp_next(self.age);
            self.age += 1;
        }
        if self.age >= rules::MAX_AGE {
            self.xp = 0;
        }
        self.age - before
    }
}
