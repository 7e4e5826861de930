//! One end of an open connection: RFC 6455, sections 5.1 (masking), 5.5 (pong, close) and 7
//! (closing).
//!
//! Bytes and EOF go in; events and bytes come out. The same state machine serves both roles, which
//! differ only in masking: the client masks.
//!
//! ```text
//!           close()                     peer's close frame
//!   Open ─────────────► CloseSent ─────────────────────────► Closed
//!    ├───── peer's close frame, answered with its code ───────►│
//!    └───── violation, answered with the rule's code ───────► Failed
//! ```
//!
//! After a violation the connection reads nothing more, because it cannot determine where the next
//! frame begins. The connection does no I/O, reads no clock, and draws no random numbers. It limits
//! its input; the driver limits the output and must drain it after each input. The pongs for `n`
//! bytes of pings are at most `3 n` bytes.

use std::fmt;
use std::mem;

use super::Side;
use super::close::{self, Close, CloseCode};
use super::deflate::MessageDeflater;
use super::extension::DeflateParameters;
use super::frame::{self, Header, MASK_KEY_BYTES, MAX_CONTROL_PAYLOAD_BYTES, Opcode};
use super::message::{Limits, Message, MessageReader};
use super::violation::Violation;

/// The role of this end.
#[derive(Clone, Copy, Debug)]
pub enum Role {
    /// The end that accepted the upgrade. It sends unmasked frames and requires masked frames.
    Server,
    /// The end that requested the upgrade. It sends masked frames and requires unmasked frames.
    Client {
        /// Returns the key of the next frame. RFC 6455, section 5.3, requires keys that the peer
        /// cannot predict; the caller selects their source.
        mask_key: fn() -> [u8; MASK_KEY_BYTES],
    },
}

