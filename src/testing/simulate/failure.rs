//! The failures that a simulation can report: broken invariants, each with a name. Also defines the
//! bugs that tests inject.

/// A bug that a test injects, in order to check that the simulation finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedBug {
    /// A request that is refused for lack of a slot still consumes a token of its address.
    BudgetOvercharged,
    /// A seat is not released when its connection ends.
    SeatLeaked,
    /// A client's key is removed when its connection ends.
    BodyLost,
    /// A worker that missed ticks drops the events of these ticks, which are reliable messages.
    MessageDropped,
    /// The bytes of a send are lost, although the kernel has accepted them.
    BytesLost,
    /// A lockstep client does not receive a command frame.
    FrameSkipped,
    /// A lockstep client receives a snapshot with a changed value.
    SnapshotWrong,
    /// A client acknowledges a datagram, but ignores its state.
    DatagramIgnored,
    /// A client handles packets of datagrams as packets of the stream.
    DatagramAsStream,
    /// A command from a datagram is executed twice.
    CommandRepeated,
    /// The server sends each datagram twice, even to an unproven address.
    DatagramsDoubled,
}

/// A broken invariant: its name, and the observation that contradicts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvariantFailure {
    /// Name of the invariant, or of the rule that a bot checks.
    pub rule: String,
    /// The observation.
    pub detail: String,
}

impl InvariantFailure {
    /// Creates a failure from the name of an invariant and the observation.
    pub fn new(rule: &str, detail: impl Into<String>) -> InvariantFailure {
        InvariantFailure { rule: rule.to_owned(), detail: detail.into() }
    }
}
