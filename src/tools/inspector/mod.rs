//! The inspector without I/O. Its input is the observed bytes of one client or of all, its output
//! the content of the page.
//!
//! ```text
//!   server: tap ─► observed ─► WebSocket ─► observed ─┬─► frames ─► ring ─► explain ─┬─► list
//!                                                     │               │              └─► counts
//!                                                     │               └─► one frame, a capture
//!                                                     └─► lost, ended
//! ```
//!
//! A [capture file](capture_file) and a frame from a [link](share_link) have the same list, filters
//! and explanations.
//!
//! The server only writes [`observed_format`] messages. Everything else runs in the browser, as
//! WebAssembly (`src/wasm/`), so that the server's own code explains each frame without load on the
//! server. A frame is explained after the handshake and the earlier frames of its message, so the
//! inspector reports the same violations as the connection.

mod byte_counts;
pub mod capture_file;
mod client_log;
mod edit;
mod entry;
mod export;
mod filter;
mod filter_match;
mod frame_json;
mod frame_mark;
mod lane_tracker;
mod linked_frame;
mod list;
mod merged_list;
#[cfg(not(target_family = "wasm"))]
mod message_filter;
pub mod observed_format;
pub mod opening;
mod packet_diff;
mod packet_summary;
pub mod pasted;
mod ping_pairs;
mod proxy_note;
mod ring;
pub mod share_link;

use std::collections::BTreeMap;
use std::slice;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::limits;
use crate::packet::PacketTables;
use crate::tools::explain::Conversation;
use crate::ws::Side;
pub use byte_counts::ByteCounts;
use client_log::{ClientLog, LogStart, frames_of};
pub use export::ExportedClient;
use export::ExportedConnection;
pub use filter::FilterError;
pub(crate) use frame_mark::FrameMark;
pub use list::{FrameList, ListRequest};
use merged_list::MergedList;
#[cfg(not(target_family = "wasm"))]
pub use message_filter::MessageFilter;
use observed_format::{Handshake, InterceptedBytes, ObservedDatagram, ObservedKind};
#[cfg(not(target_family = "wasm"))]
pub(crate) use proxy_note::ProxyNote;
use ring::RetainedFrame;

/// The inspector of the clients of one server.
#[derive(Debug)]
pub struct Inspector {
    codes: Arc<PacketTables>,
    /// The start of the server's clock, as time since 1970.
    began: Duration,
    /// Stored clients, in order of selection. With `has_selection`, the last one is inspected. With
    /// `merged`, all of them are, and the last one is the sender or receiver of the last message.
    logs: Vec<ClientLog>,
    has_selection: bool,
    /// The list of all clients together, while all are inspected.
    merged: Option<MergedList>,
    next_n: u64,
    /// The number of frames counted while paused; `None` while not paused.
    paused_frames: Option<u64>,
    fields: ByteCounts,
    request: ListRequest,
}

impl Default for Inspector {
    /// Creates an inspector without a server, with the built-in tables.
    fn default() -> Inspector {
        Inspector {
            codes: PacketTables::builtin(),
            began: Duration::ZERO,
            logs: Vec::new(),
            has_selection: false,
            merged: None,
            next_n: 1,
            paused_frames: None,
            fields: ByteCounts::default(),
            request: ListRequest::default(),
        }
    }
}

impl Inspector {
    /// Creates an inspector without a client. `welcome` is the server's first message, which has
    /// the packet tables.
    ///
    /// # Errors
    /// One line that describes the invalid message.
    pub fn new(welcome: &str) -> Result<Inspector, String> {
        let message: Json = serde_json::from_str(welcome).map_err(|error| error.to_string())?;
        let welcome = &message["welcome"];
        let (Some(tables), Some(began_us)) = (welcome["codes"].as_array(), welcome["began_us"].as_u64())
        else {
            return Err("welcome: codes or began_us is missing".to_owned());
        };
        let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
        let tables: Vec<_> = tables.iter().map(|table| (text(&table[0]), text(&table[1]))).collect();
        let codes = PacketTables::from_texts(&tables).map_err(|error| error.to_string())?;
        let (codes, began) = (Arc::new(codes), Duration::from_micros(began_us));
        Ok(Inspector { codes, began, ..Inspector::default() })
    }