/// An event, borrowed from the connection until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A whole text message.
    Text(&'a str),
    /// A whole binary message.
    Binary(&'a [u8]),
    /// A ping; its pong is already in the output.
    Ping(&'a [u8]),
    /// A pong.
    Pong(&'a [u8]),
    /// The peer has sent a close frame; the response is already in the output. No message follows.
    Close {
        /// The peer's close code, if it sent one.
        code: Option<CloseCode>,
        /// The peer's reason; may be empty. The text is untrusted: escape it before displaying it.
        reason: &'a str,
    },
    /// The peer's byte stream has ended. This is the last event.
    Eof {
        /// Whether both ends had sent their close frame (RFC 6455, section 7.1.4).
        clean: bool,
    },
}

/// The state of the closing handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CloseState {
    Open,
    CloseSent,
    /// Both ends have sent a close frame.
    Closed,
    /// The peer broke a rule.
    Failed,
}

/// Whether the peer's byte stream has ended, and whether the driver has received [`Event::Eof`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Eof {
    Pending,
    Received,
    Reported,
}

/// One end of an open connection.
#[derive(Debug)]
pub struct Connection {
    reader: MessageReader,
    send_half: SendHalf,
    eof: Eof,
}

impl Connection {
    /// Creates a connection after a completed handshake.
    pub fn new(role: Role, limits: Limits) -> Connection {
        let from = match role {
            Role::Server => Side::Client,
            Role::Client { .. } => Side::Server,
        };
        Connection {
            reader: MessageReader::new(from, limits),
            send_half: SendHalf { role, state: CloseState::Open, output: Vec::new(), deflater: None },
            eof: Eof::Pending,
        }
    }

    /// Compresses messages in both directions, because the handshake has agreed on these
    /// parameters. Call it before the first message. A message that is shorter than `min_bytes`, or
    /// that compression does not shorten, is sent as it is: each message says whether it is
    /// compressed.
    pub fn enable_compression(&mut self, parameters: DeflateParameters, min_bytes: usize) {
        let (own, peer) = match self.send_half.role {
            Role::Server => (parameters.server, parameters.client),
            Role::Client { .. } => (parameters.client, parameters.server),
        };
        self.reader.accept_compressed(peer);
        self.send_half.deflater = Some(Box::new(MessageDeflater::new(own.deflater(), min_bytes)));
    }

    /// Accepts received bytes. Bytes after a close frame or a violation are dropped.
    pub fn receive(&mut self, bytes: &[u8]) {
        if self.send_half.is_reading() {
            self.reader.receive(bytes);
        }
    }

    /// Returns a buffer of at least `bytes` bytes, for a driver that reads into it directly and
    /// then calls [`Connection::commit`] with the number of bytes read. Replaces
    /// [`Connection::receive`] without a copy.
    pub fn recv_buffer(&mut self, bytes: usize) -> &mut [u8] {
        self.reader.recv_buffer(bytes)
    }

    /// Records that the driver has read `bytes` bytes into the buffer of the last
    /// [`Connection::recv_buffer`] call.
    pub fn commit(&mut self, bytes: usize) {
        if self.send_half.is_reading() {
            self.reader.commit(bytes);
        }
    }

    /// Records that the peer will send no more bytes.
    pub fn receive_eof(&mut self) {
        if self.eof == Eof::Pending {
            self.eof = Eof::Received;
        }
    }

    /// Returns the next event, or `None` until more input arrives.
    ///
    /// # Errors
    /// The rule that the peer broke, returned once. The close frame that names it is already in the
    /// output.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, Violation> {
        Ok(self.next_event_with_sender()?.map(|(event, _)| event))
    }

    /// Like [`Connection::next_event`], with the send half. An event borrows only the receiving
    /// half, so the caller can respond before it reads the next event.
    ///
    /// # Errors
    /// As [`Connection::next_event`].
    pub fn next_event_with_sender(&mut self) -> Result<Option<(Event<'_>, &mut SendHalf)>, Violation> {
        let Connection { reader, send_half: sending, eof } = self;
        if sending.is_reading() {
            match reader.next_message() {
                Ok(Some(message)) => return Ok(Some((sending.respond(message), sending))),
                Ok(None) => {}
                Err(violation) => {
                    sending.fail(violation);
                    return Err(violation);
                }
            }
        }
        if *eof == Eof::Received {
            *eof = Eof::Reported;
            return Ok(Some((Event::Eof { clean: sending.state == CloseState::Closed }, sending)));
        }
        Ok(None)
    }

    /// The send half.
    pub fn sending(&mut self) -> &mut SendHalf {
        &mut self.send_half
    }

    /// Whether all received bytes are consumed and the next byte may begin a message.
    pub fn is_between_messages(&self) -> bool {
        self.reader.is_between_messages()
    }

    /// Appends the bytes to be sent to `into`. If `into` is empty, the buffers are swapped instead,
    /// so that both allocations are reused.
    pub fn drain_output(&mut self, into: &mut Vec<u8>) {
        if into.is_empty() {
            mem::swap(into, &mut self.send_half.output);
        } else {
            into.append(&mut self.send_half.output);
        }
    }

    /// Whether any bytes wait to be sent.
    pub fn has_output(&self) -> bool {
        !self.send_half.output.is_empty()
    }

    /// Whether the closing handshake, a violation or the end of the stream has ended the
    /// connection. A server then sends its output and closes the socket. A client sends its output
    /// and waits briefly for the server to close the socket (RFC 6455, section 7.1.1).
    pub fn is_finished(&self) -> bool {
        matches!(self.send_half.state, CloseState::Closed | CloseState::Failed) || self.eof != Eof::Pending
    }

    /// Whether messages may still be sent, because no close frame has been queued.
    pub fn is_open(&self) -> bool {
        self.send_half.is_open()
    }

    /// Sends a text message: [`SendHalf::text`].
    pub fn send_text(&mut self, text: &str) {
        self.send_half.text(text);
    }

    /// Sends a binary message: [`SendHalf::binary`].
    pub fn send_binary(&mut self, payload: &[u8]) {
        self.send_half.binary(payload);
    }

    /// Sends a ping: [`SendHalf::ping`].
    pub fn send_ping(&mut self, payload: &[u8]) {
        self.send_half.ping(payload);
    }

    /// Sends a close frame: [`SendHalf::close`].
    pub fn close(&mut self, code: CloseCode, reason: &str) {
        self.send_half.close(code, reason);
    }
}

