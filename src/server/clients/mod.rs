//! The clients of a room, without I/O.
//!
//! [`client`] is a connection in a room. [`client_driver`] executes the outputs of the connection,
//! [`backlog`] holds ticks until an update worker processes them, [`update_group`] encodes updates,
//! and [`lockstep_feed`] sends commands and snapshots to lockstep clients. [`parking`] spares the
//! worker the visits of clients without updates. A connection to `/wire` becomes an
//! [`inspector_session`]. [`dyn_room`] erases the types of a room's game.

pub mod backlog;
pub mod client;
pub mod client_driver;
pub mod client_lane;
pub mod client_player;
pub mod dyn_room;
pub mod inspector_session;
mod lane_path;
pub mod lockstep_feed;
pub mod memory_stream;
pub mod parking;
mod pending_acks;
pub mod update_group;
