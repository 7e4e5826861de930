//! The clients of a room, without I/O.
//!
//! [`client`] is a connection that has joined a room, [`client_driver`] decides what its packets ask of
//! the room, [`backlog`] holds ticks that wait for a worker, [`update_group`] encodes updates, and
//! [`lockstep_feed`] sends commands and snapshots to clients in lockstep. A request for `/wire` becomes
//! an [`inspector_session`]. [`dyn_room`] is a room whose game's types are erased.

pub mod backlog;
pub mod client;
pub mod client_driver;
pub mod dyn_room;
pub mod inspector_session;
pub mod lockstep_feed;
mod pending_acks;
pub mod update_group;
