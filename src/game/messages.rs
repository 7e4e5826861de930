//! A list of whole messages in one buffer: the messages of one update.
//!
//! The buffer is reused between updates, so in the long run nothing is allocated.

use std::ops::Range;

use super::encode_values::WireValues;
use super::records::RecordList;
use crate::packet::msgpack::write_array_len;
use crate::packet::{Dialect, Direction, Lane};

/// Consecutive messages in one buffer.
#[derive(Debug, Default)]
pub struct Messages {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    misfits: Vec<Misfit>,
    /// Whether the client has been granted a lane.
    has_lane: bool,
    /// Set while the client's lane is in use.
    lane: Option<LaneBaseline>,
    /// The messages that go by datagram.
    datagram: Option<Box<Messages>>,
}

/// A position in a list of messages.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MessagePosition {
    messages: usize,
    misfits: usize,
}

/// The state that a client with a lane has, from which an update by datagram starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneBaseline {
    /// The newest tick whose state the client has acknowledged; `None` before the first.
    pub acked_tick: Option<u32>,
    /// Whether the stream may carry what can wait. If not, a view holds back changes at the edge of
    /// the client's view, so that most updates need no message in the stream.
    pub is_stream_due: bool,
}

impl LaneBaseline {
    /// Whether the client may lack a value that has changed in this tick.
    pub fn lacks(self, changed_tick: u32) -> bool {
        self.acked_tick.is_none_or(|acked| acked < changed_tick)
    }
}

/// A packet of the game that does not fit its table and is therefore not sent.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Misfit {
    /// Name of the packet.
    pub packet: &'static str,
    /// The wrong value, and the rule.
    pub why: String,
}

impl Messages {
    /// Removes all messages and retains the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.misfits.clear();
        (self.has_lane, self.lane) = (false, None);
        self.datagram.iter_mut().for_each(|datagram| datagram.clear());
    }

    /// Sets whether the client has been granted a lane, and the baseline for the part of the update
    /// that goes by datagram. Without a baseline, everything goes in the stream.
    pub fn set_lane(&mut self, has_lane: bool, baseline: Option<LaneBaseline>) {
        (self.has_lane, self.lane) = (has_lane, baseline);
    }

    /// Returns whether the client has been granted a lane, in use or not. Packets of such a client
    /// contain their tick if they can also go by datagram.
    pub fn has_lane(&self) -> bool {
        self.has_lane
    }

    /// Returns the baseline for the part of the update that goes by datagram. If there is one, a
    /// view may write its newest state with [`Messages::datagram_writer`] instead of
    /// [`Messages::writer`]: everything that the client may lack, in packets that need no earlier
    /// one, because any datagram may be lost.
    pub fn lane(&self) -> Option<LaneBaseline> {
        self.lane
    }

    /// Returns a writer for packets that go by datagram.
    pub fn datagram_writer<'a>(&'a mut self, dialect: &'a Dialect) -> MessageWriter<'a> {
        self.datagram.get_or_insert_default().writer(dialect, Lane::Latest)
    }

    /// Iterates over the messages that go by datagram.
    pub fn datagram(&self) -> impl Iterator<Item = &[u8]> {
        self.datagram.iter().flat_map(|datagram| datagram.iter())
    }

    /// Removes and returns the packets that did not fit their tables.
    pub fn take_misfits(&mut self) -> Vec<Misfit> {
        std::mem::take(&mut self.misfits)
    }

    /// Returns a writer for packets of one lane.
    pub fn writer<'a>(&'a mut self, dialect: &'a Dialect, lane: Lane) -> MessageWriter<'a> {
        MessageWriter { messages: self, dialect, lane }
    }

    /// Returns whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the position after the last message.
    pub(super) fn position(&self) -> MessagePosition {
        MessagePosition { messages: self.ends.len(), misfits: self.misfits.len() }
    }

    /// Appends messages of another list, with the packets that did not fit their tables.
    pub(super) fn append(&mut self, other: &Messages, Range { start, end }: Range<MessagePosition>) {
        let offset = |position: usize| position.checked_sub(1).map_or(0, |last| other.ends[last]);
        let (from, to) = (offset(start.messages), self.bytes.len());
        self.bytes.extend_from_slice(&other.bytes[from..offset(end.messages)]);
        self.ends.extend(other.ends[start.messages..end.messages].iter().map(|end| end - from + to));
        self.misfits.extend_from_slice(&other.misfits[start.misfits..end.misfits]);
    }

    /// Iterates over the messages in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// Appends packets of one lane. A packet without a row in the dialect is dropped.
#[derive(Debug)]
pub struct MessageWriter<'a> {
    messages: &'a mut Messages,
    dialect: &'a Dialect,
    lane: Lane,
}

impl MessageWriter<'_> {
    /// Appends a packet with these arguments.
    pub fn send<V: WireValues>(&mut self, name: &str, arguments: V) {
        self.send_raw(name, V::COUNT, |out| arguments.write(out));
    }

    /// Appends a packet with this list as its only argument, and clears the list. An empty list is
    /// not sent.
    pub fn send_list(&mut self, name: &str, records: &mut RecordList) {
        if !records.is_empty() {
            self.send(name, &*records);
            records.clear();
        }
    }

    /// Appends a packet if its encoded arguments differ from `last`, and stores the arguments in
    /// `last`. Returns whether the arguments differ.
    pub fn send_if_changed<V: WireValues>(&mut self, name: &str, last: &mut Vec<u8>, arguments: V) -> bool {
        let start = self.bytes();
        arguments.write(&mut self.messages.bytes);
        let is_new = self.messages.bytes[start..] != **last;
        if is_new {
            last.clear();
            last.extend_from_slice(&self.messages.bytes[start..]);
        }
        self.messages.bytes.truncate(start);
        if is_new {
            self.send_raw(name, V::COUNT, |out| out.extend_from_slice(last));
        }
        is_new
    }

    /// Appends a packet: its prefix, the number of arguments, then the output of `write`.
    pub fn send_raw(&mut self, name: &str, arguments: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let Some((envelope, lane)) = self.dialect.prefix(Direction::ToClient, name) else { return };
        self.check_lane(name, lane);
        let Messages { bytes, ends, .. } = &mut *self.messages;
        bytes.extend_from_slice(envelope);
        write_array_len(bytes, arguments);
        write(bytes);
        ends.push(bytes.len());
    }

    /// Appends a packet that `write` encodes completely, if the dialect has it. `write` returns
    /// whether it has written the packet.
    pub fn send_encoded(&mut self, name: &str, write: impl FnOnce(&Dialect, &mut Vec<u8>) -> bool) {
        let Some(row) = self.dialect.row(Direction::ToClient, name) else { return };
        self.check_lane(name, row.lane);
        if write(self.dialect, &mut self.messages.bytes) {
            self.messages.ends.push(self.messages.bytes.len());
        }
    }

    /// Appends an `error` packet in place of a packet that does not fit its table.
    pub fn misfit(&mut self, packet: &'static str, why: &str) {
        self.send("error", ("misfit", why));
        self.messages.misfits.push(Misfit { packet, why: why.to_owned() });
    }

    /// Total size of all messages in bytes.
    pub fn bytes(&self) -> usize {
        self.messages.bytes.len()
    }

    /// Checks that a packet is sent in the lane of its row, because the guarantees of a lane hold
    /// only then. The server does not start with tables that have other lanes.
    fn check_lane(&self, name: &str, lane: Lane) {
        debug_assert_eq!(lane, self.lane, "{name} is sent in another lane than its row has: change the row");
    }
}
