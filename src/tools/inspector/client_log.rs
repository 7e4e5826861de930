//! The stored state of one inspected client: its handshake, its newest frames, and their list.

use std::sync::Arc;
use std::time::Duration;

use super::entry::{EntryKind, Fate, FrameEntry};
use super::lane_tracker::{LaneTracker, ObservedRow, RowPlace};
use super::list::FrameList;
use super::observed_format::Handshake;
use super::ping_pairs::PingPairs;
use super::ring::{RetainedFrame, Ring};
use crate::datagram::DatagramError;
use crate::datagram::header::DatagramHeader;
use crate::limits;
use crate::packet::{Dialect, PacketTables};
use crate::tools::explain::bare_message;
use crate::tools::explain::parse::datagram;
use crate::tools::explain::{Conversation, Explanation, NO_DIALECT};
use crate::ws::Side;
use crate::ws::frame::Header;

/// The stored state of one inspected client.
#[derive(Debug)]
pub struct ClientLog {
    /// The number of the client; 0 for a frame from a link.
    pub client: u64,
    /// The start of the conversation; `None` before the server has sent it.
    pub start: Option<LogStart>,
    /// The frames of the client's unfinished message.
    unfinished: Vec<u8>,
    pub ring: Ring,
    pub list: FrameList,
    pairs: PingPairs,
    lane: LaneTracker,
    /// The time of the last bytes.
    last: Duration,
    /// Whether the inspection of the client has stopped since its newest stored frame.
    is_not_inspected: bool,
    /// Whether the connection of the client has ended.
    pub is_ended: bool,
}

/// The start of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogStart {
    /// A handshake at this time.
    Handshake(Handshake, Duration),
    /// No handshake: only the wire format is known.
    Frames {
        /// The dialect.
        dialect: String,
        /// Whether packets are JSON; `None` if unknown.
        json: Option<bool>,
        /// Whether the limits of a tickwire server apply.
        is_ours: bool,
    },
}

impl ClientLog {
    /// Creates an empty log.
    pub fn new(client: u64) -> ClientLog {
        ClientLog {
            client,
            start: None,
            unfinished: Vec::new(),
            ring: Ring::default(),
            list: FrameList::default(),
            pairs: PingPairs::default(),
            lane: LaneTracker::default(),
            last: Duration::ZERO,
            is_not_inspected: false,
            is_ended: false,
        }
    }

    /// Ends the inspection of the client, for now.
    pub fn stop_inspecting(&mut self) {
        self.is_not_inspected = !self.ring.is_empty();
        self.forget_unfinished();
    }

    /// Drops the unfinished message, because bytes after it are missing.
    pub fn forget_unfinished(&mut self) {
        self.unfinished.clear();
        self.pairs.clear();
        self.lane.clear();
    }

    /// Forgets the datagrams of the lane, because the log lacks some of them.
    pub fn forget_datagrams(&mut self) {
        self.lane.clear();
    }

