//! The client's bytes as the observer receives them.
//!
//! The observer receives a message when the message is complete, with the tick at which the
//! connection handles it, so that a replay handles it at the same tick. A control frame between the
//! fragments of a message is passed on before the fragments, because the connection handles it when
//! it arrives.
//!
//! ```text
//!   take(bytes) ─► read(message) ─► pass() to the observer ─► advance()
//!               └► end() ────────────┘
//! ```

use core::ops::Range;
use std::time::Duration;

use super::connection_output::ObservedBytes;
use crate::ws::message::ReceivedMessage;

/// Buffers the client's bytes until the observer receives them.
#[derive(Debug, Default)]
pub struct ObservedStream {
    /// Whether an observer needs the bytes.
    pub is_observed: bool,
    /// Whether received bytes are buffered. Becomes true at the first message that starts after the
    /// observer has subscribed.
    pub is_following: bool,
    /// Bytes that the observer has not received yet.
    bytes: Vec<u8>,
    /// Whether a message starts at the first byte of `bytes`.
    begins: bool,
    /// Whether some of `bytes` were injected by an inspector.
    pub is_injected: bool,
    ready: Option<ReadyRange>,
    /// The state of the connection before the ready bytes. Empty if no message starts at the first
    /// of them.
    saved: Vec<u8>,
}

/// The part of the buffer that the observer receives next.
#[derive(Debug, Clone)]
struct ReadyRange {
    range: Range<usize>,
    /// Whether the range is a complete message or control frame.
    is_whole: bool,
    /// Whether the observer has received the range.
    is_passed: bool,
}

impl ObservedStream {
    /// Buffers received bytes. An observer that subscribes in the middle of a message receives
    /// bytes from the next message on.
    pub fn take(&mut self, bytes: &[u8], is_boundary: bool) {
        if !self.is_observed {
            self.is_following = false;
            self.bytes = Vec::new();
            self.ready = None;
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

    /// Makes the frames of a message or control frame ready: `wire_bytes` bytes, after
    /// `fragment_bytes_before` bytes of an unfinished message that stay in the buffer. `save`
    /// encodes the connection's state.
    pub fn read(
        &mut self,
        ReceivedMessage { wire_bytes, fragment_bytes_before: ahead, .. }: ReceivedMessage<'_>,
        save: impl FnOnce(&mut Vec<u8>),
    ) {
        if self.is_following {
            let start = ahead.min(self.bytes.len());
            let range = start..self.bytes.len().min(start + wire_bytes);
            self.make_ready(range, true, save);
        }
    }

    fn make_ready(&mut self, range: Range<usize>, is_whole: bool, save: impl FnOnce(&mut Vec<u8>)) {
        self.saved.clear();
        if self.begins {
            save(&mut self.saved);
        }
        self.ready = Some(ReadyRange { range, is_whole, is_passed: false });
    }

    /// Whether [`ObservedStream::pass`] has bytes.
    pub fn is_ready(&self) -> bool {
        self.ready.as_ref().is_some_and(|ready| !ready.is_passed)
    }

    /// The bytes that the observer receives next, and the saved state before them.
    pub fn pass(&mut self, slack: Duration) -> Option<(ObservedBytes<'_>, &[u8])> {
        let ReadyRange { range, is_whole, is_passed } = self.ready.as_mut()?;
        *is_passed = true;
        let bytes = ObservedBytes {
            bytes: &self.bytes[range.clone()],
            starts_message: self.begins,
            is_whole: *is_whole,
            is_injected: self.is_injected,
            slack,
        };
        Some((bytes, &self.saved))
    }

    /// Removes the bytes that the observer has received.
    pub fn advance(&mut self) {
        if let Some(ReadyRange { range, is_whole, .. }) = self.ready.take_if(|ready| ready.is_passed) {
            self.bytes.drain(range);
            self.begins = is_whole;
            self.is_injected &= !self.bytes.is_empty();
        }
    }

    /// Makes all buffered bytes ready, because no further message is handled.
    pub fn end(&mut self, save: impl FnOnce(&mut Vec<u8>)) {
        if !self.bytes.is_empty() {
            self.make_ready(0..self.bytes.len(), false, save);
        }
    }
}
