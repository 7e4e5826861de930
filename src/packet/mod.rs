//! MessagePack to packet and back, by table.
//!
//! The payload of one WebSocket message becomes a row of the code table and its values, one for
//! each argument, in the form that the type grammar calls canonical; encoding does the reverse.
//! `PROTOCOL.md` documents this layer.
//!
//! ```text
//!   bytes ──msgpack::check──► well-formed, bounded ──rmpv──► value ──Dialect──► row + values ──► ClientPacket
//!   bytes ◄──msgpack::write── values ◄──grammar── arguments ◄──Dialect── name ◄────────────────── ServerPacket
//! ```
//!
//! This module opens no file, reads no clock and keeps no state between two messages. Its decoded
//! values contain no NaN, no number outside its bound, and no text longer than its bound.
//!
//! In the order of the flow: [`msgpack`] and [`json`] (the two encodings of a value), [`grammar`]
//! (the types of arguments; `fit` checks values against them), [`codes`] (the tables), [`dialect`]
//! (one column of the tables), [`endpoint`] (the path at which a dialect is spoken),
//! [`client_packet`] and [`server_packet`] (typed packets of the two directions), [`angle`].

pub mod angle;
mod assembled;
pub mod client_packet;
pub mod codes;
pub mod codes_print;
pub mod dialect;
pub mod endpoint;
mod fit;
pub mod grammar;
pub mod json;
pub mod msgpack;
pub mod server_packet;
pub mod visible;

use std::fmt;

pub use client_packet::ClientPacket;
pub use codes::{Code, Codes, Direction, Lane, Row, TableError};
pub use dialect::{Decoded, Dialect};
pub use rmpv::Value;
pub use server_packet::ServerPacket;

use grammar::WrongArgument;
use msgpack::Broken;

/// Why a message was not accepted as a packet.
#[derive(Debug, Clone, PartialEq)]
pub enum PacketError {
    /// The message is not one well-formed value within the bounds, or not an envelope. The
    /// connection is closed with 1007.
    Broken(Broken),
    /// A known packet whose arguments do not fit its row. The packet is dropped and counted.
    Arguments {
        /// The packet's name in the table.
        packet: String,
        /// The wrong argument, the type expected and the value found.
        wrong: WrongArgument,
    },
    /// A code (or, when encoding, a name) that this dialect does not have in this direction. The
    /// packet is ignored and counted.
    Unknown {
        /// The code as text, truncated for use in a log line.
        code: String,
    },
}

impl PacketError {
    /// The rule's name, as in PROTOCOL.md, log lines and metric labels.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Broken(broken) => broken.rule.name(),
            Self::Arguments { .. } => "wrong_arguments",
            Self::Unknown { .. } => "unknown_code",
        }
    }

    /// Whether this error closes the connection (with 1007), instead of only dropping the message.
    pub fn closes(&self) -> bool {
        matches!(self, Self::Broken(_))
    }
}

impl From<Broken> for PacketError {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl fmt::Display for PacketError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(broken) => write!(out, "{broken}"),
            Self::Arguments { packet, wrong } => write!(out, "{packet}: {wrong}"),
            Self::Unknown { code } => write!(out, "no packet has the code {code:?} in this direction"),
        }
    }
}

impl std::error::Error for PacketError {}
