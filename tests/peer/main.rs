//! A connection without I/O: both halves of a peer, driven with bytes and times.

#[path = "../support/raw.rs"]
mod raw;
mod receiver;
mod sender;
mod sessions;
#[path = "../support/mod.rs"]
mod support;
mod twin;
