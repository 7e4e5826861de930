//! A capture file in the inspector, with the same frames and problems as `tickwire explain FILE`.
//!
//! ```text
//!  bytes ─► packets ─► connections ─► pieces in packet order ─┬─► entries of the list
//!                                     a few at a time, brief  │
//!                                                             └─► checkpoints ─► one frame
//! ```
//!
//! The bytes of the file stay in memory. For each frame, only its `FrameEntry` is stored. The page
//! explains a frame again to show it, starting at the last checkpoint before the frame.

use serde_json::{Value as Json, json};

use super::entry::{EntryKind, FrameEntry};
use super::lane_tracker::{LaneTracker, ObservedRow, RowPlace};
use super::list::{FrameList, ListRequest};
use super::ping_pairs::PingPairs;
use super::proxy_note::ProxyNote;
use super::share_link::{self, LinkKind, ShareLink};
use super::{frame_json, packet_diff};
use crate::datagram::header::DatagramHeader;
use crate::limits;
use crate::packet::PacketTables;
use crate::tools::capture::{Capture, TcpConnection};
use crate::tools::explain::capture_walk::{
    self, CaptureItemKind, CapturedDatagram, ConnectionReader, Survey,
};
use crate::tools::explain::parse::datagram;
use crate::tools::explain::{Content, Conversation, ExplainedFrame, Explanation};
use crate::ws::frame::Opcode;

/// Bit of an index that refers to a datagram instead of a piece.
pub(super) const DATAGRAM_FLAG: u32 = 1 << 31;

/// A capture file in the inspector.
#[derive(Debug)]
pub struct CaptureFile {
    codes: &'static PacketTables,
    /// The connections with data, by number. Connections without data are only counted, because
    /// there may be very many.
    connections: Vec<FileConnection>,
    connection_count: usize,
    /// All pieces and datagrams in packet order: the packet after which each is readable, the index
    /// of its connection, and its index there, with [`DATAGRAM_FLAG`] for datagrams.
    order: Vec<(u32, u32, u32)>,
    /// The number of pieces and datagrams read.
    read: usize,
    packets: usize,
    begin_ns: u64,
    list: FrameList,
    /// Notes about the file as a whole.
    notes: Vec<String>,
    /// The interventions of a proxy, in the order of their packets.
    proxy_notes: Vec<(u32, ProxyNote)>,
    is_full: bool,
}

/// A connection of the file, with data.
#[derive(Debug)]
pub(super) struct FileConnection {
    /// The connection's number among all connections of the file, from 1.
    number: usize,
    pub(super) tcp: TcpConnection<'static>,
    name: Option<String>,
    /// Collects evidence for the dialect, before the first piece is read.
    survey: Option<Box<Survey<'static>>>,
    reading: Option<Box<ConnectionReader<'static>>>,
    pairs: PingPairs,
    checkpoints: Vec<Checkpoint>,
    /// The state after the last explained piece, from which the next explanation may continue.
    cursor: Option<Box<Checkpoint>>,
    since_checkpoint: (usize, usize),
    /// The datagrams of the connection's lane.
    pub(super) datagrams: Vec<CapturedDatagram<'static>>,
    /// Determines their outcomes.
    lane: Box<LaneTracker>,
}

/// The state of a conversation before one of its pieces.
#[derive(Debug, Clone)]
struct Checkpoint {
    piece: usize,
    conversation: Conversation<'static>,
}

impl CaptureFile {
    /// Creates a file whose pieces have not been read yet. The arguments are the connections with
    /// data, the number of all connections, the pieces in order, the number of packets, the time of
    /// the first packet, and the notes on the file and of a proxy.
    pub(super) fn new(
        codes: &'static PacketTables,
        (conversations, connections): (Vec<FileConnection>, usize),
        order: Vec<(u32, u32, u32)>,
        (packets, begin_ns): (usize, u64),
        (notes, proxy_notes): (Vec<String>, Vec<(u32, ProxyNote)>),
    ) -> CaptureFile {
        let (list, read, is_full) = (FrameList::default(), 0, false);
        CaptureFile {
            codes,
            connections: conversations,
            connection_count: connections,
            order,
            read,
            packets,
            begin_ns,
            list,
            notes,
            proxy_notes,
            is_full,
        }
    }

