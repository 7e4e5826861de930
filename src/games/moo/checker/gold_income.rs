//! Gold that a player gains without swings: from windmills, kills and hunts.

use std::time::Duration;

use crate::games::moo::world::rules;

/// Maximum time for which unclaimed income accumulates. A delayed update may report the income of
/// this time at once.
const MAX_INCOME_WINDOW: Duration = Duration::from_secs(15);

/// The maximum unclaimed income from windmills.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GoldIncome {
    gold: f64,
    /// The part of the last update's rise that was attributed to windmills.
    pub(super) paid: u32,
    last_update: Duration,
    mills: u32,
}

impl GoldIncome {
    /// Adds the income of `mills` windmills up to `now`.
    pub(super) fn earn(&mut self, mills: u32, now: Duration) {
        let best = rules::ITEMS.iter().map(|item| item.pays_halves).max().unwrap_or(0);
        let gold_per_s = f64::from(mills) * f64::from(best) / 2.0;
        let passed = now.saturating_sub(self.last_update);
        self.last_update = now;
        let max_gold = gold_per_s * MAX_INCOME_WINDOW.as_secs_f64() + 1.0;
        // A new windmill may already have paid the maximum before it was reported.
        let is_new = mills > std::mem::replace(&mut self.mills, mills);
        let more = if is_new { max_gold } else { gold_per_s * passed.as_secs_f64() };
        self.gold = (self.gold + more).min(max_gold);
    }

    /// Attributes as much of a rise as possible to windmills. Returns this amount.
    pub(super) fn pay(&mut self, rise: u32) -> u32 {
        let paid = rise.min(self.gold as u32);
        self.gold -= f64::from(paid);
        paid
    }

    /// Moves up to `max_amount` of the last update's rise back to the unclaimed income of
    /// windmills, because another source explains it. Returns the moved amount.
    pub(super) fn take_back(&mut self, max_amount: u32) -> u32 {
        let back = self.paid.min(max_amount);
        self.paid -= back;
        self.gold += f64::from(back);
        back
    }

    /// Moves as much as possible of the last update's rise from windmills to `bounty`, because a
    /// hunt was reported after the update. The moved amount becomes unclaimed income of windmills
    /// again.
    pub(super) fn refund(&mut self, bounty: &mut u64) {
        self.gold += f64::from(take_bounty(bounty, std::mem::take(&mut self.paid)));
    }
}

/// Attributes a rise of gold to kills and hunts. Returns the attributed amount.
pub(super) fn take_bounty(bounty: &mut u64, rise: u32) -> u32 {
    let paid = rise.min(u32::try_from(*bounty).unwrap_or(u32::MAX));
    *bounty -= u64::from(paid);
    paid
}
