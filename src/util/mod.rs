//! TODO: util

pub mod address_prefix;
pub mod escape;
pub mod netem;
#[cfg(not(target_family = "wasm"))]
pub mod os;
pub mod plural;
pub mod sync;
