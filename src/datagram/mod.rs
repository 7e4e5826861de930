//! Datagrams of the low-latency lane, without I/O.
//!
//! A client may have a lane in addition to its WebSocket: datagrams that can be lost, repeated and
//! reordered, but that wait for nothing. The server grants a [`LaneKey`] and a connection id over
//! the WebSocket. All numbers are big-endian.
//!
//! ```text
//!   0                   1                   2                   3
//!   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//!  ┌───────────────────────────────────────────────────────────────┐
//!  │                         connection id                         │
//!  ├───────────────────────────────┬───────────────────────────────┤
//!  │           sequence            │        newest received        │
//!  ├───────────────────────────────┴───────────────────────────────┤
//!  │  received: bit n is 1 if datagram (newest received - 1 - n)   │
//!  │            has arrived                                        │
//!  ├───────────────────────────────────────────────────────────────┤
//!  │  messages, encrypted                                          │
//!  ├───────────────────────────────────────────────────────────────┤
//!  │  tag of the header and the encrypted messages, 16 bytes       │
//!  └───────────────────────────────────────────────────────────────┘
//! ```
//!
//! Each side numbers its datagrams from 1, in 64 bits; the fields have the lower 16 bits. "Newest
//! received" is 0 until a datagram has arrived. The encryption is ChaCha20-Poly1305 (RFC 8439,
//! section 2.8). Its nonce is the direction in 32 bits (0 to the server, 1 to the client), then the
//! sequence in 64 bits; the header is its additional data.
//!
//! A message starts with its kind and the length of its content in bytes:
//!
//! ```text
//!   kind u8 │ length u16 │ content
//!
//!   1 packet     both ways    a MessagePack packet, as in a WebSocket message
//!   2 commands   to server    all commands that are not acknowledged: see [`commands`]
//!   3 received   to client    u32: sequence number of the last command that the server has
//! ```
//!
//! [`LaneEndpoint`] is one end of a lane: it numbers, seals, opens and acknowledges datagrams.

pub mod command_queue;
pub mod commands;
pub mod endpoint;
mod error;
#[cfg(test)]
mod fixture_tests;
pub mod header;
pub mod message;
mod seal;
mod sequence;

pub use endpoint::{LaneEndpoint, LaneStats};
pub use error::DatagramError;
pub use message::Message;
pub use seal::LaneKey;
pub(crate) use sequence::extend;
