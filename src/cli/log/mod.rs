//! The log: lines on standard error, written by a separate thread.
//!
//! Any thread can log, and lines are written in order. A logging thread never waits: a terminal
//! paused with Ctrl-S, or a pipe that is not read, stops only the writing thread, not the game.
//! Lines over the rate limit of their call site are dropped and counted ([`rate_limit`]). The queue
//! holds at most [`limits::MAX_QUEUED_LOG_LINES`]. Further lines are dropped and counted. The last
//! quarter of the queue is reserved for warnings and errors. A closed standard error causes no
//! panic.

mod rate_limit;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use rate_limit::{CallSiteLimiter, RateLimitedFormat};
use tracing::{Level, Metadata};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Format;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::color::Color;
use super::output::CliError;
use crate::limits;
use crate::util::escape;
use crate::util::os::threads;
use crate::util::plural::count_noun;

/// The log of this process, once started.
#[derive(Debug)]
pub struct Log {
    queue: Queue,
    kinds: CallSiteLimiter,
}

#[derive(Debug, Default)]
struct LogCounts {
    /// Lines in the queue or being written.
    waiting: AtomicUsize,
    /// Lines dropped since the last written one.
    dropped: AtomicU64,
}

/// The writer that enqueues a thread's lines.
#[derive(Debug, Clone)]
struct Queue {
    lines: SyncSender<Vec<u8>>,
    counts: Arc<LogCounts>,
    /// Maximum queue length for lines of this level.
    room: usize,
}

impl Queue {
    fn new(lines: SyncSender<Vec<u8>>) -> Queue {
        Queue { lines, counts: Arc::default(), room: limits::MAX_QUEUED_LOG_LINES }
    }
}

impl MakeWriter<'_> for Queue {
    type Writer = Queue;

    fn make_writer(&self) -> Queue {
        self.clone()
    }

    /// Reserves the last part of a stalled queue for warnings and errors.
    fn make_writer_for(&self, metadata: &Metadata<'_>) -> Queue {
        let matters = *metadata.level() <= Level::WARN;
        let room = if matters {
            limits::MAX_QUEUED_LOG_LINES
        } else {
            limits::MAX_QUEUED_LOG_LINES - limits::LOG_LINES_RESERVED
        };
        Queue { room, ..self.clone() }
    }
}

