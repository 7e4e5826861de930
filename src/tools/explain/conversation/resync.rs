//! Finds the first frame in bytes that begin anywhere: in a capture begun mid-stream, or after a
//! hole.
//!
//! The search returns the offset of the first plausible frame. A frame is plausible if it is
//! complete, breaks no rule, is no longer than the frames of our server and its clients, and holds
//! a packet of one of the dialects with valid arguments, or a close; and if the bytes after it, as
//! far as present, begin like a frame. Fragments are plausible if their message is.
//!
//! Usually the first bytes are the beginning of a frame. So nothing after them is examined while
//! they may be a frame that is still arriving. A ping or pong counts as a first frame only there,
//! and only if a plausible frame follows it; elsewhere it is too weak as evidence. A [`Resync`]
//! remembers how far the last look got, so that the total work of all looks is linear in the bytes.

use crate::limits;
use crate::packet::Dialect;
use crate::tools::explain::parse::payload::SenderFormat;
use crate::ws::frame::{self, Header, Opcode};
use crate::ws::{Side, close};

/// Another look needs this fraction of new bytes, so that all looks together do work in proportion
/// to the bytes.
const NEW_BYTES_DIVISOR: usize = 4;

/// Dialects in which a frame may make sense, and whether packets are JSON, if known.
type CandidateFormats<'t, 'c> = (&'t [&'c Dialect], Option<bool>);

/// The progress of one side's search. Places count from the front of the waiting bytes.
#[derive(Clone, Debug, Default)]
pub struct Resync {
    /// No plausible frame begins before this position, whatever follows.
    from: usize,
    /// The number of bytes at the last look.
    looked_at: usize,
    /// The size of the frame that may begin at the front, while it is incomplete.
    front: Option<usize>,
    /// Whether the last look ended at its bound.
    is_budget_spent: bool,
}

impl Resync {
    /// Whether `length` bytes include enough new ones for another look.
    pub fn is_due(&self, length: usize) -> bool {
        match self.front {
            Some(whole) => length >= whole,
            None => length > self.looked_at && length - self.looked_at >= self.looked_at / NEW_BYTES_DIVISOR,
        }
    }

    /// The offset of the first frame that makes sense. `is_all` says that no more bytes will come.
    pub fn first_frame(
        &mut self,
        input: &[u8],
        from: Side,
        tongues: CandidateFormats<'_, '_>,
        is_all: bool,
    ) -> Option<usize> {
        self.front = if self.from == 0 { unfinished_front(input, from).filter(|_| !is_all) } else { None };
        if self.front.is_some() {
            return None;
        }
        let mut look = SearchPass {
            from,
            formats: tongues,
            left: input.len().saturating_mul(limits::RESYNC_DECODE_FACTOR),
            is_budget_spent: false,
        };
        let mut unknown = None;
        for at in self.from..input.len() {
            match look.at(&input[at..], at == 0) {
                Plausibility::Implausible => {}
                Plausibility::Unknown => {
                    unknown.get_or_insert(at);
                }
                Plausibility::Plausible => return Some(at),
            }
            if look.is_budget_spent {
                break;
            }
        }
        (self.from, self.looked_at) = (unknown.unwrap_or(input.len()), input.len());
        self.is_budget_spent = look.is_budget_spent;
        None
    }

    /// Discards waiting bytes before `length`, because there are too many, and returns how many:
    /// those at which no frame begins; but half of all if there are none, or if the bound of the
    /// search left out places that would be examined again and again.
    pub fn discard(&mut self, length: usize) -> usize {
        let size = if self.is_budget_spent || self.from == 0 { length / 2 } else { self.from };
        self.from = self.from.saturating_sub(size);
        self.looked_at = self.looked_at.saturating_sub(size);
        self.front = None;
        size
    }
}

/// The verdict on a place.
enum Plausibility {
    /// No frame that could count as a beginning starts here.
    Implausible,
    /// The bytes could be the front of such a frame.
    Unknown,
    /// A frame that makes sense, or a frame that such a frame follows.
    Plausible,
}

/// The longest payload that this side sends.
fn longest(from: Side) -> usize {
    match from {
        Side::Client => limits::MESSAGE_BYTES,
        Side::Server => limits::SEND_QUEUE_BYTES,
    }
}