    /// Processes about `bytes` bytes: unread pieces first, then frames that the filter must test.
    /// Returns whether work remains.
    pub fn advance(&mut self, bytes: usize) -> bool {
        let mut left = bytes as i64;
        while left > 0 && self.read < self.order.len() && !self.is_full {
            left -= self.read_piece();
        }
        while left > 0 {
            let Some(n) = self.list.next_to_explain() else { break };
            left -= self.filter_piece(n);
        }
        (self.read < self.order.len() && !self.is_full) || self.list.next_to_explain().is_some()
    }

    /// Reads the next piece, or does one step of the survey before it. Returns the cost in bytes.
    fn read_piece(&mut self) -> i64 {
        let (readable, index, at) = self.order[self.read];
        let (list, begin_ns) = (&mut self.list, self.begin_ns);
        let note = proxy_note(&self.proxy_notes, readable);
        let connection = &mut self.connections[index as usize];
        let FileConnection { number, tcp, reading, pairs, checkpoints, since_checkpoint: since, .. } =
            connection;
        let Some(reading) = reading else { return connection.prepare(self.codes) };
        self.read += 1;
        if at & DATAGRAM_FLAG != 0 {
            let cost = connection.read_datagram(list, at, begin_ns);
            self.stop_if_full();
            return cost;
        }
        let piece = tcp.pieces[at as usize];
        if checkpoints.is_empty() || is_due(*since, reading.conversation()) {
            let conversation = reading.conversation().clone();
            checkpoints.push(Checkpoint { piece: at as usize, conversation });
            *since = (0, 0);
        }
        let (mut sub, mut cost, client) = (0, piece.bytes.len() as i64 + 8, *number as u32);
        since.1 += piece.bytes.len();
        reading.receive(readable as usize, &piece, &mut |found| {
            let n = list.entries().back().map_or(1, |entry| entry.n + 1);
            let at_us = found.at_ns.saturating_sub(begin_ns) / 1000;
            match found.what {
                CaptureItemKind::Begin { .. } => {}
                CaptureItemKind::Gap(from, bytes) => {
                    pairs.clear();
                    let gap = FrameEntry::new_gap(n, client, from, EntryKind::Gap(bytes), at_us);
                    list.push(FrameEntry { tick: readable, ..gap }, None);
                }
                CaptureItemKind::Item(item) => {
                    let entry = FrameEntry::new(n, client, &item, &mut list.names);
                    let pair = pairs.match_frame(n, at_us, &item);
                    let (mark, compressed_bytes) = note.map_or((None, None), ProxyNote::mark_and_size);
                    let entry = FrameEntry { mark, compressed_bytes, ..entry };
                    list.push(FrameEntry { at_us, tick: readable, capture_index: (at, sub), ..entry }, None);
                    pair.into_iter().for_each(|pair| list.pair(n, pair));
                    (sub, cost, since.0) = (sub + 1, cost + 64, since.0 + 1);
                }
            }
        });
        self.stop_if_full();
        cost
    }

    /// Stops reading if the list is full.
    fn stop_if_full(&mut self) {
        if self.list.entries().len() >= limits::INSPECTOR_FILE_FRAMES {
            self.is_full = true;
            let (max_frames, percent) = (limits::INSPECTOR_FILE_FRAMES, 100 * self.read / self.order.len());
            self.notes.push(format!("only the first {max_frames} frames are shown, {percent} % of the file"));
        }
    }

    /// Tests the entries of the piece that completed entry `n` against the filter. Returns the cost
    /// in bytes.
    fn filter_piece(&mut self, n: u64) -> i64 {
        let Some((client, place)) = self.list.get(n).map(|entry| (entry.client, entry.capture_index)) else {
            return 1;
        };
        let mut items = Vec::new();
        let cost = self.explain_piece(client, place.0, |sub, item| items.push((sub, item)));
        while let Some(next) = self.list.next_to_explain() {
            let candidate = self
                .list
                .get(next)
                .filter(|entry| (entry.client, entry.capture_index.0) == (client, place.0));
            let Some(sub) = candidate.map(|entry| entry.capture_index.1) else { break };
            let item = items.iter().find(|(known, _)| *known == sub).map(|(_, item)| item);
            self.list.judge_next(item);
        }
        cost
    }

