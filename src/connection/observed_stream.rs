//! The bytes of a client as its driver observes them, with tokens overwritten.
//!
//! A message is shown when it is complete, because its token may be in any of its fragments. A control
//! frame between them is shown before them, when it came: with its answer, and as it was judged.

use core::ops::Range;

use super::events::{ConnectionEvents, ObservedBytes, ReadTime};
use super::redact;
use crate::ws::message::ReceivedMessage;

/// See the [module](self).
#[derive(Debug, Default)]
pub struct ObservedStream {
    /// Whether the driver has seen all bytes before `bytes`, back to the beginning of a message.
    pub is_following: bool,
    /// What is not shown yet.
    bytes: Vec<u8>,
    /// Whether a message begins with `bytes`.
    begins: bool,
    /// Whether some of `bytes` come from a watcher.
    pub is_injected: bool,
}

impl ObservedStream {
    /// Keeps bytes that came. An observer that comes in the middle of a message waits for the next.
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

    /// Shows the frames of a message or control frame that was read: `wire_bytes` behind `ahead` bytes of an
    /// unfinished message, which wait for its end. `covered` is its payload, if it may not be shown as it is.
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

    /// Shows some of the bytes, with no message unfinished behind them if they are `whole`.
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

    /// Whether what is not shown yet is long enough for a token.
    pub fn may_hold_token(&self) -> bool {
        !self.begins || redact::may_hold_token(&self.bytes)
    }

    /// Shows what is left at the end of the connection. If it `tells` what nobody may learn, its
    /// payload is overwritten, and behind the beginning of a message, which says where its payload is,
    /// everything.
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
