//! Bounds of rooms.

use std::time::Duration;

/// Maximum number of rooms of one server, including the default room. Each has a thread and a world
/// of its own. With more rooms, the server does not start.
pub const ROOMS: usize = 1_024;
/// Maximum characters of a room's name, because each record of a capture contains it. With a longer
/// name, the server does not start. A path with a longer name is unknown.
pub const ROOM_NAME_CHARS: usize = 32;
/// Minimum characters of a private room's name, including `p-`. The other 24 characters, from an
/// alphabet of 32, contain 120 bits. Logs contain 20 of these bits. A room with a shorter name is
/// public.
pub const PRIVATE_NAME_CHARS: usize = 26;
/// Number of characters after `p-` of a private name that logs, metrics and captures contain. The
/// other characters are replaced.
pub const PRIVATE_NAME_VISIBLE_CHARS: usize = 4;
/// Time for which an empty room on demand is retained, so that players with lost connections find
/// their world. After this time, the room ends.
pub const EMPTY_ROOM_TIMEOUT: Duration = Duration::from_secs(60);
/// Interval at which a room on demand checks for a taken seat or a client with a token.
pub const ROOM_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of running rooms on demand that one address has created; a home needs few.
/// `--address-rate-limits off` disables the limit. Further rooms are refused with 429.
pub const ADDRESS_ROOMS: usize = 16;
/// Average time between two rooms that one address creates, because the world of each is generated.
/// `--address-rate-limits off` disables the limit. When the burst is used up, a room is refused
/// with 429.
pub const ADDRESS_ROOM_EVERY: Duration = Duration::from_secs(10);
/// Rooms that one address may create at once.
pub const ADDRESS_ROOMS_BURST: u32 = 16;
/// Minimum time between two starts of a room that panics, so that a world that fails in its first
/// tick does not occupy a processor. Until this time has passed, clients are refused with 503.
pub const ROOM_RESTART_EVERY: Duration = Duration::from_secs(10);
/// Maximum time since the last tick of a room that is not asleep: 60 ticks at 30 Hz, longer than
/// any tolerable pause of a loaded machine. After this time, `/healthz` responds with 503.
pub const TICK_WATCHDOG_TIME: Duration = Duration::from_secs(2);

/// Maximum number of properties of a room, and of conditions of a request: a client that looks for
/// a room compares each condition with each room. Further properties are left out and logged; a
/// request with further conditions is refused with 400.
pub const ROOM_PROPERTIES: usize = 8;
/// Maximum characters of a property's name, so that a list of 1,024 rooms stays within
/// [`ROOM_LIST_BYTES`]. A property with a longer name is left out and logged.
pub const ROOM_PROPERTY_NAME_CHARS: usize = 16;
/// Maximum characters of a property's text, for the same reason: about as many as the name of a
/// room. A property with a longer text is left out and logged.
pub const ROOM_PROPERTY_TEXT_CHARS: usize = 32;

/// Maximum number of rate limits per address that a game may declare for actions that affect other
/// players. Further actions share the last one.
pub const GAME_RATE_LIMITS: usize = 4;

/// Maximum number of suspended seats of a room: a quarter of the seats, so that new players find a
/// free seat. An address has at most `--max-clients-per-address` suspended seats, and may suspend
/// another one only while it has fewer than are still free. `--address-rate-limits off` disables
/// both limits of an address. Above the limit, a player leaves immediately when its connection
/// ends.
pub const MAX_SUSPENDED_SEATS: usize = super::PLAYERS as usize / 4;
/// Maximum bytes of the events that a room stores for clients that resume: notices of the operator,
/// and private events of a player. The oldest events are dropped and never sent.
pub const RECENT_EVENT_BYTES: usize = 1024 * 1024;
/// Default time for which a seat stays suspended without a connection: a tunnel, a reload, a switch
/// to another app. After this time, the player leaves.
pub const RESUME_TIME: Duration = Duration::from_secs(30);
/// Maximum that the operator may set instead of `RESUME_TIME`.
pub const MAX_RESUME_TIME: Duration = Duration::from_secs(3_600);

/// Maximum bytes of a server's list of rooms that tickwire's clients read: thousands of rooms. With
/// a longer list, the client fails.
pub const ROOM_LIST_BYTES: usize = 1 << 20;

/// Minimum time for which a seat stays suspended without a connection on a server with a journal:
/// enough for a restart. After this time, the player leaves.
pub const RESTART_RESUME_TIME: Duration = Duration::from_secs(60);
/// Maximum time of a drain (`--drain-seconds`): the longest session of a player. A longer
/// time is rejected.
pub const MAX_DRAIN_TIME: Duration = Duration::from_secs(24 * 3600);
/// Interval at which `dev` checks the sources of a program that it rebuilds.
pub const DEV_POLL_INTERVAL: Duration = Duration::from_millis(150);
/// Time that the server of `dev` has to stop before it is replaced. After this time, the process is
/// killed, and its worlds are lost.
pub const DEV_STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of commands of one player in one tick. Further commands move to the next tick,
/// and are rejected and counted when all ticks of
/// [`MAX_COMMAND_LEAD_MS`](super::MAX_COMMAND_LEAD_MS) are full. A connection that stalls for 2 s
/// delivers at most 240 commands at once, which take 15 ticks.
pub const COMMANDS_PER_PLAYER_TICK: usize = 16;
/// Maximum bytes of the actions of one player in one tick: the longest packet, with 1,024 values of
/// 8 bytes each. Otherwise one command frame could contain a burst of
/// [`CLIENT_BYTES_BURST`](super::CLIENT_BYTES_BURST). Further commands are handled as for
/// [`COMMANDS_PER_PLAYER_TICK`].
pub const COMMAND_BYTES_PER_PLAYER_TICK: usize = 8 * 1024;
/// Maximum number of rejected commands of all clients that wait for their ack in one tick: the
/// whole burst of 273 clients. The burst also bounds the rejected commands of one client, because
/// each command is a message of its own. Further rejections get no ack.
pub const COMMAND_REJECTIONS: usize = 64 * 1024;
