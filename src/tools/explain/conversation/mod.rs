//! A conversation of two sides, byte by byte: the upgrade, then frames and their messages.
//!
//! Bytes of either side may be cut anywhere; each whole head or frame yields an explanation, and
//! leftover bytes are explained at the end. Earlier items inform later ones: the path of the
//! request selects the dialect, its key determines the right answer, and a last fragment is
//! explained with the whole message.
//!
//! ```text
//!   begin ──head that asks for or grants the upgrade──► frames ──broken rule, close──► over
//!     ├──────────────── no head: mid-stream ───────────►│
//!     └──any other head──► body                         │
//!                            seek ──what makes sense───►┘
//! ```
//!
//! Mid-stream, a continuation frame is accepted. After missing bytes, [`resync`] finds the next frame. A
//! side has at most one unfinished item and one unfinished message. The limits of the server apply only
//! if the path is unique to our server.

pub(super) mod dialect_state;
mod direction;
pub(super) mod resync;
pub(super) mod unfinished_message;
pub(super) mod upgrade_request;

use std::mem;

use self::dialect_state::DialectState;
use self::direction::{DirectionStage, DirectionState};
use self::resync::Resync;
use self::unfinished_message::{UnfinishedMessage, fragment, go_on};
use self::upgrade_request::Asked;
use super::dialect_guess::DialectGuess;
use super::explanation::{Content, ExplainedFrame, Explanation, Problem, REST, ReassembledMessage};
use super::parse::frame_header::{self, Extensions};
use super::parse::head_search::{self, HeadSearch};
use super::parse::payload::ExplainedPayload;
use super::parse::{http_head, packet};
use super::tree::{BYTE, Node};
use crate::limits;
use crate::packet::{Dialect, PacketTables};
use crate::ws::Side;
use crate::ws::frame::{self, Header, Opcode};
use crate::ws::message::Limits;
use crate::ws::utf8::Utf8Validator;

/// A conversation of two sides: bytes go in, and explanations of whole heads and frames come out.
#[derive(Clone, Debug)]
pub struct Conversation<'c> {
    spoken: DialectState<'c>,
    /// The target of the request, once seen.
    asked: Option<Asked>,
    /// The extensions on which both ends agreed.
    extensions: Extensions,
    client: DirectionState,
    server: DirectionState,
    /// Whether the frames of the server are read by a client of ours, with its limits.
    is_our_client: bool,
}

