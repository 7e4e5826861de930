//! The gold that comes to a player by itself: what windmills, kills and hunts may have paid.

use std::time::Duration;

use crate::games::moo::world::rules;

/// Delayed turns arrive all at once, with the pay of all that time.
const MAX_INCOME_WINDOW: Duration = Duration::from_secs(15);

/// The most that windmills may have paid by now, less the rises already recorded.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GoldIncome {
    gold: f64,
    /// Paid for a rise in the last turn.
    pub(super) paid: u32,
    last_update: Duration,
    mills: u32,
}

impl GoldIncome {
    /// Advances the time to `now`, with this many windmills.
    pub(super) fn earn(&mut self, mills: u32, now: Duration) {
        let best = rules::ITEMS.iter().map(|item| item.pays_halves).max().unwrap_or(0);
        let gold_per_s = f64::from(mills) * f64::from(best) / 2.0;
        let passed = now.saturating_sub(self.last_update);
        self.last_update = now;
        let most = gold_per_s * MAX_INCOME_WINDOW.as_secs_f64() + 1.0;
        // A new windmill may have paid for as long before its announcement.
        let is_new = mills > std::mem::replace(&mut self.mills, mills);
        let more = if is_new { most } else { gold_per_s * passed.as_secs_f64() };
        self.gold = (self.gold + more).min(most);
    }

    /// Pays for as much of a rise as possible.
    pub(super) fn pay(&mut self, rise: u32) -> u32 {
        let paid = rise.min(self.gold as u32);
        self.gold -= f64::from(paid);
        paid
    }

    /// Of a rise in the last turn, up to `most` was earned otherwise. Returns how much.
    pub(super) fn take_back(&mut self, most: u32) -> u32 {
        let back = self.paid.min(most);
        self.paid -= back;
        self.gold += f64::from(back);
        back
    }

    /// A rise of the last turn was paid by a hunt after all, of which the client is told later.
    pub(super) fn refund(&mut self, bounty: &mut u64) {
        self.gold += f64::from(take_bounty(bounty, std::mem::take(&mut self.paid)));
    }
}

/// Pays for a rise of gold from kills and hunts. Returns the amount paid.
pub(super) fn take_bounty(bounty: &mut u64, rise: u32) -> u32 {
    let paid = rise.min(u32::try_from(*bounty).unwrap_or(u32::MAX));
    *bounty -= u64::from(paid);
    paid
}