/// The size of the incomplete frame at the front, if there may be one.
fn unfinished_front(input: &[u8], from: Side) -> Option<usize> {
    let (header, size) = match Header::decode(input, from) {
        Err(_) => return None,
        Ok(None) => return Some(input.len() + 1),
        Ok(Some(found)) => found,
    };
    let length = usize::try_from(header.length).ok().filter(|length| *length <= longest(from))?;
    let is_beginning = header.opcode != Opcode::Continuation;
    (is_beginning && input.len() < size + length).then_some(size + length)
}

/// One look: its target, and its remaining decoding budget.
struct SearchPass<'t, 'c> {
    from: Side,
    formats: CandidateFormats<'t, 'c>,
    /// Bytes.
    left: usize,
    is_budget_spent: bool,
}

impl SearchPass<'_, '_> {
    /// The verdict on the front of `input`; `is_front` means that it is the front of all waiting
    /// bytes.
    fn at(&mut self, input: &[u8], is_front: bool) -> Plausibility {
        let mut at = 0;
        // The unfinished message: its opcode, and its payload so far.
        let mut begun: Option<(Opcode, Vec<u8>)> = None;
        for _ in 0..limits::MESSAGE_FRAGMENTS {
            let (header, size) = match Header::decode(&input[at..], self.from) {
                Err(_) => return Plausibility::Implausible,
                Ok(None) => return Plausibility::Unknown,
                Ok(Some(found)) => found,
            };
            let length = usize::try_from(header.length).ok().filter(|length| *length <= longest(self.from));
            let Some(length) = length else { return Plausibility::Implausible };
            let may_follow = match header.opcode {
                Opcode::Ping | Opcode::Pong => begun.is_some() || is_front,
                Opcode::Continuation => begun.is_some(),
                Opcode::Text | Opcode::Binary => begun.is_none(),
                Opcode::Close => true,
            };
            if !may_follow {
                return Plausibility::Implausible;
            }
            let Some(payload) = input.get(at + size..at + size + length) else {
                return Plausibility::Unknown;
            };
            at += size + length;
            if Header::decode(&input[at..], self.from).is_err() {
                return Plausibility::Implausible;
            }
            if matches!(header.opcode, Opcode::Ping | Opcode::Pong) {
                continue;
            }
            if !self.may_decode(length) {
                return Plausibility::Unknown;
            }
            let part = unmasked(header, payload);
            match (header.opcode, header.fin) {
                (Opcode::Continuation, is_last) => {
                    let Some((opcode, message)) = &mut begun else { return Plausibility::Implausible };
                    message.extend_from_slice(&part);
                    if is_last {
                        return self.verdict(*opcode, message);
                    }
                }
                (opcode, true) => return self.verdict(opcode, &part),
                (opcode, false) => begun = Some((opcode, part)),
            }
        }
        Plausibility::Implausible
    }

    /// Whether a payload of that length may still be decoded in every dialect.
    fn may_decode(&mut self, length: usize) -> bool {
        let cost = length * self.formats.0.len();
        self.is_budget_spent |= cost > self.left;
        self.left = self.left.saturating_sub(cost);
        !self.is_budget_spent
    }

    /// Whether a whole message makes sense in one of the dialects.
    fn verdict(&self, opcode: Opcode, message: &[u8]) -> Plausibility {
        let (dialects, json) = self.formats;
        let makes_sense = |dialect: &&Dialect| {
            let direction =
                SenderFormat { from: self.from, dialect, json, is_brief: true, is_foreign: false }
                    .direction();
            match opcode {
                Opcode::Close => !message.is_empty() && close::decode(message).is_ok(),
                Opcode::Binary => dialect.decode(direction, message).is_ok(),
                _ if json == Some(false) => false,
                _ => std::str::from_utf8(message)
                    .is_ok_and(|text| dialect.decode_json(direction, text).is_ok()),
            }
        };
        if dialects.iter().any(makes_sense) { Plausibility::Plausible } else { Plausibility::Implausible }
    }
}

fn unmasked(header: Header, payload: &[u8]) -> Vec<u8> {
    let mut payload = payload.to_vec();
    if let Some(key) = header.mask {
        frame::mask(&mut payload, key, 0);
    }
    payload
}
