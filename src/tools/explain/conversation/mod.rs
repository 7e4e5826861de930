//! Explains both directions of a connection incrementally: the upgrade, then frames and messages.
//!
//! Input may be split at any byte. Each complete head or frame yields an explanation; leftover
//! bytes are explained at the end. Earlier items affect later ones: the path of the request selects
//! the dialect, its key determines the expected accept key, and a final fragment is explained with
//! the whole message.
//!
//! ```text
//!   begin ──upgrade request or response────────────────► frames ──violation, close───► over
//!     ├──────────────── no head: mid-stream ───────────►│
//!     └──any other head──► body                         │
//!                            seek ──plausible frame────►┘
//! ```
//!
//! Mid-stream, a continuation frame is accepted. After missing bytes, [`resync`] finds the next
//! frame. Each side stores at most one unfinished item and one unfinished message. The limits of
//! the server apply only if the path is unique to tickwire servers.

mod compressed;
pub(super) mod dialect_state;
mod direction;
mod message;
pub(super) mod resync;
pub(super) mod unfinished_message;
pub(super) mod upgrade_request;

use std::mem;

use self::compressed::{Inflation, explain_compressed};
use self::dialect_state::DialectState;
use self::direction::{DirectionStage, DirectionState};
use self::resync::Resync;
use self::unfinished_message::{UnfinishedMessage, explain_incomplete, explain_payload};
use self::upgrade_request::UpgradeRequest;
use super::dialect_guess::DialectGuess;
use super::explanation::{Content, ExplainedFrame, Explanation, Problem, ReassembledMessage, UNREAD_FIELD};
use super::parse::frame_header::{self, Extensions};
use super::parse::head_search::{self, HeadSearch};
use super::parse::payload::{Detail, ExplainedPayload};
use super::parse::{http_head, packet};
use super::tree::{BYTE, Node};
use crate::limits;
use crate::packet::{Dialect, PacketTables};
use crate::ws::Side;
use crate::ws::frame::{self, Header, Opcode};
use crate::ws::message::Limits;

/// Explains a connection: receives the bytes of both sides, and returns explanations of complete
/// heads and frames.
#[derive(Clone, Debug)]
pub struct Conversation<'c> {
    state: DialectState<'c>,
    /// The target of the upgrade request, once received.
    request: Option<UpgradeRequest>,
    /// The negotiated extensions.
    extensions: Extensions,
    client: DirectionState,
    server: DirectionState,
    /// Whether the limits of a tickwire client apply to frames of the server.
    is_our_client: bool,
}

