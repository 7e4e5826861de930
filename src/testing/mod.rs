//! Tests of a server: simulations in virtual time, and bots that check what they receive over a
//! network.
//!
//! ```text
//!   checking_bot ──► crowd ──► report        hostile ──► attack        sink
//!   a bot and its    many      results       kinds and   one client    a server that
//!   measurements     at once                 their ends  or many       drops all input
//! ```
//!
//! `simulate` runs a server and its clients in virtual time, and [`synctest`] finds what a snapshot
//! lacks; both are pure. [`hostile`] lists the clients that break rules. `load` and `abuse` use
//! sockets and clocks. A bot's agent checks the server's packets; `load::checking_bot` counts
//! faults and measures traffic. `source_addresses` chooses the source addresses of clients.

#[cfg(feature = "built-in-games")]
pub mod abuse;
pub mod hostile;
pub mod load;
pub mod simulate;
pub mod source_addresses;
pub mod synctest;
