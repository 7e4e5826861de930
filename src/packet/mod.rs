//! MessagePack to packet and back, by table.
//!
//! In: the payload of one WebSocket message. Out: a row of the code table and its values, one for each argument, in
//! the one form that the type grammar calls canonical; and the way back. `PROTOCOL.md` is the document of this layer.
//!
//! ```text
//!   bytes ──msgpack::check──► well-formed, bounded ──rmpv──► value ──Dialect──► row + values ──► ClientPacket
//!   bytes ◄──msgpack::write── values ◄──grammar── arguments ◄──Dialect── name ◄────────────────── ServerPacket
//! ```
//!
//! It never opens a file, reads a clock or keeps state between two messages. What it lets through has no NaN, no
//! number outside its bound, and no text longer than its bound.
//!
//! In the order of the flow: [`msgpack`] and [`json`] (the two ways to write a value), [`grammar`] (the types of
//! arguments; `fit` holds values against them), [`codes`] (the tables), [`dialect`] (one column of the tables), [`endpoint`] (the path
//! at which it is spoken), [`client_packet`] and [`server_packet`] (what the server says and hears, typed), [`angle`].

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

/// Why a message is not a packet that can be used.
#[derive(Debug, Clone, PartialEq)]
pub enum PacketError {
    /// Not one well-formed value within the bounds, or not an envelope. The connection is closed with 1007.
    Broken(Broken),
    /// A known packet whose arguments do not fit its row. The packet is dropped and counted.
    Arguments {
        /// Name of the packet, as in the table.
        packet: String,
        /// Which argument, what was expected and what was there.
        wrong: WrongArgument,
    },
    /// A code (or, when encoding, a name) that this dialect does not have in this direction. Ignored and counted.
    Unknown {
        /// The code as text, cut to a length that is fit for a log line.
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

    /// Whether the connection is closed for it (with 1007), instead of only dropping the message.
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
