//! The shim: everything that runs in a browser, as functions that a page can call.
//!
//! ```text
//!  page ── link ──► bytes ──► server (in a worker) ──► bytes ──► inspector ──► page
//! ```
//!
//! A module instance holds one [`inspector`], one [`server`] and any number of [`link`]s; a page
//! that needs a second inspector or server instantiates the module twice. To give bytes:
//! `input(length)`, then write them at the address that comes back. To take bytes: `output()` and
//! the length that the last call returned. Addresses hold until the next call. Bytes that come out
//! are JSON in UTF-8, unless a function says otherwise. Times are milliseconds on any one clock.
//!
//! The attribute that exports a name is the only `unsafe` here: no address is ever dereferenced.

pub mod buffers;
#[cfg(feature = "server")]
pub mod games;
#[cfg(feature = "server")]
pub mod inspector;
#[cfg(not(feature = "server"))]
pub mod line;
#[cfg(feature = "server")]
pub mod link;
#[cfg(feature = "server")]
pub mod list;
#[cfg(feature = "server")]
pub mod lockstep;
#[cfg(not(feature = "server"))]
pub mod predict;
#[cfg(feature = "server")]
pub mod random;
#[cfg(feature = "server")]
pub mod replay;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "server")]
pub mod watch;
#[cfg(feature = "server")]
pub mod world;