impl<'c> Conversation<'c> {
    /// Creates a conversation in which the path of the request selects the dialect. `dialect`
    /// applies without a request.
    pub fn new(codes: &'c PacketTables, dialect: &'c Dialect) -> Conversation<'c> {
        Conversation { state: DialectState::from_path(codes, dialect), ..Conversation::in_dialect(dialect) }
    }

    /// Creates a conversation in this dialect, whatever the path.
    pub fn in_dialect(dialect: &'c Dialect) -> Conversation<'c> {
        let (client, server) = (DirectionState::default(), DirectionState::default());
        let (state, extensions) = (DialectState::fixed(dialect), Extensions::None);
        Conversation { state, request: None, extensions, client, server, is_our_client: false }
    }

    /// Creates a conversation of another protocol: no message is decoded as a packet, whatever the
    /// path. `dialect` is not used.
    pub fn foreign(dialect: &'c Dialect) -> Conversation<'c> {
        Conversation { state: DialectState::foreign(dialect), ..Conversation::in_dialect(dialect) }
    }

    /// Skips the upgrade: both sides continue with frames, and no message is unfinished.
    pub fn start_after_upgrade(&mut self, json: bool) {
        self.state.set_json(json);
        for half in [&mut self.client, &mut self.server] {
            half.stage = DirectionStage::Frames;
            half.open = UnfinishedMessage::None;
        }
    }

    /// Applies the limits of a tickwire server, whatever the path.
    pub fn set_own_server(&mut self) {
        self.state.set_own_server();
    }

    /// Applies the limits of a tickwire client to the frames of the server.
    pub fn with_our_client(&mut self) {
        self.is_our_client = true;
    }

    /// Whether a side has broken a rule, after which its bytes are not decoded.
    pub fn has_failed(&self, from: Side) -> bool {
        let half = if from == Side::Client { &self.client } else { &self.server };
        half.stage == DirectionStage::Over
    }

    /// Sets whether each payload is a single leaf, which is several times faster.
    pub fn set_brief(&mut self, is_brief: bool) {
        self.set_detail(if is_brief { Detail::Name } else { Detail::Tree });
    }

    /// Sets the detail in which payloads are explained.
    pub(crate) fn set_detail(&mut self, detail: Detail) {
        self.state.set_detail(detail);
    }

    /// Whether packets are JSON in text messages; `None` if unknown.
    pub fn json(&self) -> Option<bool> {
        self.state.json()
    }

    /// Whether the path is unique to tickwire servers, so that their limits apply.
    pub fn is_ours(&self) -> bool {
        self.state.is_ours()
    }

    /// Whether the path or the subprotocol belongs to another protocol, so that messages are not
    /// decoded as packets.
    pub fn is_foreign(&self) -> bool {
        self.state.is_foreign()
    }

    /// The size of the unfinished items and messages, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        let held = |half: &DirectionState| half.waiting.len() + half.open.bytes();
        held(&self.client) + held(&self.server)
    }

    /// Whether both sides have completed the upgrade and broken no rule that ends the connection.
    /// Remains true after a close frame, because a close frame requires a response.
    pub fn is_open(&self) -> bool {
        [&self.client, &self.server]
            .iter()
            .all(|half| matches!(half.stage, DirectionStage::Frames | DirectionStage::Closed))
    }

    /// The known, guessed or default dialect.
    pub fn dialect(&self) -> &'c Dialect {
        self.state.dialect()
    }

    /// Whether the user or the path of a request selected the dialect.
    pub fn is_settled(&self) -> bool {
        self.state.is_settled()
    }

    /// The evidence for the dialect, if the upgrade is missing.
    pub fn guess(&self) -> Option<&DialectGuess<'c>> {
        self.state.guess()
    }

    /// Sets the guess. It applies until a request selects the dialect.
    pub fn set_guess(&mut self, guess: DialectGuess<'c>) {
        self.state.set_guess(guess);
    }

    /// Receives bytes of a side, and explains each head and frame that they complete. Bit positions
    /// count from the start of each item.
    pub fn receive(&mut self, from: Side, bytes: &[u8]) -> Vec<Explanation<'c>> {
        let mut items = Vec::new();
        self.receive_each(from, bytes, |item| items.push(item));
        items
    }

    /// Like `receive`, but passes each explanation to `each`, so that at most one is stored.
    pub fn receive_each(&mut self, from: Side, bytes: &[u8], each: impl FnMut(Explanation<'c>)) {
        let mut input = mem::take(&mut self.half(from).waiting);
        input.extend_from_slice(bytes);
        let at = self.explain_whole(from, &input, false, each);
        input.drain(..at);
        self.half(from).waiting = input;
    }

    /// Explains the leftover bytes of a side: the bytes not yet searched, then the incomplete item.
    pub fn finish(&mut self, from: Side) -> Vec<Explanation<'c>> {
        let mut items = Vec::new();
        let input = mem::take(&mut self.half(from).waiting);
        let at = self.explain_whole(from, &input, true, |item| items.push(item));
        if at < input.len() {
            items.push(self.explain_one(from, &input[at..]));
        }
        let half = self.half(from);
        (half.search, half.head) = (Resync::default(), None);
        items
    }

    /// Explains all complete items, and returns their size in bytes.
    fn explain_whole(
        &mut self,
        from: Side,
        input: &[u8],
        is_all: bool,
        mut each: impl FnMut(Explanation<'c>),
    ) -> usize {
        let mut at = 0;
        while let Some(size) = self.next_size(from, &input[at..], is_all) {
            each(self.explain_one(from, &input[at..at + size]));
            at += size;
        }
        at
    }

    /// Starts both sides in the middle of the stream, with a search for a head or a plausible
    /// frame.
    pub fn start_midstream(&mut self) {
        self.state.start_guessing();
        for half in [&mut self.client, &mut self.server] {
            half.stage = DirectionStage::Seek;
        }
    }

    /// Drops the unfinished item and message, because bytes of the side are missing, and searches
    /// for a plausible frame. After a violation or a close frame, bytes remain unread.
    pub fn skip_gap(&mut self, from: Side) -> Vec<Explanation<'c>> {
        let before = self.half(from).stage;
        let given_up = self.finish(from);
        let half = self.half(from);
        half.open = UnfinishedMessage::Unknown;
        half.inflation.skip_gap();
        // `before` decides, because `finish` treats a truncated head as plain HTTP.
        let is_over = matches!(half.stage, DirectionStage::Closed | DirectionStage::Over);
        if matches!(before, DirectionStage::Begin | DirectionStage::Frames) && !is_over {
            half.stage = DirectionStage::Seek;
            self.state.start_guessing();
        }
        given_up
    }

    /// Explains bytes of one side as a single input. Bit positions count from the start of the
    /// input.
    pub fn explain(&mut self, from: Side, bytes: &[u8]) -> Explanation<'c> {
        let mut frames = Vec::new();
        self.explain_each(from, bytes, |frame| frames.push(frame));
        self.explanation(bytes, from, frames)
    }

    /// Like `explain`, but passes each frame to `each`.
    pub(super) fn explain_each(
        &mut self,
        from: Side,
        bytes: &[u8],
        mut each: impl FnMut(ExplainedFrame<'c>),
    ) {
        let mut at = 0;
        while at < bytes.len() {
            let frame = self.item(bytes, at, from);
            at = frame.range.end;
            each(frame);
        }
    }

    fn explain_one(&mut self, from: Side, item: &[u8]) -> Explanation<'c> {
        let frames = vec![self.item(item, 0, from)];
        self.explanation(item, from, frames)
    }

    fn explanation(&self, bytes: &[u8], from: Side, frames: Vec<ExplainedFrame<'c>>) -> Explanation<'c> {
        let (dialect, candidates) = (self.state.dialect(), self.state.candidates());
        let is_foreign = self.state.is_foreign();
        Explanation { bytes: bytes.to_vec(), from, dialect, is_foreign, candidates, frames }
    }

    /// The limits of the receiver of a side's frames, if known.
    fn limits(&self, from: Side) -> Option<Limits> {
        match from {
            Side::Client => self.state.is_ours().then_some(limits::CLIENT_MESSAGE_LIMITS),
            Side::Server => self.is_our_client.then_some(limits::SERVER_MESSAGE_LIMITS),
        }
    }

    fn half(&mut self, from: Side) -> &mut DirectionState {
        match from {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// Returns the size of the next item, or `None` while the item is incomplete. After a
    /// violation, all remaining bytes are one item.
    fn next_size(&mut self, from: Side, input: &[u8], is_all: bool) -> Option<usize> {
        if self.half(from).stage == DirectionStage::Seek && !input.is_empty() {
            match self.seek(from, input, is_all) {
                Some(0) => {}
                size => return size,
            }
        }
        let (limits, extensions) = (self.limits(from), self.extensions);
        if self.half(from).stage == DirectionStage::Begin {
            let mut search = self.half(from).head.take();
            let is_head = match &mut search {
                Some(search) => search.may_go_on(input),
                None => head_search::may_become_head(input, from),
            };
            if is_head {
                let mut search = search.unwrap_or_else(|| Box::new(HeadSearch::new(from)));
                let size = search.size(input, &self.state);
                self.half(from).head = Some(search).filter(|_| size.is_none());
                return size;
            }
        }
        let half = self.half(from);
        match half.stage {
            _ if input.is_empty() => None,
            DirectionStage::Body | DirectionStage::Closed | DirectionStage::Over => Some(input.len()),
            DirectionStage::Seek => None,
            DirectionStage::Begin | DirectionStage::Frames => {
                match frame_header::decode(input, from, extensions) {
                    Err(_) => Some(input.len()),
                    Ok(None) => None,
                    Ok(Some((header, ..))) if half.open.check_next_frame(header, limits).is_err() => {
                        Some(input.len())
                    }
                    Ok(Some((header, size, _))) => {
                        let whole = usize::try_from(header.length).ok()?.checked_add(size)?;
                        (whole <= input.len()).then_some(whole)
                    }
                }
            }
        }
    }

    /// Returns the number of bytes before the first plausible frame; at zero, the search ends.
    /// `is_all` means that no more bytes will arrive.
    fn seek(&mut self, from: Side, input: &[u8], is_all: bool) -> Option<usize> {
        if head_search::is_of_upgrade(input) {
            self.half(from).stage = DirectionStage::Begin;
            return Some(0);
        }
        if !is_all && !self.half(from).search.is_due(input.len()) {
            return None;
        }
        let (dialects, json) = (self.state.search_dialects(), self.state.json());
        let half = self.half(from);
        match half.search.first_frame(input, from, (&dialects, json), is_all) {
            Some(at) => {
                half.search = Resync::default();
                if at == 0 {
                    half.stage = DirectionStage::Frames;
                }
                Some(at)
            }
            None if input.len() > limits::RESYNC_SEARCH_BYTES => Some(half.search.discard(input.len())),
            None => None,
        }
    }

    /// Explains the head or frame at byte `start`, possibly incomplete.
    fn item(&mut self, bytes: &[u8], start: usize, from: Side) -> ExplainedFrame<'c> {
        match self.half(from).stage {
            DirectionStage::Begin if head_search::may_become_head(&bytes[start..], from) => {
                self.head(bytes, start, from)
            }
            stage @ (DirectionStage::Body
            | DirectionStage::Closed
            | DirectionStage::Over
            | DirectionStage::Seek) => {
                let rest = Node::of_bytes(packet::UNREAD, start, &bytes[start..], "not read");
                let tree = Node::parent(UNREAD_FIELD, start * BYTE, vec![rest]);
                let why = if stage == DirectionStage::Closed { "after the close" } else { "" };
                ExplainedFrame::new(start..bytes.len(), tree.valued(why))
            }
            DirectionStage::Begin | DirectionStage::Frames => {
                self.half(from).stage = DirectionStage::Frames;
                self.frame(bytes, start, from)
            }
        }
    }

    fn head(&mut self, bytes: &[u8], start: usize, from: Side) -> ExplainedFrame<'c> {
        let head = http_head::explain(bytes, start, from, self.request.as_ref(), &self.state);
        if let Some(granted) = &head.granted {
            self.extensions = granted.extensions;
            self.client.inflation = Inflation::new(granted.deflate.map(|agreed| agreed.client));
            self.server.inflation = Inflation::new(granted.deflate.map(|agreed| agreed.server));
            granted.subprotocol.iter().for_each(|name| self.state.agree(name));
        }
        if let Some(request) = head.request {
            self.state.apply_request(&request);
            self.request = Some(request);
        }
        let half = self.half(from);
        half.stage = if head.is_upgrade { DirectionStage::Frames } else { DirectionStage::Body };
        half.open = UnfinishedMessage::None;
        head.frame
    }

    fn frame(&mut self, bytes: &[u8], start: usize, from: Side) -> ExplainedFrame<'c> {
        let mut layout = frame_header::parse_header(bytes, start, from);
        let (header, is_compressed) = match frame_header::decode(&bytes[start..], from, self.extensions) {
            Ok(Some((header, _, is_compressed))) => {
                layout.set_compressed(header.compressed);
                (header, is_compressed)
            }
            Ok(None) => return unread(bytes, start, layout, Problem::Incomplete { missing: None }),
            Err(violation) => {
                self.half(from).stage = DirectionStage::Over;
                let culprit = frame_header::blamed_range(violation, bytes, start, &layout);
                return unread(bytes, start, layout, Problem::violation(violation, culprit));
            }
        };
        let limits = self.limits(from);
        if let Err(violation) = self.half(from).open.check_next_frame(header, limits) {
            self.half(from).stage = DirectionStage::Over;
            let culprit = frame_header::blamed_range(violation, bytes, start, &layout);
            let frame = unread(bytes, start, layout, Problem::violation(violation, culprit));
            return ExplainedFrame { header: Some(header), ..frame };
        }
        let begin = layout.end;
        let come = ((bytes.len() - begin) as u64).min(header.length) as usize;
        let mut payload = bytes[begin..begin + come].to_vec();
        if let Some(key) = header.mask {
            frame::mask(&mut payload, key, 0);
        }
        let missing = header.length - come as u64;
        let (inside, whole) = match missing {
            0 => self.payload(from, (header, is_compressed), &payload, begin),
            _ if is_compressed => {
                let incomplete = Problem::Incomplete { missing: Some(missing) };
                (ExplainedPayload::compressed(&payload, begin).with(Some(incomplete)), None)
            }
            _ => {
                let open = &self.half(from).open;
                (explain_incomplete(open, &payload, begin, header.opcode, missing), None)
            }
        };
        // A packet violation also closes the connection, but later frames can still be decoded,
        // because the frame boundaries are intact.
        let is_of_packets = matches!(inside.content, Content::Packet(..));
        if !is_of_packets && inside.problem.as_ref().is_some_and(Problem::closes_connection) {
            self.half(from).stage = DirectionStage::Over;
        } else if missing == 0 && header.opcode == Opcode::Close {
            self.half(from).stage = DirectionStage::Closed;
        }
        let mut fields = layout.fields;
        if come > 0 {
            fields.push(inside.node);
        }
        let tree = Node::parent("frame", start * BYTE, fields).valued(header.to_string());
        ExplainedFrame {
            header: Some(header),
            key: header.mask,
            payload,
            content: inside.content,
            message: whole,
            problem: inside.problem,
            alternatives: inside.otherwise,
            ..ExplainedFrame::new(start..begin + come, tree)
        }
    }

    /// Explains a complete payload, and the message that it completes.
    fn payload(
        &mut self,
        from: Side,
        (header, is_compressed): (Header, bool),
        payload: &[u8],
        begin: usize,
    ) -> (ExplainedPayload<'c>, Option<ReassembledMessage>) {
        let limits = self.limits(from);
        let Conversation { state, client, server, .. } = self;
        let DirectionState { open, inflation, .. } = if from == Side::Client { client } else { server };
        let explain = |payload: &[u8], begin, opcode| state.explain(payload, begin, opcode, from);
        if inflation.is_on() && open.is_compressed_with(header) {
            return explain_compressed((open, inflation), payload, begin, header, limits, explain);
        }
        explain_payload(open, payload, begin, (header, is_compressed), explain)
    }
}

/// Creates a frame with a broken or incomplete header. The bytes after the header are not decoded.
fn unread<'c>(
    bytes: &[u8],
    start: usize,
    layout: frame_header::HeaderLayout,
    problem: Problem,
) -> ExplainedFrame<'c> {
    let mut fields = layout.fields;
    if layout.end < bytes.len() {
        fields.push(Node::of_bytes(packet::UNREAD, layout.end, &bytes[layout.end..], "not read"));
    }
    let tree = Node::parent("frame", start * BYTE, fields);
    ExplainedFrame {
        key: layout.key,
        content: Content::Unread,
        problem: Some(problem),
        ..ExplainedFrame::new(start..bytes.len(), tree)
    }
}
