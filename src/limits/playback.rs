//! Bounds of a capture that is watched again.

/// Bytes of one block of a capture that is read as it comes: many times the longest that a server
/// writes. Beyond: the file is taken as damaged there.
pub const WATCH_BLOCK_BYTES: usize = 16 * 1024 * 1024;
/// Rooms of a capture that is watched. Beyond: the first ones.
pub const WATCH_ROOMS: usize = 256;
/// Bytes of records that are kept of a room up to its first tick: its snapshot. Beyond: the room cannot
/// be watched.
pub const PLAYBACK_HEAD_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of command frames that are kept of a room: a day of fifty players. Beyond: what comes later
/// cannot be watched.
pub const WATCH_FRAME_BYTES: usize = 512 * 1024 * 1024;
/// Bytes of snapshots that are kept of a room, to seek from. Beyond: each second one is dropped, and
/// from then on they are made half as often.
pub const WATCH_SNAPSHOT_BYTES: usize = 64 * 1024 * 1024;
/// Ticks between two of these snapshots at first: a seek runs at most so many ticks, some milliseconds.
pub const WATCH_SNAPSHOT_TICKS: u32 = 150;
/// Joins, leaves and kills that are listed of a room. Beyond: the first ones.
pub const PLAYBACK_MAX_MARKERS: usize = 20_000;
/// Ticks that are run at once at a high speed. Beyond: the picture falls behind the speed.
pub const PLAYBACK_MAX_TICKS_PER_CALL: u32 = 256;
/// Connections at once of `tickwire replay --serve`: a browser opens six. Beyond: 503.
pub const WATCH_CONNECTIONS: usize = 64;
/// Bytes of the file that it reads and sends at once.
pub const WATCH_SEND_BYTES: usize = 256 * 1024;