    /// Selects the inspected client. Messages about other clients are ignored. Frames of the client
    /// that were stored before are available again. Beyond [`limits::INSPECTOR_CLIENTS`] clients,
    /// the client with the oldest selection is dropped.
    pub fn select_client(&mut self, client: Option<u64>) {
        if let Some(merged) = self.merged.take() {
            (self.logs, self.has_selection) = (merged.single_logs, false);
        }
        if let Some(log) = self.logs.last_mut().filter(|_| self.has_selection) {
            log.stop_inspecting();
        }
        self.has_selection = client.is_some();
        self.fields = ByteCounts::default();
        let Some(client) = client else { return };
        let known = self.logs.iter().position(|log| log.client == client);
        let mut log = known.map_or_else(|| ClientLog::new(client), |at| self.logs.remove(at));
        log.list.apply(&self.request);
        self.logs.push(log);
        if self.logs.len() > limits::INSPECTOR_CLIENTS {
            self.logs.remove(0);
        }
    }

    /// Inspects all clients, up to [`limits::INSPECTOR_MERGED_CLIENTS`]. Begins with an empty list.
    pub fn select_all(&mut self) {
        self.select_client(None);
        self.merged = Some(MergedList::new(std::mem::take(&mut self.logs), &self.request));
        self.has_selection = true;
    }

    /// The stored state of the inspected client.
    fn log(&self) -> Option<&ClientLog> {
        self.logs.last().filter(|_| self.has_selection)
    }

    /// Pauses or continues. While paused, frames are counted but not stored.
    pub fn pause(&mut self, is_paused: bool) {
        self.paused_frames = is_paused.then(|| self.paused_frames.unwrap_or(0));
    }

    /// Processes a message from the server. Returns `{"frames":[…]}` with the new frames; also
    /// `lost`, `missed`, `ended`, and `gone` for the number of visible entries removed from the
    /// list, if any.
    ///
    /// # Errors
    /// One line with the offset of the invalid record.
    pub fn receive(&mut self, message: &[u8]) -> Result<String, String> {
        let (client, records) =
            observed_format::read(message).map_err(|at| format!("a message is invalid at byte {at}"))?;
        let codes = Arc::clone(&self.codes);
        let mut reply = json!({});
        if !self.begin_message(client) {
            if self.merged.is_some() {
                reply["lost"] = merged_list::skip_records(&mut self.logs, client, &records).into();
            }
            return Ok(reply.to_string());
        }
        let (mut lost, mut frames, mut removed) = (0, Vec::new(), 0);
        let mut conversation = self.log().and_then(|log| log.conversation(&codes));
        for record in records {
            let Some(log) = self.logs.last_mut() else { break };
            let mark = matches!(record.what, ObservedKind::Injected(_)).then_some(FrameMark::Injected);
            let frame_of = |from, piece, begin, end| RetainedFrame {
                mark,
                ..RetainedFrame::new(from, (record.at, record.tick), piece, (begin, end))
            };
            if let Some((from, bytes)) = record.what.bytes() {
                removed += self.take(from, bytes, record.at, frame_of, conversation.clone(), &mut frames);
                continue;
            }
            match record.what {
                ObservedKind::Opened(opened) => {
                    let heads = heads_of(&opened, frame_of);
                    let start = Some(LogStart::Handshake(opened, record.at));
                    // The server sends the handshake again when a client is selected again.
                    let is_known = log.start == start;
                    log.start = start;
                    conversation = log.conversation(&codes);
                    let mut greeting = log.conversation_before_handshake(&codes);
                    if !is_known {
                        removed += self.add_frames(heads, greeting.as_mut(), &mut frames);
                    }
                }
                ObservedKind::Lost(pieces) => {
                    lost += pieces;
                    log.forget_unfinished();
                }
                ObservedKind::Datagram(datagram) => {
                    removed += self.add_datagram(datagram, frame_of, &mut frames);
                }
                ObservedKind::Intercepted(message) => {
                    removed += self.add_intercepted(&message, frame_of, conversation.as_ref(), &mut frames);
                }
                ObservedKind::Ended(_) if self.merged.is_some() => log.is_ended = true,
                ObservedKind::Ended(rule) => reply["ended"] = Json::from(rule),
                ObservedKind::Bytes(..) | ObservedKind::Injected(_) => {}
            }
        }
        if let Some(merged) = &mut self.merged {
            removed += merged.end_message(&mut self.logs);
        }
        reply["frames"] = Json::from(frames);
        for (name, count) in [("lost", lost), ("gone", removed as u64)] {
            if count > 0 {
                reply[name] = Json::from(count);
            }
        }
        if let Some(missed) = self.paused_frames {
            reply["missed"] = Json::from(missed);
        }
        Ok(reply.to_string())
    }

    /// Prepares for a message of this client. Returns whether the client is inspected.
    fn begin_message(&mut self, client: u64) -> bool {
        match &mut self.merged {
            Some(merged) => merged.begin_message(&mut self.logs, client),
            None => self.log().is_some_and(|log| log.client == client),
        }
    }

