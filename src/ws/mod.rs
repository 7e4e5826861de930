//! The WebSocket protocol, RFC 6455, by hand and without I/O, for both ends.
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
//! **The driver's rule**: after each input, take out what there is. [`conn::Conn`] is fed with `receive` (or `room`
//! and `received`) and `receive_eof`; then `next_event` is called until it says `None`, and `drain_output` empties what is to be sent. "Not
//! yet" is `Ok(None)`, never an error. Every error is a [`Violation`]: a rule with its section, and how it is answered.
//!
//! Read in this order: [`frame`], [`message`], [`close`], [`conn`], and then how it begins: [`http`], [`upgrade`]. [`boundary`] is
//! for those who only look on.
//!
//! What is not here, and why: no extensions, so no compression (it lets a few bytes grow into megabytes, and common
//! versions of Wireshark cannot put it together again); no fragments are sent, since our messages are short; no
//! clock, so the deadlines of RFC 6455 7.1.1 are the driver's; no randomness, so a client is given its mask keys.

pub mod boundary;
pub mod close;
pub mod conn;
pub mod frame;
pub mod http;
pub mod lines;
pub mod message;
pub mod upgrade;
pub mod utf8;
pub mod violation;

pub use close::CloseCode;
pub use conn::{Conn, Event, Role};
pub use message::Limits;
pub use violation::Violation;

/// Who sent a frame. A client masks all of its frames, a server none (RFC 6455 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that asked for the upgrade.
    Client,
    /// The end that granted it.
    Server,
}
