//! Tests of a server: simulations in virtual time, and bots that check what they receive over a
//! network.
//!
//! ```text
//!   checking_bot ──► crowd ──► report        misbehavior ──► attack     sink
//!   a bot and its    many      results       one client      many       a server that
//!   measurements     at once                                 at once    drops all input
//! ```
//!
//! `simulate` runs a server and its clients in virtual time, and [`synctest`] finds what a snapshot
//! lacks; both are pure. `load` and `abuse` use sockets and clocks. A bot's agent checks the
//! server's packets; `load::checking_bot` counts faults and measures traffic. `source_addresses`
//! chooses the source addresses of clients.

pub mod abuse;
pub mod load;
pub mod simulate;
pub mod source_addresses;
pub mod synctest;