impl<'c> Conversation<'c> {
    /// A conversation whose dialect comes from the request's path; without a request it is `dialect`.
    pub fn new(codes: &'c PacketTables, dialect: &'c Dialect) -> Conversation<'c> {
        Conversation { spoken: DialectState::by_path(codes, dialect), ..Conversation::in_dialect(dialect) }
    }

    /// A conversation in this dialect, whatever its path says.
    pub fn in_dialect(dialect: &'c Dialect) -> Conversation<'c> {
        let (client, server) = (DirectionState::default(), DirectionState::default());
        let (spoken, extensions) = (DialectState::in_dialect(dialect), Extensions::None);
        Conversation { spoken, asked: None, extensions, client, server, is_our_client: false }
    }

    /// Records that the upgrade came before: no message is unfinished.
    pub fn begin_with_frames(&mut self, json: bool) {
        self.spoken.say_format(json);
        for half in [&mut self.client, &mut self.server] {
            half.stage = DirectionStage::Frames;
            half.open = UnfinishedMessage::Nothing;
        }
    }

    /// Applies the limits of our server, whatever the path.
    pub fn with_our_server(&mut self) {
        self.spoken.be_ours();
    }

    /// Records that the client is ours, so that its limits apply to the frames of the server.
    pub fn with_our_client(&mut self) {
        self.is_our_client = true;
    }

    /// Whether a side has broken a rule after which nothing more of it is read.
    pub fn has_failed(&self, from: Side) -> bool {
        let half = if from == Side::Client { &self.client } else { &self.server };
        half.stage == DirectionStage::Over
    }

    /// Whether trees have a payload as one leaf, which is several times as fast.
    pub fn be_brief(&mut self, is_brief: bool) {
        self.spoken.be_brief(is_brief);
    }

    /// Whether packets travel as JSON, if known.
    pub fn json(&self) -> Option<bool> {
        self.spoken.json()
    }

    /// Whether the path is unique to our server, so that its limits are known.
    pub fn is_ours(&self) -> bool {
        self.spoken.is_ours()
    }

    /// Whether the path or the subprotocol of the connection is not one of tickwire, so that its messages are no packets.
    pub fn is_foreign(&self) -> bool {
        self.spoken.is_foreign()
    }

    /// Bytes that the conversation holds: unfinished items and messages.
    pub fn held_bytes(&self) -> usize {
        let held = |half: &DirectionState| half.waiting.len() + half.open.bytes();
        held(&self.client) + held(&self.server)
    }

    /// Whether both sides are past the upgrade, and neither has broken a rule that ends the
    /// connection. Also true after a close frame, because it requires an answer.
    pub fn is_open(&self) -> bool {
        [&self.client, &self.server]
            .iter()
            .all(|half| matches!(half.stage, DirectionStage::Frames | DirectionStage::Closed))
    }

    /// The dialect, as far as it is known.
    pub fn dialect(&self) -> &'c Dialect {
        self.spoken.dialect()
    }

    /// Whether the dialect is known: the user or the path of a request named it.
    pub fn is_settled(&self) -> bool {
        self.spoken.is_settled()
    }

    /// The evidence for the dialect, if the upgrade was not seen.
    pub fn guess(&self) -> Option<&DialectGuess<'c>> {
        self.spoken.guess()
    }

    /// Sets the guess that applies until a request names the dialect.
    pub fn take_guess(&mut self, guess: DialectGuess<'c>) {
        self.spoken.take_guess(guess);
    }

    /// Takes bytes of a side, and explains each head and each frame that they complete. The bits of
    /// each count from its own front.
    pub fn receive(&mut self, from: Side, bytes: &[u8]) -> Vec<Explanation<'c>> {
        let mut items = Vec::new();
        self.receive_each(from, bytes, |item| items.push(item));
        items
    }

    /// Like `receive`, but hands over each explanation as it is made, so that at most one is kept.
    pub fn receive_each(&mut self, from: Side, bytes: &[u8], each: impl FnMut(Explanation<'c>)) {
        let mut input = mem::take(&mut self.half(from).waiting);
        input.extend_from_slice(bytes);
        let at = self.explain_whole(from, &input, false, each);
        input.drain(..at);
        self.half(from).waiting = input;
    }

    /// Explains a side's leftover bytes: an incomplete item, preceded by any bytes not yet
    /// searched.
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

    /// Explains all whole items, and returns their size in bytes.
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

    /// Records that the beginning was not seen, and that the first bytes may lie anywhere, unless
    /// they are a head.
    pub fn begin_midway(&mut self) {
        self.spoken.begin_to_guess();
        for half in [&mut self.client, &mut self.server] {
            half.stage = DirectionStage::Seek;
        }
    }

    /// Discards the unfinished item and message, because bytes of the side are missing, and seeks a
    /// frame in the next bytes. Bytes after a broken rule still remain unread.
    pub fn skip(&mut self, from: Side) -> Vec<Explanation<'c>> {
        let before = self.half(from).stage;
        let given_up = self.finish(from);
        let half = self.half(from);
        half.open = UnfinishedMessage::Unknown;
        // A truncated head shows no upgrade request, but there may have been one.
        let is_over = matches!(half.stage, DirectionStage::Closed | DirectionStage::Over);
        if matches!(before, DirectionStage::Begin | DirectionStage::Frames) && !is_over {
            half.stage = DirectionStage::Seek;
            self.spoken.begin_to_guess();
        }
        given_up
    }

    /// Explains independent bytes of one side. Bits count from the front of all of them.
    pub fn explain(&mut self, from: Side, bytes: &[u8]) -> Explanation<'c> {
        let mut frames = Vec::new();
        self.explain_each(from, bytes, |frame| frames.push(frame));
        self.explanation(bytes, from, frames)
    }

    /// Like `explain`, but hands over each frame as it is found.
    pub(super) fn explain_each(
        &mut self,
        from: Side,
        bytes: &[u8],
        mut each: impl FnMut(ExplainedFrame<'c>),
    ) {
        let mut at = 0;
        while at < bytes.len() {
            let frame = self.item(bytes, at, from);
            at = frame.place.end;
            each(frame);
        }
    }

    fn explain_one(&mut self, from: Side, item: &[u8]) -> Explanation<'c> {
        let frames = vec![self.item(item, 0, from)];
        self.explanation(item, from, frames)
    }

    fn explanation(&self, bytes: &[u8], from: Side, frames: Vec<ExplainedFrame<'c>>) -> Explanation<'c> {
        let (dialect, candidates) = (self.spoken.dialect(), self.spoken.candidates());
        let is_foreign = self.spoken.is_foreign();
        Explanation { bytes: bytes.to_vec(), from, dialect, is_foreign, candidates, frames }
    }

    /// The limits of the end that receives the frames of a side, if known.
    fn limits(&self, from: Side) -> Option<Limits> {
        match from {
            Side::Client => self.spoken.is_ours().then_some(limits::CLIENT_MESSAGE_LIMITS),
            Side::Server => self.is_our_client.then_some(limits::SERVER_MESSAGE_LIMITS),
        }
    }

    fn half(&mut self, from: Side) -> &mut DirectionState {
        match from {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// The size of the next item, once it is whole. After a broken rule, all remaining bytes.
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
                None => head_search::may_begin(input, from),
            };
            if is_head {
                let mut search = search.unwrap_or_else(|| Box::new(HeadSearch::new(from)));
                let size = search.size(input, &self.spoken);
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
                    Ok(Some((header, ..))) if half.open.admit(header, limits).is_err() => Some(input.len()),
                    Ok(Some((header, size, _))) => {
                        let whole = usize::try_from(header.length).ok()?.checked_add(size)?;
                        (whole <= input.len()).then_some(whole)
                    }
                }
            }
        }
    }

    /// The number of bytes before the first frame that makes sense. At zero, the side stops
    /// seeking. `is_all` means that no more bytes will come, so there is nothing to wait for.
    fn seek(&mut self, from: Side, input: &[u8], is_all: bool) -> Option<usize> {
        if head_search::is_of_upgrade(input) {
            self.half(from).stage = DirectionStage::Begin;
            return Some(0);
        }
        if !is_all && !self.half(from).search.is_due(input.len()) {
            return None;
        }
        let (dialects, json) = (self.spoken.sought(), self.spoken.json());
        let half = self.half(from);
        match half.search.first_frame(input, from, (&dialects, json), is_all) {
            Some(at) => {
                half.search = Resync::default();
                if at == 0 {
                    half.stage = DirectionStage::Frames;
                }
                Some(at)
            }
            None if input.len() > limits::RESYNC_SEARCH_BYTES => Some(half.search.give_up(input.len())),
            None => None,
        }
    }

    /// The head or the frame that begins at byte `start`, possibly incomplete.
    fn item(&mut self, bytes: &[u8], start: usize, from: Side) -> ExplainedFrame<'c> {
        match self.half(from).stage {
            DirectionStage::Begin if head_search::may_begin(&bytes[start..], from) => {
                self.head(bytes, start, from)
            }
            stage @ (DirectionStage::Body
            | DirectionStage::Closed
            | DirectionStage::Over
            | DirectionStage::Seek) => {
                let rest = Node::of_bytes(packet::NOT_READ, start, &bytes[start..], "not read");
                let tree = Node::parent(REST, start * BYTE, vec![rest]);
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
        let head = http_head::explain(bytes, start, from, self.asked.as_ref(), &self.spoken);
        if let Some(granted) = &head.granted {
            self.extensions = granted.extensions;
            granted.subprotocol.iter().for_each(|name| self.spoken.agree(name));
        }
        if let Some(asked) = head.asked {
            self.spoken.ask(&asked);
            self.asked = Some(asked);
        }
        let half = self.half(from);
        half.stage = if head.is_upgrade { DirectionStage::Frames } else { DirectionStage::Body };
        half.open = UnfinishedMessage::Nothing;
        head.frame
    }

    fn frame(&mut self, bytes: &[u8], start: usize, from: Side) -> ExplainedFrame<'c> {
        let layout = frame_header::lay_out(bytes, start, from);
        let (header, is_compressed) = match frame_header::decode(&bytes[start..], from, self.extensions) {
            Ok(Some((header, _, is_compressed))) => (header, is_compressed),
            Ok(None) => return unread(bytes, start, layout, Problem::Incomplete { missing: None }),
            Err(violation) => {
                self.half(from).stage = DirectionStage::Over;
                let culprit = frame_header::culprit(violation, bytes, start, &layout);
                return unread(bytes, start, layout, Problem::violation(violation, culprit));
            }
        };
        let limits = self.limits(from);
        if let Err(violation) = self.half(from).open.admit(header, limits) {
            self.half(from).stage = DirectionStage::Over;
            let culprit = frame_header::culprit(violation, bytes, start, &layout);
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
            0 => self.payload(&payload, begin, (header, is_compressed), from),
            _ if is_compressed => {
                let incomplete = Problem::Incomplete { missing: Some(missing) };
                (ExplainedPayload::compressed(&payload, begin).with(Some(incomplete)), None)
            }
            _ => (self.unfinished(&payload, begin, header, missing, from), None),
        };
        // A broken packet rule closes the connection too, but the frame boundaries stay intact: the
        // later frames can be read.
        let is_of_packets = matches!(inside.content, Content::Packet(..));
        if !is_of_packets && inside.problem.as_ref().is_some_and(Problem::closes) {
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
            whole,
            problem: inside.problem,
            otherwise: inside.otherwise,
            ..ExplainedFrame::new(start..begin + come, tree)
        }
    }

    /// An incomplete payload. As in the server, a text that can no longer be UTF-8 is rejected
    /// before its end arrives.
    fn unfinished(
        &mut self,
        payload: &[u8],
        begin: usize,
        header: Header,
        missing: u64,
        from: Side,
    ) -> ExplainedPayload<'c> {
        let text = match (header.opcode, &self.half(from).open) {
            (Opcode::Text, _) => Some(Utf8Validator::default()),
            (
                Opcode::Continuation,
                UnfinishedMessage::Begun { opcode: Opcode::Text, text, is_compressed: false, .. },
            ) => Some(text.clone()),
            _ => None,
        };
        let judged = text.map(|mut text| fragment(payload, begin, Opcode::Text, &mut text));
        let incomplete = Problem::Incomplete { missing: Some(missing) };
        judged
            .filter(|inside| inside.problem.is_some())
            .unwrap_or_else(|| ExplainedPayload::bytes(payload, begin).with(Some(incomplete)))
    }

    /// A complete payload: its own content, and the message that it completes.
    fn payload(
        &mut self,
        payload: &[u8],
        begin: usize,
        (header, is_compressed): (Header, bool),
        from: Side,
    ) -> (ExplainedPayload<'c>, Option<ReassembledMessage>) {
        let Conversation { spoken, client, server, .. } = self;
        let open = &mut if from == Side::Client { client } else { server }.open;
        let mut explain = |payload: &[u8], begin, opcode| match is_compressed {
            true => ExplainedPayload::compressed(payload, begin),
            false => spoken.explain(payload, begin, opcode, from),
        };
        match (header.opcode, header.fin) {
            (opcode, _) if opcode.is_control() => (explain(payload, begin, opcode), None),
            (Opcode::Continuation, fin) => go_on(open, payload, begin, fin, explain),
            (opcode, true) => {
                *open = UnfinishedMessage::Nothing;
                (explain(payload, begin, opcode), None)
            }
            (opcode, false) => {
                let mut text = Utf8Validator::default();
                let shown_as = if is_compressed { Opcode::Binary } else { opcode };
                let inside = fragment(payload, begin, shown_as, &mut text);
                *open = UnfinishedMessage::Begun {
                    opcode,
                    payload: payload.to_vec(),
                    frames: 1,
                    text,
                    is_compressed,
                };
                (inside, None)
            }
        }
    }
}

/// A frame whose header ends the connection or is incomplete: nothing after it is read.
fn unread<'c>(
    bytes: &[u8],
    start: usize,
    layout: frame_header::HeaderLayout,
    problem: Problem,
) -> ExplainedFrame<'c> {
    let mut fields = layout.fields;
    if layout.end < bytes.len() {
        fields.push(Node::of_bytes(packet::NOT_READ, layout.end, &bytes[layout.end..], "not read"));
    }
    let tree = Node::parent("frame", start * BYTE, fields);
    ExplainedFrame {
        key: layout.key,
        content: Content::Unread,
        problem: Some(problem),
        ..ExplainedFrame::new(start..bytes.len(), tree)
    }
}
