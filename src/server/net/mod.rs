//! Threads, sockets and clocks: the impure part of the server. Most of the crate is pure.
//!
//! ```text
//! listener ×1 ─accept→ connection ×N ─commands→ room ×rooms ─published tick→ worker ×cores
//!                      reads, decodes,          owns its game               each owns its clients' views
//!                      answers at once                                      and assembles their updates
//!                         └──────────────► queue (per client) ◄───────────────┘
//! ```
//!
//! The modules, in the order in which a connection meets them: [`accept`], [`listener`], [`connection`] (reads
//! the head, finds the client's address with [`forwarded`], then serves [`pages`] or selects an
//! endpoint), [`client_thread`], [`room_thread`], [`update_worker`]. [`server_handle`] starts and stops them,
//! [`server_state`] holds what they share, with its [`rooms`], [`rooms_on_demand`] makes rooms that a path asks for, [`console`] executes operator commands, [`tap`] copies traffic
//! for [`recorder`] and [`inspector`], and [`echo`] is a separate server without the game. [`netem_proxy`]
//! passes connections on to a server under other network conditions, and [`pages::playback_server`] serves a capture to be watched again.

pub mod accept;
pub mod access;
pub mod blocking_io;
pub mod client_thread;
pub mod config;
pub mod connection;
pub mod console;
pub mod echo;
pub mod forwarded;
pub mod inspector;
pub mod listener;
pub mod metrics;
pub mod misfit_log;
pub mod netem_proxy;
pub mod pages;
pub mod recorder;
pub mod registry;
pub mod room_thread;
pub mod room_threads;
pub mod rooms;
pub mod rooms_on_demand;
pub mod self_check;
pub mod server_handle;
pub mod server_state;
pub mod tap;
pub mod tcp_client;
pub mod tick_schedule;
pub mod update_worker;
pub mod worker_queue;

/// A room whose clients are sockets.
pub type TcpRoom = dyn crate::server::clients::dyn_room::DynRoom<tcp_client::TcpTransport>;
/// A game, as a server starts it.
pub type TcpGameFactory = crate::server::clients::dyn_room::GameFactory<tcp_client::TcpTransport>;

pub use crate::server::admission::tokens::{PlayAccess, Tokens};
pub use crate::server::net::pages::playback_server::{PlaybackContent, PlaybackServer};
pub use config::ServerConfig;
pub use console::Console;
pub use echo::EchoServer;
pub use netem_proxy::NetemProxy;
pub use server_handle::ServerHandle;
