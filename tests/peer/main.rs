//! A connection, its host and its room without I/O: driven with bytes and times.

mod address_limits;
mod admission;
mod answers;
#[path = "../support/diary.rs"]
mod diary;
mod driven;
mod hall;
mod in_lockstep;
mod inbox;
mod life;
mod limits;
mod lockstep;
mod lockstep_behind;
mod lockstep_reports;
mod lockstep_snapshots;
mod lockstep_tokens;
mod parking;
mod pool;
#[path = "../support/raw.rs"]
mod raw;
mod recent;
mod reconnects;
mod room;
mod self_check;
mod sender;
mod server_connection;
mod session;
mod sessions;
mod shared_world;
#[path = "../support/mod.rs"]
mod support;
mod tokens;
mod twin;