    /// Stores a datagram, after a row for missing datagrams before it. `n` is the number of the
    /// next row. Returns the explanation and the number of visible entries removed from the list.
    pub fn add_datagram<'c>(
        &mut self,
        n: &mut u64,
        mut retained: RetainedFrame,
        codes: &'c PacketTables,
    ) -> Option<(RetainedFrame, Explanation<'c>, usize)> {
        let explained = explain_datagram(&retained, self.dialect(codes)?);
        let (from, at_us) = (retained.from, retained.at.as_micros() as u64);
        let is_received = retained.datagram.is_some_and(|(_, dropped)| is_received(dropped));
        let header = DatagramHeader::read(retained.bytes()).filter(|_| is_received);
        let place = RowPlace { n: *n, client: self.client as u32, at_us, tick: retained.tick };
        let missing_row =
            header.and_then(|header| self.lane.push_missing(&mut self.list, place, (from, header)));
        retained.n = *n + u64::from(missing_row.is_some());
        *n = retained.n + 1;
        let gone = self.add_frame(retained.clone(), &explained);
        match header {
            Some(header) => {
                let row = ObservedRow { n: retained.n, at_us, from, header };
                self.lane.receive(&mut self.list, row, missing_row);
            }
            None => self.list.change(retained.n, |entry| entry.set_fate(Fate::Dropped)),
        }
        Some((retained, explained, gone))
    }

    /// Prepends the unfinished message to a piece. Returns the bytes, and the offset of the piece
    /// in them.
    pub fn join_unfinished(&mut self, from: Side, bytes: &[u8]) -> (Arc<[u8]>, usize) {
        if from == Side::Server {
            return (Arc::from(bytes), 0);
        }
        let begin = self.unfinished.len();
        self.unfinished.extend_from_slice(bytes);
        let piece = Arc::from(&self.unfinished[..]);
        if !is_unfinished(&self.unfinished) || self.unfinished.len() > limits::INSPECTOR_RING_BYTES {
            self.unfinished.clear();
        }
        (piece, begin)
    }

    /// Adds an entry for the gap before `at`, if the inspection of the client was interrupted.
    /// Returns whether it added one.
    pub fn resume_inspecting(&mut self, n: u64, from: Side, at: Duration) -> bool {
        let is_resumed = std::mem::take(&mut self.is_not_inspected);
        if is_resumed {
            let away_us = at.saturating_sub(self.last).as_micros() as u64;
            self.list.push(
                FrameEntry::new_gap(
                    n,
                    self.client as u32,
                    from,
                    EntryKind::NotInspected(away_us),
                    at.as_micros() as u64,
                ),
                None,
            );
        }
        is_resumed
    }

    /// Stores a frame. Returns the number of visible entries that were removed from the list.
    pub fn add_frame(&mut self, retained: RetainedFrame, explained: &Explanation<'_>) -> usize {
        let at_us = retained.at.as_micros() as u64;
        let entry = FrameEntry::new(retained.n, self.client as u32, explained, &mut self.list.names);
        let pair = self.pairs.match_frame(retained.n, at_us, explained);
        self.list.push(
            FrameEntry {
                at_us,
                tick: retained.tick,
                mark: retained.mark,
                compressed_bytes: retained.compressed_bytes,
                ..entry
            },
            Some(explained),
        );
        if let Some(pair) = pair {
            self.list.pair(retained.n, pair);
        }
        self.last = self.last.max(retained.at);
        let mut gone = 0;
        self.ring.push(retained, |n| gone += self.list.remove(n));
        gone
    }

    /// The frames of the client's unfinished message.
    pub fn unfinished(&self) -> &[u8] {
        &self.unfinished
    }

    /// The dialect of the connection; `None` before the server has sent it.
    pub fn dialect<'c>(&self, codes: &'c PacketTables) -> Option<&'c Dialect> {
        let name = match self.start.as_ref()? {
            LogStart::Handshake(opened, _) => &opened.dialect,
            LogStart::Frames { dialect, .. } => dialect,
        };
        let is_wanted = |dialect: &&Arc<Dialect>| name == NO_DIALECT || dialect.name() == name;
        codes.dialects().find(is_wanted).map(|dialect| &**dialect)
    }

    /// Whether messages are no packets.
    fn is_foreign(&self) -> bool {
        matches!(&self.start, Some(LogStart::Handshake(opened, _)) if opened.dialect == NO_DIALECT)
    }

    /// The conversation before its handshake; `None` before the server has sent the dialect.
    pub fn conversation_before_handshake<'c>(&self, codes: &'c PacketTables) -> Option<Conversation<'c>> {
        let dialect = self.dialect(codes)?;
        // The server has named the dialect. The path does not: each server has its game at `/`.
        Some(if self.is_foreign() {
            Conversation::foreign(dialect)
        } else {
            Conversation::in_dialect(dialect)
        })
    }

    /// The conversation after its handshake.
    pub fn conversation<'c>(&self, codes: &'c PacketTables) -> Option<Conversation<'c>> {
        let mut conversation = self.conversation_before_handshake(codes)?;
        match self.start.as_ref()? {
            LogStart::Handshake(opened, _) => {
                conversation.receive_each(Side::Client, &opened.request, |_| ());
                conversation.receive_each(Side::Server, &opened.response, |_| ());
                conversation.start_after_upgrade(opened.json);
                if !self.is_foreign() {
                    conversation.set_own_server();
                }
            }
            LogStart::Frames { json, is_ours, .. } => {
                if let Some(json) = json {
                    conversation.start_after_upgrade(*json);
                }
                if *is_ours {
                    conversation.set_own_server();
                }
            }
        }
        Some(conversation)
    }

    /// Explains a stored frame, after the earlier frames of its message.
    pub fn explanation<'c>(
        &self,
        n: u64,
        codes: &'c PacketTables,
    ) -> Option<(&RetainedFrame, Explanation<'c>)> {
        let retained = self.ring.get(n)?;
        if retained.datagram.is_some() {
            return Some((retained, explain_datagram(retained, self.dialect(codes)?)));
        }
        let mut conversation = if retained.is_head {
            self.conversation_before_handshake(codes)
        } else {
            self.conversation(codes)
        }?;
        if let (true, Side::Server, Some(LogStart::Handshake(opened, _))) =
            (retained.is_head, retained.from, &self.start)
        {
            conversation.receive_each(Side::Client, &opened.request, |_| ());
        }
        conversation.receive_each(retained.from, &retained.piece[..retained.begin], |_| ());
        Some((retained, explain_retained(retained, &mut conversation)))
    }

    /// Explains the header of a compressed message on the wire. `None` for another message.
    pub fn wire_header<'c>(
        &self,
        retained: &RetainedFrame,
        codes: &'c PacketTables,
    ) -> Option<Explanation<'c>> {
        let conversation = self.conversation(codes).filter(|_| !retained.wire_header.is_empty());
        conversation.map(|mut conversation| conversation.explain(retained.from, &retained.wire_header))
    }
}

