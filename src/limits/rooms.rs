//! The bounds of rooms.

use std::time::Duration;

/// Rooms of one server, the default room included: each has a thread and a world of its own. Beyond:
/// the server does not start.
pub const ROOMS: usize = 1_024;
/// Characters of a room's name: each record of a capture carries it. Beyond: the server does not
/// start, and a path below a longer name is unknown.
pub const ROOM_NAME_CHARS: usize = 32;
/// Time between two beginnings of a room that panics: a world that fails in its first tick must not
/// keep a processor busy. Sooner: its clients are refused with 503.
pub const ROOM_RESTART_EVERY: Duration = Duration::from_secs(10);
/// Time since the last tick of a room that is not asleep: sixty ticks at 30 Hz, longer than any
/// pause of a loaded machine that players would forgive. Beyond: `/healthz` answers 503.
pub const HEARTBEAT: Duration = Duration::from_secs(2);

/// Budgets per address that a game may declare for actions that reach other players. Beyond: they
/// share the last one.
pub const GAME_BUDGETS: usize = 4;
