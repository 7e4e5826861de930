//! Packets by table: MessagePack to packet and back.
//!
//! Decoding finds the row of the packet tables for the payload of one WebSocket message, and
//! converts the values to canonical form; encoding does the reverse. `PROTOCOL.md` documents this
//! layer.
//!
//! ```text
//!   bytes ──msgpack::check──► well-formed, bounded ──rmpv──► value ──Dialect──► row + values
//!   bytes ◄──msgpack::write── values ◄───coerce─── arguments ◄──Dialect── name + values
//! ```
//!
//! ```
//! use tickwire::packet::{Direction, PacketTables};
//!
//! let table = "direction\tname\tlane\tpresses:int\targuments\tmeaning\n\
//!              to_server\tpress\treliable\t4\tfinger:u8<=10 hard:bool\tpress the button\n";
//! let tables = PacketTables::from_texts(&[("presses.tsv", table)])?;
//! let dialect = tables.dialect("presses").ok_or("no such dialect")?;
//!
//! let bytes = dialect.encode(Direction::ToServer, "press", &[3.into(), true.into()])?;
//! assert_eq!(bytes, [0x92, 4, 0x92, 3, 0xc3]);
//! let packet = dialect.decode(Direction::ToServer, &bytes)?;
//! assert_eq!(packet.integer("finger"), Some(3));
//! assert_eq!(packet.to_string(), "press finger=3 hard=true");
//!
//! let wrong = dialect.encode(Direction::ToServer, "press", &[11.into(), true.into()]);
//! println!("{}", wrong.expect_err("the table allows 10 fingers"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This module opens no file, reads no clock and stores no state between two messages. Its decoded
//! values contain no NaN, no number outside its bound, and no text longer than its bound.
//!
//! [`PacketTables`] are the tables; each [`Row`] is a packet, and [`grammar`] describes its
//! arguments. A [`Dialect`] is one column of the tables. A game defines the meaning of its packets.

pub(crate) mod angle;
pub(crate) mod coerce;
pub(crate) mod credentials;
mod decoded_packet;
mod dialect;
pub mod grammar;
pub mod json;
pub mod lane_command;
pub mod lane_packets;
pub mod msgpack;
pub(crate) mod routes;
mod row;
pub(crate) mod tables;
pub(crate) mod tables_json;

pub use coerce::ArgumentError;
pub use decoded_packet::DecodedPacket;
pub use dialect::{Dialect, PacketError};
pub use rmpv::Value;
pub use row::{Code, Direction, Lane, Row};
pub use tables::{PacketTables, Table, TableError};
