//! The failures that a simulation can report, each a broken invariant with a name; and the faults
//! that tests plant.

/// A fault that a test plants in order to check that the simulation finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedBug {
    /// A token is not returned to an address if there was no place.
    BudgetNotCharged,
    /// A seat is not released when its connection ends.
    SeatLeaked,
    /// A client's key is forgotten when its connection ends.
    BodyLost,
    /// A worker that missed ticks forgets their events, which are reliable messages.
    MessageDropped,
    /// Bytes of the queue are lost on the way to the kernel.
    BytesLost,
    /// A client in lockstep is not sent a frame.
    FrameSkipped,
    /// A client in lockstep is sent a snapshot with another value in it.
    SnapshotWrong,
}

/// A broken invariant: its name, and what was observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvariantFailure {
    /// The invariant, or the rule that the bots check.
    pub rule: String,
    /// The observation.
    pub detail: String,
}

impl InvariantFailure {
    /// Reports a broken invariant; `detail` is what was observed.
    pub fn new(rule: &str, detail: impl Into<String>) -> InvariantFailure {
        InvariantFailure { rule: rule.to_owned(), detail: detail.into() }
    }
}
