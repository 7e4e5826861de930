//! Frames to messages: RFC 6455 sections 5.4 (fragments), 5.5 (control frames between fragments)
//! and 8.1 (UTF-8).
//!
//! The input is bytes, split anywhere; the output is whole messages and control frames, borrowed
//! from the input buffer. The payload is unmasked in place, so a message of one frame is never
//! copied, and nothing is allocated once the buffers have grown to the size that the connection
//! needs.
//!
//! ```text
//!   text, FIN 0 ──► continuation, FIN 0 ──► ping ──► continuation, FIN 1 ──► text message
//!                                            └────► out at once
//! ```
//!
//! The reader never reserves more than [`Limits::read_ahead_bytes`] for a length that is only
//! declared, and reports a violation without waiting for the end of the message. It sends nothing,
//! and must not be called again after an error: [`conn`](super::connection) handles both.

use std::mem;
use std::ops::Range;
use std::str;

use super::Side;
use super::close::{self, Close};
use super::frame::{self, Header, MAX_HEADER_BYTES, Opcode};
use super::utf8::{InvalidUtf8, Utf8Validator};
use super::violation::Violation;

/// The limits on one received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Payload bytes, all fragments together. Beyond: [`Violation::MessageTooLong`].
    pub message_bytes: usize,
    /// Fragments, empty ones counted. Beyond: [`Violation::TooManyFragments`].
    pub fragments: usize,
    /// Bytes that a driver may read at once because a frame header announced them. This saves reads,
    /// and bounds the memory that a header alone can claim. A longer frame is read in several steps.
    pub read_ahead_bytes: usize,
}