    /// The index of the connection with this number.
    fn index(&self, client: u32) -> Option<usize> {
        self.connections.binary_search_by_key(&(client as usize), |connection| connection.number).ok()
    }

    /// Explains the items of a piece, from the nearest stored state before it. Returns the cost in
    /// bytes.
    fn explain_piece(
        &mut self,
        client: u32,
        piece: u32,
        mut each: impl FnMut(u32, Explanation<'static>),
    ) -> i64 {
        let Some(connection) = self.index(client).map(|index| &mut self.connections[index]) else { return 1 };
        if piece & DATAGRAM_FLAG != 0 {
            return connection.explain_datagram(piece).map_or(1, |item| {
                let cost = item.bytes.len() as i64;
                each(0, item);
                cost
            });
        }
        let piece = piece as usize;
        let before = connection.checkpoints.partition_point(|checkpoint| checkpoint.piece <= piece);
        let Some(checkpoint) = before.checked_sub(1).map(|at| &connection.checkpoints[at]) else { return 1 };
        let cursor =
            connection.cursor.take().filter(|cursor| (checkpoint.piece..=piece).contains(&cursor.piece));
        let mut from = cursor.unwrap_or_else(|| Box::new(checkpoint.clone()));
        let mut cost = 1;
        while from.piece <= piece {
            let is_wanted = from.piece == piece;
            from.conversation.set_brief(!is_wanted);
            let piece_here = connection.tcp.pieces[from.piece];
            cost += piece_here.bytes.len() as i64 * if is_wanted { 4 } else { 1 };
            let mut sub = 0;
            let is_last = from.piece + 1 == connection.tcp.pieces.len();
            capture_walk::items(&mut from.conversation, &piece_here, is_last, |item| {
                if is_wanted {
                    each(sub, item);
                }
                sub += 1;
            });
            from.piece += 1;
        }
        connection.cursor = Some(from);
        cost
    }

    /// Explains frame `n`.
    fn explanation(&mut self, n: u64) -> Option<Explanation<'static>> {
        let entry = self.list.get(n).filter(|entry| !entry.has_no_bytes())?;
        let (client, (piece, wanted)) = (entry.client, entry.capture_index);
        let mut found = None;
        self.explain_piece(client, piece, |sub, item| {
            if sub == wanted {
                found = Some(item);
            }
        });
        found
    }

    /// Explains frame `n` as JSON, like [`Inspector::explain`](super::Inspector::explain).
    pub fn explain(&mut self, n: u64) -> String {
        let Some(item) = self.explanation(n) else { return frame_json::gone_json(n) };
        let note = self.list.get(n).and_then(|entry| proxy_note(&self.proxy_notes, entry.tick));
        let received = note.and_then(|note| note.explain_received(&item));
        frame_json::item_json(n, &item, received.as_ref())
    }

    /// The summary line of frame `n` and the values of its packet; empty if there is no such frame.
    pub fn line(&mut self, n: u64) -> Json {
        self.explanation(n).map_or_else(|| json!({}), |item| frame_json::line_json(&item))
    }

    /// The changes since the previous frame of the same packet, as JSON.
    pub fn difference(&mut self, n: u64) -> String {
        let mut difference = || {
            let before = self.list.previous(n)?.n;
            let (old, new) = (self.explanation(before)?, self.explanation(n)?);
            Some(packet_diff::json(before, &old, &new))
        };
        difference().unwrap_or_else(|| json!({})).to_string()
    }

