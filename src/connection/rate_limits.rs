//! The rate limits of one connection: messages and bytes.
//!
//! A message is charged when it is complete, with all of its bytes on the wire, so the verdict does
//! not depend on how the bytes were split across reads. The frame reader's limits bound the bytes
//! of an unfinished message.

use std::time::Duration;

use crate::game::{CloseReason, SavedReader};
use crate::limits;

/// See the [module](self).
#[derive(Debug)]
pub struct MessageRateLimits {
    messages: TokenBucket,
    bytes: TokenBucket,
}

impl MessageRateLimits {
    /// Full budgets.
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

    /// Charges one message or control frame with its bytes on the wire. `slack` is the length of a
    /// [pause](super::pauses) in which the server read nothing: the burst is larger by what it allows.
    ///
    /// # Errors
    /// A budget is spent.
    pub fn charge(&mut self, wire_bytes: usize, now: Duration, slack: Duration) -> Result<(), CloseReason> {
        if !self.bytes.take(wire_bytes, now, slack) {
            return Err(CloseReason::ByteRate);
        }
        if self.messages.take(1, now, slack) { Ok(()) } else { Err(CloseReason::MessageRate) }
    }

    /// The rule that will close the client at its present rate, returned once.
    pub fn take_warning(&mut self) -> Option<CloseReason> {
        let messages = self.messages.take_warning().then_some(CloseReason::MessageRate);
        messages.or_else(|| self.bytes.take_warning().then_some(CloseReason::ByteRate))
    }

    /// Appends everything that decides the next verdicts, `now`: of each bucket its tokens u64, the
    /// nanoseconds since it was filled u64, and whether the client was warned u8.
    pub fn save(&self, now: Duration, out: &mut Vec<u8>) {
        for bucket in [&self.messages, &self.bytes] {
            out.extend(bucket.tokens_nano.to_le_bytes());
            SavedReader::write_age(out, now, Some(bucket.filled));
        }
        out.extend([&self.messages, &self.bytes].map(|bucket| bucket.warning as u8));
    }

    /// Reads what [`MessageRateLimits::save`] wrote; `None` if the bytes are wrong.
    pub fn restore(saved: &mut SavedReader<'_>) -> Option<MessageRateLimits> {
        let mut budgets = MessageRateLimits::new(Duration::ZERO);
        for bucket in [&mut budgets.messages, &mut budgets.bytes] {
            bucket.tokens_nano = saved.u64()?.min(bucket.burst + bucket.gain(limits::PAUSE_SLACK_MOST));
            bucket.filled = saved.age()??;
            bucket.credited = Duration::MAX;
        }
        for bucket in [&mut budgets.messages, &mut budgets.bytes] {
            let warnings = [Warning::NotNeeded, Warning::Due, Warning::Sent];
            bucket.warning = *warnings.get(usize::from(saved.u8()?))?;
        }
        Some(budgets)
    }
}

/// A token bucket that fills at a rate, up to a burst.
#[derive(Debug, Clone, Copy)]
struct TokenBucket {
    per_second: u32,
    burst: u64,
    /// In billionths of a token, so that small times are not lost.
    tokens_nano: u64,
    filled: Duration,
    /// The slack whose tokens were added. A slack brings its tokens once, because a clock that stands still in a
    /// suspended machine brings none for that time. It is not saved: a restored bucket waits for the next slack.
    credited: Duration,
    /// The state of the warning. It is not saved, because it decides no packet.
    warning: Warning,
}

/// Whether the client was warned that a bucket runs low. It is warned once, and again only after
/// the bucket was full in between.
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

    /// Tokens that so much time brings, in billionths.
    fn gain(&self, time: Duration) -> u64 {
        let nanos = time.as_nanos().min(1 << 40) as u64;
        nanos.saturating_mul(self.per_second.into())
    }

    /// Whether to warn the client now.
    fn take_warning(&mut self) -> bool {
        let is_due = self.warning == Warning::Due;
        if is_due {
            self.warning = Warning::Sent;
        }
        is_due
    }
}
