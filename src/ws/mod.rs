//! The WebSocket protocol, RFC 6455, written by hand, without I/O, for both roles.
//!
//! ```text
//!   bytes in                                                    bytes out
//!      │                                                            ▲
//!   http      lines ──► request head           response head ──────►┤   before the upgrade
//!   upgrade   request head ──► 101 or a refusal ───────────────────►┤
//!   ───────────────────────────────────────────────────────────────────────────────
//!   frame     two to fourteen bytes ──► header           header ───►┤   after it
//!   message   headers and payloads ──► whole messages               │
//!   conn      messages ──► events      pong, close answer ─────────►┤
//!      │                                                            │
//!      ▼ events                                  what you send ─────┘
//! ```
//!
//! **The driver's rule**: after each input, drain the outputs. Feed [`conn::Conn`] with `receive`
//! (or `room` and `received`) and `receive_eof`; then call `next_event` until it returns `None`,
//! and empty the send queue with `drain_output`. "Not yet" is `Ok(None)`, never an error. Every
//! error is a [`Violation`]: a rule with its section and its response.
//!
//! Read in this order: [`frame`], [`message`], [`close`], [`conn`], and then the opening handshake:
//! [`http`], [`upgrade`].
//!
//! The module has no extensions, and therefore no compression (which would let a few bytes expand
//! to megabytes, and which common versions of Wireshark cannot decompress). It never sends
//! fragments, since our messages are short. It has no clock, so the driver enforces the deadlines
//! of RFC 6455 7.1.1, and no randomness, so the driver supplies a client's masking keys.

pub mod close;
mod close_code;
pub mod conn;
pub mod frame;
pub mod http;
mod lines;
pub mod message;
pub mod upgrade;
pub(crate) mod utf8;
pub mod violation;

pub use close::CloseCode;
pub use conn::{Conn, Event, Role};
pub use message::Limits;
pub use violation::Violation;

/// The sender of a frame. A client masks all of its frames, a server none (RFC 6455 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that requested the upgrade.
    Client,
    /// The end that accepted it.
    Server,
}
