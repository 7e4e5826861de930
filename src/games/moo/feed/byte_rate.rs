//! Limits the long-run byte rate of messages to one client. The limit applies to messages about
//! changes that other clients can cause in any number.
//!
//! After a message of n bytes there is a pause: the time that n bytes take at this rate. Changes
//! during the pause are merged, and the latest state is sent after the pause. An idle client
//! therefore never receives more than this rate, regardless of the other clients. Time is the
//! current tick, so the same ticks give the same messages.

use crate::limits;

/// The state of the byte rate limit of one client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByteRateLimit {
    /// First tick in which the rate allows another message.
    next_send_tick: u32,
    /// First tick in which the next list of clan changes may be sent.
    next_changes_tick: u32,
}

impl ByteRateLimit {
    /// Whether the rate allows a message in this tick.
    pub fn may_send(self, tick: u32) -> bool {
        self.next_send_tick <= tick
    }

    /// Whether the rate allows a message, and the last list of clan changes is at least
    /// [`limits::CLAN_NEWS_INTERVAL`] old.
    pub fn are_changes_due(self, tick: u32) -> bool {
        self.may_send(tick) && self.next_changes_tick <= tick
    }

    /// Whether a change of the client's own player may exceed the rate, up to
    /// [`limits::CLAN_OWN_CREDIT`].
    pub fn has_credit(self, tick: u32, tick_hz: u32) -> bool {
        self.next_send_tick <= tick.saturating_add(ticks(limits::CLAN_OWN_CREDIT.as_millis() as u64, tick_hz))
    }

    /// Charges a message of `bytes` bytes. A pause that is over leaves no trace, so that clients
    /// without a pause are in the same state.
    pub fn charge(&mut self, bytes: usize, tick: u32, tick_hz: u32) {
        self.next_changes_tick = self.next_changes_tick.max(tick);
        let ms = (bytes as u64).saturating_mul(1000) / u64::from(limits::CLAN_NEWS_BYTES_PER_SECOND);
        self.next_send_tick = self.next_send_tick.max(tick).saturating_add(ticks(ms, tick_hz));
    }

    /// Records that a list of clan changes is sent in this tick.
    pub fn on_changes_sent(&mut self, tick: u32, tick_hz: u32) {
        self.next_changes_tick =
            tick.saturating_add(ticks(limits::CLAN_NEWS_INTERVAL.as_millis() as u64, tick_hz));
    }
}

/// Converts milliseconds to ticks, rounded up.
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
        pace.charge(500, 0, HZ);
        assert_eq!([14, 15].map(|tick| pace.may_send(tick)), [false, true]);
        pace.on_changes_sent(15, HZ);
        assert_eq!([44, 45].map(|tick| pace.are_changes_due(tick)), [false, true]);
        pace.charge(4_000, 100, HZ);
        assert_eq!([219, 220].map(|tick| pace.are_changes_due(tick)), [false, true]);
        assert!(pace.has_credit(100, HZ));
        pace.charge(1, 100, HZ);
        assert_eq!([100, 101].map(|tick| pace.has_credit(tick, HZ)), [false, true]);
        pace.charge(usize::MAX, u32::MAX, HZ);
        pace.on_changes_sent(u32::MAX, HZ);
        assert!(pace.are_changes_due(u32::MAX), "a world's last tick");
    }
}
