//! The dialect and format in which the server talks to a client.
//!
//! The mapping from path to dialect is in [`packet::routes`](crate::packet::routes).

use std::sync::Arc;

use rmpv::Value;

use crate::connection::session::has_hello;
use crate::packet::routes::{self, RouteError};
use crate::packet::{Dialect, Direction, PacketTables};
use crate::ws::frame;
use crate::ws::http::RequestHead;

/// See the [module](self).
#[derive(Debug, Clone)]
pub struct WireFormat {
    /// Codes and types.
    pub dialect: Arc<Dialect>,
    /// Whether the client speaks first, with `hello`, and follows by differences.
    pub is_native: bool,
    /// `?format=json`: text frames.
    pub is_json: bool,
}

impl WireFormat {
    /// The endpoint of a dialect.
    pub fn new(dialect: Arc<Dialect>, is_json: bool) -> WireFormat {
        WireFormat { is_native: has_hello(&dialect), dialect, is_json }
    }

    /// The endpoint that a request selects, by the paths of its room's game. The query may name another dialect and a format.
    ///
    /// # Errors
    /// [`RouteError`] says what the request got wrong.
    pub fn find(
        codes: &PacketTables,
        paths: &[(&str, &str)],
        head: &RequestHead,
    ) -> Result<WireFormat, RouteError> {
        let (asked, format) = (head.query("dialect"), head.query("format"));
        let (dialect, is_json) =
            routes::find_dialect(codes, paths, head.path(), asked.as_deref(), format.as_deref())?;
        Ok(WireFormat::new(Arc::clone(dialect), is_json))
    }

    /// Appends one message as a frame of the endpoint's kind.
    pub fn write_message(&self, out: &mut Vec<u8>, message: &[u8]) {
        if self.is_json {
            // What our own encoder wrote can be read again; a loaded table that lacks the packet
            // leaves nothing to say.
            if let Ok(text) = self.dialect.json_from_msgpack(Direction::ToClient, message) {
                frame::write_text(out, &text);
            }
        } else {
            frame::write_binary(out, message);
        }
    }

    /// Appends one packet with these arguments by name, or nothing if the dialect lacks it. A value
    /// that the packet has no argument for is left out, and an argument without a value is nil.
    pub fn write_packet(&self, out: &mut Vec<u8>, name: &str, values: &[(&str, Value)]) {
        let Some(row) = self.dialect.row(Direction::ToClient, name) else { return };
        let value = |name: &str| values.iter().find(|(own, _)| *own == name).map(|(_, value)| value.clone());
        let arguments = row.arguments.iter().map(|argument| value(&argument.name).unwrap_or(Value::Nil));
        let arguments: Vec<Value> = arguments.collect();
        // Loading the tables checked that the values fit.
        if let Ok(message) = self.dialect.encode(Direction::ToClient, name, &arguments) {
            self.write_message(out, &message);
        }
    }
}