/// Explains a frame, or a message without its frames, as the next bytes of the conversation.
pub fn explain_retained<'c>(
    retained: &RetainedFrame,
    conversation: &mut Conversation<'c>,
) -> Explanation<'c> {
    if !retained.is_message {
        return conversation.explain(retained.from, retained.bytes());
    }
    let message = bare_message::as_message(retained.bytes(), Some(retained.from));
    conversation.explain_message(retained.from, message.opcode, retained.bytes())
}

/// Explains a stored datagram.
fn explain_datagram<'c>(retained: &RetainedFrame, dialect: &'c Dialect) -> Explanation<'c> {
    match retained.datagram.and_then(|(_, dropped)| dropped) {
        Some(rule) => datagram::explain_dropped(retained.bytes(), rule, dialect),
        None => datagram::explain(retained.bytes(), retained.from, dialect),
    }
}

/// Whether the lane records a datagram as received. `TooMany` drops a datagram after that.
fn is_received(dropped: Option<DatagramError>) -> bool {
    matches!(dropped, None | Some(DatagramError::TooMany))
}

/// Whether the last message of a client is unfinished.
fn is_unfinished(frames: &[u8]) -> bool {
    let places = frames_of(frames, Side::Client).into_iter();
    let mut headers =
        places.filter_map(|(at, _)| Header::decode_with(&frames[at..], Side::Client, true).ok().flatten());
    headers.rfind(|(header, _)| !header.opcode.is_control()).is_some_and(|(header, _)| !header.fin)
}

/// Splits a piece into frames. Returns the start and end of each. If the last bytes are not a
/// complete frame, they count as the last frame. Frames of compressed messages are valid.
pub fn frames_of(bytes: &[u8], from: Side) -> Vec<(usize, usize)> {
    let (mut frames, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let size = match Header::decode_with(&bytes[at..], from, true) {
            Ok(Some((header, head))) => {
                usize::try_from(header.length).ok().and_then(|size| size.checked_add(head))
            }
            Ok(None) | Err(_) => None,
        };
        let end = size.and_then(|size| at.checked_add(size)).map_or(bytes.len(), |end| end.min(bytes.len()));
        frames.push((at, end));
        at = end;
    }
    frames
}
