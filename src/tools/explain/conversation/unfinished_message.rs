//! The unfinished message of one side, and the rules for the next frame (RFC 6455, section 5.4, and
//! the limits of the receiver).

use std::mem;

use crate::tools::explain::explanation::{Problem, ReassembledMessage};
use crate::tools::explain::parse::payload::ExplainedPayload;
use crate::tools::explain::tree::{BYTE, bits};
use crate::ws::Violation;
use crate::ws::deflate;
use crate::ws::frame::{Header, Opcode};
use crate::ws::message::Limits;
use crate::ws::utf8::Utf8Validator;

/// The unfinished message of one side.
#[derive(Clone, Debug, Default)]
pub(crate) enum UnfinishedMessage {
    /// Unknown, because the beginning of the stream is missing.
    #[default]
    Unknown,
    None,
    Started {
        opcode: Opcode,
        payload: Vec<u8>,
        frames: usize,
        text: Utf8Validator,
        is_compressed: bool,
        /// The inflated payload, if the message is compressed and can be inflated.
        inflated: Vec<u8>,
    },
}

impl UnfinishedMessage {
    /// Creates a message before its first frame.
    pub(super) fn start(opcode: Opcode, is_compressed: bool) -> UnfinishedMessage {
        let (payload, inflated, text) = (Vec::new(), Vec::new(), Utf8Validator::default());
        UnfinishedMessage::Started { opcode, payload, frames: 0, text, is_compressed, inflated }
    }

    /// The size of the unfinished message in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            UnfinishedMessage::Started { payload, inflated, .. } => payload.len() + inflated.len(),
            _ => 0,
        }
    }

    /// Whether a frame belongs to a compressed message.
    pub(super) fn is_compressed_with(&self, header: Header) -> bool {
        let is_open = matches!(self, UnfinishedMessage::Started { is_compressed: true, .. });
        header.compressed || is_open && header.opcode == Opcode::Continuation
    }

    /// Checks whether a frame may follow (RFC 6455, section 5.4, and the limits of the receiver, if
    /// known).
    pub(crate) fn check_next_frame(&self, header: Header, limits: Option<Limits>) -> Result<(), Violation> {
        let (fragments, bytes) = match (header.opcode, self) {
            (Opcode::Continuation, UnfinishedMessage::None) => {
                return Err(Violation::ContinuationWithoutStart);
            }
            (Opcode::Text | Opcode::Binary, UnfinishedMessage::Started { .. }) => {
                return Err(Violation::MessageInterrupted);
            }
            (Opcode::Continuation, UnfinishedMessage::Started { frames, is_compressed: true, .. }) => {
                (*frames, 0)
            }
            (Opcode::Continuation, UnfinishedMessage::Started { frames, payload, .. }) => {
                (*frames, payload.len())
            }
            _ => (0, 0),
        };
        let max_bytes = |limits: Limits| match self.is_compressed_with(header) {
            true => deflate::max_compressed_bytes(limits.message_bytes),
            false => limits.message_bytes.saturating_sub(bytes),
        };
        match limits.filter(|_| !header.opcode.is_control()) {
            Some(limits) if fragments + 1 > limits.fragments => Err(Violation::TooManyFragments),
            Some(limits) if header.length > max_bytes(limits) as u64 => Err(Violation::MessageTooLong),
            _ => Ok(()),
        }
    }
}

