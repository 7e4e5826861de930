//! Pace: a long-run byte rate for messages to one client about things that other clients
//! can change without limit.
//!
//! After a message of n bytes, there is a pause: the time that n bytes take at this rate. Changes
//! during the pause are sent together after it, in their latest state, so an idle client never
//! receives more than this rate, regardless of the other clients. Time is the current tick: the
//! same ticks give the same messages.

use crate::limits;

/// See the [module](self).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByteRateLimit {
    /// The tick from which the rate has room again.
    next_send_tick: u32,
    /// The tick from which news may be sent again.
    next_changes_tick: u32,
}

impl ByteRateLimit {
    /// Whether the rate has room for a message.
    pub fn is_free(self, tick: u32) -> bool {
        self.next_send_tick <= tick
    }

    /// Whether the rate has room and the last news were long enough ago.
    pub fn are_changes_due(self, tick: u32) -> bool {
        self.is_free(tick) && self.next_changes_tick <= tick
    }

    /// Whether a change that the client is waiting for may exceed the rate.
    pub fn has_credit(self, tick: u32, tick_hz: u32) -> bool {
        self.next_send_tick <= tick.saturating_add(ticks(limits::CLAN_OWN_CREDIT.as_millis() as u64, tick_hz))
    }

    /// Charges a message of so many bytes.
    pub fn spend(&mut self, bytes: usize, tick: u32, tick_hz: u32) {
        let ms = (bytes as u64).saturating_mul(1000) / u64::from(limits::CLAN_NEWS_BYTES_PER_SECOND);
        self.next_send_tick = self.next_send_tick.max(tick).saturating_add(ticks(ms, tick_hz));
    }

    /// Records that news were sent.
    pub fn on_changes_sent(&mut self, tick: u32, tick_hz: u32) {
        self.next_changes_tick =
            tick.saturating_add(ticks(limits::CLAN_NEWS_INTERVAL.as_millis() as u64, tick_hz));
    }
}

/// Converts ms to ticks, rounded up.
fn ticks(ms: u64, tick_hz: u32) -> u32 {
    u32::try_from(ms.saturating_mul(tick_hz.into()).div_ceil(1000)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HZ: u32 = 30;

    #[test]
    fn messages_wait_until_the_bytes_fit_the_rate_news_a_second_and_own_changes_until_the_credit_is_spent() {
        let mut pace = ByteRateLimit::default();
        assert!(pace.are_changes_due(0));
        pace.spend(500, 0, HZ);
        assert_eq!([14, 15].map(|tick| pace.is_free(tick)), [false, true]);
        pace.on_changes_sent(15, HZ);
        assert_eq!([44, 45].map(|tick| pace.are_changes_due(tick)), [false, true]);
        pace.spend(4_000, 100, HZ);
        assert_eq!([219, 220].map(|tick| pace.are_changes_due(tick)), [false, true]);
        assert!(pace.has_credit(100, HZ));
        pace.spend(1, 100, HZ);
        assert_eq!([100, 101].map(|tick| pace.has_credit(tick, HZ)), [false, true]);
        pace.spend(usize::MAX, u32::MAX, HZ);
        pace.on_changes_sent(u32::MAX, HZ);
        assert!(pace.are_changes_due(u32::MAX), "a world's last tick");
    }
}
