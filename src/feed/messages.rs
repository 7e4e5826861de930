//! A list of whole messages in one buffer: one client's messages of a turn.
//!
//! The buffer keeps its memory between turns, so the steady state allocates nothing.

use crate::packet::msgpack::write_array_len;
use crate::packet::{Dialect, Direction, ServerPacket};

/// See the [module](self).
#[derive(Debug, Default)]
pub struct Messages {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Messages {
    /// Forgets all messages and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Appends one message, written by `write` straight into the buffer. An empty message is not
    /// added.
    pub fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        if self.bytes.len() > self.ends.last().copied().unwrap_or(0) {
            self.ends.push(self.bytes.len());
        }
    }

    /// Appends a packet that is assembled by hand: its envelope, the number of arguments, then the
    /// output of `write`. Appends nothing if the dialect does not have the packet.
    pub fn add_named(
        &mut self,
        dialect: &Dialect,
        name: &str,
        arguments: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        if let Some(envelope) = dialect.prefix(Direction::ToClient, name) {
            self.add(|out| {
                out.extend_from_slice(envelope);
                write_array_len(out, arguments);
                write(out);
            });
        }
    }

    /// Appends a typed packet, or nothing if the dialect does not have it.
    pub fn add_packet(&mut self, packet: &ServerPacket<'_>, dialect: &Dialect) {
        self.add(|out| {
            packet.encode_into(dialect, out);
        });
    }

    /// The total size of all messages in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The messages in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_out_as_they_went_in() {
        let mut messages = Messages::default();
        messages.add(|out| out.extend(b"one"));
        messages.add(|_| {});
        messages.add(|out| out.extend(b"two!"));
        assert_eq!(messages.iter().collect::<Vec<_>>(), [&b"one"[..], b"two!"]);
        messages.clear();
        assert!(messages.is_empty());
    }
}