/// The send half of a connection: queues the output and the responses to control frames, and stores
/// the state of the closing handshake.
#[derive(Debug)]
pub struct SendHalf {
    role: Role,
    state: CloseState,
    output: Vec<u8>,
    /// Compresses messages, if both ends have agreed on compression.
    deflater: Option<Box<MessageDeflater>>,
}

impl SendHalf {
    /// Sends a text message. All methods of the send half do nothing once a close frame is queued.
    pub fn text(&mut self, text: &str) {
        self.send(Opcode::Text, text.as_bytes());
    }

    /// Sends a binary message.
    pub fn binary(&mut self, payload: &[u8]) {
        self.send(Opcode::Binary, payload);
    }

    /// Sends a ping with the first [`MAX_CONTROL_PAYLOAD_BYTES`] of `payload`.
    pub fn ping(&mut self, payload: &[u8]) {
        self.send(Opcode::Ping, &payload[..payload.len().min(MAX_CONTROL_PAYLOAD_BYTES)]);
    }

    /// Sends a close frame; the peer's response arrives as [`Event::Close`]. A reason longer than
    /// [`close::MAX_REASON_BYTES`] is truncated.
    pub fn close(&mut self, code: CloseCode, reason: &str) {
        if self.is_open() {
            self.queue_close(Some(code), reason);
            self.state = CloseState::CloseSent;
        }
    }

    fn is_open(&self) -> bool {
        self.state == CloseState::Open
    }

    fn is_reading(&self) -> bool {
        matches!(self.state, CloseState::Open | CloseState::CloseSent)
    }

    fn send(&mut self, opcode: Opcode, payload: &[u8]) {
        if self.is_open() {
            self.write(opcode, payload);
        }
    }

    fn write(&mut self, opcode: Opcode, payload: &[u8]) {
        let mask = match self.role {
            Role::Server => None,
            Role::Client { mask_key } => Some(mask_key()),
        };
        let deflater = self.deflater.as_mut().filter(|_| !opcode.is_control());
        let compressed = deflater.and_then(|deflater| deflater.compress(payload));
        let (compressed, payload) = (compressed.is_some(), compressed.unwrap_or(payload));
        let header = Header { fin: true, compressed, opcode, mask, length: payload.len() as u64 };
        frame::write_frame(&mut self.output, &header, payload);
    }

    fn queue_close(&mut self, code: Option<CloseCode>, reason: &str) {
        let mut body = Vec::with_capacity(MAX_CONTROL_PAYLOAD_BYTES);
        close::encode(code, reason, &mut body);
        self.write(Opcode::Close, &body);
    }

    /// Queues the response to a control frame, and returns the event for the driver.
    fn respond<'a>(&mut self, message: Message<'a>) -> Event<'a> {
        match message {
            Message::Text(text) => Event::Text(text),
            Message::Binary(payload) => Event::Binary(payload),
            Message::Pong(payload) => Event::Pong(payload),
            Message::Ping(payload) => {
                self.send(Opcode::Pong, payload);
                Event::Ping(payload)
            }
            Message::Close(Close { code, reason }) => {
                if self.is_open() {
                    self.queue_close(code, "");
                }
                self.state = CloseState::Closed;
                Event::Close { code, reason }
            }
        }
    }

    /// Queues a close frame that names the broken rule, unless one is already queued, and stops
    /// reading.
    fn fail(&mut self, violation: Violation) {
        if self.is_open() {
            self.queue_close(violation.close_code(), violation.name());
        }
        self.state = CloseState::Failed;
    }
}

impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |count: usize| if count == 1 { "1 byte".to_owned() } else { format!("{count} bytes") };
        match self {
            Event::Text(text) => write!(f, "text, {}, {text:?}", bytes(text.len())),
            Event::Binary(payload) => write!(f, "binary, {}", bytes(payload.len())),
            Event::Ping(payload) => write!(f, "ping, {}", bytes(payload.len())),
            Event::Pong(payload) => write!(f, "pong, {}", bytes(payload.len())),
            Event::Close { code: Some(code), reason } => write!(f, "close {code}, {reason:?}"),
            Event::Close { code: None, .. } => f.write_str("close without a code"),
            Event::Eof { clean: true } => f.write_str("end"),
            Event::Eof { clean: false } => f.write_str("end without a close frame"),
        }
    }
}