    /// Returns frame `n` as a [link](super::share_link).
    ///
    /// # Errors
    /// The reason why there is no link.
    pub fn link(&mut self, n: u64) -> Result<String, String> {
        let mut before = Vec::new();
        for n in self.earlier_fragments(n) {
            before.extend(self.explanation(n).ok_or("a frame of the message is missing")?.bytes);
        }
        let item = self.explanation(n).ok_or("this is not a frame")?;
        let is_datagram = self.list.get(n).is_some_and(|entry| entry.datagram.is_some());
        let is_compressed = |frame: &ExplainedFrame<'_>| {
            matches!(frame.content, Content::Compressed)
                || frame.message.as_ref().is_some_and(|whole| whole.compressed_bytes.is_some())
        };
        if item.is_foreign || item.frames.iter().any(is_compressed) {
            return Err("this message is no packet of tickwire, but a link would show it as one".to_owned());
        }
        let is_head = item.frames.first().is_some_and(|frame| matches!(frame.content, Content::Head(_)));
        let kind = match (is_datagram, is_head) {
            (true, _) => LinkKind::Datagram,
            (_, true) => LinkKind::Head,
            _ => LinkKind::Frame,
        };
        let client = self.list.get(n).map_or(0, |entry| entry.client);
        let connection = self.index(client).map(|index| &self.connections[index]);
        let after =
            connection.and_then(|connection| connection.cursor.as_ref()).map(|cursor| &cursor.conversation);
        let (json, is_ours) =
            after.map_or((None, false), |conversation| (conversation.json(), conversation.is_ours()));
        let (dialect, bytes) = (item.dialect.name().to_owned(), item.bytes.clone());
        let tables = share_link::tables(self.codes, &dialect);
        ShareLink { bytes, before, dialect, from: item.from, json, is_own_server: is_ours, kind, tables }
            .print()
    }

    /// The earlier frames of the message that frame `n` continues.
    fn earlier_fragments(&self, n: u64) -> Vec<u64> {
        let Some(entry) = self.list.get(n).filter(|entry| entry.opcode == Some(Opcode::Continuation)) else {
            return Vec::new();
        };
        let entries = self.list.entries();
        let end = entries.partition_point(|before| before.n < n);
        let before = entries.range(..end).rev().take(limits::INSPECTOR_SEARCH_ENTRIES);
        let own = before.filter(|before| (before.client, before.from) == (entry.client, entry.from));
        let mut earlier = Vec::new();
        for before in own.take_while(|before| !before.is_gap()) {
            match before.opcode {
                Some(Opcode::Continuation) => earlier.push(before.n),
                Some(Opcode::Text | Opcode::Binary) => {
                    earlier.push(before.n);
                    break;
                }
                _ => {}
            }
        }
        earlier.reverse();
        earlier
    }

    /// The list of frames.
    pub fn list(&self) -> &FrameList {
        &self.list
    }

    /// Sets the scope and the filter of the list.
    pub fn filter(&mut self, request: &ListRequest) {
        self.list.apply(request);
    }

    /// The progress of reading, the notes, and the known connections, as JSON.
    pub fn summary_json(&self) -> Json {
        let listed = self.connections.iter().take(limits::INSPECTOR_FILE_CONNECTIONS);
        json!({
            "packets": self.packets,
            "pieces": self.order.len(),
            "read": self.read,
            "notes": self.notes,
            "all": self.connection_count,
            "connections": listed.map(FileConnection::json).collect::<Vec<_>>(),
        })
    }

    /// The progress of reading, as JSON.
    pub fn progress(&self) -> Json {
        json!({ "pieces": self.order.len(), "read": self.read })
    }
}

/// The intervention of a proxy in a packet.
fn proxy_note(notes: &[(u32, ProxyNote)], packet: u32) -> Option<&ProxyNote> {
    let at = notes.partition_point(|(known, _)| *known < packet);
    notes.get(at).filter(|(known, _)| *known == packet).map(|(_, note)| note)
}

/// Whether a checkpoint is due: after a number of frames, unless the checkpoint would store more
/// bytes than were read since the previous one.
fn is_due((frames, bytes): (usize, usize), conversation: &Conversation<'_>) -> bool {
    frames >= limits::INSPECTOR_CHECKPOINT_FRAMES && conversation.buffered_bytes() <= bytes
}

