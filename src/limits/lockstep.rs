//! Bounds of lockstep: the data that a room stores for clients that run its world themselves.

use std::time::Duration;

use super::CLIENTS_PER_ADDRESS;

/// Default of `--snapshot-interval-ticks`: ticks between two snapshots for lockstep clients. A
/// client that joins runs at most this many ticks to catch up.
pub const LOCKSTEP_SNAPSHOT_TICKS: u32 = 600;
/// Default of `--checksum-interval-ticks`: ticks between two checksums of a lockstep client.
pub const LOCKSTEP_CHECKSUM_TICKS: u32 = 100;
/// Maximum of either interval, in ticks.
pub const LOCKSTEP_MAX_INTERVAL_TICKS: u32 = 10_000;
/// Maximum bytes of command frames that a room stores after its newest snapshot. At the limit it
/// makes the next snapshot early.
pub const LOCKSTEP_JOURNAL_BYTES: usize = 1024 * 1024;
/// Number of snapshots that a room stores: the newest, and the one before it for a late checksum.
pub const LOCKSTEP_SNAPSHOTS: usize = 2;
/// Minimum time from a room's last snapshot to the next one, if all lockstep clients have left in
/// between. It limits the snapshots for clients that join and leave repeatedly. Until this time has
/// passed, joining clients wait.
pub const LOCKSTEP_MIN_SNAPSHOT_INTERVAL: Duration = Duration::from_secs(1);
/// Snapshots that the clients of one address may receive at once, over all rooms of a server
/// together: one for each of its clients. `--address-rate-limits off` disables the limit. When the
/// burst is used up, one snapshot is sent every [`ADDRESS_SNAPSHOT_EVERY`], and the clients take
/// turns.
pub const ADDRESS_SNAPSHOTS_BURST: u32 = CLIENTS_PER_ADDRESS as u32;
/// Average time between two snapshots for the clients of one address.
pub const ADDRESS_SNAPSHOT_EVERY: Duration = Duration::from_secs(1);
/// Time for which a waiting client takes precedence over clients of its address with a more recent
/// snapshot. A waiting client repeats its request in each tick. A client silent for longer loses
/// its place in the queue.
pub const LOCKSTEP_SYNC_WAIT: Duration = Duration::from_secs(1);
/// Average bytes of snapshots per second that a server sends to all addresses together: 134 Mbit/s,
/// a fair part of its bandwidth. When the burst is used up, snapshots wait.
pub const LOCKSTEP_SYNC_BYTES_PER_SECOND: u32 = 16 * 1024 * 1024;
/// Burst of snapshots, as time at [`LOCKSTEP_SYNC_BYTES_PER_SECOND`]: 64 MiB, the snapshots of
/// about a hundred clients that join together. The second half is reserved for clients without a
/// world.
pub const LOCKSTEP_SYNC_BURST: Duration = Duration::from_secs(4);
/// State bytes in a `snapshot` packet that is not the last part. It is half of the longest message
/// ([`super::CLIENT_MESSAGE_BYTES`]), because base64 in JSON adds a third.
pub const SNAPSHOT_PART_BYTES: usize = super::CLIENT_MESSAGE_BYTES / 2;
/// Maximum bytes of the frames of a whole snapshot, which its clients share. They may exceed
/// [`super::SEND_QUEUE_BYTES`] if nothing else is queued for the client. 8 MiB are half a second of
/// [`LOCKSTEP_SYNC_BYTES_PER_SECOND`]. A larger snapshot closes the connection with 1008
/// `lockstep_too_large`.
pub const SNAPSHOT_MOST_BYTES: usize = 8 * 1024 * 1024;
/// Maximum state bytes of a snapshot that a client reassembles: the largest world that can be
/// restored, because `--self-check` also reads it. A larger snapshot is an error.
pub const SNAPSHOT_REASSEMBLED_BYTES: usize = super::MAX_RESTORE_BYTES as usize;
/// Maximum bytes of command frames and reports in one update of a client, as sent, in addition to a
/// snapshot and acks. Further bytes are sent in the next update. A larger single frame is sent
/// alone.
pub const LOCKSTEP_UPDATE_BYTES: usize = super::SEND_QUEUE_BYTES / 2;
/// Maximum number of checksum rounds that a room stores, from its oldest snapshot on. A round
/// contains one checksum of each client. Above the limit, the oldest rounds without a pending
/// report are removed, and later checksums for them are dropped.
pub const LOCKSTEP_MAX_CHECKSUM_ROUNDS: usize = 64;
/// Minimum time for which a report waits for differing fields. The wait is longer if the checksum
/// interval is longer. After this time, the report contains only the participants.
pub const LOCKSTEP_DETAILS_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum number of groups of participants with the same checksum in a `desync_report`. Further
/// groups are only counted.
pub const LOCKSTEP_MAX_REPORT_GROUPS: usize = 16;
/// Maximum number of participants of each group in a `desync_report`. Further participants are only
/// counted.
pub const LOCKSTEP_PARTICIPANTS: usize = 32;
/// Maximum number of differing fields that a lockstep client may report, and that a `desync_report`
/// lists. The list takes the first field of each client, then the second, and so on.
pub const LOCKSTEP_FIELDS: usize = 8;
/// Maximum characters of the name of an entity or a field, or of a value, in a `desync_report`.
/// Longer text is truncated.
pub const LOCKSTEP_FIELD_CHARS: usize = 48;
/// Maximum number of clients of a room that `--self-check` checks at once, because checking a
/// client costs about as much as running a bot. Further clients are only counted.
pub const SELF_CHECK_CLIENTS: usize = 64;
/// Number of ticks of its own world that `--self-check` stores for comparison: two seconds at 60
/// Hz, longer than any delay of a worker. Older ticks are not compared.
pub const SELF_CHECK_TICKS: usize = 120;
/// Maximum bytes that wait for `--self-check`. Clients with dropped bytes are no longer checked.
pub const SELF_CHECK_QUEUE_BYTES: usize = 8 * 1024 * 1024;
/// Maximum bytes of one message of a room's journal to `--self-check`: a snapshot of the largest
/// world that can be restored ([`super::MAX_RESTORE_BYTES`]), also as text. A longer message is a
/// finding, and the world of `--self-check` restarts.
pub const SELF_CHECK_MESSAGE_BYTES: usize = 2 * super::MAX_RESTORE_BYTES as usize;
/// Maximum time between two reads of the rooms' journals by `--self-check` when nothing is sent.
/// The delay is then far below [`SELF_CHECK_TICKS`].
pub const SELF_CHECK_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Maximum number of ticks by which lockstep bots that share a world may differ. A slower bot
/// requests a snapshot.
pub const SHARED_WORLD_TICKS: usize = 128;
/// Number of ticks for which a shared world stores command frames and checksums: two snapshot
/// intervals, so that a joining bot needs no world of its own. A bot that needs older ticks runs
/// its own world until it has caught up.
pub const SHARED_WORLD_LOG_TICKS: usize = 2 * LOCKSTEP_SNAPSHOT_TICKS as usize;
/// Maximum number of acks that a lockstep bot holds until its world has run the commands. A further
/// ack is delivered immediately.
pub const LOCKSTEP_MAX_HELD_ACKS: usize = 256;
