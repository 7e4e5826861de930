//! Bounds of lockstep: what a room keeps for clients that run its world themselves.

use std::time::Duration;

use super::CLIENTS_PER_ADDRESS;

/// Ticks between two snapshots for clients in lockstep, unless `--snapshot-interval-ticks` says
/// otherwise: a client that joins runs at most so many ticks to catch up.
pub const LOCKSTEP_SNAPSHOT_TICKS: u32 = 600;
/// Ticks between two checksums that clients in lockstep send, unless `--checksum-interval-ticks` says
/// otherwise.
pub const LOCKSTEP_CHECKSUM_TICKS: u32 = 100;
/// Most ticks of either interval.
pub const LOCKSTEP_MAX_INTERVAL_TICKS: u32 = 10_000;
/// Bytes of command frames that a room keeps behind its newest snapshot. Beyond: it makes the next
/// snapshot early.
pub const LOCKSTEP_JOURNAL_BYTES: usize = 1024 * 1024;
/// Snapshots that a room keeps: the newest, and the one before it for a checksum that arrives late.
pub const LOCKSTEP_SNAPSHOTS: usize = 2;
/// Shortest time between a room's last snapshot and the first one for clients that come after all
/// others have left: one that comes and goes must not have one made each time. Sooner: they wait.
pub const LOCKSTEP_MIN_SNAPSHOT_INTERVAL: Duration = Duration::from_secs(1);
/// Snapshots that the clients of one address are sent at once, in all rooms of a server together, unless
/// `--address-budgets off` lifts the limit: all that the address may have join together. Beyond the
/// burst, the next one waits for [`ADDRESS_SNAPSHOT_EVERY`], and the clients take turns.
pub const ADDRESS_SNAPSHOTS_BURST: u32 = CLIENTS_PER_ADDRESS as u32;
/// Time between two snapshots for the clients of one address in the long run.
pub const ADDRESS_SNAPSHOT_EVERY: Duration = Duration::from_secs(1);
/// Time for which a client that waits for a snapshot goes before others of its address that had one
/// later: many ticks, in each of which it asks again. Beyond: it has not asked again, and waits no more.
pub const LOCKSTEP_SYNC_WAIT: Duration = Duration::from_secs(1);
/// Bytes of snapshots that a server sends in a second in the long run, to all addresses together:
/// 134 Mbit/s, a fair part of its line. Beyond the burst: snapshots wait.
pub const LOCKSTEP_SYNC_BYTES_PER_SECOND: u32 = 16 * 1024 * 1024;
/// Time for which a server may send snapshots at that rate at once: 64 MiB, those of some hundred
/// clients that join together. The second half is for clients that have no world yet.
pub const LOCKSTEP_SYNC_BURST: Duration = Duration::from_secs(4);
/// State bytes in a `snapshot` packet that another part follows. Half a message
/// ([`super::CLIENT_MESSAGE_BYTES`]): base64 in JSON adds a third.
pub const SNAPSHOT_PART_BYTES: usize = super::CLIENT_MESSAGE_BYTES / 2;
/// Frame bytes of a whole snapshot, shared by its clients: they may exceed [`super::SEND_QUEUE_BYTES`] if
/// nothing else waits for the client. 8 MiB are half a second of [`LOCKSTEP_SYNC_BYTES_PER_SECOND`].
/// Beyond: close 1008 `lockstep_too_large`.
pub const SNAPSHOT_MOST_BYTES: usize = 8 * 1024 * 1024;
/// State bytes of a snapshot that a client reassembles: the largest world that can be restored, because
/// `--self-check` follows it too. Beyond: an error, and the client follows as a stream.
pub const SNAPSHOT_REASSEMBLED_BYTES: usize = super::MAX_RESTORE_BYTES as usize;
/// Bytes of command frames and reports, as they are sent, that a client is sent in one turn, besides a
/// snapshot and answers. Beyond: in the next one. A frame that is larger by itself goes alone.
pub const LOCKSTEP_UPDATE_BYTES: usize = super::SEND_QUEUE_BYTES / 2;
/// Checksum ticks whose checksums a room keeps: those from its oldest snapshot on, one checksum of each
/// client. Beyond: the newest ones and those that are to be reported, and a checksum that comes later is
/// dropped.
pub const LOCKSTEP_MAX_CHECKSUM_ROUNDS: usize = 64;
/// Time for which a report waits for the fields that differ, if that is longer than an interval. Beyond:
/// it names the participants alone.
pub const LOCKSTEP_DETAILS_TIMEOUT: Duration = Duration::from_secs(1);
/// Groups of participants with the same checksum that a `desync_report` lists. Beyond: counted only.
pub const LOCKSTEP_MAX_REPORT_GROUPS: usize = 16;
/// Participants that a `desync_report` lists in a group. Beyond: counted only.
pub const LOCKSTEP_PARTICIPANTS: usize = 32;
/// Fields that a client in lockstep may name as different, and that a `desync_report` lists. Beyond: the
/// first ones count, of each client in turn.
pub const LOCKSTEP_FIELDS: usize = 8;
/// Characters of the name of an entity or a field, or of a value, in a `desync_report`. Beyond: cut.
pub const LOCKSTEP_FIELD_CHARS: usize = 48;
/// Clients of a room whose streams `--self-check` follows at once: each costs about what its bot would.
/// Beyond: counted only.
pub const SELF_CHECK_CLIENTS: usize = 64;
/// Ticks of its own world that `--self-check` keeps to compare streams with: two seconds at 60 Hz, more
/// than a worker is ever behind. Older ones are not compared.
pub const SELF_CHECK_TICKS: usize = 120;
/// Bytes that wait for `--self-check`. Beyond: the clients whose bytes are lost are followed no more.
pub const SELF_CHECK_QUEUE_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of one message of a room's journal to `--self-check`: a snapshot of the largest world that can be
/// restored ([`super::MAX_RESTORE_BYTES`]), also as text. Beyond: a finding, and the own world begins again.
pub const SELF_CHECK_MESSAGE_BYTES: usize = 2 * super::MAX_RESTORE_BYTES as usize;
/// Longest time until `--self-check` follows the rooms' journals again, when nothing is sent: it is then
/// as far behind as [`SELF_CHECK_TICKS`] allows by far.
pub const SELF_CHECK_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Ticks that bots in lockstep that share a world may be behind each other. Beyond: a bot asks for a
/// snapshot.
pub const SHARED_WORLD_TICKS: usize = 128;
/// Ticks for which a shared world keeps its command frames and checksums: those of two snapshots, so that a
/// bot that joins need not run them. Beyond: it runs a world of its own until it is as far as the others.
pub const SHARED_WORLD_LOG_TICKS: usize = 2 * LOCKSTEP_SNAPSHOT_TICKS as usize;
/// Answers to commands that a bot in lockstep keeps until its world has run them. Beyond: it hears them at
/// once.
pub const LOCKSTEP_MAX_HELD_ACKS: usize = 256;
