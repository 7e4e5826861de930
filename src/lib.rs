//! tickwire: a multiplayer game server whose every byte you can inspect and whose every tick you can run again.
//!
//! ```text
//!         bytes in                                             bytes out
//!  net/   ────┬──────────── threads, sockets, clocks ──────────────▲────
//!             │                                                    │ outbox (bounded)
//!  ws/        ▼  head → upgrade → frame → message    → frame ──────┤
//!  packet/    ▼  MessagePack → code → Packet         → bytes ──────┤
//!  session    ▼  Packet → Command                                  │
//!  feed/      │                       update, records ─────────────┤
//!  world/     └──────►   tick(commands) → state, events   ─────────┘
//! ```
//!
//! Input goes down the left arm, the world turns at the bottom, output climbs the right arm. Decode and encode of a
//! level live in the same file. Everything but [`net`] and [`client`] is pure: bytes in, values out; no socket, no
//! clock, no thread, no file.
//!
//! The modules, in the order of the flow: [`limits`], [`ws`], [`packet`], [`session`], [`world`], [`feed`],
//! [`explain`], [`capture`], [`replay`], [`client`], [`net`].

pub mod limits;

pub mod ws;

pub mod packet;

pub mod session;

pub use tickwire_world as world;

pub mod feed;

pub mod explain;

pub mod capture;

pub mod replay;

pub mod client;

pub mod net;

pub mod cli;
