//! The first frame in bytes that begin somewhere: a capture that was begun mid-stream, or has a hole.
//!
//! Bytes of one side come in; the place goes out at which a frame begins that makes sense, and the dialect in which it does. A frame
//! makes sense if it is whole, breaks no rule, ends its message, and holds a packet of the table with right arguments, or a close; and if what
//! follows it, as far as it is there, begins like a frame. Pings and fragments say too little to be taken for a beginning. Never: a
//! guess that a later byte would undo.

use super::Content;
use super::payload::{self, Speaker};
use crate::packet::Dialect;
use crate::ws::Side;
use crate::ws::frame::{self, Header, Opcode};

/// The offset of the first frame that makes sense, and in which of the dialects it does.
pub fn first_frame<'c>(
    input: &[u8],
    from: Side,
    dialects: &[&'c Dialect],
    json: Option<bool>,
) -> Option<(usize, &'c Dialect)> {
    (0..input.len()).find_map(|at| {
        let (opcode, payload) = whole_frame(&input[at..], from)?;
        let makes_sense = |dialect: &&&'c Dialect| {
            let inside = payload::explain(&payload, 0, opcode, Speaker { from, dialect, json });
            let is_known = match inside.content {
                Content::Packet(Some(_), Some(_)) => true,
                Content::Close(_) => !payload.is_empty(),
                _ => false,
            };
            is_known && inside.problem.is_none()
        };
        dialects.iter().find(makes_sense).map(|dialect| (at, *dialect))
    })
}

/// A frame that is all there, ends its message, and has nothing behind it that cannot be one.
fn whole_frame(input: &[u8], from: Side) -> Option<(Opcode, Vec<u8>)> {
    let (header, size) = Header::decode(input, from).ok()??;
    let end = usize::try_from(header.length).ok()?.checked_add(size)?;
    let payload = input.get(size..end)?;
    let is_message = header.fin && header.opcode != Opcode::Continuation;
    if !is_message || Header::decode(&input[end..], from).is_err() {
        return None;
    }
    let mut payload = payload.to_vec();
    if let Some(key) = header.mask {
        frame::mask(&mut payload, key, 0);
    }
    Some((header.opcode, payload))
}
