//! Messages that passed an intercepting proxy: one row for what arrived, and one for what was sent
//! instead.

use std::sync::Arc;

use serde_json::{Value as Json, json};

use super::observed_format::InterceptedBytes;
use super::ring::RetainedFrame;
use super::{Inspector, client_log};
use crate::tools::explain::Conversation;
use crate::ws::Side;

/// What an inspector or a proxy did with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameMark {
    /// It was sent although its sender did not send it.
    Injected,
    /// It was forwarded after this many milliseconds.
    Delayed(u32),
    /// It was not forwarded.
    Dropped,
    /// It was not forwarded; the next row was sent instead.
    Changed,
    /// It was sent instead of the row before.
    Substitute,
    /// It was forwarded, followed by this many copies.
    Repeated(u32),
}

impl FrameMark {
    /// The mark of an outcome; `None` for a message that was forwarded.
    fn new(outcome: &str, detail: u64) -> Option<FrameMark> {
        let detail = u32::try_from(detail).unwrap_or(u32::MAX);
        match outcome {
            "injected" => Some(FrameMark::Injected),
            "delayed" => Some(FrameMark::Delayed(detail)),
            "dropped" => Some(FrameMark::Dropped),
            "changed" => Some(FrameMark::Changed),
            "repeated" => Some(FrameMark::Repeated(detail)),
            _ => None,
        }
    }

    /// Whether the receiver got the frame.
    pub fn has_passed(self) -> bool {
        !matches!(self, FrameMark::Dropped | FrameMark::Changed)
    }

    /// Adds a mark and the compressed size to the JSON of a row.
    pub fn add_to(row: &mut Json, mark: Option<FrameMark>, compressed_bytes: Option<u32>) {
        if let Some(bytes) = compressed_bytes {
            row["compressed"] = bytes.into();
        }
        row["mark"] = match mark {
            None => return,
            Some(FrameMark::Injected) => {
                row["injected"] = true.into();
                return;
            }
            Some(FrameMark::Delayed(ms)) => json!({ "name": "delayed", "ms": ms }),
            Some(FrameMark::Dropped) => json!({ "name": "dropped" }),
            Some(FrameMark::Changed) => json!({ "name": "changed" }),
            Some(FrameMark::Substitute) => json!({ "name": "substitute" }),
            Some(FrameMark::Repeated(copies)) => json!({ "name": "repeated", "copies": copies }),
        };
    }
}

impl Inspector {
    /// Explains and stores a message that passed a proxy, and adds its entries. Returns the number
    /// of visible entries removed from the list.
    pub(super) fn add_intercepted(
        &mut self,
        message: &InterceptedBytes<'_>,
        frame_of: impl Fn(Side, Arc<[u8]>, usize, usize) -> RetainedFrame,
        conversation: Option<&Conversation<'_>>,
        entries: &mut Vec<Json>,
    ) -> usize {
        let mark = FrameMark::new(message.outcome, message.detail);
        let sent_mark = if message.received.is_empty() { mark } else { Some(FrameMark::Substitute) };
        let is_inflated = message.wire_bytes != message.received.len();
        let compressed_bytes = is_inflated.then(|| u32::try_from(message.wire_bytes).unwrap_or(u32::MAX));
        let rows = [(&message.received, mark, compressed_bytes), (&message.sent, sent_mark, None)];
        let mut gone = 0;
        for (bytes, mark, compressed_bytes) in rows {
            let piece: Arc<[u8]> = Arc::from(&bytes[..]);
            let frames = client_log::frames_of(&piece, message.from).into_iter().map(|(begin, end)| {
                let frame = frame_of(message.from, Arc::clone(&piece), begin, end);
                RetainedFrame { mark, compressed_bytes, ..frame }
            });
            // A substitute may break a rule, which must not affect later messages.
            let mut after = conversation.cloned();
            gone += self.add_frames(frames, after.as_mut(), entries);
        }
        gone
    }
}
