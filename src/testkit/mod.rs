//! Tests of a server from outside: bots that check what they receive, crowds of them, and clients
//! that misbehave.
//!
//! ```text
//!  checked bot ──► crowd ──► tally               hostile ──► attack          sink
//!  client::bot     many      what they           one         many at once    a server that
//!  and a tally     at once   measured                                        drops all input
//! ```
//!
//! A [`Bot`](crate::client::bot::Bot)'s agent judges a server's packets; [`checked`] counts its faults and measures the traffic,
//! and is pure: bytes, packets and the time are arguments.
//! [`crowd`] (many checking bots on few threads), [`returning`] (clients that come back by their keys), [`hostile`], [`attack`] and [`sink`] touch
//! sockets and clocks. [`source`] chooses their source addresses. Only `tickwire bots`, the tests and
//! the benchmarks use this layer.

pub mod attack;
pub mod checked;
pub mod crowd;
pub mod hostile;
pub mod returning;
pub mod sink;
pub mod source;
pub mod tally;
