//! Endpoints: the dialect, layout and format in which the server talks to a client.
//!
//! An endpoint is determined from the request, or the request is refused with a reason. The mapping
//! from path to dialect is in [`packet::endpoint`](crate::packet::endpoint), because the reader of
//! a capture needs it too.

use std::sync::Arc;

use crate::feed::view::Layout;
pub use crate::packet::endpoint::{NoEndpoint, PATHS};
use crate::packet::{Codes, Dialect, Direction, ServerPacket, endpoint};
use crate::ws::frame;
use crate::ws::http::RequestHead;

/// The dialect, layout and format of a client.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// Codes and types.
    pub dialect: Arc<Dialect>,
    /// The contents and timing of its updates.
    pub layout: Layout,
    /// `?format=json`: text frames.
    pub json: bool,
}

impl Endpoint {
    /// Appends one message as a frame of the endpoint's kind.
    pub fn write_message(&self, out: &mut Vec<u8>, message: &[u8]) {
        if self.json {
            // What our own encoder wrote can be read again; a loaded table that lacks the packet leaves nothing to say.
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

/// The endpoint that a request selects. The query may name another dialect and a format.
///
/// # Errors
/// [`NoEndpoint`] says what the request got wrong.
pub fn find(codes: &Codes, head: &RequestHead) -> Result<Endpoint, NoEndpoint> {
    let (asked, format) = (head.query("dialect"), head.query("format"));
    let (dialect, json) = endpoint::find(codes, head.path(), asked.as_deref(), format.as_deref())?;
    let layout = if dialect.name() == "native" { Layout::Native } else { Layout::Moomoo };
    Ok(Endpoint { dialect: Arc::clone(dialect), layout, json })
}