impl Write for Queue {
    /// Enqueues one whole line; the formatter writes whole lines.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let waiting = self.counts.waiting.fetch_add(1, Ordering::AcqRel);
        if waiting >= self.room || self.lines.try_send(line.to_vec()).is_err() {
            self.counts.waiting.fetch_sub(1, Ordering::AcqRel);
            self.counts.dropped.fetch_add(1, Ordering::AcqRel);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Values of `--log` that are levels.
const LEVEL_NAMES: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
/// The common prefix of all modules that log.
const CRATE_PREFIX: &str = "tickwire";

/// Parses a filter. A term that is neither a level nor one of our modules is an error, because it
/// would silently match nothing.
fn filter(text: &str) -> Result<Targets, CliError> {
    let refused = |part: &str| {
        let levels = "off, error, warn, info, debug or trace";
        format!(
            "--log: {part:?} is not a level: use {levels}, or a module's level, such as tickwire::net=debug; separate several with commas"
        )
    };
    let is_known = |part: &str| {
        let is_level = LEVEL_NAMES.iter().any(|level| part.eq_ignore_ascii_case(level));
        is_level || part.starts_with(CRATE_PREFIX)
    };
    let parts: Vec<&str> = text.split(',').filter(|part| !part.is_empty()).collect();
    if let Some(part) = parts.iter().find(|part| !is_known(part)) {
        return Err(refused(part));
    }
    parts.join(",").parse().map_err(|_| refused(text))
}

impl Log {
    /// Starts logging the lines that the filter selects. The formatter escapes the values. The log
    /// thread escapes all other text when it writes the line.
    ///
    /// # Errors
    /// The filter is invalid, or the thread cannot be started.
    pub fn start(filter: &str) -> Result<Log, CliError> {
        let filter = self::filter(filter)?;
        let (lines, queued) = sync_channel(limits::MAX_QUEUED_LOG_LINES);
        let (queue, kinds) = (Queue::new(lines), CallSiteLimiter::new());
        let for_thread = (Arc::clone(&queue.counts), kinds.clone());
        threads::spawn("log", move || write_lines(&queued, &for_thread.0, &for_thread.1, io::stderr()))
            .map_err(|error| format!("cannot start the log's thread: {error}"))?;
        tracing_subscriber::fmt()
            .with_max_level(LevelFilter::TRACE)
            .with_writer(queue.clone())
            .with_ansi(Color::Auto.is_on(&io::stderr()))
            .event_format(RateLimitedFormat {
                form: Format::default().with_target(false),
                kinds: kinds.clone(),
            })
            .finish()
            .with(filter)
            .init();
        Ok(Log { queue, kinds })
    }

    /// Waits until all lines are written, at most [`limits::LOG_FLUSH_TIME`].
    pub fn finish(&self) {
        let mut queue = self.queue.clone();
        for line in self.kinds.summary() {
            let _ = queue.write(line.as_bytes());
        }
        let deadline = Instant::now() + limits::LOG_FLUSH_TIME;
        while self.queue.counts.waiting.load(Ordering::Acquire) > 0 && Instant::now() < deadline {
            thread::sleep(limits::LOG_FLUSH_POLL_INTERVAL);
        }
    }
}

/// The loop of the thread. A failed write is ignored, because no other output could report it.
fn write_lines(queued: &Receiver<Vec<u8>>, counts: &LogCounts, kinds: &CallSiteLimiter, mut out: impl Write) {
    let mut summary_at = Instant::now() + limits::LOG_SUMMARY_EVERY;
    loop {
        let now = Instant::now();
        if now >= summary_at {
            summary_at = now + limits::LOG_SUMMARY_EVERY;
            for line in kinds.summary() {
                let _ = out.write_all(escape::escape_output(&line).as_bytes());
            }
        }
        let line = match queued.recv_timeout(summary_at - now) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let left_out = counts.dropped.swap(0, Ordering::AcqRel);
        if left_out > 0 {
            let _ = writeln!(
                out,
                "dropped {} because the log was not read fast enough",
                count_noun(left_out, "log line")
            );
        }
        let _ = out.write_all(escape::escape_output(&String::from_utf8_lossy(&line)).as_bytes());
        counts.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_that_would_let_nothing_through_is_refused() {
        for text in [
            "info",
            "off",
            "WARN",
            "Debug",
            "tickwire",
            "tickwire::net=debug",
            "info,tickwire::net=trace,",
            "",
        ] {
            assert!(filter(text).is_ok(), "{text}");
        }
        for (text, part) in [
            ("verbose", "verbose"),
            ("info,loud", "loud"),
            ("net=debug", "net=debug"),
            ("a=b=c", "a=b=c"),
            ("[client]=debug", "[client]=debug"),
            ("tickwire::net=loud", "tickwire::net=loud"),
        ] {
            let error = filter(text).expect_err(text);
            assert!(
                error.starts_with(&format!("--log: {part:?} is not a level: use off, error, warn, ")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_line_that_would_steer_the_terminal_is_escaped() {
        let (lines, queued) = sync_channel(1);
        lines.send("\x1b[32mINFO\x1b[0m name=a\u{9b}2J\u{202e}b\n".into()).expect("there is room");
        drop(lines);
        let mut out = Vec::new();
        write_lines(
            &queued,
            &LogCounts { waiting: AtomicUsize::new(1), ..LogCounts::default() },
            &CallSiteLimiter::new(),
            &mut out,
        );
        let expected = "\x1b[32mINFO\x1b[0m name=a\\u009b2J\\u202eb\n";
        assert_eq!(String::from_utf8(out).expect("text"), expected);
    }

    #[test]
    fn past_the_bound_lines_are_left_out_and_counted() {
        let (lines, queued) = sync_channel(2);
        let mut queue = Queue::new(lines);
        for line in ["one\n", "two\n", "three\n", "four\n"] {
            queue.write_all(line.as_bytes()).expect("who logs never fails");
        }
        let counts = Arc::clone(&queue.counts);
        drop(queue);
        let mut out = Vec::new();
        write_lines(&queued, &counts, &CallSiteLimiter::new(), &mut out);
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text, "dropped 2 log lines because the log was not read fast enough\none\ntwo\n");
        assert_eq!(counts.waiting.load(Ordering::Acquire), 0);
    }

    #[test]
    fn a_full_queue_keeps_space_for_warnings() {
        let (lines, queued) = sync_channel(limits::MAX_QUEUED_LOG_LINES);
        let queue = Queue::new(lines);
        let of_level = |room: usize| Queue { room, ..queue.clone() };
        let (mut infos, mut warnings) = (
            of_level(limits::MAX_QUEUED_LOG_LINES - limits::LOG_LINES_RESERVED),
            of_level(limits::MAX_QUEUED_LOG_LINES),
        );
        (0..limits::MAX_QUEUED_LOG_LINES).for_each(|_| infos.write_all(b"info\n").expect("never fails"));
        warnings.write_all(b"warning\n").expect("never fails");
        let waiting: Vec<Vec<u8>> = queued.try_iter().collect();
        assert_eq!(waiting.len(), limits::MAX_QUEUED_LOG_LINES - limits::LOG_LINES_RESERVED + 1);
        assert_eq!(waiting.last().map(Vec::as_slice), Some(&b"warning\n"[..]));
    }
}
