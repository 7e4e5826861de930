//! The exports of the WebAssembly modules: functions that a page can call.
//!
//! ```text
//!  page ── connection ──► bytes ──► server (in a worker) ──► bytes ──► inspector ──► page
//! ```
//!
//! A module instance holds one [`inspector`], one [`server`] and any number of
//! [`client_connection`]s. A page that needs a second inspector or server creates a second
//! instance.
//!
//! To pass bytes in, call `input(length)` and write them at the returned address. To read bytes,
//! call `output()`; the length is the result of the last call. Addresses are valid until the next
//! call. The output is JSON in UTF-8, unless a function documents another format. Times are
//! milliseconds of any one clock.
//!
//! The export attributes are the only `unsafe` code here. No address is ever dereferenced.
//!
//! In the prediction module of a program with its own game, this is a module of the library. The
//! world module of such a program, for `synctest --wasm`, also has [`any_world`].
#![allow(unsafe_code, unexpected_cfgs)]

#[cfg(any(feature = "server", tickwire_world_module))]
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
pub mod quiz;
#[cfg(feature = "server")]
pub mod random;
#[cfg(feature = "server")]
pub mod replay;
#[cfg(feature = "server")]
pub mod server;
