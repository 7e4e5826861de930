//! The limits for callers that have no others. A tickwire server does not use them: its own are in
//! `src/limits/mod.rs`.

use super::http::HeadLimits;
use super::message::Limits;

impl HeadLimits {
    /// Enough for any browser, whose heads are under 2 KiB and have about 15 lines.
    pub const DEFAULT: HeadLimits = HeadLimits { bytes: 8 * 1024, headers: 64, target_bytes: 2 * 1024 };
}

impl Default for HeadLimits {
    fn default() -> HeadLimits {
        HeadLimits::DEFAULT
    }
}

impl Limits {
    /// Messages of at most 1 MiB, in at most 1,024 fragments.
    pub const DEFAULT: Limits =
        Limits { message_bytes: 1024 * 1024, fragments: 1024, read_ahead_bytes: 128 * 1024 };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}
