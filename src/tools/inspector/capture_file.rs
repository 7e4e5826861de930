//! A capture file in the inspector: the frames and verdicts of `tickwire explain FILE`.
//!
//! ```text
//!  bytes ─► packets ─► connections ─► pieces in the order of their packets ─┬─► entries of the list
//!                                                     a few at a time, brief │
//!                                                                            └─► checkpoints ─► one frame, explained
//! ```
//!
//! The file stays in memory as it is. What is kept of a frame is its `FrameEntry`; the frame is
//! explained again when it is shown, starting at the last checkpoint before it.

use core::net::IpAddr;
use std::collections::BTreeMap;

use serde_json::{Value as Json, json};

use super::entry::{EntryKind, FrameEntry};
use super::list::{FrameList, ListRequest};
use super::ping_pairs::PingPairs;
use super::{frame_json, packet_diff, share_link};
use crate::limits;
use crate::packet::PacketTables;
use crate::tools::capture::{self, StreamPiece, TcpConnection};
use crate::tools::explain::capture_walk::{self, CaptureItemKind, ConnectionReader};
use crate::tools::explain::{Content, Conversation, Explanation};
use crate::util::plural::count_noun;
use crate::ws::frame::Opcode;

/// See the [module](self).
#[derive(Debug)]
pub struct CaptureFile {
    bytes: Vec<u8>,
    codes: &'static PacketTables,
    /// The connections with data, by their numbers. Of others, which can be very many, only the number is kept.
    conversations: Vec<FileConnection>,
    connections: usize,
    /// All pieces: the packet after which one could be read, the index of its conversation, its index there.
    order: Vec<(u32, u32, u32)>,
    /// How many of them were read.
    read: usize,
    packets: usize,
    begin_ns: u64,
    list: FrameList,
    /// Notes on the whole file.
    notes: Vec<String>,
    is_full: bool,
}

/// A connection of the file. Its pieces are ranges of the file.
#[derive(Debug)]
struct FileConnection {
    /// Among all connections, from 1.
    number: usize,
    about: TcpConnection<'static>,
    name: Option<String>,
    pieces: Vec<FilePiece>,
    reading: Option<Box<ConnectionReader<'static>>>,
    pairs: PingPairs,
    checkpoints: Vec<Checkpoint>,
    /// Where an explanation ended, for the next one.
    cursor: Option<Box<Checkpoint>>,
    since: (usize, usize),
}

/// A conversation before one of its pieces.
#[derive(Debug, Clone)]
struct Checkpoint {
    piece: usize,
    conversation: Conversation<'static>,
}

#[derive(Debug, Clone, Copy)]
struct FilePiece {
    from: capture::TcpSide,
    hole_before: bool,
    packet: u32,
    begin: u32,
    length: u32,
    at_ns: u64,
}

impl FilePiece {
    fn new(piece: &StreamPiece<'_>, file: &[u8]) -> FilePiece {
        // The piece is a part of the file: its address says where.
        let begin = (piece.bytes.as_ptr() as usize).wrapping_sub(file.as_ptr() as usize);
        let StreamPiece { from, at_ns, packet, bytes, hole_before } = *piece;
        debug_assert!(file.get(begin..begin + bytes.len()) == Some(bytes));
        FilePiece {
            from,
            hole_before,
            packet: packet as u32,
            begin: begin as u32,
            length: bytes.len() as u32,
            at_ns,
        }
    }

    fn piece<'a>(&self, file: &'a [u8]) -> StreamPiece<'a> {
        let begin = self.begin as usize;
        let bytes = file.get(begin..begin + self.length as usize).unwrap_or_default();
        let FilePiece { from, hole_before, packet, at_ns, .. } = *self;
        StreamPiece { from, at_ns, packet: packet as usize, bytes, hole_before }
    }
}

