//! Bounds of the playback of a capture.

/// Maximum bytes of one block of a capture that is read as a stream: many times the longest block
/// that a server writes. A longer block is treated as damage.
pub const WATCH_BLOCK_BYTES: usize = 16 * 1024 * 1024;
/// Maximum number of rooms of a capture in playback. Further rooms are skipped.
pub const WATCH_ROOMS: usize = 256;
/// Maximum bytes of the records of a room up to its first tick: its snapshot. A room with more
/// bytes cannot be played back.
pub const PLAYBACK_HEAD_BYTES: usize = 64 * 1024 * 1024;
/// Maximum bytes of command frames that are stored for a room: a day of 50 players. Later ticks
/// cannot be played back.
pub const WATCH_FRAME_BYTES: usize = 512 * 1024 * 1024;
/// Maximum bytes of snapshots that are stored for a room as starting points of a seek. At the limit
/// every second one is dropped, and the interval of new ones doubles.
pub const WATCH_SNAPSHOT_BYTES: usize = 64 * 1024 * 1024;
/// Initial interval of the snapshots for seeks, in ticks. A seek executes at most this many ticks,
/// which takes some milliseconds.
pub const WATCH_SNAPSHOT_TICKS: u32 = 150;
/// Maximum number of listed joins, leaves and kills of a room. Later ones are omitted.
pub const PLAYBACK_MAX_MARKERS: usize = 20_000;
/// Maximum number of ticks that one call executes at a high speed. Above the limit, playback is
/// slower than the selected speed.
pub const PLAYBACK_MAX_TICKS_PER_CALL: u32 = 256;
/// Maximum number of connections of `tickwire replay --serve`; a browser opens six. Further
/// connections are refused with 503.
pub const WATCH_CONNECTIONS: usize = 64;
/// Maximum bytes of the file that one read and send of `tickwire replay --serve` transfers.
pub const WATCH_SEND_BYTES: usize = 256 * 1024;
