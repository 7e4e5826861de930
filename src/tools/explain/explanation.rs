//! The parts of an explanation, and the summary line of each frame.

use std::fmt;
use std::ops::Range;

use super::color::{ColorMode, ColorRole};
use super::tree::Node;
use super::truncate::{truncate, truncate_foreign};
use super::{dialect_guess, hex};
use crate::packet::{DecodedPacket, Dialect, Direction, Row};
use crate::util::escape;
use crate::util::plural::count_noun;
use crate::ws::frame::{Header, MASK_KEY_BYTES, Opcode};
use crate::ws::violation::ViolationResponse;
use crate::ws::{Side, Violation};

/// The name of the payload field of a frame.
pub const PAYLOAD_FIELD: &str = "payload";

/// The name of undecoded bytes: a body, or the bytes after the end.
pub const UNREAD_FIELD: &str = "rest";

/// The name of the root node of a message without frames.
pub(crate) const MESSAGE: &str = "message";

/// The explanation of bytes of one direction.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explanation<'a> {
    /// The input bytes.
    pub bytes: Vec<u8>,
    /// The sender.
    pub from: Side,
    /// The dialect in which packets were decoded.
    pub dialect: &'a Dialect,
    /// Whether the connection uses another protocol, so that messages are not decoded as packets.
    pub is_foreign: bool,
    /// All possible dialects, if the dialect is a guess. Otherwise empty.
    pub candidates: Vec<&'a Dialect>,
    /// The frames in order, after the head of the request or response, if any. The bytes after a
    /// close frame or a violation form one more frame, which is not decoded.
    pub frames: Vec<ExplainedFrame<'a>>,
}

/// One frame, possibly incomplete, or the head of a request or response.
#[derive(Debug)]
#[non_exhaustive]
pub struct ExplainedFrame<'a> {
    /// The byte range of the frame in the input.
    pub range: Range<usize>,
    /// The header, if it is complete and valid.
    pub header: Option<Header>,
    /// The fields, down to the values of the packet.
    pub tree: Node,
    /// The masking key of the payload.
    pub key: Option<[u8; MASK_KEY_BYTES]>,
    /// The unmasked payload; only the received part if the frame is incomplete.
    pub payload: Vec<u8>,
    /// The content of the payload; for a final fragment, the content of the whole message.
    pub content: Content<'a>,
    /// The message that this frame completes, if it is a final fragment or compressed.
    pub message: Option<ReassembledMessage>,
    /// The first problem, if any.
    pub problem: Option<Problem>,
    /// If the dialect is a guess: the candidates that decode the packet differently.
    pub alternatives: Vec<&'a Dialect>,
    /// The rows of the packets and commands of a datagram, in order.
    pub packets: Vec<&'a Row>,
}

impl ExplainedFrame<'_> {
    /// Creates an undecoded frame.
    pub(crate) fn new(place: Range<usize>, tree: Node) -> Self {
        let (header, key, payload, content) = (None, None, Vec::new(), Content::Unread);
        ExplainedFrame {
            range: place,
            header,
            tree,
            key,
            payload,
            content,
            message: None,
            problem: None,
            alternatives: Vec::new(),
            packets: Vec::new(),
        }
    }
}

/// A message that was sent in several frames, or compressed.
#[derive(Debug)]
#[non_exhaustive]
pub struct ReassembledMessage {
    /// The number of frames.
    pub frames: usize,
    /// The opcode of the first frame.
    pub opcode: Opcode,
    /// Bytes of the compressed payloads together, if the message was compressed.
    pub compressed_bytes: Option<usize>,
    /// The payloads, unmasked, joined and inflated.
    pub payload: Vec<u8>,
    /// The tree of the message. Bit positions count from the start of `payload`.
    pub tree: Node,
}

impl ReassembledMessage {
    /// The frames and the bytes in one line.
    fn line(&self) -> String {
        let bytes = |count| count_noun(count, "byte");
        let (opcode, frames) = (self.opcode.name(), count_noun(self.frames, "frame"));
        match self.compressed_bytes {
            None => format!("ends a {opcode} message, {frames}, {}", bytes(self.payload.len())),
            Some(_) if self.frames == 1 => format!("inflated {}", bytes(self.payload.len())),
            Some(compressed) => format!(
                "ends a {opcode} message, {frames}, {}, inflated {}",
                bytes(compressed),
                bytes(self.payload.len())
            ),
        }
    }
}

