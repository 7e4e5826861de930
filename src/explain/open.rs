//! The unfinished message of one side, and whether a frame may follow: RFC 6455 section 5.4, and
//! the limits of the receiving end.

use crate::ws::Violation;
use crate::ws::frame::{Header, Opcode};
use crate::ws::message::Limits;
use crate::ws::utf8::Utf8;

/// The unfinished message.
#[derive(Clone, Debug, Default)]
pub(super) enum Open {
    /// Unknown, because the beginning of the stream was not seen.
    #[default]
    Unknown,
    Nothing,
    Begun {
        opcode: Opcode,
        payload: Vec<u8>,
        frames: usize,
        text: Utf8,
    },
}

impl Open {
    /// Whether a frame may follow: RFC 6455 section 5.4, and the limits of the receiving end, if
    /// known.
    pub(super) fn admit(&self, header: Header, limits: Option<Limits>) -> Result<(), Violation> {
        let (fragments, bytes) = match (header.opcode, self) {
            (Opcode::Continuation, Open::Nothing) => return Err(Violation::ContinuationWithoutStart),
            (Opcode::Text | Opcode::Binary, Open::Begun { .. }) => return Err(Violation::MessageInterrupted),
            (Opcode::Continuation, Open::Begun { frames, payload, .. }) => (*frames, payload.len()),
            _ => (0, 0),
        };
        match limits.filter(|_| !header.opcode.is_control()) {
            Some(limits) if fragments + 1 > limits.fragments => Err(Violation::TooManyFragments),
            Some(limits) if header.length > limits.message_bytes.saturating_sub(bytes) as u64 => {
                Err(Violation::MessageTooLong)
            }
            _ => Ok(()),
        }
    }
}
