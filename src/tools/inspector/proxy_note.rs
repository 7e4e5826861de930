//! The comment of a packet in a capture, in which a proxy records its intervention.
//!
//! ```text
//!   changed by the proxy; received: 8185…        the received message, uncompressed
//!   inflated by the proxy: compressed, the frame has 46 bytes
//! ```

use super::frame_mark::FrameMark;
use crate::tools::explain::{Conversation, Explanation, hex};

/// Prefix of the comments of a game server.
const RECORDER: &str = "tick=";
/// Prefix of the received message, before its frames in hexadecimal.
const RECEIVED: &str = "received: ";
/// Prefix and suffix of the size of a compressed frame.
const INFLATED: [&str; 2] = ["inflated by the proxy: compressed, the frame has ", " bytes"];
/// Maximum bytes of a received message. A longer one is cut off.
const MAX_BYTES: usize = 16 * 1024;

/// The intervention of a proxy in a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProxyNote {
    /// The intervention.
    pub mark: Option<FrameMark>,
    /// Bytes of the compressed message on the wire, if the capture has it inflated.
    pub compressed_bytes: Option<u32>,
    /// The received message in uncompressed frames, if other bytes were sent instead.
    pub received: Vec<u8>,
}

impl ProxyNote {
    /// Parses a comment. `None` if it is not the comment of a proxy.
    pub fn parse(comment: &str) -> Option<ProxyNote> {
        // A capture of a game server may have a million packets with comments.
        if comment.starts_with(RECORDER) {
            return None;
        }
        let mut note = ProxyNote::default();
        for part in comment.split("; ") {
            if let Some(digits) = part.strip_prefix(RECEIVED) {
                let end = digits.find(|ch: char| !ch.is_ascii_hexdigit()).unwrap_or(digits.len());
                note.received = hex::parse(&digits[..end]).unwrap_or_default();
            } else if let Some(rest) = part.strip_prefix(INFLATED[0]) {
                note.compressed_bytes = rest.strip_suffix(INFLATED[1]).and_then(|bytes| bytes.parse().ok());
            } else {
                note.mark = note.mark.or_else(|| FrameMark::from_comment(part));
            }
        }
        (note.mark.is_some() || note.compressed_bytes.is_some()).then_some(note)
    }

    /// The comment; empty for a message that was forwarded as it arrived.
    pub fn comment(&self) -> String {
        let inflated = self.compressed_bytes.map(|bytes| format!("{}{bytes}{}", INFLATED[0], INFLATED[1]));
        let received = &self.received[..self.received.len().min(MAX_BYTES)];
        let received = (!received.is_empty()).then(|| format!("{RECEIVED}{}", hex::digits(received)));
        let parts = self.mark.map(FrameMark::comment).into_iter().chain(received).chain(inflated);
        parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// The intervention, and the size of the compressed message, for a row.
    pub fn mark_and_size(&self) -> (Option<FrameMark>, Option<u32>) {
        (self.mark, self.compressed_bytes)
    }

    /// Explains the received message as a message of the side that sent `sent`.
    pub fn explain_received<'c>(&self, sent: &Explanation<'c>) -> Option<Explanation<'c>> {
        if self.received.is_empty() {
            return None;
        }
        let mut conversation = if sent.is_foreign {
            Conversation::foreign(sent.dialect)
        } else {
            Conversation::in_dialect(sent.dialect)
        };
        Some(conversation.explain(sent.from, &self.received))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_reads_back_and_other_comments_are_no_notes() {
        let received = vec![0x81, 0x01, 0x61];
        let changed = "changed by the proxy; received: 810161";
        for (mark, compressed_bytes, received, comment) in [
            (Some(FrameMark::Injected), None, vec![], "injected by the proxy"),
            (Some(FrameMark::Repeated(3)), None, vec![], "repeated by the proxy: 3 more"),
            (Some(FrameMark::Delayed(200)), None, vec![], "delayed by the proxy: 200 ms"),
            (Some(FrameMark::Substitute), None, received, changed),
            (None, Some(9), vec![], "inflated by the proxy: compressed, the frame has 9 bytes"),
        ] {
            let note = ProxyNote { mark, compressed_bytes, received };
            assert_eq!(note.comment(), comment);
            assert_eq!(ProxyNote::parse(comment), Some(note));
        }
        let with_loss = ProxyNote::parse(&format!("{changed} lost=7 bytes before")).expect("a note");
        assert_eq!(with_loss, ProxyNote::parse(changed).expect("a note"));
        for comment in ["", "tick=3 player=2 Ann", "received: 8100", "delayed by the proxy: \x1b[1m ms"] {
            assert_eq!(ProxyNote::parse(comment), None, "{comment:?}");
        }
    }
}
