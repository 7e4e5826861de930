//! The unit of timers.

/// Converts milliseconds to thirds of a millisecond. All timers use this unit, because a tick is a
/// whole number of thirds at each tick rate.
pub const fn thirds(ms: u16) -> u16 {
    ms * 3
}
