//! A connection without I/O: both halves of a peer, driven with bytes and times.

mod receiver;
mod sender;
