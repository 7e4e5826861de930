//! Bounds of the journal: the files in which rooms survive the end of the process.

use std::time::Duration;

/// Bytes after which a segment of a journal is closed and the next one begins. Recovery reads a
/// whole segment into memory.
pub const JOURNAL_SEGMENT_BYTES: u64 = 16 * 1024 * 1024;
/// Maximum bytes of the payload of one record. A command frame has at most 65,535 commands, and the
/// commands of 2,000 players in one tick have at most 16 MiB. A longer record is an error of the
/// journal, and a length above the bound in a file is damage.
pub const JOURNAL_RECORD_BYTES: usize = 32 * 1024 * 1024;
/// Maximum bytes of the world in one snapshot file. A larger one is an error of the journal.
pub const JOURNAL_SNAPSHOT_BYTES: usize = 256 * 1024 * 1024;
/// Maximum bytes of records that wait for the writer thread, over all rooms. At the bound the
/// journal fails as after an error of the disk, because a room never waits.
pub const JOURNAL_QUEUE_BYTES: usize = 64 * 1024 * 1024;
/// Time between two syncs with `--durability second`. A power failure loses at most the ticks of
/// this time.
pub const JOURNAL_SYNC_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of rooms whose records are synced at the same time. A file system writes one
/// transaction for several syncs; more threads gain little.
pub const JOURNAL_SYNC_THREADS: usize = 8;
/// Time between two snapshots of a room. A recovery replays at most the ticks of this time.
pub const JOURNAL_SNAPSHOT_INTERVAL: Duration = Duration::from_secs(60);
/// Time between two snapshots while the storage has lost files and the writer thread cannot begin
/// the journal again, because the lease of the room is over.
pub const JOURNAL_REPEATED_SNAPSHOT_INTERVAL: Duration = Duration::from_secs(1);
/// Ticks between two checksum records. A recovery compares them with the world that it replays.
pub const JOURNAL_CHECKSUM_TICKS: u32 = 300;
/// Number of snapshots that retention never removes, with the records after the older one: if the
/// newest snapshot is damaged, recovery uses the one before it.
pub const JOURNAL_MIN_SNAPSHOTS: usize = 2;
/// Default of `--journal-megabytes`: maximum bytes of a room's files. Older segments are removed,
/// except those needed by [`JOURNAL_MIN_SNAPSHOTS`].
pub const JOURNAL_RETAINED_BYTES: u64 = 1_000_000_000;
/// Default of `--journal-hours`: maximum age of a closed segment, with the same exception.
pub const JOURNAL_RETAINED_AGE: Duration = Duration::from_secs(7 * 24 * 3600);
/// Maximum time of one request to the Redis that has the journals, and of connecting to it. A
/// segment of 16 MiB takes a fraction of a second in a data centre.
pub const JOURNAL_STORE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of connections to that Redis that are retained for the next requests: one for
/// each room that is synced at the same time. Further ones are closed after their request.
pub const JOURNAL_STORE_IDLE_CONNECTIONS: usize = JOURNAL_SYNC_THREADS;
/// Interval at which the writer thread repeats a request while that Redis cannot be reached.
pub const JOURNAL_STORE_RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum time that a stopping server waits for that Redis.
pub const JOURNAL_STORE_STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum time that the thread of an ending room waits for the writer thread. After this time, the
/// files of its journal may remain.
pub const JOURNAL_END_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of journals of one room that were set aside (`--on-refused-journal new-world`).
/// If there are as many, the server does not start.
pub const MAX_SET_ASIDE_JOURNALS: u32 = 100;
/// Maximum bytes of acks in each room that wait for their ticks to be durable, or for the lease of
/// the room: minutes of the commands of 100 players. The acks of later ticks are never sent.
pub const JOURNAL_HELD_ACK_BYTES: usize = 4 * 1024 * 1024;