/// The content of a payload.
#[derive(Debug)]
pub enum Content<'a> {
    /// The head of a request or response: its summary line.
    Head(String),
    /// Not decoded.
    Unread,
    /// Bytes without further meaning, of a ping, a pong or a fragment.
    Bytes,
    /// The text of a text message.
    Text(String),
    /// The body of a close frame: its summary line.
    Close(String),
    /// A message that an extension has changed and that is not restored, or a fragment of a
    /// compressed message.
    Compressed,
    /// A message of another protocol: its summary line.
    Foreign(String),
    /// A datagram of a lane: its summary line.
    Datagram(String),
    /// A packet: its row of the packet tables, if the dialect has one, and its summary line, if it
    /// is valid.
    Packet(Option<&'a Row>, Option<String>),
}

/// The reaction of an end that sends no answer.
const DROPPED: &str = "drop the connection";

/// A broken rule, or missing bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// A rule is broken.
    Violation {
        /// The rule's name, as in close frames, logs and metrics.
        rule: &'static str,
        /// The section that defines the rule, or the document.
        address: String,
        /// The description of the rule.
        description: String,
        /// The response of the other end.
        answer: String,
        /// The bits that break the rule. Positions count from the start of the input.
        bits: Range<usize>,
    },
    /// The frame is incomplete, and valid so far.
    Incomplete {
        /// The number of missing payload bytes; `None` if the header, or the HTTP head, is
        /// incomplete.
        missing: Option<u64>,
    },
}

impl Problem {
    pub(super) fn violation(violation: Violation, bits: Range<usize>) -> Problem {
        let answer = match violation.response() {
            ViolationResponse::Close(code) => format!("close {code}"),
            ViolationResponse::Status(status) => format!("status {status}"),
            ViolationResponse::Drop => DROPPED.to_owned(),
        };
        let (rule, address) = (violation.name(), violation.citation());
        Problem::Violation { rule, address, description: violation.to_string(), answer, bits }
    }

    /// Like [`Problem::violation`], for the head of a response. A client does not answer such a
    /// violation with a status; it drops the connection.
    pub(super) fn in_response(violation: Violation, bits: Range<usize>) -> Problem {
        let mut problem = Problem::violation(violation, bits);
        if let (Problem::Violation { answer, .. }, Some(_)) = (&mut problem, violation.status()) {
            *answer = DROPPED.to_owned();
        }
        problem
    }

    /// Whether the other end closes the connection.
    pub(super) fn closes_connection(&self) -> bool {
        matches!(self, Problem::Violation { answer, .. } if answer.starts_with("close "))
    }

    /// The close code of the other end's response, if the other end closes the connection.
    pub fn close_code(&self) -> Option<u16> {
        let Problem::Violation { answer, .. } = self else { return None };
        answer.strip_prefix("close ")?.split(' ').next()?.parse().ok()
    }

    /// Moves the problem to other bits.
    pub(super) fn at(mut self, place: impl FnOnce(Range<usize>) -> Range<usize>) -> Problem {
        if let Problem::Violation { bits, .. } = &mut self {
            *bits = place(bits.clone());
        }
        self
    }
}

