//! The clock of leases.

use std::time::{Duration, Instant};

use crate::util::os::Suspended;

/// Time since the server's start, with the time for which the machine was suspended: the store's
/// clock does not stop meanwhile.
#[derive(Debug, Clone, Copy)]
pub struct LeaseClock {
    started: Instant,
    suspended: Suspended,
}

impl LeaseClock {
    /// Starts the clock.
    pub fn start() -> LeaseClock {
        LeaseClock { started: Instant::now(), suspended: Suspended::start() }
    }

    /// Returns the time.
    pub fn now(&self) -> Duration {
        self.started.elapsed() + self.suspended.time()
    }
}
