//! Assembles frames into messages: RFC 6455, sections 5.4 (fragments), 5.5 (control frames between
//! fragments) and 8.1 (UTF-8), and RFC 7692, section 6.2 (compressed messages).
//!
//! The input is bytes, split anywhere. The output is whole messages and control frames, borrowed
//! from the input buffer. The payload is unmasked in place, so a message of one frame is never
//! copied. Nothing is allocated once the buffers have grown to the size that the connection needs.
//! The frames of a compressed message are inflated one after the other.
//!
//! ```text
//!   text, FIN 0 ──► continuation, FIN 0 ──► ping ──► continuation, FIN 1 ──► text message
//!                                            └────► returned immediately
//! ```
//!
//! The reader never reserves more than [`Limits::read_ahead_bytes`] for a length that is only
//! declared, and returns a violation without waiting for the end of the message. The reader sends
//! nothing, and must not be called after an error. [`connection`](super::connection) sends the
//! responses and stops reading after an error.

use std::mem;
use std::ops::Range;
use std::str;

use super::Side;
use super::close::{self, Close};
use super::deflate::{self, Inflater};
use super::extension::SenderParameters;
use super::frame::{self, Header, MAX_HEADER_BYTES, Opcode};
use super::utf8::{InvalidUtf8, Utf8Validator};
use super::violation::Violation;

/// The limits on one received message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum payload bytes of all fragments together. A longer message is a
    /// [`Violation::MessageTooLong`], and a compressed message that inflates to more a
    /// [`Violation::InflatedTooLong`].
    pub message_bytes: usize,
    /// Maximum number of fragments, including empty ones. One more is a
    /// [`Violation::TooManyFragments`].
    pub fragments: usize,
    /// Maximum bytes of one read of a long frame. A larger value saves reads; a smaller one limits
    /// the memory that a header alone can claim. A longer frame is read in several steps.
    pub read_ahead_bytes: usize,
}

/// A whole message or control frame, borrowed from the reader until the next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// A text message.
    Text(&'a str),
    /// A binary message.
    Binary(&'a [u8]),
    /// A ping, which requires a pong with the same payload.
    Ping(&'a [u8]),
    /// A pong, solicited by a ping or unsolicited.
    Pong(&'a [u8]),
    /// The last frame that the peer sends.
    Close(Close<'a>),
}

impl Message<'_> {
    /// Bytes of the payload, inflated.
    pub fn payload_bytes(&self) -> usize {
        match self {
            Message::Text(text) => text.len(),
            Message::Binary(payload) | Message::Ping(payload) | Message::Pong(payload) => payload.len(),
            Message::Close(Close { reason, .. }) => reason.len(),
        }
    }
}

/// A message with its position among the bytes of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceivedMessage<'a> {
    /// The message.
    pub message: Message<'a>,
    /// Total bytes of all its frames on the wire, headers included.
    pub wire_bytes: usize,
    /// Bytes of the earlier fragments of an unfinished message. 0 except for a control frame
    /// between fragments.
    pub fragment_bytes_before: usize,
    /// Whether the next byte begins a new message. False only for a control frame between
    /// fragments.
    pub is_message_boundary: bool,
}

/// The two kinds of data message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataKind {
    Text,
    Binary,
}

/// A message that lacks its last fragment.
#[derive(Debug)]
struct PartialMessage {
    kind: DataKind,
    compressed: bool,
    /// Number of frames so far, including the current one.
    fragments: usize,
}

/// A whole message or control frame: its kind, and the range of its bytes.
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
    /// Received bytes from `start` to `end`, then free space. The payload of `frame` is unmasked in
    /// place up to `checked`.
    input: Vec<u8>,
    /// Index in `input` of the first unconsumed byte.
    start: usize,
    /// Index in `input` of the free space.
    end: usize,
    /// Bytes consumed by the frames of the current message or control frame, headers included.
    used: usize,
    /// Bytes of the complete fragments of `open`, headers included.
    ahead: usize,
    /// Header of the frame with an incomplete payload. The payload begins at `start`.
    frame: Option<Header>,
    /// Number of payload bytes of `frame` that are unmasked and checked.
    checked: usize,
    /// The unfinished message: `frame` belongs to it, or it waits for its next fragment.
    open: Option<PartialMessage>,
    /// Payload of the complete fragments of `open`, inflated.
    fragments: Vec<u8>,
    /// UTF-8 state of `open`, across its fragments.
    text: Utf8Validator,
    /// Inflates compressed messages, if both ends have agreed on compression.
    inflater: Option<Box<Inflater>>,
}

