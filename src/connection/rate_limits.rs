//! The rate limits of one connection: messages and bytes.
//!
//! A complete message is charged with all of its bytes on the wire, or with the bytes to which it
//! inflates if these are more. The result does not depend on how the bytes were split across reads.
//! The limits of the frame reader bound an unfinished
//! message.

use std::time::Duration;

use crate::game::{CloseReason, SavedReader};
use crate::limits;

/// The token buckets of one connection.
#[derive(Debug)]
pub struct MessageRateLimits {
    messages: TokenBucket,
    bytes: TokenBucket,
}

impl MessageRateLimits {
    /// Full token buckets.
    pub fn new(now: Duration) -> MessageRateLimits {
        MessageRateLimits {
            messages: TokenBucket::full(
                limits::CLIENT_MESSAGES_PER_SECOND,
                limits::CLIENT_MESSAGES_BURST,
                now,
            ),
            bytes: TokenBucket::full(limits::CLIENT_BYTES_PER_SECOND, limits::CLIENT_BYTES_BURST, now),
        }
    }

    /// Charges one message or control frame with its bytes. `slack` is the length of a
    /// [pause](super::pauses) in which the server read nothing. It raises the burst by the tokens
    /// of that time.
    ///
    /// # Errors
    /// A token bucket has too few tokens.
    pub fn charge(&mut self, bytes: usize, now: Duration, slack: Duration) -> Result<(), CloseReason> {
        if !self.bytes.take(bytes, now, slack) {
            return Err(CloseReason::ByteRate);
        }
        if self.messages.take(1, now, slack) { Ok(()) } else { Err(CloseReason::MessageRate) }
    }

    /// The close reason to warn about, after a bucket has dropped below half. Returned once.
    pub fn take_warning(&mut self) -> Option<CloseReason> {
        let messages = self.messages.take_warning().then_some(CloseReason::MessageRate);
        messages.or_else(|| self.bytes.take_warning().then_some(CloseReason::ByteRate))
    }

    /// Appends the state on which the next results depend: for each bucket the tokens (u64) and the
    /// nanoseconds since its last refill (u64), then for each bucket the state of its warning (u8).
    pub fn save(&self, now: Duration, out: &mut Vec<u8>) {
        for bucket in [&self.messages, &self.bytes] {
            out.extend(bucket.tokens_nano.to_le_bytes());
            SavedReader::write_age(out, now, Some(bucket.filled));
        }
        out.extend([&self.messages, &self.bytes].map(|bucket| bucket.warning as u8));
    }

    /// Restores what [`MessageRateLimits::save`] wrote; `None` if the bytes are invalid.
    pub fn restore(saved: &mut SavedReader<'_>) -> Option<MessageRateLimits> {
        let mut rate_limits = MessageRateLimits::new(Duration::ZERO);
        for bucket in [&mut rate_limits.messages, &mut rate_limits.bytes] {
            bucket.tokens_nano = saved.u64()?.min(bucket.burst + bucket.gain(limits::PAUSE_SLACK_MOST));
            bucket.filled = saved.age()??;
            bucket.credited = Duration::MAX;
        }
        for bucket in [&mut rate_limits.messages, &mut rate_limits.bytes] {
            let warnings = [Warning::NotNeeded, Warning::Due, Warning::Sent];
            bucket.warning = *warnings.get(usize::from(saved.u8()?))?;
        }
        Some(rate_limits)
    }
}

/// A token bucket: fills at `per_second`, up to `burst`.
#[derive(Debug, Clone, Copy)]
struct TokenBucket {
    per_second: u32,
    burst: u64,
    /// In billionths of a token, so that short times count.
    tokens_nano: u64,
    filled: Duration,
    /// Slack that has already been added as tokens. A bucket gains tokens for the elapsed time or
    /// for new slack, whichever is longer, because the clock of a suspended machine may stop. Not
    /// saved: a restored bucket adds no tokens for the current slack.
    credited: Duration,
    /// State of the warning. Replies depend on it, but no packet is dropped because of it.
    warning: Warning,
}

/// State of the warning that a bucket runs low. A second warning follows only if the bucket was
/// full in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Warning {
    NotNeeded,
    Due,
    Sent,
}

impl TokenBucket {
    fn full(per_second: u32, burst: u32, now: Duration) -> TokenBucket {
        let burst = u64::from(burst) * 1_000_000_000;
        TokenBucket {
            per_second,
            burst,
            tokens_nano: burst,
            filled: now,
            credited: Duration::ZERO,
            warning: Warning::NotNeeded,
        }
    }

    fn take(&mut self, tokens: usize, now: Duration, slack: Duration) -> bool {
        let elapsed = now.saturating_sub(self.filled).max(slack.saturating_sub(self.credited));
        let gained = self.gain(elapsed);
        self.credited = slack;
        let most = self.burst.saturating_add(self.gain(slack));
        self.tokens_nano = self.tokens_nano.saturating_add(gained).min(most);
        self.filled = self.filled.max(now);
        if self.tokens_nano >= self.burst {
            self.warning = Warning::NotNeeded;
        }
        let wanted = (tokens as u64).saturating_mul(1_000_000_000);
        let enough = wanted <= self.tokens_nano;
        self.tokens_nano = self.tokens_nano.saturating_sub(wanted);
        if self.warning == Warning::NotNeeded && self.tokens_nano < self.burst / limits::RATE_WARNING_DIVISOR
        {
            self.warning = Warning::Due;
        }
        enough
    }

    /// Billionths of a token that the bucket gains in this time.
    fn gain(&self, time: Duration) -> u64 {
        let nanos = time.as_nanos().min(1 << 40) as u64;
        nanos.saturating_mul(self.per_second.into())
    }

    /// Whether a warning is due. Marks the warning as sent.
    fn take_warning(&mut self) -> bool {
        let is_due = self.warning == Warning::Due;
        if is_due {
            self.warning = Warning::Sent;
        }
        is_due
    }
}
