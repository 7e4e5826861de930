//! Checks the rule of the lanes: while older bytes are queued for a client, the server queues no
//! packet of the lane `latest`.

use super::failure::InvariantFailure;
use crate::connection::WireFormat;
use crate::packet::{Direction, Lane};
use crate::ws::Side;
use crate::ws::frame::{Header, Opcode};

/// Checks frames that were queued while older bytes waited.
///
/// # Errors
/// A packet has the lane `latest`, or the bytes are not server frames.
pub fn check(format: &WireFormat, mut frames: &[u8]) -> Result<(), InvariantFailure> {
    let rule = "no state is queued while older bytes wait";
    while !frames.is_empty() {
        let Ok(Some((header, size))) = Header::decode(frames, Side::Server) else {
            return Err(InvariantFailure::new(rule, "a queued piece is not a whole frame"));
        };
        let end = size + header.length as usize;
        let payload = &frames[size..end];
        frames = &frames[end..];
        let decoded = match header.opcode {
            Opcode::Binary => format.dialect.decode(Direction::ToClient, payload),
            Opcode::Text => {
                format.dialect.decode_json(Direction::ToClient, &String::from_utf8_lossy(payload))
            }
            _ => continue,
        };
        match decoded {
            Ok(packet) if packet.row.lane == Lane::Reliable => {}
            Ok(packet) => return Err(InvariantFailure::new(rule, format!("{} is queued", packet.row.name))),
            Err(error) => return Err(InvariantFailure::new(rule, error.to_string())),
        }
    }
    Ok(())
}
