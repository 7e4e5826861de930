//! MessagePack to packet and back, by table.
//!
//! The payload of one WebSocket message becomes a row of the code table and its values in canonical
//! form; encoding does the reverse. `PROTOCOL.md` documents this layer.
//!
//! ```text
//!   bytes ──msgpack::check──► well-formed, bounded ──rmpv──► value ──Dialect──► row + values ──► ClientPacket
//!   bytes ◄──msgpack::write── values ◄────fit──── arguments ◄──Dialect── name ◄────────────────── ServerPacket
//! ```
//!
//! This module opens no file, reads no clock and keeps no state between two messages. Its decoded
//! values contain no NaN, no number outside its bound, and no text longer than its bound.
//!
//! The tables: [`grammar`], [`row`], [`codes`], `needs`. One column of them: [`dialect`], spoken at
//! an [`endpoint`]. Typed packets of the two directions: [`client_packet`], [`server_packet`].

pub mod angle;
pub mod client_packet;
pub mod codes;
pub mod decoded;
pub mod dialect;
pub mod endpoint;
mod fit;
pub mod grammar;
pub mod json;
pub mod msgpack;
mod named;
mod needs;
pub mod row;
pub mod server_packet;

pub use client_packet::ClientPacket;
pub use codes::{Codes, TableError};
pub use decoded::Decoded;
pub use dialect::{Dialect, PacketError};
pub use fit::WrongArgument;
pub use rmpv::Value;
pub use row::{Code, Direction, Lane, Row};
pub use server_packet::ServerPacket;
