//! A list of whole messages in one buffer: one client's messages of a turn.
//!
//! The buffer keeps its memory between turns, so the steady state allocates nothing.

use super::records::Section;
use crate::packet::msgpack::write_array_len;
use crate::packet::{Dialect, Lane, ServerPacket};

/// Messages in one buffer, one after the other.
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

    /// A writer of messages of one lane in this dialect.
    pub fn writer<'a>(&'a mut self, dialect: &'a Dialect, lane: Lane) -> Writer<'a> {
        Writer { messages: self, dialect, lane }
    }

    /// Ends a message, unless it is empty.
    fn end(&mut self) {
        if self.bytes.len() > self.ends.last().copied().unwrap_or(0) {
            self.ends.push(self.bytes.len());
        }
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

/// Appends messages of one lane. A packet that the dialect does not have is left out.
#[derive(Debug)]
pub struct Writer<'a> {
    messages: &'a mut Messages,
    dialect: &'a Dialect,
    lane: Lane,
}

impl Writer<'_> {
    /// Appends a packet that is assembled by hand: its envelope, the number of arguments, then the
    /// output of `write`.
    pub fn add(&mut self, name: &str, arguments: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let Some((envelope, lane)) = self.dialect.opening(name) else { return };
        self.check_lane(name, lane);
        let out = &mut self.messages.bytes;
        out.extend_from_slice(envelope);
        write_array_len(out, arguments);
        write(out);
        self.messages.end();
    }

    /// Appends a packet whose only argument is this list, unless it is empty, and empties the list.
    pub fn list(&mut self, name: &str, records: &mut Section, stride: usize) {
        if records.count > 0 {
            self.add(name, 1, |out| records.append_to(out, stride));
            records.clear();
        }
    }

    /// Appends a typed packet.
    pub fn packet(&mut self, packet: &ServerPacket<'_>) {
        let Some(row) = packet.row(self.dialect) else { return };
        self.check_lane(&row.name, row.lane);
        packet.encode_into(self.dialect, &mut self.messages.bytes);
        self.messages.end();
    }

    /// The total size of all messages so far, in bytes.
    pub fn bytes(&self) -> usize {
        self.messages.bytes.len()
    }

    /// What the table promises of a row holds only if the row is made in its lane. Tables with other
    /// lanes are refused when the server starts.
    fn check_lane(&self, name: &str, lane: Lane) {
        debug_assert_eq!(lane, self.lane, "{name} is sent in the wrong lane");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Codes;

    #[test]
    fn messages_come_out_as_they_went_in() {
        let (dialect, mut messages) = (Codes::builtin().dialect("native"), Messages::default());
        let dialect = dialect.expect("built in");
        let mut out = messages.writer(&dialect, Lane::Reliable);
        out.add("died", 2, |out| out.extend(b"\xc0\xc0"));
        out.list("strikes", &mut Section::default(), 1);
        out.add("of another dialect", 0, |_| {});
        out.packet(&ServerPacket::Pong { nonce: 7, tick: 8 });
        let expected = [&b"\x92\x0e\x92\xc0\xc0"[..], b"\x92\x07\x92\x07\x08"];
        assert_eq!(messages.iter().collect::<Vec<_>>(), expected);
        messages.clear();
        assert!(messages.is_empty());
    }
}
