//! The dialect and format in which the server talks to a client.
//!
//! The mapping from path to dialect is in [`packet::endpoint`](crate::packet::endpoint).

use std::sync::Arc;

use crate::packet::endpoint::{self, NoEndpoint};
use crate::packet::{Codes, Dialect, Direction, ServerPacket};
use crate::ws::frame;
use crate::ws::http::RequestHead;

/// See the [module](self).
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Codes and types.
    pub dialect: Arc<Dialect>,
    /// Whether the client speaks first, with `hello`, and follows by differences.
    pub is_native: bool,
    /// `?format=json`: text frames.
    pub is_json: bool,
}

impl Endpoint {
    /// The endpoint of a dialect.
    pub fn new(dialect: Arc<Dialect>, is_json: bool) -> Endpoint {
        Endpoint { is_native: dialect.name() == "native", dialect, is_json }
    }

    /// The endpoint that a request selects. The query may name another dialect and a format.
    ///
    /// # Errors
    /// [`NoEndpoint`] says what the request got wrong.
    pub fn find(codes: &Codes, head: &RequestHead) -> Result<Endpoint, NoEndpoint> {
        let (asked, format) = (head.query("dialect"), head.query("format"));
        let (dialect, is_json) = endpoint::find(codes, head.path(), asked.as_deref(), format.as_deref())?;
        Ok(Endpoint::new(Arc::clone(dialect), is_json))
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

    /// Appends one packet, or nothing if the dialect lacks it.
    pub fn write_packet(&self, out: &mut Vec<u8>, packet: &ServerPacket<'_>) {
        let message = packet.encode(&self.dialect);
        if !message.is_empty() {
            self.write_message(out, &message);
        }
    }
}
