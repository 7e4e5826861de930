//! The failures that a simulation can report, each a broken invariant with a name; and the faults
//! that tests plant.

/// A fault that a test plants, to see that it is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Planted {
    /// A token is not given back to an address when there was no place.
    BudgetKept,
    /// A seat is not given back when its connection ends.
    SeatLeaked,
    /// A worker that missed ticks forgets their events, which are reliable messages.
    MessageDropped,
    /// Bytes of the queue are lost on the way to the kernel.
    BytesLost,
}

/// A broken promise: its name, and what was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The promise, or the bots' rule.
    pub rule: String,
    /// What was seen.
    pub detail: String,
}

impl Broken {
    /// This promise is broken; `detail` is what was seen.
    pub fn new(rule: &str, detail: impl Into<String>) -> Broken {
        Broken { rule: rule.to_owned(), detail: detail.into() }
    }
}
