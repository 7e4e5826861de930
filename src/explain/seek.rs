//! The first frame in bytes that begin somewhere: a capture that was begun mid-stream, or has a hole.
//!
//! Bytes of one side come in; the place goes out at which a frame begins that makes sense, and the dialect in which it does. A frame
//! makes sense if it is whole, breaks no rule, ends its message, is no longer than those of our server and its clients, and holds a
//! packet of the table with right arguments, or a close; and if what follows it, as far as it is there, begins like a frame. Pings
//! and fragments say too little to be taken for a beginning. A [`Search`] goes on where the last one found nothing. Never: a
//! guess that a later byte would undo, nor more work than in proportion to the bytes.

use super::payload::Speaker;
use crate::limits;
use crate::packet::Dialect;
use crate::ws::frame::{self, Header, Opcode};
use crate::ws::{Side, close};

/// A look is worth it once there is this part more than at the last one: so all looks together are in proportion to the bytes.
const NEW_PART: usize = 4;

/// How far the search of one side is. Places count from the front of what waits.
#[derive(Debug, Default)]
pub struct Search {
    /// At no place before this one a frame begins that makes sense, whatever comes.
    from: usize,
    /// Bytes that were there at the last look.
    looked_at: usize,
}

impl Search {
    /// Whether there is enough that is new for another look at `length` bytes.
    pub fn is_due(&self, length: usize) -> bool {
        length > self.looked_at && length - self.looked_at >= self.looked_at / NEW_PART
    }

    /// The offset of the first frame that makes sense, and in which of the dialects it does.
    pub fn first_frame<'c>(
        &mut self,
        input: &[u8],
        from: Side,
        dialects: &[&'c Dialect],
        json: Option<bool>,
    ) -> Option<(usize, &'c Dialect)> {
        let mut left = input.len().saturating_mul(limits::EXPLAIN_SEEK_TRIES);
        let mut unknown = None;
        for at in self.from..input.len() {
            match look(&input[at..], from) {
                Place::Not => {}
                Place::Unknown => {
                    unknown.get_or_insert(at);
                }
                Place::Whole(header, payload) => {
                    let cost = payload.len() * dialects.len();
                    if cost > left {
                        unknown.get_or_insert(at);
                        break;
                    }
                    left -= cost;
                    if let Some(dialect) = spoken(header, payload, from, dialects, json) {
                        return Some((at, dialect));
                    }
                }
            }
        }
        (self.from, self.looked_at) = (unknown.unwrap_or(input.len()), input.len());
        None
    }

    /// Says that so many bytes at the front, which were looked at, are given up.
    pub fn give_up(&mut self, size: usize) {
        self.from = self.from.saturating_sub(size);
        self.looked_at = self.looked_at.saturating_sub(size);
    }
}

/// What can be said of a place.
enum Place<'i> {
    /// No frame that would be taken for a beginning.
    Not,
    /// What there is could be the front of one.
    Unknown,
    /// A frame that is all there, ends its message, and has nothing behind it that cannot be one: its payload as it travels.
    Whole(Header, &'i [u8]),
}

fn look(input: &[u8], from: Side) -> Place<'_> {
    let (header, size) = match Header::decode(input, from) {
        Err(_) => return Place::Not,
        Ok(None) => return Place::Unknown,
        Ok(Some(found)) => found,
    };
    let longest = match from {
        Side::Client => limits::MESSAGE_BYTES,
        Side::Server => limits::OUTBOX_BYTES,
    };
    let says_enough = header.fin && matches!(header.opcode, Opcode::Text | Opcode::Binary | Opcode::Close);
    let length = usize::try_from(header.length).ok().filter(|length| says_enough && *length <= longest);
    let Some(length) = length else { return Place::Not };
    let Some(payload) = input.get(size..size + length) else { return Place::Unknown };
    match Header::decode(&input[size + length..], from) {
        Ok(_) => Place::Whole(header, payload),
        Err(_) => Place::Not,
    }
}

/// The first of the dialects in which a payload makes sense.
fn spoken<'c>(
    header: Header,
    payload: &[u8],
    from: Side,
    dialects: &[&'c Dialect],
    json: Option<bool>,
) -> Option<&'c Dialect> {
    let mut unmasked = Vec::new();
    let payload = match header.mask {
        Some(key) => {
            unmasked.extend_from_slice(payload);
            frame::mask(&mut unmasked, key, 0);
            &unmasked[..]
        }
        None => payload,
    };
    let makes_sense = |dialect: &&Dialect| {
        let direction = Speaker { from, dialect, json }.direction();
        match header.opcode {
            Opcode::Close => !payload.is_empty() && close::decode(payload).is_ok(),
            Opcode::Binary => dialect.decode(direction, payload).is_ok(),
            _ if json == Some(false) => false,
            _ => std::str::from_utf8(payload).is_ok_and(|text| dialect.decode_json(direction, text).is_ok()),
        }
    };
    dialects.iter().copied().find(|dialect| makes_sense(dialect))
}
