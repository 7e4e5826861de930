//! The number of connections that a machine supports.

use std::fmt;
use std::io;

use crate::limits;

/// The machine's limits for one process, read once at startup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MachineCapacity {
    /// Maximum number of open files, after raising the soft limit to the hard one; `usize::MAX`
    /// without a limit.
    pub open_files: usize,
    /// Maximum number of memory mappings, `vm.max_map_count`; `usize::MAX` without a limit.
    pub mappings: usize,
    /// Maximum number of threads of the whole machine, `kernel.pid_max`.
    pub threads: usize,
}

impl MachineCapacity {
    /// The number of connections, each with its thread, that these limits allow, minus a reserve
    /// for everything else.
    pub fn connections(&self) -> usize {
        let by_files = self.open_files.saturating_sub(limits::RESERVED_DESCRIPTORS);
        let by_mappings =
            self.mappings.saturating_sub(limits::RESERVED_MAPPINGS) / limits::MAPPINGS_PER_THREAD;
        by_files.min(by_mappings).min(self.threads / 2)
    }

    /// Like [`MachineCapacity::connections`], for a server about to start.
    ///
    /// # Errors
    /// [`io::ErrorKind::QuotaExceeded`] if there are fewer than [`limits::MIN_CONNECTIONS`]; the
    /// message lists each limit and the needed value.
    pub fn check(&self) -> io::Result<usize> {
        let (connections, min) = (self.connections(), limits::MIN_CONNECTIONS);
        if connections >= min {
            return Ok(connections);
        }
        let files = limits::RESERVED_DESCRIPTORS + min;
        let mappings = limits::RESERVED_MAPPINGS + limits::MAPPINGS_PER_THREAD * min;
        let threads = 2 * min;
        let MachineCapacity { open_files, mappings: has_mappings, threads: has_threads } = self;
        let warning = format!(
            "this machine supports {connections} connections, and a server needs at least {min}: open \
             files (ulimit -n): {open_files}, needed: {files}; memory mappings (vm.max_map_count): {has_mappings}, \
             needed: {mappings}; threads (kernel.pid_max): {has_threads}, needed: {threads}"
        );
        Err(io::Error::new(io::ErrorKind::QuotaExceeded, warning))
    }
}

impl fmt::Display for MachineCapacity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} connections (", self.connections())?;
        for (count, of) in [(self.open_files, "open files, "), (self.mappings, "memory mappings, ")] {
            // An unlimited resource is not listed.
            if count != usize::MAX {
                write!(out, "{count} {of}")?;
            }
        }
        write!(out, "{} threads)", self.threads)
    }
}
