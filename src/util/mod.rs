//! Helpers that several layers share: locks, address prefixes, escaped text, plurals, a model of a
//! bad network, and calls of the operating system.

pub mod address_prefix;
pub mod escape;
pub mod netem;
#[cfg(not(target_family = "wasm"))]
pub mod os;
pub mod plural;
pub mod sync;