impl MessageReader {
    /// Creates a reader of the bytes that `from` sends.
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
            inflater: None,
        }
    }

    /// Accepts compressed messages, because both ends have agreed on compression with these
    /// parameters of the sender. Without this call, a compressed message is a
    /// [`Violation::ReservedBit`].
    pub fn accept_compressed(&mut self, sender: SenderParameters) {
        self.inflater = Some(Box::new(sender.inflater()));
    }

    /// Appends received bytes. Messages returned before are discarded; only an unfinished frame is
    /// stored.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.grow_buffer(bytes.len()).copy_from_slice(bytes);
        self.commit(bytes.len());
    }

    /// Returns a buffer of at least `bytes` bytes, into which the driver can read without a copy.
    /// Messages returned before are discarded.
    ///
    /// The buffer is longer if an unfinished frame needs more space: it then extends to the end of
    /// that frame and the next header, up to [`Limits::read_ahead_bytes`]. A read then returns
    /// either many short frames or one long frame, and almost no bytes have to be moved.
    pub fn recv_buffer(&mut self, bytes: usize) -> &mut [u8] {
        let ahead = self.frame.map_or(0, |header| header.length as usize - self.checked + MAX_HEADER_BYTES);
        self.grow_buffer(bytes.max(ahead.min(self.limits.read_ahead_bytes)))
    }

    fn grow_buffer(&mut self, bytes: usize) -> &mut [u8] {
        if self.start == self.end || self.input.len() - self.end < bytes {
            self.input.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            let min_bytes = self.end + bytes;
            if self.input.len() < min_bytes {
                self.input.resize(min_bytes, 0);
            }
        }
        &mut self.input[self.end..self.end + bytes]
    }

    /// Records that the driver has read `bytes` bytes into the buffer of the last
    /// [`MessageReader::recv_buffer`] call.
    pub fn commit(&mut self, bytes: usize) {
        self.end = self.input.len().min(self.end + bytes);
    }

    /// Whether all received bytes are consumed and the next byte may begin a message.
    pub fn is_between_messages(&self) -> bool {
        self.frame.is_none() && self.open.is_none() && self.start == self.end
    }

    /// Returns the next whole message or control frame, or `None` until more bytes arrive.
    ///
    /// # Errors
    /// The rule that the peer broke. The reader must not be used afterwards.
    pub fn next_message(&mut self) -> Result<Option<Message<'_>>, Violation> {
        Ok(self.next_received()?.map(|read| read.message))
    }

    /// Like [`MessageReader::next_message`], with the message's position among the bytes of the
    /// connection.
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

    /// Returns the header of the frame with an incomplete payload, or decodes the next header.
    fn begin_frame(&mut self) -> Result<Option<Header>, Violation> {
        if self.frame.is_none() {
            let (bytes, deflate) = (&self.input[self.start..self.end], self.inflater.is_some());
            let Some((header, size)) = Header::decode_with(bytes, self.from, deflate)? else {
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

    /// Checks a data frame against the unfinished message and the limits, before its payload is
    /// received.
    fn check_data_frame(&mut self, header: Header) -> Result<(), Violation> {
        let open = match (header.opcode, &mut self.open) {
            (Opcode::Continuation, None) => return Err(Violation::ContinuationWithoutStart),
            (Opcode::Continuation, Some(open)) => open,
            (_, Some(_)) => return Err(Violation::MessageInterrupted),
            (opcode, open) => {
                let kind = if opcode == Opcode::Text { DataKind::Text } else { DataKind::Binary };
                self.fragments.clear();
                open.insert(PartialMessage { kind, compressed: header.compressed, fragments: 0 })
            }
        };
        open.fragments += 1;
        if open.fragments > self.limits.fragments {
            return Err(Violation::TooManyFragments);
        }
        let room = match open.compressed {
            false => self.limits.message_bytes.saturating_sub(self.fragments.len()),
            // The inflater bounds the whole message.
            true => deflate::max_compressed_bytes(self.limits.message_bytes),
        };
        if header.length > room as u64 {
            return Err(Violation::MessageTooLong);
        }
        Ok(())
    }

    /// Unmasks and checks the received part of the payload. Returns the range of the payload once
    /// it is complete.
    fn receive_payload(&mut self, header: Header) -> Result<Option<Range<usize>>, Violation> {
        // Fits: the limits or the 7 bits of a control frame bound it.
        let length = header.length as usize;
        let come = length.min(self.end - self.start);
        let piece = &mut self.input[self.start + self.checked..self.start + come];
        if let Some(key) = header.mask {
            frame::mask(piece, key, self.checked);
        }
        // A text in one piece is checked in `borrow_message`.
        let whole = header.fin && header.opcode == Opcode::Text && piece.len() == length;
        let is_text =
            matches!(self.open, Some(PartialMessage { kind: DataKind::Text, compressed: false, .. }));
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

    /// Returns the message or control frame that a complete frame finishes, if any.
    fn end_frame(
        &mut self,
        header: Header,
        payload: Range<usize>,
    ) -> Result<Option<CompleteMessage>, Violation> {
        if header.opcode.is_control() {
            return Ok(Some(CompleteMessage::Control(header.opcode, payload)));
        }
        let is_compressed = self.open.as_ref().is_some_and(|open| open.compressed);
        let is_one_frame = header.fin && header.opcode != Opcode::Continuation && !is_compressed;
        if is_compressed {
            self.inflate_fragment(header.fin, payload.clone())?;
        } else if !is_one_frame {
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

    /// Inflates the payload of a frame of a compressed message, and checks the inflated text.
    fn inflate_fragment(&mut self, is_last: bool, payload: Range<usize>) -> Result<(), Violation> {
        let Some(inflater) = &mut self.inflater else { return Err(Violation::ReservedBit) };
        let (max_bytes, before) = (self.limits.message_bytes, self.fragments.len());
        inflater.inflate_piece(&self.input[payload], max_bytes, &mut self.fragments)?;
        if is_last {
            inflater.finish(max_bytes, &mut self.fragments)?;
        }
        if matches!(self.open, Some(PartialMessage { kind: DataKind::Text, .. })) {
            self.text.receive(&self.fragments[before..])?;
        }
        Ok(())
    }

    fn borrow_message(&self, ready: CompleteMessage) -> Result<Message<'_>, Violation> {
        let (kind, bytes) = match ready {
            CompleteMessage::Control(opcode, payload) => return borrow_control(opcode, &self.input[payload]),
            CompleteMessage::OneFrame(kind, payload) => (kind, &self.input[payload]),
            CompleteMessage::Fragments(kind) => (kind, &self.fragments[..]),
        };
        // The pieces of a text were checked as they arrived. This check also finds an incomplete
        // last character.
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
