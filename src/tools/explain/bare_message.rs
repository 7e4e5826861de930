//! Recognises the payload of a message without a frame header, as the network panel of a browser
//! shows it.

use super::dialect_guess;
use super::input::InputMessage;
use super::parse::head_search;
use crate::packet::{Dialect, Direction, PacketTables};
use crate::ws::Side;
use crate::ws::frame::{Header, Opcode};

/// Returns the message, and the dialect of its packet, if the bytes are no frame of either side,
/// and are a packet: of the given dialect, or else of any dialect of the tables.
pub fn find<'c>(
    bytes: &[u8],
    from: Option<Side>,
    codes: &'c PacketTables,
    dialect: Option<&'c Dialect>,
) -> Option<(InputMessage, &'c Dialect)> {
    let is_frame = |side| Header::decode(bytes, side).is_ok();
    let is_stream = is_frame(Side::Client) || is_frame(Side::Server);
    if is_stream || head_search::may_become_head(bytes, Side::Client) {
        return None;
    }
    let dialects = dialect.map_or_else(|| dialect_guess::by_likelihood(codes), |dialect| vec![dialect]);
    let message = as_message(bytes, from);
    dialects.into_iter().find_map(|dialect| {
        let sides = from.map_or(vec![Side::Client, Side::Server], |side| vec![side]);
        let from = sides.into_iter().find(|side| is_packet(&message, *side, dialect))?;
        Some((InputMessage { from: Some(from), ..message.clone() }, dialect))
    })
}

/// Makes a message of its payload. A payload that begins like a JSON list or object is text.
pub fn as_message(bytes: &[u8], from: Option<Side>) -> InputMessage {
    let is_text = bytes.starts_with(b"[") || bytes.starts_with(b"{");
    let opcode = if is_text { Opcode::Text } else { Opcode::Binary };
    InputMessage { from, opcode, payload: bytes.to_vec() }
}

/// The side whose packet the message is. The default is the client.
pub fn sender_of(message: &InputMessage, dialect: &Dialect) -> Side {
    let is_of = |side: Side| is_packet(message, side, dialect);
    if !is_of(Side::Client) && is_of(Side::Server) { Side::Server } else { Side::Client }
}

fn is_packet(message: &InputMessage, from: Side, dialect: &Dialect) -> bool {
    let direction = if from == Side::Client { Direction::ToServer } else { Direction::ToClient };
    match (message.opcode, std::str::from_utf8(&message.payload)) {
        (Opcode::Text, Ok(text)) => dialect.decode_json(direction, text).is_ok(),
        _ => dialect.decode(direction, &message.payload).is_ok(),
    }
}
