//! The outcome of a message at the proxy, and the decisions of a person.

use std::borrow::Cow;
use std::time::Duration;

use super::fault::OutgoingMessage;
use super::message::MessageContent;
use crate::tools::explain::Explanation;
use crate::ws::Side;
use crate::ws::frame::Opcode;

/// The outcome of a message at the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was forwarded as it arrived.
    Forwarded,
    /// It waits for a decision with this number.
    Held(u64),
    /// It was forwarded after this time.
    Delayed(Duration),
    /// It was not forwarded.
    Dropped,
    /// Other bytes were sent instead.
    Changed,
    /// It was forwarded, followed by this many copies.
    Repeated(u32),
    /// It was sent although nothing arrived.
    Injected,
    /// Bytes of a message that is too long to be explained were forwarded: its first ones, or more.
    Oversized {
        /// Whether the message begins with these bytes.
        begins: bool,
    },
}

/// A message that the proxy received, sent, or both.
#[derive(Debug)]
pub struct Observation<'a, 'c> {
    /// The side that sent it, or for which it was sent.
    pub from: Side,
    /// The outcome.
    pub outcome: Outcome,
    /// The bytes as received; empty if injected.
    pub received: &'a [u8],
    /// The received payload, decompressed. `None` if injected, if the bytes are no whole message,
    /// and if they cannot be inflated.
    pub content: Option<&'a MessageContent>,
    /// The explanation of each received frame.
    pub explained: &'a [Explanation<'c>],
    /// The bytes as sent; empty if dropped or held.
    pub sent: &'a [u8],
    /// The explanation of each sent frame, if the sent bytes differ from the received ones.
    pub sent_explained: &'a [Explanation<'c>],
}

/// A decision about a held message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Forwards it unchanged.
    Forward,
    /// Does not forward it.
    Drop,
    /// Forwards it, followed by this many copies.
    Repeat(u32),
    /// Sends other bytes instead.
    Replace(Substitute),
}

/// Bytes that a person sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Substitute {
    /// A text message.
    Text(String),
    /// A binary message.
    Binary(Vec<u8>),
    /// These bytes, whether or not they are valid frames.
    Wire(Vec<u8>),
}

/// Receives the observations of an interceptor.
pub type Observer<'o, 'c> = &'o mut dyn FnMut(&Observation<'_, 'c>);

impl Substitute {
    /// Encodes the bytes to send for a side.
    pub fn encode(&self, from: Side, key: Option<[u8; 4]>) -> Vec<u8> {
        let message = |opcode, payload| OutgoingMessage { from, opcode, key, payload }.encode();
        match self {
            Substitute::Text(text) => message(Opcode::Text, text.as_bytes()),
            Substitute::Binary(payload) => message(Opcode::Binary, payload),
            Substitute::Wire(bytes) => bytes.clone(),
        }
    }
}

impl Outcome {
    /// The name in records and lines.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Forwarded => "forwarded",
            Outcome::Held(_) => "held",
            Outcome::Delayed(_) => "delayed",
            Outcome::Dropped => "dropped",
            Outcome::Changed => "changed",
            Outcome::Repeated(_) => "repeated",
            Outcome::Injected => "injected",
            Outcome::Oversized { .. } => "oversized",
        }
    }

    /// The number of the outcome: the number of a held message, milliseconds, or copies.
    pub fn detail(self) -> u64 {
        match self {
            Outcome::Held(id) => id,
            Outcome::Delayed(time) => time.as_millis() as u64,
            Outcome::Repeated(copies) => copies.into(),
            _ => 0,
        }
    }
}

impl<'a> Observation<'a, '_> {
    /// The received message as a page shows it: a compressed one as one uncompressed frame.
    pub fn shown(&self) -> Cow<'a, [u8]> {
        match self.content.filter(|content| content.is_compressed) {
            Some(content) => content.with(&content.payload, self.from).encode().into(),
            None => self.received.into(),
        }
    }
}
