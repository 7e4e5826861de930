//! The time during which the machine was suspended.

use std::time::Duration;

use super::system;

/// Measures how long the machine was suspended since the start of the measurement. Works only on
/// Linux, where [`std::time::Instant`] does not count suspended time.
#[derive(Debug, Clone, Copy)]
pub struct Suspended {
    before: Duration,
}

impl Suspended {
    /// Starts a measurement.
    pub fn start() -> Suspended {
        Suspended { before: system::suspended_time() }
    }

    /// Suspended time since the start.
    pub fn time(&self) -> Duration {
        system::suspended_time().saturating_sub(self.before)
    }
}
