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
//! endpoint), [`conversation`], [`room_thread`], [`fan_out`]. [`server`] starts and stops them,
//! [`host`] holds what they share, with its [`rooms`], [`demand`] makes rooms that a path asks for, [`console`] executes operator commands, [`tap`] copies traffic
//! for [`recorder`] and [`wire`], and [`echo`] is a separate server without the game. [`relay`]
//! passes connections on to a server under other network conditions, and [`watched`] serves a capture to be watched again.

pub mod accept;
pub mod access;
pub mod bell;
pub mod client;
pub mod clock;
pub mod config;
pub mod connection;
pub mod console;
pub mod conversation;
pub mod demand;
pub mod echo;
pub mod fan_out;
pub mod forwarded;
pub mod found;
pub mod host;
pub mod listener;
pub mod metrics;
pub mod misfits;
pub mod pages;
pub mod recorder;
pub mod registry;
pub mod relay;
pub mod room_pages;
pub mod room_thread;
pub mod rooms;
pub mod self_check;
pub mod server;
pub mod stream;
pub mod tab_edition;
pub mod tap;
pub mod threads;
pub mod watched;
pub mod wire;

/// A room whose clients are sockets.
pub type Core = dyn crate::host::core::Core<client::Socket>;
/// A game, as a server starts it.
pub type Kind = crate::host::core::Kind<client::Socket>;

pub use crate::host::tokens::{Players, Tokens};
pub use config::Config;
pub use console::Console;
pub use echo::EchoServer;
pub use relay::Relay;
pub use server::Server;
pub use watched::{Served, Watched};
