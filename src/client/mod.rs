//! The Rust client, and the bots that walk and play with it.
//!
//! ```text
//!  socket ──► link ──► message ──► heard ──► check ──► picture ──► policy ──► what to say ──► link ──► socket
//!             upgrade,             by table  does it   what is     where to                   masked
//!             frames                         make      known       walk                       frames
//!                                            sense?
//! ```
//!
//! In the order of the flow: [`url`] and [`source`] (where to, where from), [`dial`] (a connected socket), [`link`]
//! (upgrade and frames), [`heard`] (what a server says, typed, all dialects), [`check`] (whether it makes sense, and
//! the [`picture`] that comes of it), [`policy`] (where a bot walks; it knows nothing of packets) and [`play`] (what it does
//! besides), [`bot`] (these put together), [`herd`] (many bots on few threads) with its [`tally`], [`talk`] (one client that waits for answers, for
//! tests and tools; and one that somebody types at), [`echo`] (gives back what it hears), [`hostile`] (a client that misbehaves, to see
//! what becomes of it), [`attack`] (many at once), [`sink`] (somebody who only takes, to compare with).
//!
//! Only `dial`, `herd`, `talk`, `echo`, `hostile`, `attack` and `sink` touch sockets and clocks; the others are values, with time as an
//! argument. Never: anything of the server's `net`.

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