    /// Stores the frames of a piece, and adds an entry for each. Returns the number of visible
    /// entries removed from the list.
    fn take(
        &mut self,
        from: Side,
        bytes: &[u8],
        at: Duration,
        frame_of: impl Fn(Side, Arc<[u8]>, usize, usize) -> RetainedFrame,
        mut conversation: Option<Conversation<'_>>,
        entries: &mut Vec<Json>,
    ) -> usize {
        let Some(log) = self.logs.last_mut() else { return 0 };
        if self.paused_frames.is_none() && log.resume_inspecting(self.next_n, from, at) {
            self.next_n += 1;
        }
        let (piece, begin) = log.join_unfinished(from, bytes);
        let ends = frames_of(&piece[begin..], from).into_iter();
        let cut = ends.map(|(at, end)| frame_of(from, Arc::clone(&piece), begin + at, begin + end));
        if let Some(conversation) = &mut conversation {
            conversation.receive_each(from, &piece[..begin], |_| ());
        }
        self.add_frames(cut, conversation.as_mut(), entries)
    }

    /// Explains and stores a datagram, and adds an entry for it. Returns the number of visible
    /// entries removed from the list.
    fn add_datagram(
        &mut self,
        observed: ObservedDatagram<'_>,
        frame_of: impl Fn(Side, Arc<[u8]>, usize, usize) -> RetainedFrame,
        entries: &mut Vec<Json>,
    ) -> usize {
        let ObservedDatagram { from, address, dropped, bytes } = observed;
        let frame = frame_of(from, Arc::from(bytes), 0, bytes.len());
        let frame = RetainedFrame { datagram: Some((address, dropped)), ..frame };
        let Some(log) = self.logs.last_mut() else { return 0 };
        if let Some(missed) = &mut self.paused_frames {
            *missed += 1;
            // The datagrams of a pause are neither lost nor late.
            log.forget_datagrams();
            return 0;
        }
        if log.resume_inspecting(self.next_n, frame.from, frame.at) {
            self.next_n += 1;
        }
        let Some((frame, explained, removed)) = log.add_datagram(&mut self.next_n, frame, &self.codes) else {
            return 0;
        };
        entries.push(frame_json::entry_json(log.client, &frame, &explained));
        self.fields.add(&explained);
        removed
    }

    /// Explains and stores a message that passed a proxy, and adds its entries. Returns the number
    /// of visible entries removed from the list.
    fn add_intercepted(
        &mut self,
        message: &InterceptedBytes<'_>,
        frame_of: impl Fn(Side, Arc<[u8]>, usize, usize) -> RetainedFrame,
        conversation: Option<&Conversation<'_>>,
        entries: &mut Vec<Json>,
    ) -> usize {
        let mark = FrameMark::new(message.outcome, message.detail);
        let sent_mark = if message.received.is_empty() { mark } else { Some(FrameMark::Substitute) };
        let is_inflated = message.wire_bytes != message.received.len();
        let compressed_bytes = is_inflated.then(|| u32::try_from(message.wire_bytes).unwrap_or(u32::MAX));
        let wire_header: Arc<[u8]> = message.wire_header.clone().into();
        let rows = [
            (&message.received, mark, compressed_bytes, wire_header),
            (&message.sent, sent_mark, None, Arc::default()),
        ];
        let mut removed = 0;
        for (bytes, mark, compressed_bytes, wire_header) in rows {
            let piece: Arc<[u8]> = Arc::from(&bytes[..]);
            let frames = client_log::frames_of(&piece, message.from).into_iter().map(|(begin, end)| {
                let frame = frame_of(message.from, Arc::clone(&piece), begin, end);
                RetainedFrame { mark, compressed_bytes, wire_header: Arc::clone(&wire_header), ..frame }
            });
            // A substitute may break a rule, which must not affect later messages.
            let mut after = conversation.cloned();
            removed += self.add_frames(frames, after.as_mut(), entries);
        }
        removed
    }

    /// Explains and stores frames, and adds an entry for each. Returns the number of visible
    /// entries removed from the list.
    fn add_frames(
        &mut self,
        cut: impl IntoIterator<Item = RetainedFrame>,
        conversation: Option<&mut Conversation<'_>>,
        entries: &mut Vec<Json>,
    ) -> usize {
        let (Some(conversation), Some(log)) = (conversation, self.logs.last_mut()) else { return 0 };
        let mut removed = 0;
        for mut frame in cut {
            if let Some(missed) = &mut self.paused_frames {
                *missed += 1;
                continue;
            }
            frame.n = self.next_n;
            self.next_n += 1;
            let explained = client_log::explain_retained(&frame, conversation);
            entries.push(frame_json::entry_json(log.client, &frame, &explained));
            if !frame.is_head {
                self.fields.add(&explained);
            }
            removed += log.add_frame(frame, &explained);
        }
        removed
    }

