//! The journal of a room: files from which the room continues after the end of the process.
//!
//! ```text
//!   00…0000.snapshot ─► 00…0000.segment ─► 00…1812.snapshot ─► 00…1812.segment   (first sequence)
//!   world, seats        record record …    world, seats        record rec▒       torn tail
//! ```
//!
//! [`JournalWriter`] appends records to the last segment, and begins the next one after each
//! snapshot. [`inspect`] finds the newest undamaged snapshot and the records after it, and
//! [`repair`] truncates a torn tail. A record that is not synced may be lost; a record that is
//! synced is recovered, or the recovery is refused with the file and the offset.
//!
//! On the shared storage of a cluster, each run has a *fence*, higher than in all earlier runs, and
//! writes files of its own. Records that an earlier owner writes after the next one has begun are
//! dropped by the recovery.
//!
//! The modules are pure. [`JournalStorage`] has the file operations of one room's directory; the
//! server implements it with files, and [`model_disk`] loses what is not synced, for tests and for
//! `testing::simulate::cluster`.

mod fence;
mod history;
mod identity;
pub mod model_disk;
mod record;
mod recovery;
mod replay;
mod segment;
mod snapshot;
mod storage;
#[cfg(test)]
mod tests;
mod truncation;
mod writer;

pub use fence::{claim, highest_fence, remove_journal};
pub use history::{JournalHistory, history};
pub use identity::WorldIdentity;
pub use record::{Record, RecordBody};
pub use recovery::{Inspection, JournalDamage, RecoveryError, TornTail, inspect, named_world, repair};
pub use replay::JournalReplay;
pub use segment::SegmentHeader;
pub use snapshot::JournalSnapshot;
pub use storage::{FileInfo, FileKind, FilePosition, JournalStorage};
pub use truncation::{check, truncate};
pub use writer::{JournalError, JournalRun, JournalWriter, Retention};
