//! Explains compressed messages (RFC 7692): the frames as they are, and the inflated message.

use super::unfinished_message::UnfinishedMessage;
use crate::limits;
use crate::tools::explain::explanation::{Problem, ReassembledMessage};
use crate::tools::explain::parse::payload::ExplainedPayload;
use crate::tools::explain::tree::bits;
use crate::ws::Violation;
use crate::ws::deflate::Inflater;
use crate::ws::extension::SenderParameters;
use crate::ws::frame::{Header, Opcode};
use crate::ws::message::Limits;

/// The inflated messages of one side.
#[derive(Clone, Debug, Default)]
pub(super) enum Inflation {
    /// Both ends have not agreed on compression, or the agreement is unknown.
    #[default]
    Off,
    /// The messages so far are known.
    On(SenderParameters, Box<Inflater>),
    /// The window is unknown, because bytes are missing or a message was too long: later messages
    /// may refer to it.
    Lost,
}

impl Inflation {
    /// Begins with the first message after an agreement.
    pub(super) fn new(parameters: Option<SenderParameters>) -> Inflation {
        parameters
            .map_or(Inflation::Off, |parameters| Inflation::On(parameters, Box::new(parameters.inflater())))
    }

    /// Forgets the window after missing bytes. Without context takeover, the next message needs
    /// none.
    pub(super) fn skip_gap(&mut self) {
        if let Inflation::On(parameters, _) = self {
            *self = match parameters.context_takeover {
                true => Inflation::Lost,
                false => Inflation::new(Some(*parameters)),
            };
        }
    }

    /// The agreed parameters; `None` without an agreement or after missing bytes.
    pub(super) fn parameters(&self) -> Option<SenderParameters> {
        match self {
            Inflation::On(parameters, _) => Some(*parameters),
            Inflation::Off | Inflation::Lost => None,
        }
    }

    /// Whether compressed messages can be inflated.
    pub(super) fn is_on(&self) -> bool {
        matches!(self, Inflation::On(..))
    }
}

/// Explains a complete frame of a compressed message, and the message that it completes. The rules
/// are checked in each frame, as the receiver does. `limits` are the limits of the receiver, if
/// known. `explain` gets the inflated message and its opcode.
pub(super) fn explain_compressed<'c>(
    (open, inflation): (&mut UnfinishedMessage, &mut Inflation),
    payload: &[u8],
    begin: usize,
    header: Header,
    limits: Option<Limits>,
    mut explain: impl FnMut(&[u8], usize, Opcode) -> ExplainedPayload<'c>,
) -> (ExplainedPayload<'c>, Option<ReassembledMessage>) {
    let inside = ExplainedPayload::compressed(payload, begin);
    let broken = |violation| {
        let culprit = bits(begin..begin + payload.len());
        (
            ExplainedPayload::compressed(payload, begin).with(Some(Problem::violation(violation, culprit))),
            None,
        )
    };
    if header.opcode != Opcode::Continuation {
        *open = UnfinishedMessage::start(header.opcode, true);
    }
    let (
        UnfinishedMessage::Started { opcode, payload: joined, frames, text, inflated, .. },
        Inflation::On(_, inflater),
    ) = (&mut *open, &mut *inflation)
    else {
        return (inside, None);
    };
    joined.extend_from_slice(payload);
    *frames += 1;
    let max_bytes = limits.map_or(limits::EXPLAIN_INFLATED_BYTES, |limits| limits.message_bytes);
    let before = inflated.len();
    let mut result = inflater.inflate_piece(payload, max_bytes, inflated);
    if header.fin {
        result = result.and_then(|()| inflater.finish(max_bytes, inflated));
    }
    match result {
        Err(Violation::InflatedTooLong) if limits.is_none() => {
            // The receiver may accept it. The frame shows only the compressed form.
            *inflation = Inflation::Lost;
            if header.fin {
                *open = UnfinishedMessage::None;
            }
            return (inside, None);
        }
        Err(violation) => return broken(violation),
        Ok(()) if *opcode == Opcode::Text && text.receive(&inflated[before..]).is_err() => {
            return broken(Violation::TextNotUtf8);
        }
        Ok(()) => {}
    }
    if !header.fin {
        return (inside, None);
    }
    let message = explain(inflated, 0, *opcode);
    let whole = ReassembledMessage {
        frames: *frames,
        opcode: *opcode,
        compressed_bytes: Some(joined.len()),
        payload: std::mem::take(inflated),
        tree: message.node,
    };
    *open = UnfinishedMessage::None;
    // The bits of a problem are in the inflated message, which is no part of the input.
    let problem = message.problem.map(|problem| problem.at(|_| bits(begin..begin + payload.len())));
    let (content, otherwise) = (message.content, message.otherwise);
    (ExplainedPayload { node: inside.node, content, problem, otherwise }, Some(whole))
}
