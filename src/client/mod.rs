//! The Rust client, and the bots that walk and play with it.
//!
//! ```text
//!  socket ──► link ──► message ──► heard ──► check ──► picture ──► policy ──► what to say ──► link ──► socket
//!             upgrade,             by table  does it   what is     where to                   masked
//!             frames                         make      known       walk                       frames
//!                                            sense?
//! ```
//!
//! In the order of the flow: [`url`] and [`source`] (target and source address), [`dial`] (a
//! connected socket), [`link`] (upgrade and frames), [`heard`] (a server's packets, typed, all
//! dialects), [`check`] (whether they are consistent, and the resulting [`picture`]), [`policy`]
//! (where a bot walks; it knows nothing of packets) and [`play`] (the rest of its behaviour),
//! [`bot`] (all of these together), [`herd`] (many bots on few threads) with its [`tally`],
//! [`talk`] (one client that waits for answers, for tests and tools; and one for an interactive
//! prompt), [`echo`] (a client that echoes messages), [`hostile`] (a client that misbehaves, to see
//! how the server treats it), [`attack`] (many at once), [`sink`] (a server that drops all input,
//! for comparison).
//!
//! Only `dial`, `herd`, `talk`, `echo`, `hostile`, `attack` and `sink` touch sockets and clocks;
//! the others are values, with time as an argument. Nothing here uses the server's `net`.

pub mod attack;
pub mod bot;
pub mod check;
pub mod dial;
pub mod dice;
pub mod echo;
pub mod heard;
pub mod herd;
pub mod hostile;
pub mod link;
pub mod picture;
pub mod play;
pub mod policy;
pub mod sink;
pub mod source;
pub mod talk;
pub mod tally;
pub mod url;
