//! The bounds of rooms.

use std::time::Duration;

/// Rooms of one server, the default room included: each has a thread and a world of its own. Beyond:
/// the server does not start.
pub const ROOMS: usize = 1_024;
/// Characters of a room's name: each record of a capture carries it. Beyond: the server does not
/// start, and a path below a longer name is unknown.
pub const ROOM_NAME_CHARS: usize = 32;
/// Fewest characters of a private room's name, `p-` included: 24 out of 32 are 120 bits, of which
/// logs show 20. Below: the room is listed like any other.
pub const PRIVATE_NAME_CHARS: usize = 26;
/// Characters of a private name, behind `p-`, that logs, metrics and captures show. The others are
/// replaced.
pub const PRIVATE_NAME_VISIBLE_CHARS: usize = 4;
/// Time that a room on demand may be empty, so that players who lose their connections find their
/// world again. Beyond: the room ends.
pub const EMPTY_ROOM_TIMEOUT: Duration = Duration::from_secs(60);
/// Time between two looks for a client with a token, in a room on demand without a seat.
pub const ROOM_LOOK_EVERY: Duration = Duration::from_secs(1);
/// Rooms on demand that one address has made and that have not ended, unless `--address-budgets off`
/// lifts the limit: a household needs few. Beyond: 429.
pub const ADDRESS_ROOMS: usize = 16;
/// Time between two rooms that one address makes, in the long run, unless `--address-budgets off`
/// lifts the limit: the world of each is generated. Beyond the burst: 429.
pub const ADDRESS_ROOM_EVERY: Duration = Duration::from_secs(10);
/// Rooms that one address may make at once.
pub const ADDRESS_ROOMS_BURST: u32 = 16;
/// Time between two beginnings of a room that panics: a world that fails in its first tick must not
/// keep a processor busy. Sooner: its clients are refused with 503.
pub const ROOM_RESTART_EVERY: Duration = Duration::from_secs(10);
/// Time since the last tick of a room that is not asleep: sixty ticks at 30 Hz, longer than any
/// pause of a loaded machine that players would forgive. Beyond: `/healthz` answers 503.
pub const TICK_WATCHDOG_TIME: Duration = Duration::from_secs(2);

/// Budgets per address that a game may declare for actions that reach other players. Beyond: they
/// share the last one.
pub const GAME_RATE_LIMITS: usize = 4;

/// Players who stay in a room without a connection: a quarter of the seats, so that new players find a
/// place. One address has at most as many as `--max-clients-per-address`, and only while it has fewer
/// than are free, unless `--address-budgets off` lifts both. Beyond: a player whose connection ends
/// leaves at once.
pub const MAX_SUSPENDED_SEATS: usize = super::PLAYERS as usize / 4;
/// Bytes of the events that a room keeps for clients that come back: notices of the operator, and what a
/// game tells one player alone. Beyond: the oldest are forgotten, and not told.
pub const RECENT_EVENT_BYTES: usize = 1024 * 1024;
/// Default time for which a player stays in its world without a connection: a tunnel, a reload, a
/// look at another app. Beyond: it leaves.
pub const RESUME_TIME: Duration = Duration::from_secs(30);
/// Longest time that the operator may set for it.
pub const MAX_RESUME_TIME: Duration = Duration::from_secs(3_600);

/// Bytes of a server's list of rooms that our clients read: thousands of rooms. Beyond: the client
/// gives up.
pub const ROOM_LIST_BYTES: usize = 1 << 20;

/// Bytes of a file of `--keep`: worlds with the names of their fields, some 60 bytes an entity field. Beyond: the server
/// does not start.
pub const MAX_STATE_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes that a server with `--keep` writes to its disk when it starts, so that a full disk is an error
/// then and not when it stops; more if the file of the last run is larger.
pub const KEPT_RESERVE_BYTES: u64 = 1024 * 1024;
/// Names for a file of `--keep` that is set aside. Beyond: the server does not start.
pub const KEPT_ASIDE: u32 = 100;
/// Time for which a player stays in its world without a connection, if the server keeps its worlds
/// (`--keep`). Beyond: the player leaves.
pub const STATE_FILE_RESUME_TIME: Duration = Duration::from_secs(60);
/// Time between two looks at the sources of a program that `dev` rebuilds.
pub const DEV_POLL_INTERVAL: Duration = Duration::from_millis(150);
/// Time that the server of `dev` has to stop before it is replaced. Beyond: it is killed, and its worlds are lost.
pub const DEV_STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Commands of one player in one tick. Beyond: moved to the next tick, and rejected and counted when
/// all ticks of [`MAX_COMMAND_LEAD_MS`](super::MAX_COMMAND_LEAD_MS) are full. A line that stalls for two
/// seconds delivers 240 commands at once, at most, which take 15 ticks.
pub const COMMANDS_PER_PLAYER_TICK: usize = 16;
/// Bytes of the actions of one player in one tick: 1,024 values, which is the longest packet, of eight
/// bytes each. A burst of [`CLIENT_BYTES_BURST`](super::CLIENT_BYTES_BURST) would otherwise be in one
/// command frame. Beyond: as above.
pub const COMMAND_BYTES_PER_PLAYER_TICK: usize = 8 * 1024;
/// Rejected commands of all clients whose answers wait for one tick: the whole burst of 273 clients. A
/// client has few, because each is a message of its own. Beyond: the client is not told.
pub const COMMAND_REJECTIONS: usize = 64 * 1024;
