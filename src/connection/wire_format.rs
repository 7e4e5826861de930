//! The dialect and format of a connection.
//!
//! [`packet::routes`](crate::packet::routes) maps paths to dialects.

use std::sync::Arc;

use rmpv::Value;

use crate::connection::message_compression::MessageCompression;
use crate::connection::session::has_hello;
use crate::packet::routes::{self, RouteError};
use crate::packet::{Dialect, Direction, PacketTables};
use crate::ws::frame::{self, Opcode};
use crate::ws::http::RequestHead;

/// The dialect and format of a connection.
#[derive(Debug, Clone)]
pub struct WireFormat {
    /// Codes and arguments of the packets.
    pub dialect: Arc<Dialect>,
    /// Whether the dialect has delta updates, and `hello` as the client's first packet.
    pub is_native: bool,
    /// Whether packets are JSON in text frames (`?format=json`) instead of MessagePack.
    pub is_json: bool,
    /// Compression of messages, if both ends have agreed on it.
    pub compression: Option<MessageCompression>,
}

impl WireFormat {
    /// The format for a dialect.
    pub fn new(dialect: Arc<Dialect>, is_json: bool) -> WireFormat {
        WireFormat { is_native: has_hello(&dialect), dialect, is_json, compression: None }
    }

    /// The format that a request selects with its path. The query may select another dialect and
    /// JSON.
    ///
    /// # Errors
    /// [`RouteError`] describes the fault of the request.
    pub fn find(
        codes: &PacketTables,
        paths: &[(&str, &str)],
        head: &RequestHead,
    ) -> Result<WireFormat, RouteError> {
        let (dialect_name, format) = (head.query("dialect"), head.query("format"));
        let (dialect, is_json) =
            routes::find_dialect(codes, paths, head.path(), dialect_name.as_deref(), format.as_deref())?;
        Ok(WireFormat::new(Arc::clone(dialect), is_json))
    }

    /// Appends one message as a binary frame, or as a text frame for JSON. Compresses it if both
    /// ends have agreed on compression and the frame becomes shorter.
    pub fn write_message(&self, out: &mut Vec<u8>, message: &[u8]) {
        self.write(out, message, self.compression.as_ref());
    }

    fn write(&self, out: &mut Vec<u8>, message: &[u8], compression: Option<&MessageCompression>) {
        let mut write = |opcode, payload: &[u8]| match compression {
            Some(compression) => compression.write_frame(out, opcode, payload),
            None => frame::write(out, opcode, None, payload),
        };
        if self.is_json {
            // The encoder's messages are well-formed. A message that exceeds the limits of the
            // decoder is not sent.
            if let Ok(text) = self.dialect.json_from_msgpack(Direction::ToClient, message) {
                write(Opcode::Text, text.as_bytes());
            }
        } else {
            write(Opcode::Binary, message);
        }
    }

    /// Appends a packet for one client as a frame, never compressed: see
    /// [`message_compression`](super::message_compression). `values` as in
    /// [`WireFormat::encode_packet`].
    pub fn write_packet(&self, out: &mut Vec<u8>, name: &str, values: &[(&str, Value)]) {
        if let Some(message) = self.encode_packet(name, values) {
            self.write(out, &message, None);
        }
    }

    /// Encodes a packet with the named arguments; `None` if the dialect lacks it. A value without
    /// an argument is omitted, and an argument without a value is nil.
    pub fn encode_packet(&self, name: &str, values: &[(&str, Value)]) -> Option<Vec<u8>> {
        let row = self.dialect.row(Direction::ToClient, name)?;
        let value = |name: &str| values.iter().find(|(own, _)| *own == name).map(|(_, value)| value.clone());
        let arguments = row.arguments.iter().map(|argument| value(&argument.name).unwrap_or(Value::Nil));
        let arguments: Vec<Value> = arguments.collect();
        // Cannot fail: loading the tables checked the types of these arguments.
        self.dialect.encode(Direction::ToClient, name, &arguments).ok()
    }
}
