//! Bots that a server runs itself: clients with a connection in memory.
//!
//! ```text
//!  occupancy of a room ─► population ─► number of bots
//!  bytes of the server ─► LocalBot ─► bytes for the server
//! ```
//!
//! [`embedded`](super::embedded) runs them in the thread of its program, and `server::net::bots` in
//! one thread for all rooms. Nothing here opens a socket or reads a clock.

mod local_bot;
mod population;

pub use crate::client::connection::ConnectionKeys;
pub use local_bot::LocalBot;
pub use population::Occupancy;
