//! A connection, its host and its room without I/O: driven with bytes and times.

mod admission;
mod answers;
mod budgets;

mod in_lockstep;
mod inbox;
mod limits;
mod lockstep;
mod pool;
#[path = "../support/raw.rs"]
mod raw;
mod receiver;
mod room;
mod self_check;
mod sender;
mod session;
mod sessions;
mod shared_world;
#[path = "../support/mod.rs"]
mod support;
mod token_places;
mod tokens;
mod twin;
