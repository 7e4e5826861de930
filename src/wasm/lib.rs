//! The shim: everything that runs in a browser, as functions that a page can call.
//!
//! ```text
//!  page ── link ──► bytes ──► server (in a worker) ──► bytes ──► inspector ──► page
//! ```
//!
//! A module instance holds one [`inspector`], one [`server`] and any number of [`client_connection`]s; a page
//! that needs a second inspector or server instantiates the module twice. To give bytes:
//! `input(length)`, then write them at the address that comes back. To take bytes: `output()` and
//! the length that the last call returned. Addresses hold until the next call. Bytes that come out
//! are JSON in UTF-8, unless a function says otherwise. Times are milliseconds on any one clock.
//!
//! The attribute that exports a name is the only `unsafe` here: no address is ever dereferenced.

#[cfg(feature = "server")]
pub mod any_world;
pub mod buffers;
#[cfg(feature = "server")]
pub mod client_connection;
#[cfg(feature = "server")]
pub mod frame_list;
#[cfg(feature = "server")]
pub mod inspector;
#[cfg(feature = "server")]
pub mod lockstep;
#[cfg(feature = "server")]
pub mod moo_world;
#[cfg(not(feature = "server"))]
pub mod netem;
#[cfg(feature = "server")]
pub mod playback;
#[cfg(not(feature = "server"))]
pub mod prediction;
#[cfg(feature = "server")]
pub mod random;
#[cfg(feature = "server")]
pub mod replay;
#[cfg(feature = "server")]
pub mod server;
