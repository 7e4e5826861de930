//! Scenarios: the events of a cluster, the checks of its processes, and a planted fault.

use std::fmt;
use std::str::FromStr;

/// A scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scenario {
    /// The name in summaries.
    pub name: &'static str,
    /// Acks need a valid lease.
    pub checks_lease: bool,
    /// Acks need the highest fence of the storage.
    pub checks_storage: bool,
    /// Processes are paused, and separated from the store.
    pub has_pauses: bool,
    /// The store loses its records when it stops.
    pub loses_records: bool,
    /// Clocks run at half to double speed, otherwise at 95 to 105 %.
    pub has_bad_clocks: bool,
    /// The planted fault.
    pub fault: Option<ClusterFault>,
}

/// Both checks, and everything that can happen.
pub const BOTH: Scenario = Scenario {
    name: "lease and storage",
    checks_lease: true,
    checks_storage: true,
    has_pauses: true,
    loses_records: true,
    has_bad_clocks: true,
    fault: None,
};
/// The lease alone, with what it assumes: good clocks, and a store that loses nothing.
pub const LEASE_ALONE: Scenario = Scenario {
    name: "lease alone",
    checks_storage: false,
    loses_records: false,
    has_bad_clocks: false,
    ..BOTH
};
/// The lease alone, with a store that loses its records while all processes run.
pub const LEASE_WITH_LOSSES: Scenario =
    Scenario { name: "lease alone, empty store", has_pauses: false, loses_records: true, ..LEASE_ALONE };
/// The storage alone.
pub const STORAGE_ALONE: Scenario = Scenario { name: "storage alone", checks_lease: false, ..BOTH };

/// The scenarios, which the seeds take in turn.
pub const SCENARIOS: [Scenario; 4] = [BOTH, LEASE_ALONE, LEASE_WITH_LOSSES, STORAGE_ALONE];

/// A fault of the processes, of the store or of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterFault {
    /// The store renews a lease after its end, although another process has had the room.
    RenewAfterEnd,
    /// A lease is valid from the arrival of the reply on.
    CountFromReply,
    /// The checks are made before the sync, not after it.
    CheckBeforeSync,
    /// A process acquires at once through a new connection.
    AcquireAtOnce,
    /// Acks are sent although no file is synced.
    SkipSync,
    /// The directory is not synced.
    SkipDirectorySync,
}

impl ClusterFault {
    /// All faults with their names.
    pub const ALL: [(&str, ClusterFault); 6] = [
        ("renew-after-end", ClusterFault::RenewAfterEnd),
        ("count-from-reply", ClusterFault::CountFromReply),
        ("check-before-sync", ClusterFault::CheckBeforeSync),
        ("acquire-at-once", ClusterFault::AcquireAtOnce),
        ("skip-sync", ClusterFault::SkipSync),
        ("skip-directory-sync", ClusterFault::SkipDirectorySync),
    ];

    /// Returns the scenario in which nothing else covers the fault.
    pub fn scenario(self) -> Scenario {
        let scenario = match self {
            ClusterFault::RenewAfterEnd | ClusterFault::CountFromReply => LEASE_ALONE,
            ClusterFault::AcquireAtOnce => LEASE_WITH_LOSSES,
            ClusterFault::CheckBeforeSync => STORAGE_ALONE,
            ClusterFault::SkipSync | ClusterFault::SkipDirectorySync => BOTH,
        };
        Scenario { fault: Some(self), ..scenario }
    }
}

impl fmt::Display for ClusterFault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ClusterFault::ALL.iter().find(|(_, fault)| fault == self);
        out.write_str(name.map_or("", |(name, _)| name))
    }
}

impl FromStr for ClusterFault {
    type Err = String;

    fn from_str(text: &str) -> Result<ClusterFault, String> {
        let found = ClusterFault::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, fault)| *fault).ok_or_else(|| {
            let names: Vec<&str> = ClusterFault::ALL.iter().map(|(name, _)| *name).collect();
            format!("must be one of {}", names.join(", "))
        })
    }
}
