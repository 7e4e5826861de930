//! The client's bytes as the observer receives them, with tokens redacted.
//!
//! A message is passed to the observer when it is complete, because any of its fragments may
//! contain part of the token. A control frame between its fragments is passed on before them, at
//! its time of arrival, together with its reply.

use core::ops::Range;

use super::events::{ConnectionEvents, ObservedBytes, ReadTime};
use super::redact;
use crate::ws::message::ReceivedMessage;

/// The client's bytes on their way to the observer.
#[derive(Debug, Default)]
pub struct ObservedStream {
    /// Whether the observer knows all bytes before `bytes`, back to the start of a message.
    pub is_following: bool,
    /// Bytes that the observer has not received yet.
    bytes: Vec<u8>,
    /// Whether a message starts at the first byte of `bytes`.
    begins: bool,
    /// Whether some of `bytes` were injected by an inspector.
    pub is_injected: bool,
}

impl ObservedStream {
    /// Buffers received bytes. An observer that subscribes in the middle of a message receives
    /// bytes from the next message on.
    pub fn take(&mut self, bytes: &[u8], is_boundary: bool, books: &dyn ConnectionEvents) {
        if !books.wants_bytes() {
            self.is_following = false;
            self.bytes = Vec::new();
            return;
        }
        if is_boundary {
            (self.is_following, self.begins) = (true, true);
            self.bytes.clear();
        }
        if self.is_following {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Passes the frames of a message or control frame to the observer: `wire_bytes` bytes, after
    /// `ahead` bytes of an unfinished message that stay in the buffer. `covered` is the redacted
    /// payload, if redaction is necessary.
    pub fn read(
        &mut self,
        ReceivedMessage { wire_bytes, fragment_bytes_before: ahead, .. }: ReceivedMessage<'_>,
        covered: Option<&[u8]>,
        at: ReadTime,
        saved: &dyn Fn() -> Vec<u8>,
        books: &dyn ConnectionEvents,
    ) {
        if self.is_following {
            let start = ahead.min(self.bytes.len());
            let place = start..self.bytes.len().min(start + wire_bytes);
            if let Some(covered) = covered {
                redact::write_payload(&mut self.bytes[place.clone()], covered);
            }
            self.emit(place, true, at, saved, books);
        }
    }

    /// Passes a range of the buffer to the observer. `is_whole` means that no message is unfinished
    /// at its end.
    fn emit(
        &mut self,
        place: Range<usize>,
        is_whole: bool,
        at: ReadTime,
        saved: &dyn Fn() -> Vec<u8>,
        books: &dyn ConnectionEvents,
    ) {
        let (bytes, begins, is_injected) = (&self.bytes[place.clone()], self.begins, self.is_injected);
        books.on_bytes(
            at,
            ObservedBytes { bytes, starts_message: begins, is_whole, is_injected, slack: at.slack },
            saved,
        );
        self.bytes.drain(place);
        self.begins = is_whole;
        self.is_injected &= !self.bytes.is_empty();
    }

    /// Whether the buffer is long enough to contain a token.
    pub fn may_hold_token(&self) -> bool {
        !self.begins || redact::may_hold_token(&self.bytes)
    }

    /// Passes the rest of the buffer to the observer at the end of the connection. If `tells` is
    /// set, the rest may contain a token. Then its payload is overwritten, or all of it if it does
    /// not start at a message, because the payload's offset is then unknown.
    pub fn end(
        &mut self,
        tells: bool,
        at: ReadTime,
        saved: &dyn Fn() -> Vec<u8>,
        books: &dyn ConnectionEvents,
    ) {
        if !self.bytes.is_empty() {
            match (tells, self.begins) {
                (true, true) => redact::redact_incomplete(&mut self.bytes),
                (true, false) => redact::all(&mut self.bytes),
                (false, _) => {}
            }
            self.emit(0..self.bytes.len(), false, at, saved, books);
        }
    }
}