/// A whole message or control frame, borrowed from the reader until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A text message.
    Text(&'a str),
    /// A binary message.
    Binary(&'a [u8]),
    /// A ping, which has to be answered with its payload.
    Ping(&'a [u8]),
    /// A pong, solicited by a ping or unsolicited.
    Pong(&'a [u8]),
    /// The last frame that the peer sends.
    Close(Close<'a>),
}

/// A message with its place among the bytes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedMessage<'a> {
    /// The message.
    pub message: Message<'a>,
    /// Its bytes on the wire: those of all its frames.
    pub wire_bytes: usize,
    /// Bytes of the fragments of an unfinished message that stand before it: only a control frame has some.
    pub fragment_bytes_before: usize,
    /// Whether no other message is unfinished behind it: false for a control frame between fragments.
    pub is_message_boundary: bool,
}

/// The two kinds of data message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataKind {
    Text,
    Binary,
}

/// A message whose last fragment has not arrived.
#[derive(Debug)]
struct PartialMessage {
    kind: DataKind,
    /// Frames so far, the current one included.
    fragments: usize,
}

/// A whole message or control frame: its kind, and the location of its bytes.
enum CompleteMessage {
    Control(Opcode, Range<usize>),
    OneFrame(DataKind, Range<usize>),
    Fragments(DataKind),
}

/// Assembles messages from the bytes of one direction of a connection.
#[derive(Debug)]
pub struct MessageReader {
    from: Side,
    limits: Limits,
    /// Bytes as they came, from `start` to `end`, and room for more behind them; payload of `frame` is unmasked in place as far as
    /// `checked`.
    input: Vec<u8>,
    /// The index in `input` of the first unconsumed byte.
    start: usize,
    /// The index in `input` of the free space.
    end: usize,
    /// Bytes of the frames of the message or control frame that comes in.
    used: usize,
    /// Bytes of the fragments of `open` that are complete, headers included.
    ahead: usize,
    /// The header of the frame whose payload is coming in; the payload begins at `start`.
    frame: Option<Header>,
    /// Payload bytes of `frame` that are unmasked and checked.
    checked: usize,
    /// The message that `frame` belongs to, or that waits for its next fragment.
    open: Option<PartialMessage>,
    /// Payload of the fragments of `open` that are complete.
    fragments: Vec<u8>,
    /// UTF-8 of `open`, across its fragments.
    text: Utf8Validator,
}

impl MessageReader {
    /// A reader of the bytes that `from` sends.
    pub fn new(from: Side, limits: Limits) -> MessageReader {
        MessageReader {
            from,
            limits,
            input: Vec::new(),
            start: 0,
            end: 0,
            used: 0,
            ahead: 0,
            frame: None,
            checked: 0,
            open: None,
            fragments: Vec::new(),
            text: Utf8Validator::default(),
        }
    }

    /// Takes bytes from the peer. Messages returned before are discarded; only an unfinished frame
    /// is kept.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.grow_buffer(bytes.len()).copy_from_slice(bytes);
        self.commit(bytes.len());
    }

    /// Returns a buffer of at least this many bytes, into which the driver can read the peer's
    /// bytes directly, without a copy. Messages returned before are discarded.
    ///
    /// The buffer is longer if an unfinished frame needs more: it reaches to the end of that frame
    /// and the next header. A read then holds either many short frames or one long frame, and
    /// almost no bytes have to be moved.
    pub fn recv_buffer(&mut self, bytes: usize) -> &mut [u8] {
        let ahead = self.frame.map_or(0, |header| header.length as usize - self.checked + MAX_HEADER_BYTES);
        self.grow_buffer(bytes.max(ahead.min(self.limits.read_ahead_bytes)))
    }

    fn grow_buffer(&mut self, bytes: usize) -> &mut [u8] {
        if self.start == self.end || self.input.len() - self.end < bytes {
            self.input.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            let least = self.end + bytes;
            if self.input.len() < least {
                self.input.resize(least, 0);
            }
        }
        &mut self.input[self.end..self.end + bytes]
    }

    /// Takes the first `bytes` of the buffer that [`MessageReader::recv_buffer`] last returned: the peer has sent
    /// them.
    pub fn commit(&mut self, bytes: usize) {
        self.end = self.input.len().min(self.end + bytes);
    }

    /// Whether all bytes so far are consumed and the next byte may begin a message.
    pub fn is_between_messages(&self) -> bool {
        self.frame.is_none() && self.open.is_none() && self.start == self.end
    }

    /// The next whole message or control frame, or `None` until more bytes arrive.
    ///
    /// # Errors
    /// The rule that the peer broke. The reader must not be used afterwards.
    pub fn next_message(&mut self) -> Result<Option<Message<'_>>, Violation> {
        Ok(self.next_received()?.map(|read| read.message))
    }

    /// As [`MessageReader::next_message`], with the message's place among the bytes of the connection.
    ///
    /// # Errors
    /// As [`MessageReader::next_message`].
    pub fn next_received(&mut self) -> Result<Option<ReceivedMessage<'_>>, Violation> {
        let Some(ready) = self.next_ready()? else { return Ok(None) };
        let (mut wire_bytes, is_boundary) = (mem::take(&mut self.used), self.open.is_none());
        if is_boundary {
            wire_bytes += mem::take(&mut self.ahead);
        }
        Ok(Some(ReceivedMessage {
            message: self.borrow_message(ready)?,
            wire_bytes,
            fragment_bytes_before: self.ahead,
            is_message_boundary: is_boundary,
        }))
    }

    fn next_ready(&mut self) -> Result<Option<CompleteMessage>, Violation> {
        loop {
            let Some(header) = self.begin_frame()? else { return Ok(None) };
            let Some(payload) = self.receive_payload(header)? else { return Ok(None) };
            if let Some(ready) = self.end_frame(header, payload)? {
                return Ok(Some(ready));
            }
        }
    }

    /// The frame whose payload is coming in: the one begun before, or else the next.
    fn begin_frame(&mut self) -> Result<Option<Header>, Violation> {
        if self.frame.is_none() {
            let Some((header, size)) = Header::decode(&self.input[self.start..self.end], self.from)? else {
                return Ok(None);
            };
            if !header.opcode.is_control() {
                self.check_data_frame(header)?;
            }
            self.start += size;
            self.used += size;
            self.frame = Some(header);
        }
        Ok(self.frame)
    }

    /// Checks a data frame against the one before it and against the limits: before its payload, of which nothing is
    /// believed.
    fn check_data_frame(&mut self, header: Header) -> Result<(), Violation> {
        let open = match (header.opcode, &mut self.open) {
            (Opcode::Continuation, None) => return Err(Violation::ContinuationWithoutStart),
            (Opcode::Continuation, Some(open)) => open,
            (_, Some(_)) => return Err(Violation::MessageInterrupted),
            (opcode, open) => {
                let kind = if opcode == Opcode::Text { DataKind::Text } else { DataKind::Binary };
                self.fragments.clear();
                open.insert(PartialMessage { kind, fragments: 0 })
            }
        };
        open.fragments += 1;
        if open.fragments > self.limits.fragments {
            return Err(Violation::TooManyFragments);
        }
        let room = self.limits.message_bytes.saturating_sub(self.fragments.len());
        if header.length > room as u64 {
            return Err(Violation::MessageTooLong);
        }
        Ok(())
    }

    /// Unmasks and checks the received part of the payload, and returns its range once it is
    /// complete.
    fn receive_payload(&mut self, header: Header) -> Result<Option<Range<usize>>, Violation> {
        // Bounded by the limits or by the control frame's seven bits, so it fits.
        let length = header.length as usize;
        let come = length.min(self.end - self.start);
        let piece = &mut self.input[self.start + self.checked..self.start + come];
        if let Some(key) = header.mask {
            frame::mask(piece, key, self.checked);
        }
        // A whole text in one piece is checked where it is handed out.
        let whole = header.fin && header.opcode == Opcode::Text && piece.len() == length;
        let is_text = matches!(self.open, Some(PartialMessage { kind: DataKind::Text, .. }));
        if is_text && !whole && !header.opcode.is_control() {
            self.text.receive(piece)?;
        }
        self.checked = come;
        if come < length {
            return Ok(None);
        }
        let payload = self.start..self.start + length;
        self.start = payload.end;
        self.used += length;
        self.checked = 0;
        self.frame = None;
        Ok(Some(payload))
    }

    /// The message or control frame that a complete frame completes, if any.
    fn end_frame(
        &mut self,
        header: Header,
        payload: Range<usize>,
    ) -> Result<Option<CompleteMessage>, Violation> {
        if header.opcode.is_control() {
            return Ok(Some(CompleteMessage::Control(header.opcode, payload)));
        }
        let is_one_frame = header.fin && header.opcode != Opcode::Continuation;
        if !is_one_frame {
            self.fragments.extend_from_slice(&self.input[payload.clone()]);
        }
        if !header.fin {
            self.ahead += mem::take(&mut self.used);
            return Ok(None);
        }
        Ok(self.open.take().map(|open| match is_one_frame {
            true => CompleteMessage::OneFrame(open.kind, payload),
            false => CompleteMessage::Fragments(open.kind),
        }))
    }

    fn borrow_message(&self, ready: CompleteMessage) -> Result<Message<'_>, Violation> {
        let (kind, bytes) = match ready {
            CompleteMessage::Control(opcode, payload) => return borrow_control(opcode, &self.input[payload]),
            CompleteMessage::OneFrame(kind, payload) => (kind, &self.input[payload]),
            CompleteMessage::Fragments(kind) => (kind, &self.fragments[..]),
        };
        // The pieces of a text were checked as they came; this also finds a last character that is not complete.
        match kind {
            DataKind::Binary => Ok(Message::Binary(bytes)),
            DataKind::Text => str::from_utf8(bytes).map(Message::Text).map_err(|_| Violation::TextNotUtf8),
        }
    }
}

fn borrow_control(opcode: Opcode, payload: &[u8]) -> Result<Message<'_>, Violation> {
    match opcode {
        Opcode::Ping => Ok(Message::Ping(payload)),
        Opcode::Pong => Ok(Message::Pong(payload)),
        _ => close::decode(payload).map(Message::Close),
    }
}

impl From<InvalidUtf8> for Violation {
    fn from(_: InvalidUtf8) -> Violation {
        Violation::TextNotUtf8
    }
}
