//! Encodes an explanation to its bytes, from its leaves alone.
//!
//! A header field is written as a number in the bits of the field, and a value of the packet in its
//! recorded encoding. The payload is masked with the key from the key's leaf. The original bytes
//! are not used, so equal output proves that the explanation covers every byte.

use super::explanation::{Explanation, PAYLOAD_FIELD};
use super::parse::frame_header::field;
use super::parse::payload::UTF_8;
use super::parse::{encoding, json_text};
use super::tree::{BYTE, Node};
use crate::packet::Value;
use crate::ws::frame::{self, MASK_KEY_BYTES};

/// Encodes the leaves to bytes; `None` if a leaf lacks its value.
pub fn encode(explanation: &Explanation<'_>) -> Option<Vec<u8>> {
    let mut out = Bits::default();
    explanation.frames.iter().try_for_each(|frame| out.frame(&frame.tree))?;
    (out.free == 0).then_some(out.bytes)
}

/// A byte buffer with bits appended at its end.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    /// Unused bits of the last byte.
    free: usize,
}

impl Bits {
    fn frame(&mut self, frame: &Node) -> Option<()> {
        let key = frame.children.iter().find(|child| child.name == field::KEY);
        let key: Option<[u8; MASK_KEY_BYTES]> = key.and_then(key_of);
        for part in &frame.children {
            let begin = self.bytes.len();
            part.leaves().into_iter().try_for_each(|leaf| self.leaf(leaf))?;
            if let (PAYLOAD_FIELD, Some(key)) = (part.name.as_str(), key) {
                frame::mask(&mut self.bytes[begin..], key, 0);
            }
        }
        Some(())
    }

    fn leaf(&mut self, leaf: &Node) -> Option<()> {
        if leaf.bits.is_empty() {
            return Some(());
        }
        let raw = leaf.raw.as_ref()?;
        if leaf.encoding.is_empty() || leaf.encoding == UTF_8 {
            return match (raw, encoding::content(raw)) {
                (_, Some(content)) => self.whole(content),
                (Value::Boolean(bit), _) => self.number(u64::from(*bit), leaf.bits.len()),
                (number, _) => self.number(number.as_u64()?, leaf.bits.len()),
            };
        }
        let mut bytes = Vec::new();
        json_text::write(&mut bytes, &leaf.encoding, raw)
            .or_else(|| encoding::write(&mut bytes, &leaf.encoding, raw))?;
        self.whole(&bytes)
    }

    /// Appends the lowest `count` bits of a number, most significant bit first.
    fn number(&mut self, number: u64, count: usize) -> Option<()> {
        for place in (0..count).rev() {
            if self.free == 0 {
                self.bytes.push(0);
                self.free = BYTE;
            }
            self.free -= 1;
            let bit = number.checked_shr(place as u32).unwrap_or(0) & 1;
            *self.bytes.last_mut()? |= (bit as u8) << self.free;
        }
        Some(())
    }

    /// Appends bytes; `None` if the last byte is not full.
    fn whole(&mut self, bytes: &[u8]) -> Option<()> {
        self.bytes.extend_from_slice(bytes);
        (self.free == 0).then_some(())
    }
}

fn key_of(leaf: &Node) -> Option<[u8; MASK_KEY_BYTES]> {
    encoding::content(leaf.raw.as_ref()?)?.try_into().ok()
}
