//! A countdown in ticks.

/// Counts down to 0, one step per tick.
///
/// ```
/// use tickwire_sim::timer::Timer;
///
/// let mut reload = Timer::start(2);
/// assert!(reload.is_running());
/// assert!(!reload.tick());
/// assert!(reload.tick(), "it ends in this tick");
/// assert!(!reload.tick() && !reload.is_running());
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timer(u32);

crate::scalar!(Timer, 4, |timer| timer.0.into(), |raw| u32::try_from(raw).ok().map(Timer));

impl Timer {
    /// Creates a timer that ends after some ticks.
    pub const fn start(ticks: u32) -> Timer {
        Timer(ticks)
    }

    /// Counts one tick. Returns whether the timer ends in this tick.
    pub const fn tick(&mut self) -> bool {
        let ends = self.0 == 1;
        self.0 = self.0.saturating_sub(1);
        ends
    }

    /// Returns whether ticks are left.
    pub const fn is_running(self) -> bool {
        self.0 > 0
    }

    /// Ticks left.
    pub const fn ticks(self) -> u32 {
        self.0
    }

    /// Seconds left, rounded up.
    pub const fn seconds(self, tick_hz: u32) -> u32 {
        self.0.div_ceil(tick_hz)
    }
}
