//! TODO: server

pub mod admission;
#[cfg(not(target_family = "wasm"))]
pub mod builder;
pub mod clients;
pub mod embedded;
#[cfg(not(target_family = "wasm"))]
pub mod net;
pub mod room;
pub mod self_check;