    /// Explains frame `n` as JSON, with its bytes as sent; `gone` if it is no longer stored.
    pub fn explain(&self, n: u64) -> String {
        let Some(log) = self.log_with(n) else { return frame_json::gone_json(n) };
        let Some((frame, explained)) = log.explanation(n, &self.codes) else {
            return frame_json::gone_json(n);
        };
        frame_json::frame_json(frame, &explained, log.wire_header(frame, &self.codes).as_ref())
    }

    /// The summary line of frame `n` and the values of its packet; empty if it is no longer stored.
    pub fn line(&self, n: u64) -> Json {
        let explained = self.log_with(n).and_then(|log| log.explanation(n, &self.codes));
        explained.map_or_else(|| json!({}), |(_, explained)| frame_json::line_json(&explained))
    }

    /// The changes since the previous frame of the same packet, as JSON.
    pub fn difference(&self, n: u64) -> String {
        let difference = || {
            let before = self.list()?.previous(n)?.n;
            let log = self.log_with(n)?;
            let explained = |n| log.explanation(n, &self.codes).map(|(_, explained)| explained);
            Some(packet_diff::json(before, &explained(before)?, &explained(n)?))
        };
        difference().unwrap_or_else(|| json!({})).to_string()
    }

    /// The list of frames; `None` while no client is inspected.
    pub fn list(&self) -> Option<&FrameList> {
        match &self.merged {
            Some(merged) => Some(&merged.list),
            None => self.log().map(|log| &log.list),
        }
    }

    /// The log with this frame.
    fn log_with(&self, n: u64) -> Option<&ClientLog> {
        match &self.merged {
            Some(merged) => merged.log_with(&self.logs, n),
            None => self.log(),
        }
    }

    fn list_mut(&mut self) -> Option<&mut FrameList> {
        match &mut self.merged {
            Some(merged) => Some(&mut merged.list),
            None => self.logs.last_mut().filter(|_| self.has_selection).map(|log| &mut log.list),
        }
    }

    /// Sets the scope and the filter of the list.
    pub fn filter(&mut self, request: ListRequest) {
        if let Some(list) = self.list_mut() {
            list.apply(&request);
        }
        self.request = request;
    }

    /// Tests stored frames against the filter, until about `bytes` bytes were explained. Returns
    /// whether work remains.
    pub fn advance(&mut self, bytes: usize) -> bool {
        let (codes, mut left) = (Arc::clone(&self.codes), bytes as i64);
        while let Some(n) = self.list_mut().and_then(FrameList::next_to_explain) {
            if left <= 0 {
                return true;
            }
            let explained = self.log_with(n).and_then(|log| log.explanation(n, &codes));
            let explained = explained.map(|(_, explained)| explained);
            left -= explained.as_ref().map_or(1, |explained| explained.bytes.len() as i64 + 1);
            if let Some(list) = self.list_mut() {
                list.judge_next(explained.as_ref());
            }
        }
        false
    }

    /// The byte counts by packet and field since the last call, as a JSON list.
    pub fn fields(&mut self) -> String {
        self.fields.take()
    }

    /// Encodes the stored frames of the inspected clients as a pcapng file; `None` without a
    /// handshake. `clients` has the players of clients.
    pub fn save(&self, clients: &BTreeMap<u64, ExportedClient>) -> Option<Vec<u8>> {
        let logs = if self.merged.is_some() { &self.logs[..] } else { self.log().map(slice::from_ref)? };
        let connections: Vec<_> = logs
            .iter()
            .filter_map(|log| match &log.start {
                Some(LogStart::Handshake(opened, at)) => {
                    let client = clients.get(&log.client).cloned().unwrap_or_default();
                    let frames = log.ring.iter().collect();
                    Some(ExportedConnection { opened, at: *at, client, frames })
                }
                _ => None,
            })
            .collect();
        (!connections.is_empty()).then(|| export::export_capture(&connections, (self.began, &self.codes)))
    }
}

/// The heads of a handshake, as frames.
fn heads_of(
    opened: &Handshake,
    frame_of: impl Fn(Side, Arc<[u8]>, usize, usize) -> RetainedFrame,
) -> [RetainedFrame; 2] {
    [(Side::Client, &opened.request), (Side::Server, &opened.response)].map(|(from, head)| RetainedFrame {
        is_head: true,
        ..frame_of(from, Arc::from(&head[..]), 0, head.len())
    })
}

#[cfg(test)]
mod tests;
