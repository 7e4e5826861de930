//! The payload of a received message.

use super::fault::{OutgoingMessage, first_header};
use crate::ws::Side;
use crate::ws::frame::{self, Header, MAX_HEADER_BYTES, Opcode, RSV};

/// The mask of RSV1: the message is compressed (RFC 7692, section 6).
const RSV1: u8 = 0b0100_0000;

/// A received message, unmasked, with its fragments joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageContent {
    /// The opcode of the first frame.
    pub opcode: Opcode,
    /// The masking key of the first frame.
    pub key: Option<[u8; 4]>,
    /// The payload; compressed if `is_compressed`.
    pub payload: Vec<u8>,
    /// Whether RSV1 is set in the first frame.
    pub is_compressed: bool,
}

impl MessageContent {
    /// Reads a whole message or control frame. Returns `None` if a header cannot be decoded.
    pub fn read(mut bytes: &[u8], from: Side) -> Option<MessageContent> {
        let first = first_header(bytes, from)?;
        let is_compressed = bytes[0] & RSV1 != 0;
        let mut payload = Vec::with_capacity(bytes.len());
        while !bytes.is_empty() {
            let (header, size) = read_header(bytes, from)?;
            let end = size.checked_add(usize::try_from(header.length).ok()?)?;
            let start = payload.len();
            payload.extend_from_slice(bytes.get(size..end)?);
            if let Some(key) = header.mask {
                frame::mask(&mut payload[start..], key, 0);
            }
            bytes = &bytes[end..];
        }
        Some(MessageContent { opcode: first.opcode, key: first.mask, payload, is_compressed })
    }

    /// The message with another payload, to send for `from`.
    pub fn with<'a>(&self, payload: &'a [u8], from: Side) -> OutgoingMessage<'a> {
        OutgoingMessage { from, opcode: self.opcode, key: self.key, payload }
    }
}

fn read_header(bytes: &[u8], from: Side) -> Option<(Header, usize)> {
    let mut head = bytes[..bytes.len().min(MAX_HEADER_BYTES)].to_vec();
    *head.first_mut()? &= !RSV;
    Header::decode(&head, from).ok().flatten()
}

/// Replaces each occurrence of `old`. Returns `None` if there is none.
pub fn replace_all(payload: &[u8], old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let (mut out, mut rest, mut is_changed) = (Vec::with_capacity(payload.len()), payload, false);
    while let Some(at) = rest.windows(old.len().max(1)).position(|window| window == old) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(new);
        rest = &rest[at + old.len()..];
        is_changed = true;
    }
    out.extend_from_slice(rest);
    is_changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_unmasked_and_joined() {
        let mut bytes = Vec::new();
        for (fin, opcode, part) in [(false, Opcode::Text, "Hel"), (true, Opcode::Continuation, "lo")] {
            let key = [7, 1, 9, 4];
            Header { fin, compressed: false, opcode, mask: Some(key), length: part.len() as u64 }
                .encode(&mut bytes);
            let mut masked = part.as_bytes().to_vec();
            frame::mask(&mut masked, key, 0);
            bytes.extend(masked);
        }
        let content = MessageContent::read(&bytes, Side::Client).expect("a message");
        assert_eq!((content.opcode, &content.payload[..]), (Opcode::Text, &b"Hello"[..]));
        let sent = content.with(b"Bye", Side::Client).encode();
        assert_eq!(MessageContent::read(&sent, Side::Client).expect("a message").payload, b"Bye");
        assert_eq!(MessageContent::read(&bytes[..4], Side::Client), None, "it is incomplete");
    }

    #[test]
    fn each_occurrence_is_replaced() {
        assert_eq!(replace_all(b"a-b-a", b"a", b"xyz").as_deref(), Some(&b"xyz-b-xyz"[..]));
        assert_eq!(replace_all(b"aaa", b"aa", b"").as_deref(), Some(&b"a"[..]));
        assert_eq!(replace_all(b"abc", b"d", b"e"), None);
        assert_eq!(replace_all(b"", b"d", b"e"), None);
    }
}
