//! The unit of waiting.

/// Thirds of a millisecond: the unit of all waiting, since a tick is a whole number of them at each tick rate.
pub const fn thirds(ms: u16) -> u16 {
    ms * 3
}
