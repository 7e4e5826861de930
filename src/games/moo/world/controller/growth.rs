//! A player's growth: experience leads to ages.

use crate::fields::fields;
use crate::rules;

/// A player's age and experience.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// 1 to [`rules::MAX_AGE`].
    pub age: u8,
    /// Experience since the last age; 0 at the last age.
    pub xp: u32,
    /// The lowest age whose upgrade has been neither chosen nor skipped; upgrades of all reached
    /// ages from it on are pending.
    pub choice_age: u8,
}

fields!(Growth: age: u8, xp: u32, choice_age: u8);

impl Growth {
    /// The first age, without experience.
    pub(crate) fn new() -> Growth {
        Growth { age: 1, xp: 0, choice_age: rules::FIRST_CHOICE_AGE }
    }

    /// The ages reached whose upgrade has not been chosen.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u8> {
        self.choice_age..=self.age.min(rules::LAST_CHOICE_AGE)
    }

    /// Adds experience and returns the number of ages reached. At the last age experience has no
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
