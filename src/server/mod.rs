//! The server: the admission of connections, the rooms that they join, and the threads of both.
//!
//! ```text
//!  request ─► admission ─► upgrade_check ─► client ─► client_driver ─► seats, commands of the room
//!                                             ▲
//!             ticks of the room ─► update_group ──┘  updates
//! ```
//!
//! [`room`], [`admission`], [`clients`], `cluster` and `journal` are pure: no socket, thread, file
//! or clock.
//! `net` runs them with sockets, threads and a clock, and [`host`] without. A host has two drivers:
//! [`embedded`] (function calls, also in a browser) and `testing::simulate` (a model of the network
//! in virtual time). A program starts a server with `builder`. [`self_check`] compares the updates
//! of a running server with a second world. [`bots`] are players that a server runs itself.

pub mod admission;
pub mod bots;
#[cfg(not(target_family = "wasm"))]
pub mod builder;
pub mod clients;
#[cfg(not(target_family = "wasm"))]
pub mod cluster;
pub mod embedded;
pub mod host;
#[cfg(not(target_family = "wasm"))]
pub mod journal;
#[cfg(not(target_family = "wasm"))]
pub mod net;
pub mod room;
pub mod self_check;
