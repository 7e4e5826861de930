//! Pasted bytes in any [notation](crate::tools::explain::input), as a link that the page opens.

use super::share_link::{LinkKind, ShareLink};
use crate::packet::{Dialect, PacketTables};
use crate::tools::explain::bare_message;
use crate::tools::explain::guess_side;
use crate::tools::explain::input::{
    self, Input, InputContent, InputMessage, InputPiece, Notation, network_packet,
};
use crate::tools::explain::parse::head_search;
use crate::ws::Side;

/// Pasted bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastedBytes {
    /// The [link](super::share_link) to them.
    pub link: String,
    /// What was recognised, in one or two sentences; empty for hexadecimal bytes of a connection.
    pub note: String,
}

/// Reads pasted text.
///
/// # Errors
/// One sentence that describes the problem.
pub fn read(text: &str, codes: &PacketTables) -> Result<PastedBytes, String> {
    let Input { notation, content } = input::read(text.as_bytes())?;
    let mut notes = Vec::new();
    let dialect: &Dialect = codes.default_dialect().ok_or("the packet tables have no dialect")?;
    let (kind, dialect, from, bytes) = match content {
        InputContent::Message(message) => {
            notes.push("JSON: the payload of a text message, without a frame header.".to_owned());
            let from = bare_message::sender_of(&message, dialect);
            (LinkKind::Message, dialect, from, message.payload)
        }
        InputContent::Pieces(pieces) => {
            if !matches!(notation, Notation::Hex | Notation::Bytes) {
                notes.push(format!("Read as {notation}."));
            }
            let (marked, mut bytes) = joined(pieces)?;
            if let Some(data) = network_packet::tcp_payload(&bytes) {
                notes.push(format!("A network packet: its {} bytes of TCP data are shown.", data.len()));
                bytes = data.to_vec();
            }
            if let Some((message, dialect)) = bare_message::find(&bytes, marked, codes, None) {
                notes.push("No frame header: these bytes are the payload of a message.".to_owned());
                let InputMessage { from, payload, .. } = message;
                (LinkKind::Message, dialect, from.unwrap_or(Side::Client), payload)
            } else {
                let is_head = head_search::may_become_head(&bytes, Side::Client);
                let kind = if is_head { LinkKind::Head } else { LinkKind::Frame };
                (kind, dialect, marked.unwrap_or_else(|| guess_side(&bytes)), bytes)
            }
        }
    };
    let before = Vec::new();
    let (dialect, json, is_own_server, tables) = (dialect.name().to_owned(), None, false, None);
    let link = ShareLink { bytes, before, dialect, from, json, is_own_server, kind, tables }.print();
    let link = link.map_err(|_| "These are more bytes than a link holds: tickwire explain reads them.")?;
    Ok(PastedBytes { link, note: notes.join(" ") })
}

/// Joins the pieces of one side.
fn joined(pieces: Vec<InputPiece>) -> Result<(Option<Side>, Vec<u8>), String> {
    let from = pieces.first().and_then(|piece| piece.from);
    if pieces.iter().any(|piece| piece.from != from) {
        return Err(
            "the bytes are of both sides: paste the lines of one side, or use tickwire explain".to_owned()
        );
    }
    Ok((from, pieces.into_iter().flat_map(|piece| piece.bytes).collect()))
}