impl CaptureFile {
    /// Opens a file: finds its packets and connections, and reads none of the frames yet.
    ///
    /// # Errors
    /// One sentence that says what is wrong with the file, and at which byte.
    pub fn open(bytes: Vec<u8>) -> Result<CaptureFile, String> {
        if let Some(packed) = capture::compressed_file::format(&bytes) {
            return Err(format!("The file cannot be read: {packed}."));
        }
        let found = capture::read(&bytes).map_err(|error| format!("The file cannot be read: {error}."))?;
        let unread = capture_walk::unread(&found);
        if let Some(words) = &unread
            && !found.is_readable()
        {
            return Err(format!("The file has nothing that can be read: {words}."));
        }
        let mut notes: Vec<String> = unread.into_iter().collect();
        notes.extend([capture_walk::cut(&found), capture_walk::truncated(&found)].into_iter().flatten());
        let codes = codes_of(&found)?;
        let mut connections: Vec<_> = found.connections().into_iter().zip(1..).collect();
        let all = connections.len();
        let (packets, names) = (found.packets.len(), names(&found, connections.iter().map(|(one, _)| one)));
        connections.retain(|(one, _)| !one.pieces.is_empty());
        if connections.len() < all {
            let without = count_noun(all - connections.len(), "connection");
            notes.push(format!("{without} without data: not in the menu"));
        }
        let begin_ns = found.packets.first().map_or(0, |packet| packet.at_ns);
        drop(found);
        let order = capture_walk::order(connections.iter().map(|(one, _)| one)).into_iter();
        let order = order.map(|(readable, index, at)| (readable as u32, index as u32, at as u32)).collect();
        let talk =
            |(one, number): &(TcpConnection<'_>, usize)| FileConnection::new(*number, one, &names, &bytes);
        let conversations = connections.iter().map(talk).collect();
        drop(connections);
        let list = FrameList::default();
        Ok(CaptureFile {
            bytes,
            codes,
            conversations,
            connections: all,
            order,
            read: 0,
            packets,
            begin_ns,
            list,
            notes,
            is_full: false,
        })
    }

    /// Reads on until so many bytes were looked at; first what is new, then what the filter asks for.
    /// Says whether something is left.
    pub fn work(&mut self, bytes: usize) -> bool {
        let mut left = bytes as i64;
        while left > 0 && self.read < self.order.len() && !self.is_full {
            left -= self.read_piece();
        }
        while left > 0 {
            let Some(n) = self.list.next_to_explain() else { break };
            left -= self.judge_piece(n);
        }
        (self.read < self.order.len() && !self.is_full) || self.list.next_to_explain().is_some()
    }

    /// Reads the next piece; returns what it cost.
    fn read_piece(&mut self) -> i64 {
        let (readable, index, at) = self.order[self.read];
        self.read += 1;
        let (list, begin_ns) = (&mut self.list, self.begin_ns);
        let talk = &mut self.conversations[index as usize];
        let FileConnection { number, about, pieces, reading, pairs, checkpoints, since, .. } = talk;
        let codes = self.codes;
        let reading = reading.get_or_insert_with(|| {
            let pieces = pieces.iter().map(|place| place.piece(&self.bytes));
            let otherwise = codes.default_dialect().expect("every table has a dialect");
            let mut conversation = capture_walk::conversation(about, pieces, codes, otherwise);
            conversation.be_brief(true);
            Box::new(ConnectionReader::new(*number, about, conversation))
        });
        let place = pieces[at as usize];
        if checkpoints.is_empty() || is_due(*since, reading.conversation()) {
            let conversation = reading.conversation().clone();
            checkpoints.push(Checkpoint { piece: at as usize, conversation });
            *since = (0, 0);
        }
        let (mut sub, mut cost, client) = (0, i64::from(place.length) + 8, *number as u32);
        since.1 += place.length as usize;
        reading.receive(readable as usize, &place.piece(&self.bytes), &mut |found| {
            let n = list.entries().back().map_or(1, |entry| entry.n + 1);
            let at_us = found.at_ns.saturating_sub(begin_ns) / 1000;
            match found.what {
                CaptureItemKind::Begin { .. } => {}
                CaptureItemKind::Hole(from, bytes) => {
                    pairs.clear();
                    let gap = FrameEntry::gap(n, client, from, EntryKind::Hole(bytes), at_us);
                    list.push(FrameEntry { tick: readable, ..gap }, None);
                }
                CaptureItemKind::Item(item) => {
                    let entry = FrameEntry::new(n, client, &item, &mut list.names);
                    let pair = pairs.take(n, at_us, &item);
                    list.push(FrameEntry { at_us, tick: readable, place: (at, sub), ..entry }, None);
                    pair.into_iter().for_each(|pair| list.pair(n, pair));
                    (sub, cost, since.0) = (sub + 1, cost + 64, since.0 + 1);
                }
            }
        });
        if self.list.entries().len() >= limits::INSPECTOR_FILE_FRAMES {
            self.is_full = true;
            let (shown, percent) = (limits::INSPECTOR_FILE_FRAMES, 100 * self.read / self.order.len());
            self.notes.push(format!("only the first {shown} frames are shown, {percent} % of the file"));
        }
        cost
    }

    /// Judges the entries of the piece of this one; returns what it cost.
    fn judge_piece(&mut self, n: u64) -> i64 {
        let Some((client, place)) = self.list.get(n).map(|entry| (entry.client, entry.place)) else {
            return 1;
        };
        let mut items = Vec::new();
        let cost = self.explain_piece(client, place.0, |sub, item| items.push((sub, item)));
        while let Some(next) = self.list.next_to_explain() {
            let here = self.list.get(next).filter(|entry| (entry.client, entry.place.0) == (client, place.0));
            let Some(sub) = here.map(|entry| entry.place.1) else { break };
            let item = items.iter().find(|(known, _)| *known == sub).map(|(_, item)| item);
            self.list.judge_next(item);
        }
        cost
    }

    /// The index of the conversation with this number.
    fn index(&self, client: u32) -> Option<usize> {
        self.conversations.binary_search_by_key(&(client as usize), |talk| talk.number).ok()
    }

    /// Explains the items of a piece, with everything before that matters; returns what it cost.
    fn explain_piece(
        &mut self,
        client: u32,
        piece: u32,
        mut each: impl FnMut(u32, Explanation<'static>),
    ) -> i64 {
        let Some(talk) = self.index(client).map(|index| &mut self.conversations[index]) else { return 1 };
        let piece = piece as usize;
        let before = talk.checkpoints.partition_point(|checkpoint| checkpoint.piece <= piece);
        let Some(checkpoint) = before.checked_sub(1).map(|at| &talk.checkpoints[at]) else { return 1 };
        let cursor = talk.cursor.take().filter(|cursor| (checkpoint.piece..=piece).contains(&cursor.piece));
        let mut from = cursor.unwrap_or_else(|| Box::new(checkpoint.clone()));
        let mut cost = 1;
        while from.piece <= piece {
            let is_meant = from.piece == piece;
            from.conversation.be_brief(!is_meant);
            let place = talk.pieces[from.piece];
            cost += i64::from(place.length) * if is_meant { 4 } else { 1 };
            let mut sub = 0;
            let is_last = from.piece + 1 == talk.pieces.len();
            capture_walk::items(&mut from.conversation, &place.piece(&self.bytes), is_last, |item| {
                if is_meant {
                    each(sub, item);
                }
                sub += 1;
            });
            from.piece += 1;
        }
        talk.cursor = Some(from);
        cost
    }

    /// A frame, explained.
    fn explanation(&mut self, n: u64) -> Option<Explanation<'static>> {
        let entry = self.list.get(n).filter(|entry| !entry.is_gap())?;
        let (client, (piece, wanted)) = (entry.client, entry.place);
        let mut found = None;
        self.explain_piece(client, piece, |sub, item| {
            if sub == wanted {
                found = Some(item);
            }
        });
        found
    }

    /// The frame with this number as JSON, as [`Inspector::explain`](super::Inspector::explain) has it.
    pub fn explain(&mut self, n: u64) -> String {
        self.explanation(n).map_or_else(|| frame_json::gone(n), |item| frame_json::item(n, &item))
    }

    /// What changed since the previous frame of the same packet, as JSON.
    pub fn difference(&mut self, n: u64) -> String {
        let mut difference = || {
            let before = self.list.previous(n)?.n;
            let (old, new) = (self.explanation(before)?, self.explanation(n)?);
            Some(packet_diff::json(before, &old, &new))
        };
        difference().unwrap_or_else(|| json!({})).to_string()
    }

    /// The frame with this number as a [link](super::share_link), as JSON.
    ///
    /// # Errors
    /// Why it cannot be one.
    pub fn link(&mut self, n: u64) -> Result<String, String> {
        let mut before = Vec::new();
        for n in self.earlier_of_message(n) {
            before.extend(self.explanation(n).ok_or("a frame of the message is missing")?.bytes);
        }
        let item = self.explanation(n).ok_or("this is not a frame")?;
        if item.is_foreign || item.frames.iter().any(|frame| matches!(frame.content, Content::Compressed)) {
            return Err("this message is no packet of tickwire, but a link would show it as one".to_owned());
        }
        let is_head = item.frames.first().is_some_and(|frame| matches!(frame.content, Content::Head(_)));
        let client = self.list.get(n).map_or(0, |entry| entry.client);
        let talk = self.index(client).map(|index| &self.conversations[index]);
        let after = talk.and_then(|talk| talk.cursor.as_ref()).map(|cursor| &cursor.conversation);
        let (json, is_ours) = after.map_or((None, false), |talk| (talk.json(), talk.is_ours()));
        let (dialect, bytes) = (item.dialect.name().to_owned(), item.bytes.clone());
        let tables = share_link::tables(self.codes, &dialect);
        share_link::ShareLink { bytes, before, dialect, from: item.from, json, is_ours, is_head, tables }
            .print()
    }

    /// The earlier frames of the message that this frame goes on with.
    fn earlier_of_message(&self, n: u64) -> Vec<u64> {
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

    /// The list that the page shows.
    pub fn list(&self) -> &FrameList {
        &self.list
    }

    /// Asks for something else.
    pub fn filter(&mut self, wish: &ListRequest) {
        self.list.set(wish);
    }

    /// How far the file was read, its notes, and its connections as far as they are known.
    pub fn about(&self) -> Json {
        let listed = self.conversations.iter().take(limits::INSPECTOR_FILE_CONNECTIONS);
        json!({
            "packets": self.packets,
            "pieces": self.order.len(),
            "read": self.read,
            "notes": self.notes,
            "all": self.connections,
            "connections": listed.map(FileConnection::json).collect::<Vec<_>>(),
        })
    }

    /// How far the file was read.
    pub fn progress(&self) -> Json {
        json!({ "pieces": self.order.len(), "read": self.read })
    }
}

/// Whether a checkpoint is due: after so many frames, unless it would hold more than was read since.
fn is_due((frames, bytes): (usize, usize), conversation: &Conversation<'_>) -> bool {
    frames >= limits::INSPECTOR_CHECKPOINT_FRAMES && conversation.held_bytes() <= bytes
}

impl FileConnection {
    fn new(
        number: usize,
        connection: &TcpConnection<'_>,
        names: &BTreeMap<IpAddr, String>,
        file: &[u8],
    ) -> FileConnection {
        let TcpConnection { client, server, first_packet, has_begin, has_end, .. } = *connection;
        // `ConnectionReader` counts the pieces; their bytes are in the file.
        let pieces: Vec<FilePiece> =
            connection.pieces.iter().map(|piece| FilePiece::new(piece, file)).collect();
        let hollow = pieces.iter().map(|place| StreamPiece { bytes: &[], ..place.piece(&[]) }).collect();
        let holes = connection.holes.clone();
        let about = TcpConnection { client, server, first_packet, has_begin, has_end, pieces: hollow, holes };
        let name = names.get(&client.ip().to_canonical()).cloned();
        let (reading, cursor, checkpoints, pairs) = (None, None, Vec::new(), PingPairs::default());
        FileConnection { number, about, name, pieces, reading, pairs, checkpoints, cursor, since: (0, 0) }
    }

    fn json(&self) -> Json {
        let tally = self.reading.as_deref().map(ConnectionReader::tally);
        let bytes: u64 = self.pieces.iter().map(|place| u64::from(place.length)).sum();
        json!({
            "number": self.number,
            "client": self.about.client.to_string(),
            "server": self.about.server.to_string(),
            "name": self.name,
            "whole": self.about.has_begin,
            "bytes": bytes,
            "dialect": tally.map(|tally| &tally.dialect[..]).filter(|dialect| !dialect.is_empty()),
            "guess": tally.is_some_and(|tally| tally.is_guess),
            "broken": tally.map_or(0, |tally| tally.broken),
        })
    }
}

/// The packet tables that a file carries, otherwise the built-in ones. Others than those stay in
/// memory as long as the page's copy of this code, which ends with the file.
fn codes_of(found: &capture::Capture<'_>) -> Result<&'static PacketTables, String> {
    let codes = capture_walk::codes(found, None);
    let codes = codes.map_err(|why| format!("The file cannot be explained: {why}."))?;
    let builtin = PacketTables::builtin_ref();
    if codes.hash() == builtin.hash() && !codes.has_paths() {
        return Ok(builtin);
    }
    Ok(Box::leak(Box::new(codes)))
}

/// The clients' names, where an address has only one client.
fn names<'a>(
    found: &capture::Capture<'_>,
    connections: impl Iterator<Item = &'a TcpConnection<'a>>,
) -> BTreeMap<IpAddr, String> {
    let mut clients: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for connection in connections {
        *clients.entry(connection.client.ip().to_canonical()).or_default() += 1;
    }
    let known = found.names.iter().filter(|(address, _)| clients.get(address) == Some(&1));
    known.map(|(address, name)| (*address, name.raw().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::capture::TcpSide;
    use crate::tools::capture::writer::{CaptureWriter, TcpFlow};

    #[test]
    fn connections_without_data_cost_a_number_and_the_menu_has_a_bound() {
        let mut writer = CaptureWriter::new(core::time::Duration::ZERO);
        writer.begin(false);
        let all = 3 * limits::INSPECTOR_FILE_CONNECTIONS;
        for client in 0..all {
            let ends = [format!("192.0.2.7:{}", 10_000 + client), "192.0.2.1:3000".to_owned()];
            let ends = ends.map(|end| end.parse().expect("an address"));
            let mut flow = TcpFlow::open(&mut writer, ends, [1, 1], Default::default());
            if client % 2 == 1 {
                flow.bytes(&mut writer, TcpSide::Client, b"\x81\x80\0\0\0\0", Default::default());
            }
        }
        let mut file = CaptureFile::open(writer.blocks).expect("a capture");
        while file.work(10_000) {}
        let about = file.about();
        let listed = about["connections"].as_array().expect("a list");
        assert_eq!((file.conversations.len(), about["all"].as_u64()), (all / 2, Some(all as u64)));
        assert_eq!((listed.len(), &listed[1]["number"]), (limits::INSPECTOR_FILE_CONNECTIONS, &json!(4)));
        assert_eq!(about["notes"], json!(["1500 connections without data: not in the menu"]));
        let last = file.list().entries().back().expect("a frame");
        assert_eq!((file.list().entries().len(), last.client as usize), (all / 2, all));
        assert!(size_of::<FileConnection>() <= 512, "{} bytes", size_of::<FileConnection>());
        assert!(file.explain(1).contains("Text") || file.explain(1).contains("text"), "{}", file.explain(1));
    }
}
