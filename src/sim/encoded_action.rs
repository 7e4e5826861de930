//! The trait of a game's actions, and an encoded action.

use std::fmt::{self, Debug};

use crate::{Malformed, PlayerId, Reader};

/// A change of the world that a player or the operator requests. The commands of a tick are sorted
/// by issuer, then by sequence number, then by action (`Ord`).
pub trait Action: Clone + Debug + PartialEq + Ord + Send + 'static {
    /// Appends the encoded action. The encoding must determine where the action ends.
    fn write(&self, out: &mut Vec<u8>);

    /// Decodes the action at the start of the bytes. The bytes after the action remain unread.
    ///
    /// # Errors
    /// The bytes do not begin with an action.
    fn read(from: &mut Reader<'_>) -> Result<Self, Malformed>;

    /// Encodes the action.
    fn encoded(&self) -> EncodedAction {
        self.encoded_in(&mut Vec::new())
    }

    /// Encodes the action. `buffer` is cleared first; repeated calls can reuse its memory.
    fn encoded_in(&self, buffer: &mut Vec<u8>) -> EncodedAction {
        buffer.clear();
        self.write(buffer);
        EncodedAction::new(buffer)
    }

    /// The player that an operator's action adds, removes, disconnects or reconnects; `None` for
    /// other actions.
    fn membership(&self) -> Option<MembershipChange> {
        None
    }

    /// Whether the server issues this action directly after a player's join.
    fn accompanies_join(&self, player: PlayerId) -> bool {
        let _ = player;
        false
    }
}

/// A change of the players in a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MembershipChange {
    /// A player joins, with a name.
    Joined(PlayerId, String),
    /// A player leaves.
    Left(PlayerId),
    /// A player stays in the world without a connection. The sequence numbers of its next
    /// connection start at 1.
    Disconnected(PlayerId),
    /// A client resumes the suspended seat of a player.
    Reconnected(PlayerId),
}

/// Maximum bytes of an action that [`EncodedAction`] stores without an allocation.
const INLINE_BYTES: usize = 22;

/// The bytes of one action, encoded by [`Action::write`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EncodedAction(ActionBytes);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ActionBytes {
    /// Length and bytes. The unused end of the array is zero, so that equal actions are equal
    /// values.
    Inline(u8, [u8; INLINE_BYTES]),
    Heap(Box<[u8]>),
}

impl EncodedAction {
    /// Creates an encoded action from its bytes.
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

    /// Decodes the action; `None` if the bytes are not exactly one action.
    pub fn decoded<A: Action>(&self) -> Option<A> {
        let mut reader = Reader::new(self.bytes());
        A::read(&mut reader).ok().filter(|_| reader.rest().is_empty())
    }
}

impl Debug for EncodedAction {
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
