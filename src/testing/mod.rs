//! Tests of a server from outside: bots that check what they receive, crowds of them, and clients
//! that misbehave.
//!
//! ```text
//!  checked bot ──► crowd ──► tally               hostile ──► attack          sink
//!  client::bot     many      what they           one         many at once    a server that
//!  and a tally     at once   measured                                        drops all input
//! ```
//!
//! A [`Bot`](crate::client::bots::Bot)'s agent judges a server's packets; [`checked`] counts its faults and measures the traffic,
//! and is pure: bytes, packets and the time are arguments.
//! [`crowd`] (many checking bots on few threads), [`returning`] (clients that come back by their keys), [`hostile`], [`attack`] and [`sink`] touch
//! sockets and clocks. [`source_addresses`] chooses their source addresses. Only `tickwire bots`, the tests and
//! the benchmarks use this layer.

#[cfg(not(target_family = "wasm"))]
pub mod abuse;
#[cfg(not(target_family = "wasm"))]
pub mod load;
#[cfg(not(target_family = "wasm"))]
pub mod simulate;
#[cfg(not(target_family = "wasm"))]
pub mod source_addresses;
pub mod synctest;
