//! Bounds of `tickwire between`, the intercepting proxy.

use std::time::Duration;

use crate::ws::HeadLimits;

// ---- intercept: one connection --------------------------------------------------------------

/// Maximum bytes of a message with its frames that can be held, edited or explained. A longer one
/// is forwarded as it arrives, and listed by its size.
pub const INTERCEPT_MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Limits of a head that the proxy can rewrite. They exceed the limits of our own server,
/// because other applications have long cookies. A longer head is forwarded unchanged, and the
/// bytes after it are not explained.
pub const INTERCEPT_HEAD_LIMITS: HeadLimits =
    HeadLimits { bytes: 64 * 1024, headers: 256, target_bytes: 16 * 1024 };
/// Maximum bytes of a message whose values are explained as a tree, for rules and `--json`. A
/// longer one has a line only.
pub const INTERCEPT_TREE_BYTES: usize = 64 * 1024;
/// Maximum bytes of a message that is decoded for its line. A longer one has its size only.
pub const INTERCEPT_LINE_BYTES: usize = 1024 * 1024;
/// Maximum bytes of a message after decompression, for its explanation and for rules. A message
/// that inflates to more is forwarded unchanged, and its explanation names the rule.
pub const INTERCEPT_INFLATED_BYTES: usize = 16 * 1024 * 1024;
/// Maximum bytes that wait in one direction: held and delayed messages and what follows them. At
/// the limit the proxy stops reading from the sender, so TCP slows it down.
pub const INTERCEPT_WAITING_BYTES: usize = 32 * 1024 * 1024;
/// Maximum bytes of a body or of unframed bytes that wait for the receiver of one direction. At the
/// limit the proxy stops reading from the sender.
pub const INTERCEPT_UNSENT_BYTES: usize = 256 * 1024;
/// Maximum number of copies that a rule or a person can have sent of one message.
pub const INTERCEPT_MAX_COPIES: u32 = 1000;
/// Maximum delay of a message by a rule. A longer delay is rejected: `hold` waits without a limit.
pub const INTERCEPT_MAX_DELAY: Duration = Duration::from_secs(600);
/// Maximum number of rules, because each message is tested against all of them.
pub const INTERCEPT_RULES: usize = 64;

// ---- intercept: all connections -------------------------------------------------------------

/// Maximum number of connections at once. Each needs two sockets and a thread. One more is refused
/// with a reset.
pub const INTERCEPT_CONNECTIONS: usize = 2_000;
/// Time within which a client must complete its first request head, and the server its response to
/// an upgrade. The client then gets the status 408 or 504, and the connection ends.
pub const INTERCEPT_HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// Time for which one side may stay open after the other has ended and its bytes were delivered.
/// The connection then ends, because it would otherwise keep its place.
pub const INTERCEPT_HALF_OPEN_TIMEOUT: Duration = Duration::from_secs(60);
/// Longest wait of a connection's thread while nothing arrives. A decision from the page waits this
/// long at most.
pub const INTERCEPT_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum bytes of records of one connection that a page can still read. The oldest are dropped.
pub const INTERCEPT_LOG_BYTES: usize = 4 * 1024 * 1024;
/// Maximum bytes of records of all connections. Ended connections are dropped first, oldest first.
pub const INTERCEPT_TOTAL_LOG_BYTES: usize = 64 * 1024 * 1024;
/// Maximum number of ended connections that a page can still select. The oldest are dropped.
pub const INTERCEPT_ENDED_CONNECTIONS: usize = 500;
/// Maximum number of lines that wait for the terminal. Further ones are counted, and the count is
/// printed.
pub const INTERCEPT_LINES: usize = 10_000;
/// Maximum number of pages that observe the proxy at once. One more is refused with 503.
pub const INTERCEPT_PAGES: usize = 32;
