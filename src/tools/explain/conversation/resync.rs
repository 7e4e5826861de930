//! Finds the first frame in bytes that start at an unknown position: in a capture that started
//! mid-stream, or after a gap.
//!
//! The search returns the offset of the first plausible frame. A frame is plausible if it is
//! complete, breaks no rule, is no longer than the frames of tickwire servers and clients, and
//! contains a close or a packet with valid arguments in one of the dialects. Any bytes after it
//! must be a valid start of a frame header. Fragments are plausible if their message is.
//!
//! Usually the first byte is the start of a frame. Therefore, the search waits while the first
//! bytes may be an incomplete frame. A ping or pong is weak evidence. It counts as a first frame
//! only at the first byte, and only if a plausible frame follows it. A [`Resync`] stores the
//! progress of the last pass, so that the total work is linear in the bytes.

use crate::limits;
use crate::packet::Dialect;
use crate::tools::explain::parse::payload::{Detail, SenderFormat};
use crate::ws::frame::{self, Header, Opcode};
use crate::ws::{Side, close};

/// A pass needs at least 1/4 new bytes, so that the total work of all passes is linear in the
/// bytes.
const NEW_BYTES_DIVISOR: usize = 4;

/// The dialects to try, and whether packets are JSON; `None` if unknown.
type CandidateFormats<'t, 'c> = (&'t [&'c Dialect], Option<bool>);

/// The search progress of one side. Offsets count from the first waiting byte.
#[derive(Clone, Debug, Default)]
pub struct Resync {
    /// No plausible frame begins before this offset.
    from: usize,
    /// The number of bytes at the last pass.
    looked_at: usize,
    /// The size of the frame that may begin at offset 0, while it is incomplete.
    front: Option<usize>,
    /// Whether the last pass ended at its decoding limit.
    is_budget_spent: bool,
}

impl Resync {
    /// Whether `length` bytes include enough new bytes for another pass.
    pub fn is_due(&self, length: usize) -> bool {
        match self.front {
            Some(whole) => length >= whole,
            None => length > self.looked_at && length - self.looked_at >= self.looked_at / NEW_BYTES_DIVISOR,
        }
    }

    /// Returns the offset of the first plausible frame. `is_all` means that no more bytes will
    /// arrive.
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

    /// Discards some of `length` waiting bytes, because there are too many, and returns their
    /// number. Discards the bytes at which no frame can begin. If there are none, or if the last
    /// pass ended at its decoding limit, discards half of the bytes, because otherwise each pass
    /// would try the same offsets.
    pub fn discard(&mut self, length: usize) -> usize {
        let size = if self.is_budget_spent || self.from == 0 { length / 2 } else { self.from };
        self.from = self.from.saturating_sub(size);
        self.looked_at = self.looked_at.saturating_sub(size);
        self.front = None;
        size
    }
}

/// Whether a plausible frame begins at an offset.
enum Plausibility {
    /// No plausible frame begins here.
    Implausible,
    /// More bytes are needed.
    Unknown,
    /// A plausible frame begins here, or a control frame before one.
    Plausible,
}

/// The longest payload that tickwire sends from this side, in bytes.
fn longest(from: Side) -> usize {
    match from {
        Side::Client => limits::MESSAGE_BYTES,
        Side::Server => limits::SEND_QUEUE_BYTES,
    }
}

/// Returns the size of the incomplete frame that may begin at offset 0; `None` if there is none.
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

/// One pass of the search, with its remaining decoding limit.
struct SearchPass<'t, 'c> {
    from: Side,
    formats: CandidateFormats<'t, 'c>,
    /// The number of bytes that may still be decoded.
    left: usize,
    is_budget_spent: bool,
}

impl SearchPass<'_, '_> {
    /// Checks for a plausible frame at the start of `input`. `is_front` means that no waiting bytes
    /// precede it.
    fn at(&mut self, input: &[u8], is_front: bool) -> Plausibility {
        let mut at = 0;
        // Opcode and payload of the unfinished message.
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

    /// Whether a payload of `length` bytes may still be decoded in every dialect. Consumes the
    /// decoding limit.
    fn may_decode(&mut self, length: usize) -> bool {
        let cost = length * self.formats.0.len();
        self.is_budget_spent |= cost > self.left;
        self.left = self.left.saturating_sub(cost);
        !self.is_budget_spent
    }

    /// Checks a complete message in each dialect.
    fn verdict(&self, opcode: Opcode, message: &[u8]) -> Plausibility {
        let (dialects, json) = self.formats;
        let makes_sense = |dialect: &&Dialect| {
            let direction =
                SenderFormat { from: self.from, dialect, json, detail: Detail::Name, is_foreign: false }
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
