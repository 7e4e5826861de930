//! Reports: each process publishes a short text about itself and its rooms, and reads the texts of
//! the others.

use std::time::Duration;

use super::store::StoreError;

/// The store of reports, as one process uses it. A request is executed at once or not at all.
pub trait ReportStore {
    /// Stores the report of this process for this time. Returns the number of processes with
    /// reports, or 0 if [`CLUSTER_PROCESSES`] others have them.
    ///
    /// # Errors
    /// The store does not respond.
    ///
    /// [`CLUSTER_PROCESSES`]: crate::limits::CLUSTER_PROCESSES
    fn publish_report(&mut self, report: &str, time: Duration) -> Result<usize, StoreError>;

    /// Removes the report of this process, which stops.
    ///
    /// # Errors
    /// The store does not respond.
    fn remove_report(&mut self) -> Result<(), StoreError>;

    /// Returns the reports of all processes.
    ///
    /// # Errors
    /// The store does not respond.
    fn reports(&mut self) -> Result<Vec<String>, StoreError>;
}
