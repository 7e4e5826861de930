//! One direction of an intercepted connection: the bytes to send, and the messages that wait.
//!
//! ```text
//!   framer ─► rules ─┬─ forward ─────────────────────────────────► output
//!                    └─ hold, delay ─► queue ─► decision, time ─────┘
//! ```
//!
//! Messages leave in the order in which they arrived. Pings and pongs do not wait, so the
//! connection stays alive while a message is held. Without rules for the side, bytes are forwarded
//! as they arrive, before they are framed.

use std::collections::VecDeque;
use std::time::Duration;

use super::framer::{Framer, PieceKind, WirePiece};
use super::message::MessageContent;
use super::observation::Outcome;
use super::rule::Action;
use crate::limits;
use crate::tools::explain::{Conversation, Explanation};
use crate::ws::Side;
use crate::ws::deflate::Inflater;
use crate::ws::extension::SenderParameters;
use crate::ws::frame::Opcode;

/// A close frame.
pub const CLOSE: PieceKind = PieceKind::Control(Opcode::Close);

/// One direction.
#[derive(Debug)]
pub struct DirectionQueue<'c> {
    /// The side that sends in this direction.
    pub from: Side,
    /// The framer of the received bytes.
    pub framer: Framer,
    /// Bytes to send.
    pub output: Vec<u8>,
    /// Messages that wait, in the order of arrival.
    pub queue: VecDeque<WaitingMessage<'c>>,
    /// Whether the current bytes were forwarded before they were framed.
    pub is_transparent: bool,
    /// Inflates the compressed messages.
    inflater: Option<Inflater>,
    /// Whether a compressed message refers to earlier ones.
    has_context_takeover: bool,
    /// Whether a message was changed, so that the receiver lacks the history of the compressor.
    pub has_diverged: bool,
    /// The conversation before a close frame that waits. It explains the bytes that are sent before
    /// this frame.
    pub before_close: Option<Box<Conversation<'c>>>,
    /// Injected bytes that wait for the end of a message that is being forwarded.
    pub injected: Vec<Vec<u8>>,
    /// Whether the sender has ended its side.
    pub has_ended: bool,
}

/// A message or another piece that has arrived.
#[derive(Debug)]
pub struct ArrivedMessage<'c> {
    /// The bytes.
    pub piece: WirePiece,
    /// The payload, decompressed. `None` if the piece is no whole message, or cannot be inflated.
    pub content: Option<MessageContent>,
    /// The explanation of each of its frames.
    pub explained: Vec<Explanation<'c>>,
}

/// A message that waits.
#[derive(Debug)]
pub struct WaitingMessage<'c> {
    /// Number for a decision.
    pub id: u64,
    /// The message.
    pub message: ArrivedMessage<'c>,
    /// Time of arrival.
    pub since: Duration,
    /// The reason of the wait.
    pub state: WaitState,
}

/// The reason of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitState {
    /// It waits for a decision.
    Held,
    /// It waits until this time.
    Until(Duration),
    /// It waits for the messages before it. Then the action of a rule applies, if any.
    Behind(Option<Action>),
}

impl ArrivedMessage<'_> {
    /// The outcome if the message is forwarded at once.
    pub fn forwarded_outcome(&self) -> Outcome {
        match self.piece.kind {
            PieceKind::OversizedStart => Outcome::Oversized { begins: true },
            PieceKind::Oversized => Outcome::Oversized { begins: false },
            _ => Outcome::Forwarded,
        }
    }

    /// The message as one uncompressed frame, if it is compressed.
    pub fn uncompressed(&self, from: Side) -> Option<Vec<u8>> {
        let content = self.content.as_ref().filter(|content| content.is_compressed)?;
        Some(content.with(&content.payload, from).encode())
    }
}

impl DirectionQueue<'_> {
    /// Creates an empty direction.
    pub fn new(from: Side) -> Self {
        DirectionQueue {
            from,
            framer: Framer::new(from),
            output: Vec::new(),
            queue: VecDeque::new(),
            is_transparent: true,
            inflater: None,
            has_context_takeover: false,
            has_diverged: false,
            before_close: None,
            injected: Vec::new(),
            has_ended: false,
        }
    }

    /// Reads the payload of a message, and inflates it. Each compressed message must be read, in
    /// order, because later ones refer to it.
    pub fn read_content(&mut self, piece: &WirePiece) -> Option<MessageContent> {
        if !matches!(piece.kind, PieceKind::Message | PieceKind::Control(_)) {
            return None;
        }
        let mut content = MessageContent::read(&piece.bytes, self.from)?;
        if content.is_compressed {
            let mut payload = Vec::new();
            let inflater = self.inflater.as_mut()?;
            if inflater.inflate(&content.payload, limits::INTERCEPT_INFLATED_BYTES, &mut payload).is_err() {
                // Without this message, later ones cannot be inflated either.
                self.inflater = None;
                return None;
            }
            content.payload = payload;
        }
        Some(content)
    }

    /// Sets the agreed compression of this direction.
    pub fn set_compression(&mut self, parameters: SenderParameters) {
        self.inflater = Some(parameters.inflater());
        self.has_context_takeover = parameters.context_takeover;
    }

    /// The bytes that forward a message. After a change in this direction, a compressed message is
    /// sent uncompressed.
    pub fn wire_bytes(&self, message: &ArrivedMessage<'_>) -> Vec<u8> {
        let again = if self.has_diverged && self.has_context_takeover {
            message.uncompressed(self.from)
        } else {
            None
        };
        again.unwrap_or_else(|| message.piece.bytes.clone())
    }

    /// Bytes of all messages that wait.
    pub fn waiting_bytes(&self) -> usize {
        self.queue.iter().map(|waiting| waiting.message.piece.bytes.len()).sum()
    }

    /// Forgets the conversation before a close frame, which has left the queue.
    pub fn remove_close(&mut self, kind: PieceKind) {
        if kind == CLOSE {
            self.before_close = None;
        }
    }

    /// Whether a piece must wait for the messages before it.
    pub fn must_wait(&self, kind: PieceKind) -> bool {
        !self.queue.is_empty() && !matches!(kind, PieceKind::Control(Opcode::Ping | Opcode::Pong))
    }

    /// Whether the first message of the queue may leave.
    pub fn is_due(&self, now: Duration) -> bool {
        self.queue.front().is_some_and(|waiting| match &waiting.state {
            WaitState::Held => false,
            WaitState::Until(due) => *due <= now,
            WaitState::Behind(_) => true,
        })
    }

    /// Time at which the first message of the queue may leave, if time decides.
    pub fn next_due(&self) -> Option<Duration> {
        match self.queue.front()?.state {
            WaitState::Until(due) => Some(due),
            WaitState::Held | WaitState::Behind(_) => None,
        }
    }
}
