//! An action as bytes. Short ones, which are most, take no memory of their own.

use std::fmt;

use crate::{Action, Reader};

/// Bytes that fit in place.
const INLINE_BYTES: usize = 22;

/// The bytes of one action, as [`Action::write`](crate::Action::write) makes them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EncodedAction(ActionBytes);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ActionBytes {
    /// The rest of the array is zero, so that equal actions are equal values.
    Inline(u8, [u8; INLINE_BYTES]),
    Heap(Box<[u8]>),
}

impl EncodedAction {
    /// An action of these bytes.
    pub fn new(bytes: &[u8]) -> EncodedAction {
        if bytes.len() <= INLINE_BYTES {
            let mut short = [0; INLINE_BYTES];
            short[..bytes.len()].copy_from_slice(bytes);
            EncodedAction(ActionBytes::Inline(bytes.len() as u8, short))
        } else {
            EncodedAction(ActionBytes::Heap(bytes.into()))
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            ActionBytes::Inline(count, bytes) => &bytes[..usize::from(*count)],
            ActionBytes::Heap(bytes) => bytes,
        }
    }

    /// The action; `None` if the bytes are not exactly one.
    pub fn decoded<A: Action>(&self) -> Option<A> {
        let mut reader = Reader::new(self.bytes());
        A::read(&mut reader).ok().filter(|_| reader.rest().is_empty())
    }
}

impl fmt::Debug for EncodedAction {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Encoded({:02x?})", self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_and_short_ones_need_no_memory() {
        for count in 0..=2 * INLINE_BYTES {
            let bytes: Vec<u8> = (1..=count as u8).collect();
            let encoded = EncodedAction::new(&bytes);
            assert_eq!(encoded.bytes(), bytes);
            assert_eq!(matches!(encoded.0, ActionBytes::Inline(..)), count <= INLINE_BYTES, "{count}");
        }
        assert_eq!(size_of::<EncodedAction>(), 24);
    }
}