/// Explains a continuation frame, and the message if the frame completes it.
pub(crate) fn continue_message<'c>(
    open: &mut UnfinishedMessage,
    payload: &[u8],
    begin: usize,
    fin: bool,
    mut explain: impl FnMut(&[u8], usize, Opcode) -> ExplainedPayload<'c>,
) -> (ExplainedPayload<'c>, Option<ReassembledMessage>) {
    let UnfinishedMessage::Started { opcode, payload: joined, frames, text, is_compressed, .. } = open else {
        if fin {
            *open = UnfinishedMessage::None;
        }
        return (ExplainedPayload::bytes(payload, begin), None);
    };
    let (opcode, is_compressed, before) = (*opcode, *is_compressed, joined.len());
    joined.extend_from_slice(payload);
    *frames += 1;
    let inside = explain_fragment(payload, begin, if is_compressed { Opcode::Binary } else { opcode }, text);
    if !fin || inside.problem.is_some() {
        return (inside, None);
    }
    let (frames, joined) = (*frames, mem::take(joined));
    *open = UnfinishedMessage::None;
    let message =
        if is_compressed { ExplainedPayload::compressed(&joined, 0) } else { explain(&joined, 0, opcode) };
    // The problem is reported at its bits within this frame, clamped to the payload.
    let end = (begin + payload.len()) * BYTE;
    let bit_in_frame =
        |bit: usize| ((bit + begin * BYTE).saturating_sub(before * BYTE)).clamp(begin * BYTE, end);
    let problem =
        message.problem.map(|problem| problem.at(|bits| bit_in_frame(bits.start)..bit_in_frame(bits.end)));
    let whole =
        ReassembledMessage { frames, opcode, compressed_bytes: None, payload: joined, tree: message.node };
    let (node, content, otherwise) = (inside.node, message.content, message.otherwise);
    (ExplainedPayload { node, content, problem, otherwise }, Some(whole))
}

/// Explains a single fragment. Invalid UTF-8 is reported at its first byte.
pub(crate) fn explain_fragment<'c>(
    payload: &[u8],
    begin: usize,
    opcode: Opcode,
    text: &mut Utf8Validator,
) -> ExplainedPayload<'c> {
    if opcode == Opcode::Text && text.receive(payload).is_err() {
        let good = std::str::from_utf8(payload).err().map_or(0, |error| error.valid_up_to());
        let culprit = bits(begin + good..begin + payload.len());
        let problem = Problem::violation(Violation::TextNotUtf8, culprit);
        return ExplainedPayload::bytes(payload, begin).with(Some(problem));
    }
    match std::str::from_utf8(payload) {
        Ok(text) if opcode == Opcode::Text => ExplainedPayload::text(text, begin),
        _ => ExplainedPayload::bytes(payload, begin),
    }
}

/// Explains an incomplete payload. Invalid UTF-8 is reported at once, because the server also
/// rejects it before the end arrives.
pub fn explain_incomplete<'c>(
    open: &UnfinishedMessage,
    payload: &[u8],
    begin: usize,
    opcode: Opcode,
    missing: u64,
) -> ExplainedPayload<'c> {
    let text = match (opcode, open) {
        (Opcode::Text, _) => Some(Utf8Validator::default()),
        (
            Opcode::Continuation,
            UnfinishedMessage::Started { opcode: Opcode::Text, text, is_compressed: false, .. },
        ) => Some(text.clone()),
        _ => None,
    };
    let explained = text.map(|mut text| explain_fragment(payload, begin, Opcode::Text, &mut text));
    let incomplete = Problem::Incomplete { missing: Some(missing) };
    explained
        .filter(|inside| inside.problem.is_some())
        .unwrap_or_else(|| ExplainedPayload::bytes(payload, begin).with(Some(incomplete)))
}

/// Explains a complete payload, and the message that it completes. Calls `explain` with an
/// uncompressed payload and its opcode.
pub fn explain_payload<'c>(
    open: &mut UnfinishedMessage,
    payload: &[u8],
    begin: usize,
    (header, is_compressed): (Header, bool),
    mut explain: impl FnMut(&[u8], usize, Opcode) -> ExplainedPayload<'c>,
) -> (ExplainedPayload<'c>, Option<ReassembledMessage>) {
    let mut explain = |payload: &[u8], begin, opcode| match is_compressed {
        true => ExplainedPayload::compressed(payload, begin),
        false => explain(payload, begin, opcode),
    };
    match (header.opcode, header.fin) {
        (opcode, _) if opcode.is_control() => (explain(payload, begin, opcode), None),
        (Opcode::Continuation, fin) => continue_message(open, payload, begin, fin, explain),
        (opcode, true) => {
            *open = UnfinishedMessage::None;
            (explain(payload, begin, opcode), None)
        }
        (opcode, false) => {
            let mut text = Utf8Validator::default();
            let shown_as = if is_compressed { Opcode::Binary } else { opcode };
            let inside = explain_fragment(payload, begin, shown_as, &mut text);
            *open = UnfinishedMessage::Started {
                opcode,
                payload: payload.to_vec(),
                frames: 1,
                text,
                is_compressed,
                inflated: Vec::new(),
            };
            (inside, None)
        }
    }
}
