//! How a player grows: experience makes ages.
//!
//! Comes in: experience. Goes out: how many ages it brought. Never: what an age is good for.

use crate::fields::fields;
use crate::rules;

/// How far a player has grown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growth {
    /// 1 to [`rules::MAX_AGE`].
    pub age: u8,
    /// Experience since the last age; 0 at the last one.
    pub xp: u32,
    /// The lowest age whose offer has not been chosen from or passed over; ages from it on that were reached wait.
    pub choice_age: u8,
}

fields!(Growth: age: u8, xp: u32, choice_age: u8);

impl Growth {
    /// Not grown at all.
    pub(crate) fn new() -> Growth {
        Growth { age: 1, xp: 0, choice_age: rules::FIRST_CHOICE_AGE }
    }

    /// The ages that were reached and whose offer has not been chosen from.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = u8> {
        self.choice_age..=self.age.min(rules::LAST_CHOICE_AGE)
    }

    /// Takes experience in and returns how many ages it brought. At the last age there is nothing more to learn.
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
