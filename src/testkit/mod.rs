//! Tests of a server from outside: bots that check what they receive, crowds of them, and clients
//! that misbehave.
//!
//! ```text
//!  check ──► checked bot ──► crowd ──► tally          hostile ──► attack          sink
//!  one        client::bot     many      what they      one         many at once    a server that
//!  client     and a check     at once   measured                                   drops all input
//! ```
//!
//! [`check`] judges a server's packets, [`checked`] does so for a [`Bot`](crate::games::moo::client::bot::Bot)
//! of [`client`](crate::client), and both are pure: bytes, packets and the time are arguments.
//! [`crowd`] (many checking bots on few threads), [`hostile`], [`attack`] and [`sink`] touch
//! sockets and clocks. [`source`] chooses their source addresses. Only `tickwire bots`, `tickwire
//! simulate`, the tests and the benchmarks use this layer.

pub mod attack;
pub mod checked;
pub mod crowd;
pub mod hostile;
pub mod sink;
pub mod source;
pub mod tally;
