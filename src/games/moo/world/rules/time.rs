//! The unit of timers.

/// Converts milliseconds to thirds of a millisecond: the unit of all timers, because a tick is a
/// whole number of them at each tick rate.
pub const fn thirds(ms: u16) -> u16 {
    ms * 3
}