impl FileConnection {
    /// Creates a connection before its first piece.
    pub(super) fn new(number: usize, tcp: TcpConnection<'static>) -> FileConnection {
        let (pairs, checkpoints) = (PingPairs::default(), Vec::new());
        let (name, survey, reading, cursor) = (None, None, None, None);
        FileConnection {
            number,
            tcp,
            name,
            survey,
            reading,
            pairs,
            checkpoints,
            cursor,
            since_checkpoint: (0, 0),
            datagrams: Vec::new(),
            lane: Box::default(),
        }
    }

    /// Adds the rows of a datagram. Returns the cost in bytes.
    fn read_datagram(&mut self, list: &mut FrameList, index: u32, begin_ns: u64) -> i64 {
        let Some(datagram) = self.datagrams.get((index & !DATAGRAM_FLAG) as usize).copied() else { return 1 };
        let Some(reading) = &mut self.reading else { return 1 };
        let (client, tick) = (self.number as u32, datagram.packet as u32);
        let at_us = datagram.at_ns.saturating_sub(begin_ns) / 1000;
        let header = DatagramHeader::read(datagram.bytes);
        let place = RowPlace { n: list.entries().back().map_or(1, |entry| entry.n + 1), client, at_us, tick };
        let missing_row =
            header.and_then(|header| self.lane.push_missing(list, place, (datagram.from, header)));
        let n = place.n + u64::from(missing_row.is_some());
        reading.receive_datagram(&datagram, &mut |found| {
            if let CaptureItemKind::Item(item) = found.what {
                let entry = FrameEntry::new(n, client, &item, &mut list.names);
                list.push(FrameEntry { at_us, tick, capture_index: (index, 0), ..entry }, None);
            }
        });
        if let Some(header) = header {
            self.lane.receive(list, ObservedRow { n, at_us, from: datagram.from, header }, missing_row);
        }
        datagram.bytes.len() as i64 + 64
    }

    fn explain_datagram(&mut self, index: u32) -> Option<Explanation<'static>> {
        let datagram = self.datagrams.get((index & !DATAGRAM_FLAG) as usize)?;
        let dialect = self.reading.as_mut()?.conversation().dialect();
        Some(datagram::explain(datagram.bytes, datagram.from, dialect))
    }

    /// Surveys one more piece. After the last piece, starts reading instead. Returns the cost in
    /// bytes.
    fn prepare(&mut self, codes: &'static PacketTables) -> i64 {
        let otherwise = codes.default_dialect().expect("every table has a dialect");
        let tcp = &self.tcp;
        let begun = self.survey.take();
        let mut guess = None;
        if let Some(mut survey) = begun.or_else(|| Survey::new(tcp, codes, otherwise).map(Box::new)) {
            let piece = &tcp.pieces[survey.read()];
            if !survey.receive(piece) && survey.read() < tcp.pieces.len() {
                self.survey = Some(survey);
                return piece.bytes.len() as i64 + 64;
            }
            guess = survey.finish();
        }
        let mut conversation = capture_walk::conversation_with(tcp, guess, codes, otherwise);
        conversation.set_brief(true);
        self.reading = Some(Box::new(ConnectionReader::new(self.number, tcp, conversation)));
        64
    }

    /// Sets the name of the player, if the file has one.
    pub(super) fn take_name(&mut self, capture: &Capture<'_>, is_only: bool) {
        self.name = capture.name_of(&self.tcp, is_only).map(|name| name.raw().to_owned());
    }

    fn json(&self) -> Json {
        let tally = self.reading.as_deref().map(ConnectionReader::tally);
        let bytes: u64 = self.tcp.pieces.iter().map(|piece| piece.bytes.len() as u64).sum();
        json!({
            "number": self.number,
            "client": self.tcp.client.to_string(),
            "server": self.tcp.server.to_string(),
            "name": self.name,
            "whole": self.tcp.has_begin,
            "bytes": bytes,
            "dialect": tally.map(|tally| &tally.dialect[..]).filter(|dialect| !dialect.is_empty()),
            "guess": tally.is_some_and(|tally| tally.is_guess),
            "broken": tally.map_or(0, |tally| tally.broken),
        })
    }
}

#[cfg(test)]
mod tests;