impl Explanation<'_> {
    /// Returns the whole tree, with a node for each frame. Its leaves cover the input without gaps.
    pub fn tree(&self) -> Node {
        Node::parent("input", 0, self.frames.iter().map(|frame| frame.tree.clone()).collect())
    }

    /// The names by which a filter selects this explanation: the packets and their codes, the
    /// opcode, and the broken rule. For a close frame, also the close code and the reason.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for frame in &self.frames {
            let row = if let Content::Packet(row, _) = frame.content { row } else { None };
            for row in row.into_iter().chain(frame.packets.iter().copied()) {
                names.push(row.name.clone());
                names.extend(row.code(self.dialect.name()).map(ToString::to_string));
            }
            if let Content::Close(_) = &frame.content {
                let fields = ["code", "reason"].map(|name| frame.tree.find(name)?.raw.as_ref());
                let fields = fields.into_iter().flatten();
                names.extend(fields.map(|raw| raw.as_str().map_or_else(|| raw.to_string(), str::to_owned)));
            }
            names.extend(frame.header.map(|header| header.opcode.name().to_owned()));
            names.extend(frame.bare_opcode().map(str::to_owned));
            if let Some(Problem::Violation { rule, .. }) = &frame.problem {
                names.push((*rule).to_owned());
            }
        }
        names
    }

    /// The first problem, if any.
    pub fn problem(&self) -> Option<&Problem> {
        self.frames.iter().find_map(|frame| frame.problem.as_ref())
    }

    /// Decodes the packet, and returns it with the masking key, if the first frame is a complete
    /// binary packet of a client.
    pub fn decoded(&self) -> Option<(DecodedPacket<'_>, Option<[u8; MASK_KEY_BYTES]>)> {
        let frame = self.frames.first().filter(|_| self.from == Side::Client)?;
        frame.header.filter(|header| header.fin && header.opcode == Opcode::Binary)?;
        Some((self.dialect.decode(Direction::ToServer, &frame.payload).ok()?, frame.key))
    }

    /// One line for each frame, with the sender.
    #[doc(hidden)]
    pub fn one_line(&self, paint: ColorMode) -> String {
        self.frames.iter().map(|frame| frame.one_line(self.from, paint)).collect()
    }
}

/// One line for each frame.
impl fmt::Display for Explanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.frames.iter().map(ExplainedFrame::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl fmt::Display for ExplainedFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.line(ColorMode::Plain))
    }
}

impl ExplainedFrame<'_> {
    /// The summary line with the sender.
    pub(crate) fn one_line(&self, from: Side, paint: ColorMode) -> String {
        let mark = if from == Side::Client { '>' } else { '<' };
        format!("{mark} {}\n", self.line(paint))
    }

    /// The name of the opcode of a message without frames; `None` for a frame.
    pub(crate) fn bare_opcode(&self) -> Option<&str> {
        self.tree.raw.as_ref().filter(|_| self.tree.name == MESSAGE)?.as_str()
    }

    /// The payload of the message: the frame is the whole message, or its last fragment.
    fn message(&self) -> &[u8] {
        self.message.as_ref().map_or(&self.payload, |whole| &whole.payload)
    }

    /// The summary line: the header, then the content or the problem.
    pub(crate) fn line(&self, paint: ColorMode) -> String {
        let mut before: Vec<String> = self.header.iter().map(ToString::to_string).collect();
        before.extend(self.bare_opcode().map(|_| self.tree.value.clone()));
        before.extend(self.message.as_ref().map(ReassembledMessage::line));
        let before = paint.color(ColorRole::Header, &before.join(": "));
        let content = match (&self.problem, &self.content) {
            (Some(Problem::Violation { rule, address, answer, .. }), _) => {
                paint.color(ColorRole::Error, &format!("{rule} ({address}), {answer}"))
            }
            (Some(Problem::Incomplete { .. }), _) => "incomplete".to_owned(),
            (None, Content::Head(line)) => escape::escape_line(line).into_owned(),
            (None, Content::Text(text)) => truncate_foreign(&format!("{text:?}")),
            (None, Content::Foreign(line)) => truncate_foreign(&escape::escape_line(line)),
            (None, Content::Close(line) | Content::Datagram(line) | Content::Packet(_, Some(line))) => {
                truncate(&escape::escape_line(line))
            }
            (None, Content::Compressed) => format!("compressed, {}", truncate(&hex::print(self.message()))),
            (None, Content::Unread) => {
                let why = if self.tree.value.is_empty() { "" } else { ", " };
                format!("{} not decoded{why}{}", count_noun(self.range.len(), "byte"), self.tree.value)
            }
            (None, _) => truncate(&hex::print(&self.payload)),
        };
        let line =
            [before, content].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(": ");
        if self.alternatives.is_empty() {
            return line;
        }
        format!(
            "{line} [a guess: reads differently in {}]",
            dialect_guess::join_names(&self.alternatives, "and")
        )
    }
}
