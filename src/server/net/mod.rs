//! Threads, sockets and clocks: the impure part of the server. Most of the crate is pure.
//!
//! ```text
//! listener ×1 ─accept→ connection ×N ─commands→ room ×rooms ─published tick→ worker ×cores
//!                      reads, decodes,          owns its game               owns its clients'
//!                      replies                                              views, encodes updates
//!                         └──────────────► queue (per client) ◄───────────────┘
//! ```
//!
//! A connection passes through [`accept`], [`listener`], [`connection`] (reads the head, determines
//! the client's address with [`forwarded`], then serves [`pages`] or upgrades; [`keep_alive`]
//! decides whether further requests follow), [`client_thread`], [`room_thread`] and
//! [`update_worker`].
//!
//! Around them:
//!
//! - [`server_handle`] starts and stops the threads, and [`server_state`] holds their shared state.
//! - [`rooms`] lists the running rooms; [`rooms_on_demand`] creates rooms for upgrade requests, and
//!   [`any_room`] chooses one for a request that wants any.
//! - [`cluster`] finds the process that has a room, and relays clients to it.
//! - [`console`] executes operator commands.
//! - [`server_events`] calls the program's hook; [`room_access`] is a room as the program sees it.
//! - [`bots`] runs the players that fill rooms with few people.
//! - [`tap`] copies traffic for [`recorder`] and [`inspector`].
//! - [`input_files`] reads saved worlds and tokens; [`journal`] continues worlds over a restart.
//! - [`journal`] writes the rooms' journals, and recovers rooms from them.
//! - [`lane_thread`] receives the datagrams of the lanes from the [`lane_socket`].
//! - [`echo`] is a separate server without a game.
//! - [`netem_proxy`] forwards connections to a server under emulated network conditions.
//! - [`pages::playback_server`] serves a capture for playback.

pub mod accept;
pub mod access;
pub mod agones;
pub mod any_room;
pub mod ban_enforcement;
pub mod blocking_io;
pub mod bots;
pub mod client_thread;
pub mod cluster;
pub mod config;
pub mod connection;
pub mod console;
#[cfg_attr(not(feature = "webrtc"), path = "no_data_channels.rs")]
pub mod data_channels;
pub mod drain;
pub mod echo;
pub mod forwarded;
pub mod input_files;
pub mod inspector;
pub mod intercepting_proxy;
pub mod journal;
pub mod keep_alive;
pub mod key_log;
pub mod lane_mode;
pub mod lane_socket;
pub mod lane_thread;
pub mod listener;
pub mod metrics;
pub mod misfit_log;
pub mod netem_proxy;
pub mod pages;
pub mod recorder;
pub mod registry;
pub mod request;
pub mod room_access;
pub mod room_thread;
pub mod room_threads;
pub mod rooms;
pub mod rooms_on_demand;
pub mod self_check;
pub mod server_data;
pub mod server_events;
pub mod server_handle;
pub mod server_state;
pub mod tap;
pub mod tcp_client;
pub mod tick_schedule;
pub mod update_worker;
pub mod worker_queue;

/// A room of clients with TCP connections.
pub type TcpRoom = dyn crate::server::clients::dyn_room::DynRoom<tcp_client::TcpTransport>;
/// Makes rooms of one game for clients with TCP connections.
pub type TcpGameFactory = crate::server::clients::dyn_room::GameFactory<tcp_client::TcpTransport>;

pub use crate::server::admission::tokens::{PlayAccess, Tokens};
pub use crate::server::net::pages::playback_server::{PlaybackContent, PlaybackServer};
pub use config::ServerConfig;
pub use console::Console;
pub use echo::EchoServer;
pub(crate) use intercepting_proxy::{InterceptConfig, InterceptingProxy, ProxyEvent, ProxyEventKind};
pub use netem_proxy::NetemProxy;
pub use server_handle::ServerHandle;
