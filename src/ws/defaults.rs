//! Default limits for other users of this module. A tickwire server uses the limits of
//! `src/limits/mod.rs` instead.

use super::http::HeadLimits;
use super::message::Limits;

impl HeadLimits {
    /// Enough for any browser: browser heads are shorter than 2 KiB and have about 15 lines.
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
