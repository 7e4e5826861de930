//! A rate limit for the log lines of each call site. A call site is a place in the code that logs.
//!
//! Without this limit, thousands of connections per second would write megabytes of log. Each call
//! site has its own token bucket, so a busy call site never suppresses the errors and warnings of
//! another one. The program's code bounds the number of call sites. Time is an argument.

use std::collections::HashMap;
use std::fmt::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::limits;
use crate::server::admission::address_rate_limits::RateLimit;
use crate::util::sync::Mutex;

/// The rate limit of one call site.
const RATE: RateLimit = RateLimit { every: limits::LOG_SITE_INTERVAL, burst: limits::LOG_SITE_BURST };

/// The token buckets of all call sites. Clones share them.
#[derive(Debug, Clone)]
pub struct CallSiteLimiter {
    started: Instant,
    kinds: Arc<Mutex<HashMap<Identifier, CallSite>>>,
}

#[derive(Debug, Default)]
struct CallSite {
    /// Time at which the bucket is full again.
    full_at: Duration,
    /// Lines dropped since the last summary.
    left_out: u64,
    /// Common start of the lines; set at the first drop.
    name: String,
}

impl CallSite {
    /// Whether to write a line. `name` returns the common start of the lines. It is called for the
    /// first dropped line only.
    fn try_take(&mut self, now: Duration, name: impl FnOnce() -> String) -> bool {
        let is_written = RATE.take(&mut self.full_at, now).is_ok();
        if !is_written {
            if self.left_out == 0 {
                self.name = name();
            }
            self.left_out += 1;
        }
        is_written
    }
}

impl CallSiteLimiter {
    /// No call sites yet.
    pub fn new() -> CallSiteLimiter {
        CallSiteLimiter { started: Instant::now(), kinds: Arc::default() }
    }

    /// Whether to write the event's line.
    fn try_take(&self, event: &Event<'_>) -> bool {
        let mut kinds = self.kinds.lock();
        let kind = kinds.entry(event.metadata().callsite()).or_default();
        kind.try_take(self.started.elapsed(), || name(event))
    }

    /// One line for each call site with lines dropped since the last summary.
    pub fn summary(&self) -> Vec<String> {
        let mut kinds = self.kinds.lock();
        let left_out = kinds.values_mut().filter(|kind| kind.left_out > 0);
        let line = |kind: &mut CallSite| {
            let count = std::mem::take(&mut kind.left_out);
            let lines = if count == 1 { "line" } else { "lines" };
            format!("suppressed {count} more {lines} like {:?}\n", kind.name)
        };
        let mut lines: Vec<String> = left_out.map(line).collect();
        lines.sort_unstable();
        lines
    }
}

/// Formats the lines that are written, in the usual line format.
#[derive(Debug)]
pub struct RateLimitedFormat {
    /// The format of a line.
    pub form: Format,
    /// Decides which lines are written.
    pub kinds: CallSiteLimiter,
}

impl<S, N> FormatEvent<S, N> for RateLimitedFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    /// Writes nothing for a dropped event, so no line is enqueued.
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        out: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        if self.kinds.try_take(event) { self.form.format_event(context, out, event) } else { Ok(()) }
    }
}

/// The common part of the lines of a call site: the level, and the message up to the first colon.
/// The values follow the colon.
fn name(event: &Event<'_>) -> String {
    struct Message(String);
    impl Visit for Message {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            if field.name() == "message" {
                // Writing to a string cannot fail.
                let _ = write!(self.0, "{value:?}");
            }
        }
    }
    let mut message = Message(String::new());
    event.record(&mut message);
    let name = message.0.split(':').next().unwrap_or_default();
    format!("{} {name}", event.metadata().level())
}

#[cfg(test)]
mod tests {
    use tracing::{info, warn};

    use super::*;

    /// Stores the written bytes.
    #[derive(Clone, Default)]
    struct SharedOutput(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for SharedOutput {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_flood_of_one_kind_is_cut_and_counted_and_takes_no_line_from_another() {
        let (kinds, output) = (CallSiteLimiter::new(), SharedOutput::default());
        let lines = RateLimitedFormat { form: Format::default(), kinds: kinds.clone() };
        let writer = output.clone();
        let subscriber = tracing_subscriber::fmt().event_format(lines).with_writer(move || writer.clone());
        tracing::subscriber::with_default(subscriber.finish(), || {
            for number in 0..10_000 {
                info!(number, "client left: for its own reasons, {number}");
            }
            warn!("the world fell behind");
        });
        let text = String::from_utf8(output.0.lock().clone()).expect("text");
        let count = |part: &str| text.lines().filter(|line| line.contains(part)).count();
        let (left, warnings) = (count("client left"), count("the world fell behind"));
        assert!(left >= limits::LOG_SITE_BURST as usize && left < 10_000, "{left}");
        assert_eq!((warnings, text.lines().count()), (1, left + 1), "{text}");
        let expected = format!(
            "suppressed {} more lines like \"INFO client left\"
",
            10_000 - left
        );
        assert_eq!(kinds.summary(), [expected]);
        assert_eq!(kinds.summary(), [""; 0], "each is told once");
    }

    #[test]
    fn in_the_long_run_a_kind_has_eight_lines_a_second() {
        let mut kind = CallSite::default();
        let tries = (0..20_000).map(Duration::from_millis);
        let written = tries.filter(|now| kind.try_take(*now, String::new)).count();
        assert_eq!(written, limits::LOG_SITE_BURST as usize + 20 * 8 - 1);
        assert_eq!(kind.left_out, 20_000 - written as u64);
    }
}
